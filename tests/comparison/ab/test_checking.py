"""Whether the results of A and B are the same, by calls of functions in this process."""

import pytest

from opperf.comparison.ab.checking import check_results, with_lacking
from opperf.comparison.ab.pairs import Pair, pair_cases
from opperf.comparison.ab.rehearsal import lacking_pass
from opperf.execution.progress import Progress
from opperf.frameworks import load
from opperf.model import (
    Case,
    Check,
    Difference,
    FileTarget,
    Fill,
    OperatorTarget,
    TensorSpec,
    Tolerance,
)
from opperf.sources.registry import Plan
from opperf.worker.call_outputs import observe
from opperf.worker.protocol import Observed

FUNCTIONS = """
import numpy as np
def base(x, y): return np.exp(x) + y
def fused(x, y):
    z = np.exp(x); z += y; return z
def other_names(a, b): return np.exp(a) + b
def wrong(x, y): return np.ones_like(x)
def random(x, y): return np.exp(x) + y + np.random.random(x.shape).astype("float32")
def partly(x, y): return np.exp(x) + y, np.random.random(3)
def partly_wrong(x, y): return np.exp(x), np.random.random(3)
def whole(x, y): return np.exp(x).sum() + np.zeros((64, 64), "float32")
def unwritten(x, y):
    made = np.empty((64, 64), "float32"); made[:32] = np.exp(x).sum(); return made
def thing(x, y): return object()
def fails(x, y): raise ValueError("no luck")
"""


class Here:
    """A worker in this process, which ends where it is told."""

    def __init__(self):
        self.calls = 0

    def begin_process(self, devices):
        assert devices == {"cpu(0)"}

    def end_process(self):
        self.ended = True

    def observe(self, case, folder, draw=0, calls=0):
        self.calls += 1
        if case.label == "dies":
            return Observed(refusal="the process was ended by SIGSEGV")
        return observe(case, load("numpy"), folder, draw, calls)


@pytest.fixture
def checked(tmp_path):
    """The check of two functions, and the workers."""
    file = tmp_path / "mine.py"
    file.write_text(FUNCTIONS)

    def case(name, names):
        target = FileTarget("numpy", str(file), name)
        fills = (Fill("uniform", 0.0, 1.0), Fill("normal"))
        tensors = (TensorSpec((8, 4), fill=fill) for fill in fills)
        return Case(target, dict(zip(names, tensors, strict=True)), passes=("forward",))

    def check(a, b, names=("x", "y")):
        plans = [Plan((case(name, own),), {}) for name, own in ((a, ("x", "y")), (b, names))]
        (pair,) = pair_cases({"A": plans[:1], "B": plans[1:]}, positional=True).pairs
        workers = {arm: Here() for arm in "AB"}
        checks = check_results([pair], workers, Tolerance(), Progress(), several=True)
        (own,) = checks.values()
        assert list(own) == [pair.id] and all(one.ended for one in workers.values())
        return own[pair.id], workers

    return check


def test_one_call_in_each_arm_shows_that_nothing_differs(checked):
    check, workers = checked("base", "fused")
    assert (check.outcome, check.note, check.differences) == ("same", "", ())
    assert [one.calls for one in workers.values()] == [1, 1]


def test_arguments_of_other_names_have_the_same_contents(checked):
    assert checked("base", "other_names", ("a", "b"))[0].outcome == "same"


def test_a_wrong_result_is_named(checked):
    check, _ = checked("base", "wrong")
    assert check.outcome == "different" and check.count == 1
    assert check.differences[0].place == "output" and check.differences[0].share == 1.0


@pytest.mark.parametrize(
    "a, b, outcome, note",
    [
        ("random", "random", "same", ""),
        ("base", "random", "not compared", "output: random, or not written, in B"),
        ("random", "base", "not compared", "output: random, or not written, in A"),
        ("whole", "unwritten", "not compared", "output: random, or not written, in B"),
        ("partly", "partly_wrong", "different", ""),
        ("thing", "thing", "not compared", "output: a object cannot be read"),
        ("fails", "base", "not compared", "A: ValueError: no luck"),
        ("base", "dies", "not compared", "B: the process was ended by SIGSEGV"),
    ],
)
def test_what_cannot_be_compared_is_said(checked, a, b, outcome, note):
    check, _ = checked(a, b)
    assert (check.outcome, check.note) == (outcome, note)
    assert [one.place for one in check.differences] == ["output[0]"] * (outcome == "different")


def test_memory_that_is_not_written_is_not_compared():
    case = Case(OperatorTarget("numpy", "empty"), {"shape": (2, 2)}, passes=("forward",))
    pair = Pair(case, case)
    checks = check_results([pair], {arm: Here() for arm in "AB"}, Tolerance(), Progress())
    (check,) = checks["B"].values()
    assert (check.outcome, check.note) == ("not compared", "A returns memory that is not written")


LOST = lacking_pass("backward", "B", "A", "no gradient")


def test_a_lost_pass_is_the_first_difference_of_a_check():
    wrong = Difference("output", "shape")
    checks = {"a": Check("same", "in part"), "b": Check("different", "", (wrong,), 3)}
    lacking = {"a": (LOST,), "b": (LOST,), "unchecked": (LOST,)}
    found = with_lacking({"B": checks}, {"B": lacking})["B"]
    assert found["a"] == Check("different", "in part", (LOST,), 1)
    assert found["b"] == Check("different", "", (LOST, wrong), 4)
    assert found["unchecked"].line == "backward: A has it, B has not (no gradient)"
    assert with_lacking({"B": checks}, {}) == {"B": checks}
