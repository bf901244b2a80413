"""Changes of noisy series, by the likelihood ratio over windows at one rate of false alarms. They
are judged by the scale of each strand's noise: how far its points, and means of some of them,
scatter.

Assumption: the noise of a strand is the same all along; a step counts in a few differences only.
Source: differences, e.g. P. Hall, J. W. Kay and D. M. Titterington, Asymptotically optimal
difference-based estimation of variance in nonparametric regression, Biometrika 77 (1990),
winsorised as in P. J. Huber, Robust Statistics (1981), section 5.2. What neighbours have in common
widens a mean as in a first-order autoregression; estimates of some strands are drawn together as by
C. Stein, Proc. Third Berkeley Symposium 1 (1956).
Breaks with noise whose memory is longer than `LAG` points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from opperf.history.detection.calibration import CHANGED, Null, calibrate
from opperf.history.detection.findings import ChangeState, Rate
from opperf.history.detection.levels import (
    FARTHEST,
    NORMAL_95,
    Levels,
    compare_levels,
    pending,
    refine,
    surroundings,
)
from opperf.history.detection.likelihood import best_split, statistic
from opperf.history.detection.looks import Alarm, Judge, level_of_look
from opperf.history.detection.series import Floats, Ints, Strand, medians
from opperf.history.detection.trends import Season, find_seasons
from opperf.history.detection.windows import AFTER, CLIP, WINDOW, cut_windows, look

MOST_ROUNDS = 40
"""Changes of a strand that are looked for: one in each 25 of a thousand points."""

OPENS = 3.5
"""Standard errors by which all points of both levels differ of a change that no earlier check gave:
below what it was found by, as the points that show it first are the luckiest."""

STANDS = 2.5
"""Standard errors by which all points of both levels differ while a change stands: a little more
than half of what it was found by. Of a chance of five points so much is left after fifteen more."""

STILL_LARGE = 0.5
"""Share of the smallest change that is reported, from which on one that was stands: its size is
known to a fraction of itself."""


LAG = 5
"""Points whose difference gives the scale: far enough for what neighbours have in common to fade,
and near enough for a step to count in five differences only."""

PRIOR_POINTS = 10
"""Points' worth of the scale that is typical of all strands, in that of each: a handful of
differences is known to a factor of two."""

MEDIAN_OF_DIFFERENCES = 0.6745 * math.sqrt(2)
"""Median absolute difference of two draws of a standard normal distribution."""

MOST_DIFFERENCE = 2.5
"""Multiples of their standard deviation, by their median, that differences count as at most: of
normal noise one in eighty is larger, so that the scale is known nearly as well as without."""

ROOT_MEAN_SQUARE = 1.3983
"""That of the difference of two draws of a standard normal distribution, with that bound."""

CORRELATION_ERROR = 1.5
"""Standard error of `_correlations` of independent points, times the square root of their number:
by 3000 simulated strands each of 88 to 1000 points."""

LEAST_POINTS = 8 * LAG
"""Points from which on a strand has a correlation of its own: a step is in five of the far
differences, and of fewer points looks like one."""

MOST_CORRELATION = 0.9
"""Of neighbours: nearer to 1 a factor is that of a drift."""


def scales(strands: Sequence[Floats], floors: Sequence[float]) -> Floats:
    """Returns the standard deviation of each strand's points around their level, times the factor
    by which what neighbours have in common widens a mean of many."""
    sizes = np.array([logs.size for logs in strands], dtype=np.float64)
    own = _spreads(strands, LAG)
    widened = own * _widening(_correlations(own, _spreads(strands, 1)), sizes)
    known = widened[widened > 0]
    typical = float(np.median(known)) if known.size else 0.0
    pooled = np.sqrt((sizes * widened**2 + PRIOR_POINTS * typical**2) / (sizes + PRIOR_POINTS))
    # Equal points have no scale, and those of a machine without any noise are equal.
    return np.maximum(np.maximum(pooled, floors), 1e-9)


def _spreads(strands: Sequence[Floats], lag: int) -> Floats:
    """Standard deviations by the differences of points so far apart; 0 without any."""
    differences = [np.abs(logs[lag:] - logs[:-lag]) for logs in strands]
    most = MOST_DIFFERENCE * math.sqrt(2) / MEDIAN_OF_DIFFERENCES * medians(differences)
    squares: Floats = np.array(
        [
            float(np.mean(np.minimum(part, bound) ** 2)) if part.size else 0.0
            for part, bound in zip(differences, most.tolist(), strict=True)
        ]
    )
    found: Floats = np.sqrt(squares) / ROOT_MEAN_SQUARE
    return found


def _correlations(far: Floats, near: Floats) -> Floats:
    """Returns the correlation of neighbours, whose differences are that much smaller."""
    ratio: Floats = np.divide(near, far, out=np.ones_like(far), where=far > 0)
    return 1 - ratio**2


def _widening(correlation: Floats, sizes: Floats) -> Floats:
    """Factors by correlations, each as far from that of all strands as such differences are not by
    chance: a factor that is known to a tenth would cost more clear steps than it spares false
    ones."""
    known = sizes >= LEAST_POINTS
    if not known.any():
        return np.ones_like(correlation)
    typical = float(np.mean(correlation[known]))
    chance = CORRELATION_ERROR**2 / np.maximum(sizes, 1.0)
    real = max(0.0, float(np.var(correlation[known]) - np.mean(chance[known])))
    drawn = typical + (correlation - typical) * real / (real + chance)
    drawn = np.clip(np.where(known, drawn, typical), 0.0, MOST_CORRELATION)
    return np.sqrt((1 + drawn) / (1 - drawn))


@dataclass(frozen=True, eq=False)
class StrandChange:
    """A change of a strand, by positions of commits."""

    last_good: int
    first_bad: int
    seen_at: int
    levels: Levels
    p: float
    state: ChangeState = ChangeState.DETECTED
    split: int = -1
    """Index of its point; -1 of one between two machines."""

    @classmethod
    def at(
        cls, positions: Ints, split: int, seen: int, levels: Levels, p: float, state: ChangeState
    ) -> StrandChange:
        """Returns the change at a point, of which so many points were seen."""
        seen_at = int(positions[min(seen, positions.size) - 1])
        return cls(
            int(positions[split - 1]), int(positions[split]), seen_at, levels, p, state, split
        )


@dataclass(eq=False)
class Judged:
    """Strands, and what was found in them."""

    strands: Sequence[Strand]
    logs: list[Floats]
    """Less their seasons."""
    scale: Floats
    seasons: dict[int, Season]
    changes: dict[int, list[StrandChange]] = field(default_factory=dict)
    rests: list[Floats] = field(default_factory=list)
    """Logarithms less seasons and steps."""
    level: float = math.nan


def judge(
    strands: Sequence[Strand],
    rate: Rate,
    smallest: float,
    known: Mapping[int, Sequence[Alarm]] | None = None,
) -> Judged:
    """Returns the changes of strands; `smallest` is the share below which none is reported. Alarms
    that are `known` of a strand were given by earlier looks: all points decide whether they stand.
    """
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
        given = _with_known(alarms.get(index, []), (known or {}).get(index, ()))
        found = _with_all_points(judged, index, given, smallest)
        if found:
            judged.changes[index] = found
    return judged


def _with_known(alarms: list[Alarm], known: Sequence[Alarm]) -> list[Alarm]:
    """Returns the alarms of a strand and those known that are none of them."""
    alone = list(known)
    merged = []
    for alarm in alarms:
        same = [
            given
            for given in known
            if abs(given.split - alarm.split) <= FARTHEST and given.is_rise == alarm.is_rise
        ]
        alone = [given for given in alone if given not in same]
        merged.append(replace(alarm, is_known=bool(same)))
    return merged + alone


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
    values = (more - before) / judged.scale[alarm.strand]
    following = best_split(np.clip(values, -CLIP, CLIP), AFTER, AFTER)
    calm = more if following.statistic < CHANGED else more[: following.first]
    rest[alarm.split :] -= float(np.median(calm)) - before
    judged.rests[alarm.strand] = rest


def _with_all_points(
    judged: Judged, index: int, alarms: list[Alarm], smallest: float
) -> list[StrandChange]:
    """The changes of a strand as all its points have them, and one that is pending."""
    logs, scale = judged.logs[index], float(judged.scale[index])
    positions = judged.strands[index].positions
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
        needed = math.log1p(smallest) * (STILL_LARGE if alarm.is_known else 1.0)
        holds = (levels.shift > 0) == alarm.is_rise and abs(levels.shift) >= needed
        errors = STANDS if alarm.is_known else OPENS
        holds = holds and _errors(logs, scale, low, split, high) >= errors
        state = ChangeState.DETECTED if holds else ChangeState.WITHDRAWN
        found.append(StrandChange.at(positions, split, alarm.seen, levels, alarm.p, state))
    found.sort(key=lambda change: change.split)
    start = max([change.split for change in found], default=0)
    first = pending(logs, scale, start)
    if first < logs.size:
        before, after = logs[max(start, first - WINDOW) : first], logs[first:]
        middle = float(np.median(after))
        width = NORMAL_95 * scale * math.sqrt(1 / after.size + 1 / before.size)
        level = float(np.median(before))
        levels = Levels(level, middle, middle - level - width, middle - level + width)
        found.append(
            StrandChange.at(positions, first, logs.size, levels, math.nan, ChangeState.PENDING)
        )
    return found


def _errors(logs: Floats, scale: float, low: int, split: int, high: int) -> float:
    """The standard errors by which all points of both levels tell them apart."""
    values = logs[low:high] / scale
    values = np.clip(values - np.median(values), -CLIP, CLIP)
    return abs(statistic(values[: split - low], values[split - low :]))
