"""Events of machines: jumps that most series have in common, each one event.

Assumption: what slows a machine slows nearly all of its series by much the same factor; a change of
code that slows many leaves others as they were. Many changes at one commit, fewer than most, are
those of their series.
Breaks with a change of code that slows all by one factor, which is taken for the machine's, and
with machines whose neighbours slow a part of the series: these are said to be either.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from opperf.history.detection.findings import ChangeState, EventKind, LevelChange, taken_back
from opperf.history.detection.strand_changes import Judged, StrandChange
from opperf.history.detection.windows import AFTER

MOST = 0.8
"""Share of a machine's series that have a common move, from which on it is the machine's: what
slows a machine slows nearly all by much the same factor. Below it, a commit may have done it."""

BEHIND_SHARE, BEHIND = 0.1, 10
"""Share and number of a machine's series from which on those that had no part in a move of the
others, and so seem to move back, are none that changed."""

HALF = 0.5
"""Share of a move from which on a series that moved back by as much did not have it."""

CLEAR = 2.0
"""Standard errors by which it moved back further than that, until it is said."""

BASELINE = 20
"""Runs before one that say what the machine was like."""

LEAST_RUNS = 8
"""Runs before the first that can be an excursion."""

EXCURSION_SCALES = 6.0
"""Scales from the runs before, from which on a run is an excursion."""


def moves(judged: Judged) -> Iterator[LevelChange]:
    """Yields the changes of what the series of a machine have in common, of a part of them, `MANY`,
    where many others do not have it."""
    members: dict[str, list[int]] = defaultdict(list)
    for index, strand in enumerate(judged.strands):
        if strand.series >= 0:
            members[strand.environment].append(index)
    for index, changes in judged.changes.items():
        strand = judged.strands[index]
        if strand.series >= 0:
            continue
        detected = [change for change in changes if change.state is ChangeState.DETECTED]
        backs = taken_back(
            [(change.first_bad, change.levels.before, change.levels.after) for change in detected]
        )
        of_machine = members[strand.environment]
        for change, back in zip(detected, backs, strict=True):
            behind = sum(_is_behind(judged, i, change) for i in of_machine)
            having = len(of_machine) - behind
            is_common = having >= MOST * len(of_machine)
            yield LevelChange(
                "",
                strand.environment,
                change.last_good,
                change.first_bad,
                ratio=math.exp(change.levels.shift),
                method=(EventKind.SHIFT if is_common else EventKind.MANY).value,
                count=len(of_machine) if is_common else having,
                p=change.p,
                taken_back=back,
            )


def _is_behind(judged: Judged, index: int, move: StrandChange) -> bool:
    """Whether a series had no part in what its machine's series have in common: less that, it moved
    back by about as much."""
    logs = judged.logs[index]
    at = int(np.searchsorted(judged.strands[index].positions, move.first_bad))
    before, after = logs[max(0, at - BASELINE) : at], logs[at : at + BASELINE]
    if min(before.size, after.size) < AFTER:
        return False
    error = float(judged.scale[index]) * math.sqrt(1 / before.size + 1 / after.size)
    shift = move.levels.shift
    back = -math.copysign(1, shift) * float(np.median(after) - np.median(before))
    return back > HALF * abs(shift) + CLEAR * error


def excursions(judged: Judged, smallest: float) -> list[LevelChange]:
    """Returns the runs, fewer than a change needs, in which all series of a machine were away from
    where they had been; the last ones may be the beginning of a shift."""
    found = []
    for index, strand in enumerate(judged.strands):
        if strand.series >= 0:
            continue
        rest = judged.rests[index]
        needed = max(EXCURSION_SCALES * float(judged.scale[index]), math.log1p(smallest))
        away = np.zeros(rest.size)
        for i in range(LEAST_RUNS, rest.size):
            away[i] = rest[i] - np.median(rest[max(0, i - BASELINE) : i])
        is_away = np.abs(away) > needed
        bounds = np.flatnonzero(np.diff(np.concatenate([[0], is_away, [0]]).astype(np.int64)))
        found += [
            LevelChange(
                "",
                strand.environment,
                int(strand.positions[first - 1]),
                int(strand.positions[first]),
                ratio=math.exp(float(np.median(away[first:end]))),
                method=EventKind.EXCURSION.value,
                count=sum(peer.environment == strand.environment for peer in judged.strands) - 1,
                taken_back=int(strand.positions[end]) if end < rest.size else None,
            )
            for first, end in bounds.reshape(-1, 2)
            if end - first < AFTER
        ]
    return found


def mark_behind(
    found: Sequence[Sequence[LevelChange]], moved: Sequence[LevelChange], judged: Judged
) -> list[list[LevelChange]]:
    """Returns the changes, those marked that many series have because they had no part in a move of
    the others of their machine. Changes of many series at one commit beside no such move are those
    of the code."""
    sizes = Counter(strand.environment for strand in judged.strands if strand.series >= 0)
    marked: set[int] = set()
    for move in moved:
        behind = [change for changes in found for change in changes if _seems_back(change, move)]
        if len(behind) >= max(BEHIND, BEHIND_SHARE * sizes[move.environment]):
            marked.update(map(id, behind))
    return [
        [
            msgspec.structs.replace(change, of_machine=True) if id(change) in marked else change
            for change in changes
        ]
        for changes in found
    ]


def _seems_back(change: LevelChange, move: LevelChange) -> bool:
    """Whether a change takes back a move of a machine, at its commit and by about as much."""
    if (
        change.environment != move.environment
        or change.state is not ChangeState.DETECTED
        # An exact metric has no part in what a machine does.
        or not change.p > 0
        or abs(change.first_bad - move.first_bad) > AFTER
    ):
        return False
    share = -math.log(change.ratio) / math.log(move.ratio)
    return HALF <= share <= 1 + HALF
