"""Files of snippets, measured."""

from __future__ import annotations

import os

import pytest

from opperf.model import NoteCode, Status
from opperf.results.runfile import read_run
from tests.cutting import cut_last_case

pytest.importorskip("torch")

FEW = ("-w", "1", "-r", "2", "-f", "jsonl", "--overwrite")

SNIPPETS = """from opperf.snippets import GroupedModules, GroupedStmts

SETUP = '''
x = torch.ones((4, 4))
w = torch.ones((4, 4), requires_grad=True)
'''

BENCHMARKS = {
    "product": GroupedStmts(
        "y = x * w", setup=SETUP, signature="f(x, w) -> y", torchscript=True, autograd=True,
    ),
    "layer": GroupedModules(
        "model = torch.nn.Linear(4, 4)", setup=SETUP, signature="f(x) -> y", torchscript=True
    ),
    "size": GroupedStmts("x.size()", setup=SETUP),
    "bad": {
        "setup": GroupedStmts("x", setup="x = torch.ones(2).view(3)"),
        "statement": GroupedStmts("x.view(3)", setup=SETUP),
        "gradient": GroupedStmts(
            "y = x + 1", setup=SETUP, signature="f(x) -> y", autograd=True
        ),
    },
}
"""

FAULT = """from opperf.snippets import TimerArgs

BENCHMARKS = {"bad": TimerArgs("x.no_such_method();", "auto x = torch::ones({2});", language="cpp")}
"""

OWN = """from opperf.snippets import TimerArgs

BENCHMARKS = {
    "run": TimerArgs("x.view({3});", "auto x = torch::ones({2});", language="cpp"),
    "own": TimerArgs(
        "twice(x);",
        "auto x = torch::ones({2});",
        "static at::Tensor twice(const at::Tensor& x) { return x + x; }",
        language="cpp",
    ),
}
"""


UNOPTIMISED = """#!/bin/sh
exec {compiler} "$@" -O0
"""
"""A compiler that takes two thirds of the time. No test is about the speed of what it makes."""


@pytest.fixture
def compiled_quickly(tmp_path):
    """Options of a run in which snippets of C++ are compiled without optimisation."""
    compiler = tmp_path / "c++"
    compiler.write_text(UNOPTIMISED.format(compiler=os.environ.get("CXX", "c++")))
    compiler.chmod(0o755)
    return ("--env", f"CXX={compiler}")


@pytest.fixture
def measured(command_here):
    def run(text, *arguments, code=0):
        (command_here.folder / "own.py").write_text(text)
        words = arguments or ("own.py",)
        command_here("run", *words, *FEW, "-o", "out.jsonl", "--quiet", code=code)
        found, _ = read_run(command_here.folder / "out.jsonl")
        return {record.case.label: record for record in found.records}

    return run


def test_python_snippets_are_measured_and_a_fault_is_that_of_its_case(measured):
    records = measured(SNIPPETS)
    good = {name: one for name, one in records.items() if not name.startswith("bad/")}
    assert len(good) == 7
    assert {(one.status, one.reason) for one in good.values()} == {(Status.OK, "")}
    both = records["product/TorchScript/Forward+Backward/Python"]
    assert set(both.summaries) >= {"forward", "backward", "total", "memory"}
    assert "backward" not in records["product/Eager/Forward/Python"].summaries
    for name in ("setup", "statement"):
        failed = records[f"bad/{name}/Eager/Forward/Python"]
        assert failed.status is Status.FAILED and "shape '[3]' is invalid" in failed.reason
    without = records["bad/gradient/Eager/Forward+Backward/Python"]
    assert without.status is Status.OK
    (note,) = (one for one in without.notes if one.code == NoteCode.NO_GRADIENT)
    assert note.metric == "backward" and "requires_grad=True" in note.message


OF_THE_REGISTRY = ("--framework", "torch", "--max-configs", "1", "--size", "small")


@pytest.mark.parametrize(
    "words",
    [
        ("run", "own.py", *FEW, "-o", "out.jsonl", "--quiet"),
        ("run", "own.py:size", *FEW, "-o", "out.jsonl", "--quiet"),
        ("run", "relu", "own.py", *OF_THE_REGISTRY, *FEW, "-o", "out.jsonl", "--quiet"),
        ("ab", "own.py", "--framework", "torch", "--b", "threads:2", "--dry-run"),
    ],
)
def test_a_file_is_run_once_by_the_manager(command_here, plan_arms, shared_worker, words):
    plan_arms(shared_worker)
    noting = "import os\nwith open('runs.txt', 'a') as file:\n    print(os.getpid(), file=file)\n"
    (command_here.folder / "own.py").write_text(
        f"{noting}from opperf.snippets import GroupedStmts\n"
        "BENCHMARKS = {'size': GroupedStmts('x.size()', setup='x = torch.ones(2)')}\n"
    )
    command_here(*words)
    runs = (command_here.folder / "runs.txt").read_text().split()
    assert runs.count(str(os.getpid())) == 1


def test_a_pattern_selects_and_options_of_a_run_apply(command_here):
    (command_here.folder / "own.py").write_text(SNIPPETS)
    out, _ = command_here("run", "own.py:product/*/Forward/Python", "--list")
    assert out.splitlines()[-1] == "2 cases of 2 operators"
    out, _ = command_here("run", "own.py", "--exclude", "bad,product", "--list")
    assert out.splitlines()[-1] == "3 cases of 3 operators"
    words = ("-o", "native.jsonl", "-p", "native", "--threads", "2", "--quiet")
    command_here("run", "own.py:size", *FEW, *words)
    (record,) = read_run(command_here.folder / "native.jsonl")[0].records
    assert (record.case.settings.profiler, record.case.settings.threads) == ("native", 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("own.py:nothing",), "own.py: no snippet is called 'nothing'"),
        (("own.py", "--dtype", "float16"), "--dtype does not apply to own.py, whose own code"),
        (("own.py", "--mode", "script"), "--mode does not apply to own.py"),
        (("own.py", "--size", "small"), "--size does not apply to own.py"),
    ],
)
def test_what_cannot_apply_is_refused_in_one_line(command_here, arguments, words):
    (command_here.folder / "own.py").write_text(SNIPPETS)
    _, err = command_here("run", *arguments, code=2)
    assert words in err and len(err.strip().splitlines()) == 1


def test_an_interrupted_run_is_resumed_from_its_file_alone(command_here):
    (command_here.folder / "own.py").write_text(SNIPPETS)
    command_here("run", "own.py:product", *FEW, "-o", "out.jsonl", "--quiet")
    path = command_here.folder / "out.jsonl"
    cut_last_case(path)
    (command_here.folder / "own.py").unlink()
    command_here("run", "--resume", "out.jsonl", "--quiet")
    records = read_run(path)[0].records
    assert [one.status for one in records] == [Status.OK] * 4


@pytest.mark.sweep
def test_a_snippet_that_does_not_compile_is_its_record(measured, compiled_quickly):
    """Several of one unit, some at fault: tests/frameworks/test_torch_snippets.py."""
    (code,) = measured(FAULT, "own.py", *compiled_quickly, code=1).values()
    assert code.status is Status.FAILED
    assert code.reason.startswith("C++ statement, line 1: ") and "no_such_method" in code.reason


WAYS = {
    f"{mode}/{passes}/{language}"
    for mode in ("Eager", "TorchScript")
    for passes in ("Forward", "Forward+Backward")
    for language in ("Python", "C++")
}
"""What the names of snippets in the standard set end with."""


@pytest.mark.sweep
def test_the_standard_set_runs_and_snippets_beside_it(measured, compiled_quickly):
    """In the same units, as each of them takes twenty seconds of PyTorch's headers."""
    records = measured(OWN, "opperf.snippets.standard", "own.py", *compiled_quickly)
    assert "shape '[3]' is invalid" in records.pop("run/C++").reason
    own = records.pop("own/C++")
    assert (own.status, own.reason) == (Status.OK, "")
    assert len(records) > 180
    assert {(record.status, record.reason) for record in records.values()} == {(Status.OK, "")}
    assert {"/".join(name.split("/")[-3:]) for name in records} == WAYS
    for name, record in records.items():
        assert ("backward" in record.summaries) == ("Backward" in name), name
