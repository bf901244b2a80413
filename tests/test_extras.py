"""What needs a package of an extra says how it is installed, if that is not here."""

import ast
import json
import re
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import opperf
from opperf.commands.history import HISTORY_COMMANDS
from opperf.commands.suite import SUITE_COMMANDS
from opperf.errors import UsageError
from opperf.extras import EXTRAS, install_extra, missing_extra
from opperf.frameworks import PREFERENCE
from opperf.programs.child import launcher
from opperf.reports.writing import write
from tests.repositories import git
from tests.results.conftest import closing, header, run  # noqa: F401

tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no tomllib")

ROOT = Path(opperf.__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

OF_OPPERF_ITSELF = {"browser", "test", "lint", "dev", "package", "mutate", "docs"}
"""Extras of those who change opperf."""

ELSEWHERE = {"uv", "voir", *PREFERENCE, "timm", "torchbench", "torchvision", "transformers"}
"""Extras that code does without, that programs in other environments need, and those of frameworks
and suites, which declare their requirements themselves."""

OTHERS = {
    "anyio": "which starlette needs",
    "h11": "which uvicorn needs",
    "markupsafe": "which jinja2 needs",
    "nvtx": "of the environment that is profiled",
    "pandas": "whose error says it",
    "pyarrow": "of a user's log in its format",
    "setuptools": "which an environment has for MXNet",
}
"""Modules of no extra that code imports, each with its reason."""

WITH_EXTRAS = pytest.mark.skipif(
    any(find_spec(module) is None for module, extra in EXTRAS.items() if extra != "gpu"),
    reason="an extra is not installed",
)
"""One at a time is taken away, and the others are needed."""

NAME = re.compile(r"[a-z_][\w.]*")

LOADERS = {"import_module", "import_package", "load_extra", "check_extras"}


def imported(file):
    """The first names of modules that a file imports, as statements or by name."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found = [node.module]
        elif isinstance(node, ast.Call) and getattr(
            node.func, "attr", getattr(node.func, "id", "")
        ) in (LOADERS):
            words = [word.value for word in node.args if isinstance(word, ast.Constant)]
            found = [word for word in words if isinstance(word, str) and NAME.fullmatch(word)]
        else:
            continue
        yield from (name.partition(".")[0] for name in found)


def all_imported():
    """By module of no framework, suite or child, those that opperf's code imports."""
    apart = (
        "frameworks/*/*",
        "models/**/*",
        "rules/*/*",
        "programs/child/*",
        "mxnet_api/*",
        "utils/*",
        "suites/standard/**/*",
    )
    package = ROOT / "opperf"
    left = set(package.rglob("*.py")) - {file for one in apart for file in package.glob(one)}
    return {name for file in left for name in imported(file)}


def needed(requirement, extra=""):
    """The distributions that a requirement installs, with those of its extras."""
    parsed = Requirement(requirement)
    yield canonicalize_name(parsed.name)
    for each in parsed.extras:
        for other in metadata.requires(parsed.name) or ():
            inner = Requirement(other)
            if inner.marker and inner.marker.evaluate({"extra": each}):
                yield canonicalize_name(inner.name)


def test_every_module_that_is_imported_is_of_the_base_or_of_an_extra_that_is_known():
    base = {canonicalize_name(Requirement(each).name) for each in PROJECT["dependencies"]}
    known = {*sys.stdlib_module_names, *EXTRAS, *base, *OTHERS, *PREFERENCE, "opperf"}
    found = all_imported()
    assert found - known == set() and set(EXTRAS) <= found


@WITH_EXTRAS
def test_extras_are_those_of_the_project():
    optional = PROJECT["optional-dependencies"]
    assert set(EXTRAS.values()) == set(optional) - OF_OPPERF_ITSELF - ELSEWHERE
    distributions = metadata.packages_distributions()
    for module, extra in EXTRAS.items():
        installed = {name for each in optional[extra] for name in needed(each)}
        of_module = set(map(canonicalize_name, distributions.get(module, ())))
        assert not of_module or of_module & installed, module


BENCH = """
b:
  definition: b
  plan:
    method: njobs
    n: 1
"""

ONE_FILE, RUNS = ["suite.yaml"], ["run.jsonl"]

HISTORY = {
    "add": RUNS,
    "import": ["benchmarks.json", "--project", "p", "--commit", "a" * 40],
    "export": ["--to", "asv", "-o", "asv"],
    "show": ["#1"],
    "alias": ["a", "b", "--why", "renamed"],
    "gc": ["--dirty"],
    "publish": ["public"],
    **dict.fromkeys(["bless", "confirm"], ["1", "--why", "faster"]),
    "bisect": ["1"],
    "run": ["HEAD", "add", "--framework", "numpy"],
    **dict.fromkeys(["list", "plot", "check"], []),
}

SUITE = {
    "show": [*ONE_FILE, "b"],
    "shell": [*ONE_FILE, "b"],
    "slurm": [*ONE_FILE, "-o", "job.sh"],
    "cluster": ["system.yaml", "-o", "cluster.yaml"],
    "multirun": [*ONE_FILE, "--system", "system.yaml", "-o", "runs"],
    **dict.fromkeys(["check", "list", "install", "prepare", "run"], ONE_FILE),
}

WITHOUT = {"validate", "report", "compare"}
"""Commands of suites that read runs, and no YAML."""

LINES = [
    *(("history", ["history", name, *words]) for name, words in HISTORY.items()),
    *(("yaml", ["suite", name, *words]) for name, words in SUITE.items()),
    ("yaml", ["experiment", "--axes", "axes.yaml"]),
    ("postgresql", ["history", "add", *RUNS, "--store", "postgresql://localhost:1/p"]),
    ("serve", ["serve"]),
    ("history", ["serve"]),
    ("plot", ["plot", *RUNS, "-o", "plot.png"]),
    ("plot", ["aggregate", "records.jsonl", "--accelerator", "cpu", "-o", "chart.png"]),
    ("fleet", ["run", "add", "--framework", "numpy", "--executor", "ray"]),
    ("slurm", ["suite", "slurm", *ONE_FILE, "--submit", "-o", "job.sh"]),
]

FORKS = """
import json, os, sys
import opperf.commands.running, opperf.reports.writing
from opperf.extras import install_extra
from opperf.opperf import main

for extra, modules, words in json.load(sys.stdin):
    reading, writing = os.pipe()
    if not os.fork():
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        sys.modules.update(dict.fromkeys(modules))
        main(words)
    os.close(writing)
    with open(reading) as said:
        text = said.read()
    code = os.waitstatus_to_exitcode(os.wait()[1])
    print(json.dumps([code, text, install_extra(modules[0])]), flush=True)
"""
"""Runs each line in a process that has imported opperf, and lacks the modules of an extra. The line
of pip is as here: where opperf is from is seen otherwise from its own folder."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extras")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    (folder / "b").mkdir()
    (folder / "b" / "main.py").write_text("")
    (folder / "suite.yaml").write_text(BENCH)
    (folder / "axes.yaml").write_text("dynamo: [inductor]")
    (folder / "system.yaml").write_text("system: {nodes: [{name: a, ip: 127.0.0.1, main: true}]}")
    (folder / "benchmarks.json").write_text('[{"name": "a", "unit": "ns", "value": 1}]')
    return folder


@WITH_EXTRAS
def test_every_command_says_what_installs_its_extra(files, run):  # noqa: F811
    assert set(HISTORY) == set(HISTORY_COMMANDS) and set(SUITE) | WITHOUT == set(SUITE_COMMANDS)
    assert {extra for extra, _ in LINES} == set(EXTRAS.values()) - {"gpu"}, "which needs a driver"
    write(run, files / "run.jsonl", "jsonl")
    lines = [
        (extra, [module for module, of in EXTRAS.items() if of == extra], words)
        for extra, words in LINES
    ]
    done = subprocess.run(
        [sys.executable, "-c", FORKS],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        cwd=files,
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [
        (extra, words, code, text)
        for (extra, _, words), (code, text, line) in zip(lines, said, strict=True)
        if code != 2 or line not in text or f"[{extra}]" not in line
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_functions_say_it_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError) as raised:
        opperf.run("add", framework="numpy", executor="ray")
    assert install_extra("ray") in str(raised.value)


def test_a_program_with_a_voirfile_says_it_of_its_own_python(monkeypatch):
    monkeypatch.setitem(sys.modules, "voir", None)
    with pytest.raises(ImportError, match="a voirfile needs voir .* -m pip install 'voir<0.3'"):
        launcher.run_voir({"voirfiles": []}, "main.py", [], None)


def test_only_modules_of_extras_are_told():
    assert missing_extra(ImportError("No module named 'mine'", name="mine")) is None
    error = missing_extra(ImportError("No module named 'yaml.x'", name="yaml.x"))
    assert str(error) == f"this needs yaml (No module named 'yaml.x'): {install_extra('yaml')}"
