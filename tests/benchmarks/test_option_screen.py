"""Screening: pairs in turns, and which variants are suspected."""

import math

import pytest

from benchmarks.inputs.option_scan.screen import (
    FIRST_PAIRS,
    MOST_PAIRS,
    SLOW_S,
    Screen,
    Screened,
    candidates,
    paced,
)
from benchmarks.inputs.option_scan.variants import Variant
from opperf.instruments.profilers.summary import summarise
from opperf.model import Case, Kind, Operator, OperatorTarget, Parameter, Record, Status, TensorSpec
from opperf.worker.protocol import Trial

OPERATOR = Operator("fake", "nd", "shift", parameters=(Parameter("data", Kind.TENSOR, True),))
CASE = Case(OperatorTarget("fake", "shift"), {"data": TensorSpec((4,))}, passes=("forward",))


class Machine:
    """A worker whose times are set: `ratios` of the case with the value, visit by visit."""

    def __init__(self, ratios=(1.0,), refusal="", status=Status.OK, busy_s=0.002):
        self.ratios, self.refusal, self.status, self.busy_s = list(ratios), refusal, status, busy_s
        self.visits = []

    def try_call(self, case, timeout_s):
        return Trial(refusal=self.refusal, arguments=dict(case.arguments))

    def measure(self, case):
        tried = "mode" in case.arguments
        ns = 1000.0
        if case.settings.runs is None or self.busy_s / 2 > SLOW_S:
            self.visits.append("B" if tried else "A")
        if tried:
            ns *= self.ratios[min(self.visits.count("B") - 1, len(self.ratios) - 1)]
        return Record(
            case=case,
            id=case.id,
            status=self.status if tried else Status.OK,
            reason="lost",
            summaries={"forward": summarise([ns], "ns")},
            busy_s=self.busy_s,
        )


def screened(machine):
    return Screen(machine).first(Variant(CASE, "mode", "wrap"), OPERATOR)


def test_one_without_an_effect_has_few_pairs_in_turns():
    machine = Machine([1.02])
    found = screened(machine)
    assert "".join(machine.visits) == "ABBA" and FIRST_PAIRS == 2
    assert not found.suspected and found.before == {"forward": 1000.0}


def test_one_that_is_apart_has_more_pairs_and_is_suspected_by_their_median():
    machine = Machine([1.5, 1.5, 9.0, 0.1, 1.5])
    found = screened(machine)
    assert machine.visits.count("B") == MOST_PAIRS
    assert found.suspected == {"forward": pytest.approx(math.log(1.5))}


def test_one_that_was_disturbed_is_not_suspected():
    assert not screened(Machine([1.6, 1.0, 1.0, 1.01, 0.99])).suspected


def test_a_refusal_and_a_crash_have_their_reasons():
    assert screened(Machine(refusal="no such mode")).reason == "refused: no such mode"
    found = screened(Machine(status=Status.CRASHED))
    assert found.reason == "with the value: crashed: lost" and not found.ratios


def test_a_slow_case_is_called_once_and_compared_once():
    machine = Machine([1.0], busy_s=4 * SLOW_S)
    found = screened(machine)
    # Two visits of each beforehand and one pair.
    assert machine.visits.count("B") == 2 and not found.suspected
    assert paced(CASE, found.call_s, 1.0).settings.runs == 1
    assert paced(CASE, 0.0, 1.0).settings.max_time_s == 1.0


def result(process, **ratios):
    variant = Variant(CASE, "mode", "wrap")
    logs = {one: [math.log(ratio)] for one, ratio in ratios.items()}
    return Screened(variant.key, variant, process, CASE, ratios=logs)


@pytest.mark.parametrize(
    ("first", "second", "passes"),
    [
        ({"forward": 1.5, "backward": 1.0}, {"forward": 1.4, "backward": 1.6}, ("forward",)),
        ({"forward": 0.5}, {"forward": 0.5}, ("forward",)),
        ({"forward": 1.5}, {"forward": 0.5}, ()),
        ({"forward": 1.5}, {"forward": 1.1}, ()),
    ],
)
def test_candidates_are_apart_in_both_processes_on_one_side(first, second, passes):
    found = candidates([result(1, **first), result(2, **second)])
    assert tuple(found.values()) == ((passes,) if passes else ())
