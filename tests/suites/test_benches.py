"""Benches from their entries: each key's value and type, and what the folder of a script has."""

from pathlib import Path

import pytest

from opperf.environments.specification import EnvironmentSpec
from opperf.suites.bench import Plan, Server, Usage, Voir
from opperf.suites.job_script import words_of

FULL = """
b:
  definition: code
  group: nets
  install_group: torch
  tags: [monogpu]
  weight: 2.5
  max_duration: 1.5h
  num_machines: 2
  plan: {method: per_core}
  voir: {options: {stop: 7, interval: 100ms, skip: 1, gpu_poll: 0.1, more: [1]}}
  validation: {usage: {gpu_load_threshold: 0.5, gpu_mem_threshold: null}}
  client: {argv: {--c: 1}}
  server: {argv: [--s, "{milabench_name}"]}
  observe: loader:main:load
  env:
    packages: [torch==2.12]
    requirements: numpy
    python: 3.11
    index: https://e.org
    variables: {A: 1, B: "{arch}"}
    OMP_NUM_THREADS: 4
  dirs: {data: /d, extra: more}
  url: https://e.org
  own: {a: [1]}
"""


def test_each_key_is_a_field(bench):
    found = bench(FULL)
    assert (found.group, found.tags, found.weight) == ("nets", ("monogpu",), 2.5)
    assert (found.max_duration_s, found.num_machines, found.plan) == (5400, 2, Plan("per_core"))
    assert found.voir == Voir(7, 0.1, 1, {"gpu_poll": 0.1, "more": [1]})
    assert found.usage == Usage(0.5, None)
    assert (found.client_argv, found.server_argv) == (("--c", "1"), ("--s", "b"))
    assert found.observe == ("loader:main:load",)
    assert found.env == EnvironmentSpec(
        name="torch",
        requirements=("torch==2.12", "numpy"),
        python="3.11",
        index_urls=("https://e.org",),
        variables={"OMP_NUM_THREADS": "4", "A": "1", "B": "cuda"},
    )
    assert found.dirs == {"data": "/d", "extra": "more"} and "dirs" not in found.others
    assert found.others["own"] == {"a": [1]} and found.others["install_variant"] == "cuda"
    assert found.locations["own.a"].line == 25


SERVED = """
b:
  definition: bench.py
  argv: [--own]
  client: {argv: {--url: "http://{server_host}:{server_port}", --cores: "{cpu_count}"}}
  server: {argv: [--model, m], SERVER}
"""


def test_a_server_with_a_command_is_started_and_one_without_by_its_script(bench):
    found = bench(SERVED.replace("SERVER", "command: [vllm, serve], health: /health, port: 8000"))
    assert found.server == Server(("vllm", "serve"), 8000, "/health")
    words = words_of(found)
    assert words.server == ("vllm", "serve", "--model", "m")
    client = ("--url", "http://{server_host}:{server_port}", "--cores", "8")
    assert words.argv == ("--own", *client)
    alone = SERVED.replace(", SERVER", "").replace("http://{server_host}:{server_port}", "u")
    itself = bench(alone)
    assert itself.server is None
    assert words_of(itself).argv == ("--own", "--model", "m", "--", "--url", "u", *client[2:])


def test_a_port_may_be_of_a_matrix(suite):
    job = "job: {definition: b.py, server: {command: [s], port: '{p}'}}"
    benches = suite(f"m:\n  matrix: {{p: [80, 81]}}\n  {job}").benches
    assert [found.server.port for found in benches] == [80, 81]


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ("command: [s], port: eighty", "an integer of at least 1 is expected"),
        ("port: 8000", "port is of a server that opperf starts; give it a command"),
        ("command: [s], port: 70000", "a port is at most 65535, and this is 70000"),
        ("command: [s], health: well", "health is a path, such as /health"),
        ("command: serve it", "write [serve, it]"),
        ("comand: [s]", "unknown key comand; did you mean command?"),
        ("command: [s]}\n  num_machines: 2\n  x: {a: 1", "need the server's port"),
    ],
)
def test_a_server_that_cannot_be_is_one_line_with_its_place(refusal, server, message):
    found = refusal(SERVED.replace("SERVER", server))
    assert found.startswith("suite.yaml:6: ") and message in found


def test_without_a_server_there_is_no_address_of_it(refusal):
    assert "unknown placeholder {server_host}" in refusal(SERVED.replace(", SERVER", ""))


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ("{--a: 1, b: true, -v: true, --c: null}", "b --a 1 -v"),
        ("{--a: [1, x], --b: ''}", "--a 1,x --b "),
        ("{'--': [x, 2], --a: 0.1}", "--a 0.1 x 2"),
        ("[--a, 1, null, '{arch}']", "--a 1 cuda"),
        ("{k=1: true, --a: b}", "k=1 --a b"),
        ("null", ""),
    ],
)
def test_arguments_become_words(bench, argv, words):
    assert " ".join(bench(f"b: {{definition: d, argv: {argv}}}").argv) == words


@pytest.mark.parametrize(
    "argv", ["{--a: false}", "--a 1", "{--a: {b: c}}", "[[a]]", "3", "{--a: [[b]]}"]
)
def test_arguments_that_are_no_words_are_refused(refusal, argv):
    assert "suite.yaml:1: b.argv" in refusal(f"b: {{definition: d, argv: {argv}}}")


def test_files_and_models_are_relative_to_the_file_that_names_them(suite):
    text = """
include: in/b.yaml
d: {recording: [x.jsonl, "y-{arch}.jsonl"]}
"""
    other = 'b: {model: ["opperf:gpt", "nets.py:make(width=3)"]}\nc: {trace: t.json}\n'
    found = suite(text, files={"in/b.yaml": other, "x.jsonl": ""})
    here = Path.cwd()
    contents = {bench.name: bench.content for bench in found.benches}
    assert contents == {
        "b": ("opperf:gpt", f"{here}/in/nets.py:make(width=3)"),
        "c": (f"{here}/in/t.json",),
        "d": (f"{here}/x.jsonl", f"{here}/y-cuda.jsonl"),
    }
    assert found.problems == {"c": f"{here}/in/t.json: no such file"}


def test_settings_are_words(bench):
    found = bench("b: {operators: exp, settings: {dtype: [float32, '{arch}'], memory: true, n: 3}}")
    assert found.settings == {"dtype": ("float32", "cuda"), "memory": ("true",), "n": ("3",)}
    assert found.workload == "operators" and found.content == ("exp",)


BENCHFILE = """
import nothing.that.exists
class Nets(Package):
    main_script = "train.py"
    prepare_script: str = "get.py"
    base_requirements = ["a.in"]
    computed = nothing()
    def make_env(self): raise SystemExit
"""


def test_a_benchfile_is_read_and_not_run(suite):
    files = {"code/benchfile.py": BENCHFILE, "code/train.py": "", "code/a.in": "numpy"}
    found = suite("b: {definition: code}", files=files)
    (bench,) = found.benches
    assert bench.content == (str(Path("code/train.py").absolute()),)
    assert bench.benchfile == {
        "main_script": "train.py",
        "prepare_script": "get.py",
        "base_requirements": ["a.in"],
    }
    assert bench.env.requirements == ()
    assert not found.problems


@pytest.mark.parametrize(
    ("files", "definition", "problem"),
    [
        ({}, "code", "code: no such file or folder"),
        ({"code/other.py": ""}, "code", "code/main.py: no such script"),
        ({"code/main.py": "", "code/benchfile.py": "class ("}, "code", ""),
        ({"code/run.py": ""}, "code/run.py", ""),
    ],
)
def test_a_script_that_is_not_there_is_a_problem_of_its_bench(suite, files, definition, problem):
    found = suite(f"b: {{definition: {definition}}}\nc: {{operators: exp}}", files=files)
    assert len(found.benches) == 2
    assert found.problems.get("b", "").endswith(problem) and bool(found.problems) == bool(problem)
