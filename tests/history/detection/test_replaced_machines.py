"""Levels that come back, and changes at the replacement of a machine."""

import math

import numpy as np
import pytest

from opperf.history.detection.findings import Rate, taken_back
from opperf.history.detection.looks import Alarm
from opperf.history.detection.replacements import carried_changes
from opperf.history.detection.series import Strand
from opperf.history.detection.strand_changes import StrandChange, judge


@pytest.mark.parametrize(
    "levels, expected",
    [
        # Back to the old level, or to within .3 of the change.
        ([0.0, 1.0, 0.0], [2, None]),
        ([0.0, 1.0, 0.3], [2, None]),
        ([0.0, 1.0, 0.31], [None, None]),
        ([0.0, -1.0, -0.2], [2, None]),
        # Beyond it.
        ([0.0, 1.0, -0.5], [2, None]),
        # The second step down suffices for both.
        ([0.0, 1.0, 0.5, 0.0], [3, None, None]),
        ([0.0, 1.0, 2.0, 1.0, 0.0], [4, 3, None, None]),
        # Further up is no way back.
        ([0.0, 1.0, 2.0], [None, None]),
        # A fall that is taken back, and a rise that is.
        ([0.0, 1.0, 0.0, 1.0], [2, 3, None]),
    ],
)
def test_a_change_is_taken_back_by_the_first_that_has_the_old_level(levels, expected):
    moves = [(at + 1, *levels[at : at + 2]) for at in range(len(levels) - 1)]
    assert taken_back(moves) == expected


OLD, NEW = 60, 20
FIRST = 2 * OLD
"""Position of the first run of the new machine: runs are at even ones."""


def replaced(changed: dict[int, tuple[int, float]], count: int = 14) -> list[Strand]:
    """Series on two machines, the second a fifth faster; some change, by the index of a point."""
    strands = []
    for series in range(count):
        logs = 0.01 * np.random.default_rng(series).standard_normal(OLD + NEW)
        logs[OLD:] += math.log(0.8)
        if series in changed:
            at, factor = changed[series]
            logs[at:] += math.log(factor)
        for name, part in (("new", slice(OLD, None)), ("old", slice(OLD))):
            positions = 2 * np.arange(OLD + NEW)[part]
            key, times = f"s{series}", positions * 1.0
            strand = Strand(series, key, name, positions, logs[part], times, 0.0)
            strands.append(strand)
    return strands


def carried(
    strands: list[Strand], known: dict[int, list[Alarm]] | None = None
) -> list[tuple[int, StrandChange]]:
    return carried_changes(judge(strands, Rate(), 0.02), 0.02, known or {})


def test_a_machine_that_is_replaced_changes_no_series():
    assert carried(replaced({})) == []


@pytest.mark.parametrize("at", (OLD - 3, OLD, OLD + 2))
@pytest.mark.parametrize("factor", (1.2, 1 / 1.2))
def test_a_change_near_the_replacement_is_found_with_its_ratio(at: int, factor: float):
    strands = replaced({5: (at, factor)})
    ((index, change),) = carried(strands)
    assert (strands[index].series, strands[index].environment) == (5, "new")
    assert (change.last_good, change.first_bad) == (2 * at - 2, 2 * at)
    assert change.levels.shift == pytest.approx(math.log(factor), abs=0.02)
    # In the measure of the new machine.
    assert change.levels.before == pytest.approx(math.log(0.8), abs=0.02)
    assert change.p < 1e-6 and FIRST <= change.seen_at < FIRST + 2 * NEW


def test_a_change_after_some_runs_of_the_new_machine_is_found_among_its_own():
    strands = replaced({5: (OLD + 6, 1.2)})
    judged = judge(strands, Rate(), 0.02)
    assert carried_changes(judged, 0.02, {}) == []
    ((index, (change,)),) = judged.changes.items()
    assert (strands[index].series, strands[index].environment, change.split) == (5, "new", 6)


def test_few_series_say_nothing_of_machines():
    assert carried(replaced({5: (OLD, 1.2)}, count=9)) == []
