"""What a rehearsal keeps, and how long it expects processes to take."""

import msgspec
import pytest

from opperf.comparison.ab.absences import reasons_of
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.rehearsal import rehearse
from opperf.execution.progress import Progress
from opperf.model import Case, Note, NoteCode, SnippetTarget
from tests.comparison.ab.sessions import Stub, case, crashed, ok
from tests.verifications import FAILED, PASSED, verified


def test_a_rehearsal_keeps_what_runs_in_both_arms():
    def does(worker, arm, case):
        assert case.settings.runs == 1 and case.settings.max_time_s is None
        if case.label == "bad" or (case.label == "onlyA" and arm == "B"):
            return crashed(case)
        return ok(case, metrics=("forward",) if (case.label, arm) == ("half", "B") else case.passes)

    names = ("good", "bad", "onlyA", "half")
    pairs = [Pair(case(name), case(name, threads=2)) for name in names]
    found = rehearse(pairs, {arm: Stub(does, arm) for arm in "AB"}, 1.0, Progress())
    assert {pair.label: pair.a.passes for pair in found.pairs} == {
        "good": ("forward", "backward"),
        "half": ("forward",),
    }
    assert [pair.b.passes for pair in found.pairs] == [pair.a.passes for pair in found.pairs]
    assert [one.operator for one in found.excluded if one.is_missing] == ["onlyA"]
    assert reasons_of(found.excluded) == {
        "bad (data: (2, 3))": "both: crashed: SIGSEGV",
        "onlyA (data: (2, 3))": "B: crashed: SIGSEGV",
    }
    assert list(found.visit_s.values()) == [pytest.approx(0.5 + 1.2)] * 2


NO_GRADIENT = Note("backward", NoteCode.NO_GRADIENT, "autograd has no gradient")


@pytest.mark.parametrize("arm, other", ["AB", "BA"])
def test_a_pass_that_one_arm_lacks_is_a_difference(arm, other):
    def does(worker, own, case):
        lacks = {"half": ("forward",)} if own == other else {}
        found = ok(case, metrics=lacks.get(case.label, case.passes))
        return msgspec.structs.replace(found, notes=(NO_GRADIENT,))

    pairs = [Pair(case(name), case(name)) for name in ("both", "half")]
    found = rehearse(pairs, {arm: Stub(does, arm) for arm in "AB"}, 1.0, Progress())
    assert [pair.a.passes for pair in found.pairs] == [("forward", "backward"), ("forward",)]
    assert {id: [str(one) for one in own] for id, own in found.lacking.items()} == {
        pairs[1].id: [f"backward: {arm} has it, {other} has not (autograd has no gradient)"]
    }


def test_a_pass_that_no_arm_has_or_none_was_asked_for_is_no_difference():
    def does(worker, arm, case):
        return ok(case, metrics=("forward",) if case.label != "none" else ())

    pairs = [
        Pair(case("neither"), case("neither")),
        Pair(case("unasked", ("forward",)), case("unasked", ("forward",))),
        Pair(case("none"), case("none")),
    ]
    found = rehearse(pairs, {arm: Stub(does, arm) for arm in "AB"}, 1.0, Progress())
    assert found.lacking == {} and len(found.pairs) == 2
    assert reasons_of(found.excluded) == {
        "none (data: (2, 3))": "both: forward: it was not produced; backward: it was not produced"
    }


def test_a_rehearsal_verifies_and_keeps_no_wrong_result():
    asked = []

    def does(worker, arm, case):
        asked.append(case.settings.verify)
        found = FAILED if (case.label, arm) == ("bad", "B") else PASSED
        return verified(ok(case), found if case.settings.verify else None)

    pairs = [Pair(case(name, verify=True), case(name, verify=True)) for name in ("good", "bad")]
    found = rehearse(pairs, {arm: Stub(does, arm) for arm in "AB"}, 1.0, Progress())
    assert [pair.label for pair in found.pairs] == ["good"]
    assert reasons_of(found.excluded) == {
        "bad (data: (2, 3))": "B: wrong result: output: its error is 0.01"
    }
    # The first call of a process, which is made twice, is verified once.
    assert asked == [False, True, True] * 2


def test_a_rehearsal_begins_by_compiling_what_needs_it():
    built = []

    class Compiling(Stub):
        def build(self, cases):
            built.append((self._arm, [case.label for case in cases]))

    snippet = Case(SnippetTarget("fake", "f();", language="c++", name="s"), {}, passes=("forward",))
    pairs = [Pair(case("x"), case("x")), Pair(snippet, snippet)]
    workers = {arm: Compiling(lambda worker, arm, case: ok(case), arm) for arm in "AB"}
    rehearse(pairs, workers, 1.0, Progress())
    assert built == [("A", ["s"]), ("B", ["s"])]
