"""What a rehearsal keeps, and how long it expects processes to take."""

import msgspec
import pytest

from opperf.comparison.ab.deadline import Deadline
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.process import reasons_of
from opperf.comparison.ab.rehearsal import rehearse
from opperf.errors import TimeLimitError
from opperf.execution.progress import Progress
from opperf.model import Case, Note, NoteCode, SnippetTarget, Status
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
    assert {id: [str(one) for one in own] for id, own in found.lacking["B"].items()} == {
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


class Calls:
    """Arms whose calls of a case take so many seconds, one after the other; None takes too long."""

    def __init__(self, **seconds):
        self.left = {arm: list(own) for arm, own in seconds.items()}
        self.asked = []

    def __call__(self, worker, arm, case):
        self.asked.append((arm, case.settings.timeout_s))
        seconds = self.left[arm].pop(0)
        if seconds is None:
            return crashed(case, Status.TIMEOUT)
        return ok(case, value=1e9 * seconds, wall_s=seconds + 0.5, busy_s=seconds)

    def rehearse(self, pairs=1, **options):
        named = [Pair(*[case(f"x{n}", ("forward",), timeout_s=300.0)] * 2) for n in range(pairs)]
        workers = {arm: Stub(self, arm) for arm in "AB"}
        return rehearse(named, workers, 0.05, Progress(), **options)

    @property
    def arms(self):
        return "".join(arm for arm, _ in self.asked)


def test_long_calls_are_made_twice_in_each_arm():
    calls = Calls(A=[20, 20, 20, 20], B=[26, 26, 26, 26])
    found = calls.rehearse(pairs=2)
    assert calls.arms == "AAAABBBB"
    assert [one.arms["B"].seconds["forward"] for one in found.slow.values()] == [26, 26]
    assert all(one.arms["A"].is_steady and not one.decided for one in found.slow.values())


def test_quick_calls_are_visited_once_but_for_the_first_of_a_process():
    calls = Calls(A=[0.01] * 3, B=[0.01] * 3)
    found = calls.rehearse(pairs=2)
    assert calls.arms == "AAABBB" and found.slow == {}
    assert list(found.visit_s.values()) == [pytest.approx(0.51 + 0.06)] * 2


def test_a_large_ratio_decides_and_the_later_call_is_ended():
    calls = Calls(A=[0.1, 0.1, 0.1], B=[20, None])
    (slow,) = calls.rehearse(loss=0.0).slow.values()
    assert slow.decided == ("forward",) and slow.arms["B"].least_s == 1.0
    # Its inputs have the time that they took before; and A is called once more.
    assert calls.asked[3] == ("B", pytest.approx(1.5)) and calls.arms == "AABBA"


def test_without_a_search_nothing_is_decided():
    calls = Calls(A=[0.1, 0.1], B=[20, 20])
    (slow,) = calls.rehearse().slow.values()
    assert slow.decided == () and calls.arms == "AABB"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        # The first call alone was long; and A has become as slow since.
        ([0.1, 0.1], [20, 0.1]),
        ([0.1, 0.1, 15], [20, None]),
    ],
)
def test_a_ratio_in_doubt_is_left_to_blocks(a, b):
    calls = Calls(A=a, B=b)
    (slow,) = calls.rehearse(loss=0.0).slow.values()
    assert slow.decided == () and calls.left == {"A": [], "B": []}


def test_a_commit_as_fast_as_good_is_decided_where_the_loss_is_large():
    for loss, decided in ((0.0, ()), (5.0, ("forward",))):
        calls = Calls(A=[0.1, 0.1], B=[0.11, 0.1])
        (slow,) = calls.rehearse(loss=loss).slow.values()
        assert slow.decided == decided and calls.arms == "AABB"


def test_a_case_that_takes_too_long_is_not_called_again():
    calls = Calls(A=[0.1, 0.1], B=[None])
    found = calls.rehearse(loss=0.0)
    assert [one.is_missing for one in found.excluded] == [True] and calls.arms == "AAB"


def test_what_the_deadline_stops_is_not_missing():
    now = [0.0]
    deadline = Deadline(30.0, lambda: now[0])

    def does(worker, arm, case):
        now[0] += 16
        left = [16.0] if case.settings.timeout_s >= 16 else [None]
        return Calls(A=left, B=left)(worker, arm, case)

    pair = Pair(*[case("x", ("forward",), timeout_s=300.0)] * 2)
    workers = {arm: Stub(does, arm) for arm in "AB"}
    with pytest.raises(TimeLimitError, match="30 s of --timeout: 1 of 2 first calls made"):
        rehearse([pair], workers, 0.05, Progress(), deadline)
