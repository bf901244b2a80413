"""Replicates: one process each, whatever ends on the way."""

import math

import pytest

from opperf.comparison.ab.measure import ATTEMPTS, cases_at, measure, rehearse, select_cases
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.procedure import Place, Stage
from opperf.comparison.ab.session import Lost
from opperf.comparison.ab.workers import BlockWorkers
from opperf.errors import WorkerError
from opperf.execution.progress import Quiet
from opperf.instruments.profilers.summary import summarise
from opperf.model import (
    Case,
    OperatorTarget,
    Record,
    Settings,
    SnippetTarget,
    Status,
    TensorSpec,
)

PLACE = Place("comparison", 0, 1, "B", "B")


def case(name, passes=("forward", "backward"), **settings):
    tensor = TensorSpec((2, 2), gradient=True)
    return Case(OperatorTarget("fake", name), {"data": tensor}, Settings(**settings), passes)


class Stub:
    """A worker whose processes do what they are told, operator by operator."""

    def __init__(self, does, arm):
        self.launches, self._does, self._arm = 0, does, arm

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def begin_process(self, devices):
        self.launches += 1

    def end_process(self):
        """Its next process begins anew."""

    def measure(self, case):
        return self._does(self, self._arm, case)


def ok(case, value=1000.0, metrics=("forward", "backward")):
    summaries = {name: summarise([value], "ns") for name in metrics if name in case.passes}
    return Record(case=case, id=case.id, status=Status.OK, summaries=summaries, wall_s=0.5)


def crashed(case, status=Status.CRASHED):
    return Record(case=case, id=case.id, status=status, reason="SIGSEGV")


def replicate(does, *names):
    cases = {name: case(name) for name in names}
    with BlockWorkers(lambda arm: Stub(does, arm)) as workers:
        return measure(PLACE, cases, 0, workers, Quiet())


def test_values_are_logarithms_of_medians():
    line = replicate(lambda worker, arm, case: ok(case, 20.0), "x", "y")
    assert line.replicate.values == {
        f"{name} {metric}": math.log(20.0) for name in "xy" for metric in ("forward", "backward")
    }
    assert (line.replicate.phase, line.replicate.block, line.replicate.position) == PLACE[:3]
    assert line.replicate.arm == "B" and line.lost == {}


@pytest.mark.parametrize("status", [Status.CRASHED, Status.TIMEOUT])
def test_a_case_that_ends_its_process_begins_the_replicate_anew_without_it(status):
    def does(worker, arm, case):
        return crashed(case, status) if case.label == "bad" else ok(case, 100.0 * worker.launches)

    line = replicate(does, "bad", *"abcdefgh")
    # All values are from the process that lived.
    assert set(line.replicate.values.values()) == {math.log(200.0)}
    assert len(line.replicate.values) == 16
    assert line.lost == {"bad": Lost(f"B: {status.value}: SIGSEGV", ended=True)}


def test_a_process_that_ends_between_two_cases_costs_none():
    died = []

    def does(worker, arm, case):
        if case.label == "c" and not died:
            died.append(case)
            worker.launches += 1
        return ok(case, 100.0 * worker.launches)

    line = replicate(does, *"abcd")
    assert set(line.replicate.values.values()) == {math.log(300.0)}
    assert len(line.replicate.values) == 8 and line.lost == {}


def test_a_machine_on_which_everything_ends_is_given_up():
    begun = []

    def does(worker, arm, case):
        begun.append(case.label)
        return crashed(case)

    with pytest.raises(WorkerError) as caught:
        replicate(does, *"abcdefghij")
    assert len(begun) == len(set(begun)) == ATTEMPTS
    assert str(caught.value).startswith(
        f"no worker completed the replicate: {ATTEMPTS} processes of arm B ended"
    )
    assert "SIGSEGV" in str(caught.value)


def test_without_cases_no_process_is_begun():
    with BlockWorkers(lambda arm: pytest.fail("a process")) as workers:
        assert measure(PLACE, {}, 0, workers, Quiet()).replicate.values == {}


def test_a_figure_that_is_missing_has_a_reason():
    def does(worker, arm, case):
        if case.label == "fails":
            return Record(case=case, id=case.id, status=Status.FAILED, reason="no memory")
        return ok(case, metrics=("forward",)) if case.label == "half" else ok(case, 0.0)

    line = replicate(does, "fails", "half", "instant")
    assert line.replicate.values.keys() == {"half forward"}
    assert line.lost == {
        "fails": Lost("B: failed: no memory"),
        "half": Lost("B: backward: its median is zero"),
        "instant": Lost("B: forward: its median is zero; backward: its median is zero"),
    }


def test_a_rehearsal_keeps_what_runs_in_both_arms():
    def does(worker, arm, case):
        assert case.settings.runs == 1 and case.settings.max_time_s is None
        if case.label == "bad" or (case.label == "onlyA" and arm == "B"):
            return crashed(case)
        return ok(case, metrics=("forward",) if (case.label, arm) == ("half", "B") else case.passes)

    names = ("good", "bad", "onlyA", "half")
    pairs = [Pair(case(name), case(name, threads=2)) for name in names]
    found = rehearse(pairs, {arm: Stub(does, arm) for arm in "AB"}, 1.0, Quiet())
    assert {pair.label: pair.a.passes for pair in found.pairs} == {
        "good": ("forward", "backward"),
        "half": ("forward",),
    }
    assert [pair.b.passes for pair in found.pairs] == [pair.a.passes for pair in found.pairs]
    assert found.excluded == {
        "bad (data: (2, 2))": "both: crashed: SIGSEGV",
        "onlyA (data: (2, 2))": "B: crashed: SIGSEGV",
    }
    assert list(found.visit_s.values()) == [pytest.approx(0.5 + 1.2)] * 2


def test_a_rehearsal_begins_by_compiling_what_needs_it():
    built = []

    class Compiling(Stub):
        def build(self, cases):
            built.append((self._arm, [case.label for case in cases]))

    snippet = Case(SnippetTarget("fake", "f();", language="c++", name="s"), {}, passes=("forward",))
    pairs = [Pair(case("x"), case("x")), Pair(snippet, snippet)]
    workers = {arm: Compiling(lambda worker, arm, case: ok(case), arm) for arm in "AB"}
    rehearse(pairs, workers, 1.0, Quiet())
    assert built == [("A", ["s"]), ("B", ["s"])]


def test_what_is_visited():
    pairs = [Pair(case(name), case(name, threads=2)) for name in "xyz"]
    x, y, z = (pair.id for pair in pairs)
    every = select_cases(pairs, (), {}, "A")
    assert every == {pair.id: pair.a for pair in pairs}
    assert select_cases(pairs, (), {}, "B") == {pair.id: pair.b for pair in pairs}
    some = select_cases(pairs, (f"{x} backward", f"{z} forward", f"{z} backward"), {}, "A")
    assert {name: one.passes for name, one in some.items()} == {
        x: ("backward",),
        z: ("forward", "backward"),
    }
    lost = {x: Lost("crashed", ended=True), y: Lost("failed once")}
    assert select_cases(pairs, (), lost, "A").keys() == {y, z}


class Measured:
    """A session with these pairs, and what it has lost."""

    def __init__(self, pairs, lost, coarse_lost):
        self.header, self.pairs = self, pairs
        self.lost, self.coarse_lost = lost, coarse_lost


def test_the_coarse_look_measures_with_all_threads_what_has_ended_no_process():
    pairs = [Pair(case(name, threads=1), case(name, threads=1)) for name in "xyz"]
    x, y, z = (pair.id for pair in pairs)
    ended, failed = Lost("crashed", ended=True), Lost("failed once")
    session = Measured(pairs, {x: ended, y: failed}, {y: failed, z: ended})
    coarse = cases_at(Stage("coarse", 0, 4, ()), session, "B")
    assert coarse.keys() == {y}
    assert coarse[y].settings.threads is None
    verdicts = cases_at(Stage("comparison", 0, 4, ()), session, "B")
    assert verdicts == {y: pairs[1].b, z: pairs[2].b}
