"""Events of machines: jumps that many series have in common, each one event."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np

from opperf.history.detection.findings import Change, EventKind, MachineEvent, State
from opperf.history.detection.returns import Move, taken_back
from opperf.history.detection.series import Series
from opperf.history.detection.strand_changes import Judged
from opperf.history.detection.windows import AFTER

MANY_SHARE, MANY = 0.1, 10
"""Share and number of a machine's series from which on changes at one commit are one event. A
tenth that one change of code slows is one cause as well, and is looked at as one."""

BASELINE = 20
"""Runs before one that say what the machine was like."""

LEAST_RUNS = 8
"""Runs before the first that can be an excursion."""

EXCURSION_SCALES = 6.0
"""Scales from the runs before, from which on a run is an excursion."""


def shifts(judged: Judged, series: Sequence[Series]) -> list[MachineEvent]:
    """Returns the changes of what all series of a machine have in common."""
    counts: dict[str, int] = defaultdict(int)
    for strand in judged.strands:
        counts[strand.environment] += strand.series >= 0
    found = []
    for index, changes in judged.changes.items():
        strand = judged.strands[index]
        if strand.series >= 0:
            continue
        detected = [change for change in changes if change.state is State.DETECTED]
        moves = [
            Move(int(strand.positions[change.split]), change.levels.before, change.levels.after)
            for change in detected
        ]
        found += [
            MachineEvent(
                strand.environment,
                EventKind.SHIFT,
                int(strand.positions[change.split - 1]),
                move.position,
                math.exp(change.levels.shift),
                counts[strand.environment],
                p=change.p,
                taken_back=back,
            )
            for change, move, back in zip(detected, moves, taken_back(moves), strict=True)
        ]
    return found


def excursions(judged: Judged, smallest: float) -> list[MachineEvent]:
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
            MachineEvent(
                strand.environment,
                EventKind.EXCURSION,
                int(strand.positions[first - 1]),
                int(strand.positions[first]),
                math.exp(float(np.median(away[first:end]))),
                sum(other.environment == strand.environment for other in judged.strands) - 1,
                taken_back=int(strand.positions[end]) if end < rest.size else None,
            )
            for first, end in bounds.reshape(-1, 2)
            if end - first < AFTER
        ]
    return found


def group(
    found: list[list[Change]], judged: Judged
) -> tuple[list[list[Change]], list[MachineEvent]]:
    """Returns the changes, those marked that many series of a machine have at one commit, and an
    event for each such commit."""
    sizes: dict[str, int] = defaultdict(int)
    for strand in judged.strands:
        sizes[strand.environment] += strand.series >= 0
    together: dict[tuple[str, int, bool], list[Change]] = defaultdict(list)
    for changes in found:
        for change in changes:
            if change.state is State.DETECTED and not math.isnan(change.p) and change.p > 0:
                together[change.environment, change.first_bad, change.ratio > 1].append(change)
    events = {}
    for place, members in together.items():
        if len(members) >= max(MANY, MANY_SHARE * sizes[place[0]]):
            events[place] = MachineEvent(
                place[0],
                EventKind.MANY,
                max(change.last_good for change in members),
                place[1],
                float(np.median([change.ratio for change in members])),
                len(members),
                tuple(sorted(change.key for change in members)),
                min(change.p for change in members),
                taken_back=_most_taken_back(members),
            )
    marked = [
        [
            msgspec.structs.replace(change, of_machine=True)
            if change.p > 0
            and change.state is State.DETECTED
            and (change.environment, change.first_bad, change.ratio > 1) in events
            else change
            for change in changes
        ]
        for changes in found
    ]
    return marked, list(events.values())


def _most_taken_back(members: Sequence[Change]) -> int | None:
    """Returns the position at which most of the changes were taken back; None before."""
    back = sorted(change.taken_back for change in members if change.taken_back is not None)
    most = len(members) // 2 + 1
    return back[most - 1] if len(back) >= most else None
