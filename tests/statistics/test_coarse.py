"""The coarse look: which cases changed by much with all threads."""

import math

import msgspec
import pytest

from opperf.statistics.data import Thresholds
from opperf.statistics.decisions import coarse_looks
from opperf.statistics.verdicts import analyse

BLOCKS = 4
THRESHOLDS = Thresholds(control_blocks=2, block_cap=4, coarse_blocks=BLOCKS)

SCATTER = 0.13
"""Scatter of a process whose blocks scatter by as much: an effect is half of the sum of four."""

TEN = {f"case{number}": 0.0 for number in range(10)}


def changes(look):
    return {one.case: one.verdict for one in look.cases if one.verdict != "no clear change"}


@pytest.mark.parametrize(
    "factor, changed", [(2.0, "regressed"), (0.5, "improved"), (1.15, None), (1.0, None)]
)
def test_a_large_change_is_found_in_its_direction(noisy, factor, changed):
    effect = {**TEN, "case3": math.log(factor)}
    look = coarse_looks([noisy("coarse", BLOCKS, effect, sd=0.01)], THRESHOLDS)[0]
    assert changes(look) == ({"case3": changed} if changed else {})
    (found,) = (one for one in look.cases if one.case == "case3")
    assert look.n_blocks == found.n_blocks == BLOCKS
    assert found.low < found.effect < found.high
    assert found.ratio == pytest.approx(factor, rel=0.05)


def test_of_noisy_cases_the_doubled_one_is_found_in_most_sessions_and_hardly_any_other(noisy):
    sessions = 40
    effect = {**TEN, "case3": math.log(2.0)}
    looks = [
        coarse_looks([noisy("coarse", BLOCKS, effect, seed=seed, sd=SCATTER)], THRESHOLDS)[0]
        for seed in range(sessions)
    ]
    assert sum("case3" in changes(look) for look in looks) > 0.8 * sessions
    assert sum(bool(changes(look).keys() - {"case3"}) for look in looks) <= 0.05 * sessions


def test_there_is_no_look_before_its_blocks_are_complete(noisy):
    measured = noisy("coarse", BLOCKS, TEN)
    assert coarse_looks([measured[:-1]], THRESHOLDS)[0] is None
    assert coarse_looks([[]], THRESHOLDS)[0] is None
    assert coarse_looks([[]], Thresholds())[0] is None


def test_a_case_with_too_few_blocks_has_no_p_value(noisy):
    measured = [
        msgspec.structs.replace(
            one, values={name: v for name, v in one.values.items() if name != "case3" or one.block}
        )
        for one in noisy("coarse", 2, {**TEN, "case3": 3.0})
    ]
    look = coarse_looks([measured], msgspec.structs.replace(THRESHOLDS, coarse_blocks=2))[0]
    (found,) = (one for one in look.cases if one.case == "case3")
    assert (found.n_blocks, found.p, found.verdict) == (1, None, "no clear change")


def test_the_verdicts_are_those_of_a_session_without_it(noisy):
    session = [*noisy("control", 2, TEN), *noisy("comparison", 4, {**TEN, "case1": 0.1})]
    coarse = noisy("coarse", BLOCKS, {**TEN, "case3": 1.0, "other": 1.0})
    alone, both = analyse(session, THRESHOLDS), analyse([*session, *coarse], THRESHOLDS)
    assert alone.coarse is None
    assert changes(both.coarse) == {"case3": "regressed", "other": "regressed"}
    assert msgspec.structs.replace(both, coarse=None) == alone
