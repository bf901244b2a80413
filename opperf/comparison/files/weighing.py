"""Weights the cases of two files by their counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from opperf.comparison.files.entries import Entry, Figure
from opperf.comparison.files.joining import Pair
from opperf.comparison.statistics.weights import Alone, Weighed, Weighted, weigh
from opperf.errors import RunFileError, UsageError
from opperf.model import PASSES


def weigh_pairs(pairs: Sequence[Pair], compared: Sequence[str], averages: bool) -> Weighted:
    """Returns the totals of the cases that both files have times of. The time of a call is the sum
    of the passes among the compared metrics.

    Raises `UsageError` if only other metrics are compared, and `RunFileError` if neither file has
    counts, or no case has a time in both.
    """
    metrics = [metric for metric in PASSES if metric in compared]
    if compared and not metrics:
        raise UsageError(
            f"--weight count is of times; add {' or '.join(PASSES)} to --metric, or omit it"
        )
    if all(entry is None or entry.count is None for pair in pairs for entry in pair):
        raise RunFileError("--weight count: neither file has counts; use run files (-f jsonl)")
    cases = [case for pair in pairs for case in _weighed(pair, metrics, averages)]
    if not cases:
        raise RunFileError(f"no common case has a {' or '.join(PASSES)} time; nothing to weight")
    alone = (case for pair in pairs for case in _alone(pair, metrics, averages))
    without = (pair for pair in pairs if not any(_figures(entry, metrics) for entry in pair))
    return weigh(cases, alone, metrics, sum(_counts(pair)[0] for pair in without))


def _counts(pair: Pair) -> tuple[int, int]:
    """Returns the counts of a case on either side. Results by operator, which have none, take those
    of the other file, or 1."""
    known = [entry.count for entry in pair if entry and entry.count is not None] or [1]
    base, new = (
        known[0] if entry is None or entry.count is None else entry.count for entry in pair
    )
    return base, new


def _figures(entry: Entry | None, metrics: Iterable[str]) -> dict[str, Figure]:
    """Returns the times of a case that can be added up."""
    found = {name: entry.figures[name] for name in metrics if entry and name in entry.figures}
    return {
        name: one for name, one in found.items() if one.unit == "ns" and math.isfinite(one.median)
    }


def _weighed(pair: Pair, metrics: Sequence[str], averages: bool) -> Iterator[Weighed]:
    """Yields the case if both files have a time of it, the sum of those that both have."""
    base, new = (_figures(entry, metrics) for entry in pair)
    common = [name for name in base if name in new]
    if pair.base is not None and common:
        sides = [[side[name] for name in common] for side in (base, new)]
        times = [_time(figures, averages) for figures in sides]
        widths = [_half_width(figures) for figures in sides]
        known = (widths[0], widths[1]) if widths[0] is not None and widths[1] is not None else None
        yield Weighed(pair.base.operator, *_counts(pair), times[0], times[1], known)


def _alone(pair: Pair, metrics: Sequence[str], averages: bool) -> Iterator[Alone]:
    """Yields the case for each file that has a time of it that the other lacks."""
    base, new = (_figures(entry, metrics) for entry in pair)
    if base.keys() & new.keys():
        return
    for side, entry, figures, calls in zip(
        ("base", "new"), pair, (base, new), _counts(pair), strict=True
    ):
        if entry is not None and figures:
            time_ns = calls * _time(figures.values(), averages)
            yield Alone(side, entry.operator, entry.inputs, calls, time_ns)


def _time(figures: Iterable[Figure], averages: bool) -> float:
    """Returns the time of one call in nanoseconds."""
    return math.fsum(figure.mean if averages else figure.median for figure in figures)


def _half_width(figures: Sequence[Figure]) -> float | None:
    """Returns the half-width of the time of one call; None if a figure has none."""
    widths = [figure.half_width for figure in figures if figure.half_width is not None]
    return math.hypot(*widths) if len(widths) == len(figures) else None
