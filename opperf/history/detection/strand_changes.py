"""Changes of noisy series, by E-divisive over windows at one rate of false alarms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from opperf.history.detection.calibration import CHANGED, Null, calibrate
from opperf.history.detection.energy import best_split
from opperf.history.detection.findings import Rate, State
from opperf.history.detection.levels import (
    Levels,
    compare_levels,
    pending,
    refine,
    surroundings,
)
from opperf.history.detection.looks import Alarm, Judge, level_of_look
from opperf.history.detection.series import Floats, Strand
from opperf.history.detection.trends import Season, find_seasons
from opperf.history.detection.windows import (
    AFTER,
    CLIP,
    NORMAL_DISTANCE,
    WINDOW,
    cut_windows,
    look,
    scales,
)

MOST_ROUNDS = 40
"""Changes of a strand that are looked for: one in each 25 of a thousand points."""

BORNE_OUT = 0.3
"""Share of a change's size at its alarm that all later points of its level have to leave; the size
is known to a tenth then, and what is left of a stray stretch is nearer to nothing."""


@dataclass(frozen=True, eq=False)
class StrandChange:
    """A change of a strand, by indices of its points."""

    split: int
    seen: int
    """Points when it was detected."""
    levels: Levels
    p: float
    state: State


@dataclass(eq=False)
class Judged:
    """Strands, and what was found in them."""

    strands: Sequence[Strand]
    logs: list[Floats]
    """Less their seasons."""
    scale: Floats
    seasons: dict[int, Season]
    changes: dict[int, list[StrandChange]] = field(default_factory=dict)
    drifting: set[int] = field(default_factory=set)
    """Strands that would have been alarms, if they were not nearer to a line."""
    rests: list[Floats] = field(default_factory=list)
    """Logarithms less seasons and steps."""
    level: float = math.nan


def judge(strands: Sequence[Strand], rate: Rate, smallest: float) -> Judged:
    """Returns the changes of strands; `smallest` is the share below which none is reported."""
    floors = [strand.floor for strand in strands]
    scale = scales([strand.logs for strand in strands], floors)
    logs = [strand.logs for strand in strands]
    seasons = find_seasons([strand.times for strand in strands], logs, scale)
    for index, season in seasons.items():
        logs[index] = logs[index] - season.values
    if seasons:
        scale = scales(logs, floors)
    judged = Judged(strands, logs, scale, seasons)
    alarms = _alarms(judged, rate, smallest)
    for index in range(len(strands)):
        found = _with_all_points(judged, index, alarms.get(index, []), smallest)
        if found:
            judged.changes[index] = found
    return judged


def _alarms(judged: Judged, rate: Rate, smallest: float) -> dict[int, list[Alarm]]:
    """The alarms at all looks; leaves in `rests` what remains without their steps."""
    judged.rests = list(judged.logs)
    windows = cut_windows(judged.logs, judged.scale)
    if not windows.strand.size:
        return {}
    looks = look(windows)
    null: Null = calibrate(windows, looks)
    judged.level = level_of_look(rate, judged.strands)
    jury = Judge(judged.strands, judged.scale, null, judged.level, smallest)
    new = jury.first_round(judged.logs, looks)
    alarms: dict[int, list[Alarm]] = {}
    for _ in range(MOST_ROUNDS):
        if not new:
            break
        for alarm in new:
            alarms.setdefault(alarm.strand, []).append(alarm)
            _take_step_away(judged, alarm)
        affected = sorted({alarm.strand for alarm in new})
        some = [judged.rests[strand] for strand in affected]
        again = look(cut_windows(some, judged.scale[affected]))
        numbers = np.array(affected, dtype=np.int64)
        again.strand[:] = numbers[again.strand]
        after = {strand: (alarms[strand][-1].seen, alarms[strand][-1].split) for strand in affected}
        new = jury.next_round(judged.rests, again, after)
    judged.drifting = set(jury.drifting)
    return alarms


def _take_step_away(judged: Judged, alarm: Alarm) -> None:
    """Subtracts a step from the points after it, so that the next one is looked for around what the
    strand was before. The points that the alarm saw decide where it is, and later ones how large,
    up to half a window."""
    rest = judged.rests[alarm.strand].copy()
    low = max(0, alarm.split - WINDOW)
    before = float(np.median(rest[low : alarm.split]))
    rest[alarm.split :] -= float(np.median(rest[alarm.split : alarm.seen])) - before
    # The size by four points is rough: the rest is taken by those until something else happens.
    more = rest[alarm.split : alarm.split + WINDOW // 2]
    following = best_split(
        np.clip((more - before) / judged.scale[alarm.strand], -CLIP, CLIP), AFTER, AFTER
    )
    calm = more if following.statistic < CHANGED * NORMAL_DISTANCE else more[: following.first]
    rest[alarm.split :] -= float(np.median(calm)) - before
    judged.rests[alarm.strand] = rest


def _with_all_points(
    judged: Judged, index: int, alarms: list[Alarm], smallest: float
) -> list[StrandChange]:
    """The changes of a strand as all its points have them, and one that is pending."""
    logs, scale = judged.logs[index], float(judged.scale[index])
    splits = sorted({alarm.split for alarm in alarms})
    moved: dict[int, int] = {}
    for split in splits:
        low, high = surroundings(split, splits, logs.size)
        moved[split] = refine(logs, scale, split, low, high)
    bounds = sorted(set(moved.values()))
    found = []
    for alarm in alarms:
        split = moved[alarm.split]
        low, high = surroundings(split, bounds, logs.size)
        if min(split - low, high - split) < 2:
            continue
        levels = compare_levels(logs[low:split], logs[split:high])
        then = float(np.median(logs[alarm.split : alarm.seen])) - levels.before
        holds = levels.shift * then > 0 and abs(levels.shift) >= BORNE_OUT * abs(then)
        holds = holds and abs(levels.shift) >= math.log1p(smallest)
        state = State.DETECTED if holds else State.WITHDRAWN
        found.append(StrandChange(split, alarm.seen, levels, alarm.p, state))
    found.sort(key=lambda change: change.split)
    start = max([change.split for change in found], default=0)
    first = pending(logs, scale, start)
    if first < logs.size:
        before, after = logs[max(start, first - WINDOW) : first], logs[first:]
        middle = float(np.median(after))
        width = 1.96 * scale * math.sqrt(1 / after.size + 1 / before.size)
        level = float(np.median(before))
        levels = Levels(level, middle, middle - level - width, middle - level + width)
        found.append(StrandChange(first, logs.size, levels, math.nan, State.PENDING))
    return found
