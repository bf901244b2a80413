"""Drift and seasons: levels that move without a step.

Assumption: a season is a day's or a week's, as a machine's neighbours and its temperature have
them, and repeats; a drift is a line over a window.
Source: harmonic regression, e.g. R. H. Shumway and D. S. Stoffer, Time Series Analysis and Its
Applications (4th ed., 2017), section 2.2; a step against a line of as many parameters by their sums
of squares.
Breaks in the first two periods of a season, in which it cannot be known from a step, and with
periods that are neither.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from opperf.history.detection.series import Floats, Ints
from opperf.history.detection.windows import AFTER, CLIP, STEP, WINDOW

DAY = 86_400.0

PERIODS: dict[str, float] = {"day": DAY, "week": 7 * DAY}

LEAST_PERIODS = 2.0
"""In either half of the points: what is in one half only is no season."""

LEAST_POINTS = 24
"""In either half, for six coefficients."""

PHASES, LEAST_PHASES = 8, 5
"""Parts of a period, and those that points have to be in, for its four coefficients."""

SEASON_ERRORS = 4.5
"""Standard errors of a season in both halves: in ten thousand strands none has that by chance."""

SAME_PHASE = 0.8
"""Cosine of the angle between the halves' phases, at least."""

DRIFT_ERRORS = 6.0
"""Standard errors of a strand's slope from which on it is noted: a note is no alarm, but some
thousand of them are no help."""

STEP_EVIDENCE = 10.0
"""Twice the logarithm of the likelihood ratio of a step to a line that a step needs. Eight points
of a new level of two standard deviations have 20 after 100 and 12 after 30; a drift that is as
clear as they are has -6."""

LINE_EVIDENCE, STEP_EVIDENCE_LATER = -3.0, 16.0
"""Evidence up to which a look has found a line, and that which a step needs at later looks at the
strand: a drift is looked at again at each commit, and must not look like a step once."""


class Season(NamedTuple):
    """A season of a strand."""

    period: str
    amplitude: float
    """Half of the distance from its lowest to its highest, as a logarithm."""
    values: Floats
    """Its share of each point."""


def _harmonics(phase: Floats, orders: int) -> Floats:
    angles = 2 * np.pi * phase[:, None] * np.arange(1, orders + 1)
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def _line(n: int) -> Floats:
    return np.linspace(-1, 1, n)[:, None] ** np.arange(2)


def _waves(times: Floats, logs: Floats, period: float) -> tuple[Floats, Floats]:
    """The first harmonic of each row beside a line, as complex numbers and in standard errors."""
    columns = np.concatenate([_line(times.size), _harmonics(times / period, 1)], axis=1)
    found = logs @ np.linalg.pinv(columns).T
    rest = logs - found @ columns.T
    freedom = times.size - columns.shape[1]
    error = np.sqrt(2 * np.square(rest).sum(axis=1) / freedom / times.size)
    wave = found[:, 2] + 1j * found[:, 3]
    return wave, np.abs(wave) / np.maximum(error, 1e-15)


def find_seasons(
    times: Sequence[Floats], logs: Sequence[Floats], scale: Floats
) -> dict[int, Season]:
    """Returns the seasons that both halves of a strand have, by the strand's index: none where
    times are unknown."""
    groups: dict[bytes, list[int]] = defaultdict(list)
    for index, known in enumerate(times):
        groups[known.tobytes()].append(index)
    seasons: dict[int, Season] = {}
    for members in groups.values():
        rows = np.array([logs[i] - np.median(logs[i]) for i in members])
        widest = 2 * CLIP * scale[members][:, None]
        rows = np.clip(rows, -widest, widest)
        for row, season in _find_seasons(times[members[0]], rows):
            old = seasons.get(members[row])
            if old is None or season.amplitude > old.amplitude:
                seasons[members[row]] = season
    return seasons


def _covers(times: Floats, period: float) -> bool:
    """Whether points are of enough periods, and of enough parts of one: runs of every night say
    nothing of a day's season."""
    parts = np.unique(np.floor(times / period * PHASES).astype(np.int64) % PHASES)
    return bool(np.ptp(times) >= LEAST_PERIODS * period and parts.size >= LEAST_PHASES)


def _find_seasons(times: Floats, rows: Floats) -> Iterator[tuple[int, Season]]:
    half = times.size // 2
    if half < LEAST_POINTS or not np.isfinite(times).all():
        return
    parts = [slice(0, half), slice(half, None)]
    for name, period in PERIODS.items():
        if any(not _covers(times[part], period) for part in parts):
            continue
        (one, errors), (other, other_errors) = (
            _waves(times[part], rows[:, part], period) for part in parts
        )
        clear = np.minimum(errors, other_errors) > SEASON_ERRORS
        clear &= (one * other.conj()).real > SAME_PHASE * np.abs(one) * np.abs(other)
        if not clear.any():
            continue
        waves = _harmonics(times / period, 2)
        fit = np.linalg.pinv(np.concatenate([_line(times.size), waves], axis=1))
        for row in np.flatnonzero(clear).tolist():
            values = waves @ (fit @ rows[row])[2:]
            yield row, Season(name, float(np.ptp(values)) / 2, values)


def find_drift(logs: Floats, scale: float) -> tuple[float, float]:
    """Returns the change along a line through a strand without steps, and how many of its standard
    errors that is; 0 and 0 for few points, and where its halves go in different directions."""
    n = logs.size
    if n < 2 * LEAST_POINTS:
        return 0.0, 0.0
    centred = np.clip(logs - np.median(logs), -2 * CLIP * scale, 2 * CLIP * scale)
    slopes = []
    for part in (centred, centred[: n // 2], centred[n // 2 :]):
        steps = np.arange(part.size) - (part.size - 1) / 2
        slopes.append(float(steps @ part / (steps @ steps)))
    if slopes[0] * slopes[1] <= 0 or slopes[0] * slopes[2] <= 0:
        return 0.0, 0.0
    steps = np.arange(n) - (n - 1) / 2
    rest = centred - centred.mean() - slopes[0] * steps
    error = math.sqrt(float(rest @ rest) / (n - 2) / float(steps @ steps)) * correlation(rest)
    return slopes[0] * (n - 1), slopes[0] / max(error, 1e-15)


def correlation(rest: Floats) -> float:
    """Returns the factor by which neighbours that resemble each other widen an interval of a mean:
    that of a first-order autoregression, at least 1."""
    centred = rest - rest.mean()
    total = float(centred @ centred)
    if total <= 0:
        return 1.0
    rho = min(0.9, max(0.0, float(centred[1:] @ centred[:-1]) / total))
    return math.sqrt((1 + rho) / (1 - rho))


class Checked(NamedTuple):
    """Candidates without drift."""

    shift: Floats
    """Median after the split minus that before, in scales."""
    evidence: Floats
    """Twice the logarithm of the likelihood ratio of the step to a line."""
    is_new: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    """Whether the few points of a new level begin and end with it: not where the first or the last
    of them is nearer to the old one, and others far enough away to make up for it."""


def check_steps(
    strands: Sequence[Floats], scale: Floats, strand: Ints, seen: Ints, split: Ints
) -> Checked:
    """Returns how far the splits of looks are steps and not slopes, from the points up to each
    look alone."""
    count = strand.size
    result = Checked(np.zeros(count), np.zeros(count), np.ones(count, dtype=bool))
    starts = STEP * np.maximum(0, -(-(seen - WINDOW) // STEP))
    lengths = seen - starts
    for length in np.unique(lengths):
        of_length = np.flatnonzero(lengths == length)
        rows = [strands[strand[i]][starts[i] : seen[i]] / scale[strand[i]] for i in of_length]
        values = np.array(rows)
        values -= np.median(values, axis=1, keepdims=True)
        checked = _check(values, split[of_length] - starts[of_length])
        for whole, part in zip(result, checked, strict=True):
            whole[of_length] = part
    return result


def _check(values: Floats, split: Ints) -> Checked:
    n = values.shape[1]
    at = np.arange(n)
    is_before = at[None, :] < split[:, None]
    level = np.nanmedian(np.where(is_before, values, np.nan), axis=1)
    shift = np.nanmedian(np.where(is_before, np.nan, values), axis=1) - level
    size = np.where(shift == 0, 1.0, shift)
    first = (values[np.arange(len(values)), split] - level) / size
    last = (values[:, -1] - level) / size
    is_new = (n - split >= 2 * AFTER) | ((first > 0.5) & (last > 0.5))
    values = np.clip(values, -2 * CLIP, 2 * CLIP)
    # A step's and a line's sums of squares.
    mean_before = np.nanmean(np.where(is_before, values, np.nan), axis=1, keepdims=True)
    mean_after = np.nanmean(np.where(is_before, np.nan, values), axis=1, keepdims=True)
    of_step = ((values - np.where(is_before, mean_before, mean_after)) ** 2).sum(axis=1)
    steps = at - (n - 1) / 2
    centred = values - values.mean(axis=1, keepdims=True)
    slope = centred @ steps / (steps @ steps)
    of_line = ((centred - slope[:, None] * steps) ** 2).sum(axis=1)
    evidence = n * np.log(np.maximum(of_line, 1e-9) / np.maximum(of_step, 1e-9))
    return Checked(shift, evidence, is_new)
