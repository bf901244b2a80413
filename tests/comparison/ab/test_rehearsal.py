"""What a rehearsal keeps, and how long it expects processes to take."""

import pytest

from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.rehearsal import rehearse
from opperf.execution.progress import Quiet
from opperf.model import Case, SnippetTarget
from tests.comparison.ab.sessions import Stub, case, crashed, ok


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
        "bad (data: (2, 3))": "both: crashed: SIGSEGV",
        "onlyA (data: (2, 3))": "B: crashed: SIGSEGV",
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
