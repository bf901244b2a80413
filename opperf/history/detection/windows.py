"""The statistic of every look at a strand: the best split of a window that ends at its point.

A look is what a check sees when a commit has just been measured. A window has 150 points and begins
every 25, and each look belongs to the window in whose last 25 points it ends: it sees all of the
first 150 points, and 126 or more later on. A small step needs many points on both sides. The best
split over all looks is that over all splits and ends: looking once at a year of points finds what
looking at each commit found.

Points count as at most `CLIP` standard deviations from the window's median: one stray point among
the few of a new level would otherwise decide.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opperf.history.detection.likelihood import Factors, Singles, best_splits, factors
from opperf.history.detection.series import Floats, Ints, medians

WINDOW, STEP = 150, 25
"""Points of a window, and from one to the next. Of a step of 1.5 standard deviations, 3 % at 2 %,
the 50 points of half a year of working days on either side leave no doubt."""

SHORT = 40
"""Points up to which a look has a distribution of its own: the scale of so few is a rough one."""

BEFORE, AFTER = 4, 4
"""Points on either side of a split, at least. Of fewer before, the level is not known. Three stray
points in a row occur in a month of some thousand series, four do not."""

CLIP = 4.0
"""Standard deviations: four points of a new level that far are nine standard errors."""

CHUNK = 128
"""Windows at a time: their sums, below 1 MB, stay in a cache, and threads seldom wait."""

MOST_THREADS = 4


class Looks(NamedTuple):
    """Looks at strands, in the order of strands and points."""

    strand: Ints
    seen: Ints
    """Points of the strand up to and with that of the look."""
    split: Ints
    """Index of the first point after the best split."""
    statistic: Floats
    is_short: NDArray[np.bool_]
    """Whether it is among the first points of a strand."""

    def those(self, chosen: NDArray[np.bool_] | Ints) -> Looks:
        columns: Any = [column[chosen] for column in self]
        return Looks(*columns)


class Windows(NamedTuple):
    """Windows of strands, as multiples of the strand's scale from the window's median, and their
    first point's index; padded to `WINDOW` with the last."""

    values: Singles
    strand: Ints
    start: Ints
    size: Ints


def cut_windows(strands: Sequence[Floats], scale: Floats) -> Windows:
    """Returns the windows of all strands that have a look."""
    sizes = np.array([logs.size for logs in strands], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    usable = sizes >= BEFORE + AFTER
    counts = np.where(usable, 1 + np.maximum(0, -(-(sizes - WINDOW) // STEP)), 0)
    strand = np.repeat(np.arange(sizes.size), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    start = (np.arange(strand.size) - first) * STEP
    size = np.minimum(WINDOW, sizes[strand] - start)
    within = np.minimum(np.arange(WINDOW)[None, :], size[:, None] - 1)
    # Around the strand's own median, halves of doubles are right to a millionth of its scale.
    levels = medians(strands)
    scaled = [(logs - level) / own for logs, level, own in zip(strands, levels, scale, strict=True)]
    flat = np.concatenate([*scaled, np.empty(0)]).astype(np.float32)
    values = flat[(offsets[strand] + start)[:, None] + within]
    for length in np.unique(size):
        of_length = size == length
        centre = np.median(values[of_length, :length], axis=1)
        values[of_length] -= centre[:, None]
    np.clip(values, -CLIP, CLIP, out=values)
    return Windows(values, strand, start, size)


def statistics(values: Singles, by: Factors) -> tuple[Singles, Ints]:
    """Returns the best split of each window at each end, and its statistic: arrays of windows by
    ends."""
    best = np.empty((len(values), by.end.size), dtype=np.float32)
    split = np.empty(best.shape, dtype=np.int64)

    def judge(low: int) -> None:
        chunk = slice(low, low + CHUNK)
        best[chunk], split[chunk] = best_splits(values[chunk], by)

    with ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1)) as pool:
        list(pool.map(judge, range(0, len(values), CHUNK)))
    return best, split


def look(windows: Windows) -> Looks:
    """Returns the looks of windows."""
    parts: list[Looks] = []
    kinds = np.unique(np.stack([windows.size, windows.start == 0]), axis=1)
    for length, is_first in kinds.T:
        chosen = np.flatnonzero((windows.size == length) & ((windows.start == 0) == is_first))
        first_end = BEFORE + AFTER if is_first else WINDOW - STEP + 1
        by = factors(int(length), BEFORE, first_end)
        best, split = statistics(windows.values[chosen, :length], by)
        ends = np.broadcast_to(by.end, best.shape)
        start = windows.start[chosen][:, None]
        parts.append(
            Looks(
                np.broadcast_to(windows.strand[chosen][:, None], best.shape).ravel(),
                (start + ends).ravel(),
                (start + split).ravel(),
                best.astype(np.float64).ravel(),
                (is_first & (ends <= SHORT)).ravel(),
            )
        )
    none = np.empty(0, dtype=np.int64)
    parts.append(Looks(none, none, none, np.empty(0), np.empty(0, dtype=np.bool_)))
    return Looks(*map(np.concatenate, zip(*parts, strict=True)))
