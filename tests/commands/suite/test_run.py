"""`opperf suite run`, of a suite of a program and of operators of NumPy."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from opperf.commands.run import run as run_command
from opperf.commands.suite.run import run
from opperf.errors import OpperfError, UsageError
from opperf.execution.benches import Benches
from opperf.execution.fleet.connecting import NodeCounts
from opperf.execution.workers import Workers
from opperf.frameworks import load
from opperf.model import PROGRAM, Status
from opperf.requests.keeping import resume_advice
from opperf.requests.suites.environments import SuiteFiles
from opperf.requests.suites.running import benches_at
from opperf.results.runfile import read_run
from tests.conftest import InProcess

LOOP = """
import json, os, sys, time
out = os.fdopen(int(os.environ["DATA_FD"]), "w", buffering=1)
for number in range(int(sys.argv[2])):
    print(json.dumps({"task": "train", "rate": 5.0, "units": "steps/s"}), file=out)
    time.sleep(0.001)
print(os.environ["MILABENCH_DIR_DATA"])
"""

SUITE = """
_all:
  max_duration: 60
loop:
  inherits: _all
  definition: loop
  argv: {--n: 400}
  voir: {options: {stop: 5, interval: 10s}}
operators:
  inherits: _all
  operators: [exp]
  weight: 2
  settings: {framework: numpy, max_configs: 1, size: small}
"""

BROKEN = """
include: [suite.yaml]
gone:
  definition: nowhere
off:
  enabled: false
  operators: [exp]
"""


@pytest.fixture
def suite_run(monkeypatch, tmp_path, tmp_path_factory, capsys):
    """Runs the command in a folder with suites; the exit code, and what was printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OPPERF_DATA", str(tmp_path_factory.mktemp("data")))
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "main.py").write_text(LOOP)
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "broken.yaml").write_text(BROKEN)
    own = InProcess(load("numpy"))
    before = Workers.of
    monkeypatch.setattr(
        Workers,
        "of",
        lambda self, framework, settings=None: (
            before(self, framework, settings) if framework == PROGRAM else own
        ),
    )

    def called(*words):
        monkeypatch.setattr(sys, "argv", ["opperf", "suite", "run", *words])
        try:
            code = run.main([*words, "--cpus", "none"], standalone_mode=False)
        except OpperfError as error:
            return 2, capsys.readouterr().out, str(error)
        return code, *capsys.readouterr()

    return called


def test_programs_and_operators_are_run_scored_and_validated(suite_run, tmp_path):
    code, out, _ = suite_run("suite.yaml", "-o", "s.jsonl")
    run_file, _ = read_run(Path("s.jsonl"))
    assert code == 0 and "0 of 2 benches failed" in out
    by_name = {bench.name: bench for bench in run_file.header.benches}
    assert by_name["operators"].weight == 2 and by_name["loop"].expected == 5
    (program,) = [record for record in run_file.records if record.case.target.framework == PROGRAM]
    assert program.status is Status.OK and program.summaries["rate"].median == 5.0
    assert program.id in by_name["loop"].cases
    (process,) = program.processes
    assert process.rate.n >= 5 and process.warmup > 0
    streams = [json.loads(line) for path in Path("s.streams").iterdir() for line in path.open()]
    assert {"config", "meta", "start", "phase", "data", "end"} <= {one["event"] for one in streams}


def test_what_cannot_be_run_is_a_failure_and_costs_itself(suite_run):
    code, out, err = suite_run("broken.yaml", "--exclude", "loop", "-o", "b.jsonl")
    run_file, _ = read_run(Path("b.jsonl"))
    reasons = {bench.name: bench.why_not for bench in run_file.header.benches}
    assert "no such" in reasons["gone"] and "not enabled" in reasons["off"]
    assert code == 1 and reasons["operators"] == "" and "bench gone is not run" in err
    assert "1 of 2 benches failed" in out


@pytest.mark.parametrize("words", [("-f", "milabench", "-o", "folder"), ("-o", "b.md")])
def test_a_run_is_validated_whatever_is_written(suite_run, words):
    code, out, _ = suite_run("broken.yaml", "--exclude", "operators", *words)
    assert code == 1 and "1 of 2 benches failed" in out
    assert suite_run("suite.yaml", "--select", "loop", *words[:-1], f"good-{words[-1]}")[0] == 0


def test_a_folder_that_cannot_be_made_is_said_before_the_run(suite_run):
    Path("there").mkdir()
    for name, expected in (("there", "name another folder"), ("-", "name one with -o")):
        code, out, err = suite_run("suite.yaml", "-f", "milabench", "-o", name)
        assert code == 2 and expected in err and not out


def test_a_run_is_resumed_and_its_parts_are_joined(suite_run):
    assert suite_run("suite.yaml", "--select", "operators", "-o", "s.jsonl")[0] == 0
    lines = Path("s.jsonl").read_text().splitlines(keepends=True)
    Path("s.jsonl").write_text("".join(line for line in lines if '"line":"closing"' not in line))
    code, out, _ = suite_run("suite.yaml", "--select", "operators", "-o", "s.jsonl", "--resume")
    assert code == 0 and "0 of 1 benches failed" in out


@pytest.mark.parametrize(
    ("words", "again"),
    [
        ("suite run a.yaml -o s.jsonl --overwrite", "suite run a.yaml -o s.jsonl --resume"),
        ("run 'a b.yaml' --resume s.jsonl", "run 'a b.yaml' --resume s.jsonl"),
    ],
)
def test_an_interrupted_suite_is_resumed_by_its_own_command(words, again):
    request = SimpleNamespace(source=Benches((), {}, {}), command=f"opperf {words}")
    advice = resume_advice(Path("s.jsonl"), request)
    assert advice == f"the records are in s.jsonl. Resume with: opperf {again}"


def test_a_suite_is_a_source_of_run_too(suite_run):
    def called(*words):
        context = run_command.make_context("run", ["suite.yaml", "--cpus", "none", *words])
        with pytest.raises(click.exceptions.Exit) as ended:
            run_command.invoke(context)
        return ended.value.exit_code

    assert called("--list") == called("--dry-run") == 0 and called("-o", "s.jsonl") == 0
    assert {bench.name for bench in read_run(Path("s.jsonl"))[0].header.benches} == {
        *("loop", "operators")
    }
    with pytest.raises(UsageError, match="--mode does not apply to suite.yaml"):
        called("--mode", "eager")
    with pytest.raises(UsageError, match="suite.yaml is a suite, which is run alone; omit exp"):
        called("exp")


def test_nothing_is_run_where_that_is_asked_for(suite_run):
    code, out, _ = suite_run("suite.yaml", "--dry-run")
    assert code == 0 and "to suite.jsonl" in out and not Path("suite.jsonl").exists()
    code, out, _ = suite_run("suite.yaml", "--list")
    assert code == 0 and "loop" in out and "exp" in out


def test_bad_input_is_one_line(suite_run):
    assert suite_run("none.yaml")[0] == 2
    assert "unknown executor" in suite_run("suite.yaml", "--executor", "locl")[2]
    assert (
        "--resume and --overwrite exclude each other"
        in suite_run("suite.yaml", "--resume", "--overwrite")[2]
    )


def test_each_node_has_the_values_of_its_own_and_equal_ones_are_resolved_once(tmp_path):
    sized = "b: {definition: b.py, argv: ['{cpu_count}', '{gpu_count}', 'auto_batch(64)']}"
    (tmp_path / "sized.yaml").write_text(sized)
    files = SuiteFiles(files=(tmp_path / "sized.yaml",))
    nodes = [NodeCounts("a", 64, 32, 8, 80 * 2**30), NodeCounts("b", 16, 9, 4)]
    found = benches_at([*nodes, nodes[0]._replace(name="c")], files)
    assert {name: benches["b"].argv for name, benches in found.items()} == {
        "a": ("64", "8", "64"),
        "b": ("16", "4", "64"),
        "c": ("64", "8", "64"),
    }
    assert found["a"] is found["c"]
