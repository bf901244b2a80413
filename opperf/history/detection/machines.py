"""The part that all series of a machine have in common in a run.

Assumption: fewer than half of the series of a run changed in one direction by themselves; the
median of their distances from their own levels is then the machine's, whether a neighbour took the
memory's bandwidth or its clock was lowered.
Source: the median under contamination: see `opperf.statistics.common_shift`.
Breaks with few series, of which the median is one of them: below `LEAST_SERIES` nothing is
subtracted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opperf.history.detection.levels import NORMAL_95
from opperf.history.detection.series import (
    Floats,
    Ints,
    Series,
    Strand,
    Texts,
    first_and_medians,
    medians,
)

LEAST_SERIES = 10
"""Series of a run whose median is subtracted: its own error is then below .4 of a point's."""


@dataclass(eq=False)
class _Points:
    """Points of a series, while what is common to runs is subtracted."""

    series: int
    key: str
    positions: Ints
    logs: Floats
    times: Floats
    runs: Texts
    errors: Floats
    """Those standard errors of its medians that are known, as shares."""


def make_strands(series: Sequence[Series]) -> list[Strand]:
    """Returns the strands of noisy series less what their machines had in common, and one of each
    machine with that; ordered by key, so that no order of arrival matters."""
    by_name: dict[str, list[_Points]] = defaultdict(list)
    for index in sorted(range(len(series)), key=lambda i: series[i].key):
        one = series[index]
        if one.metric.is_steady or not one.values.size:
            continue
        known = one.half_widths / one.values / NORMAL_95
        errors = known[np.isfinite(known)]
        by_name[one.environment].append(
            _Points(index, one.key, one.positions, np.log(one.values), one.times, one.runs, errors)
        )
    strands: list[Strand] = []
    for environment, members in sorted(by_name.items()):
        if len(members) >= LEAST_SERIES:
            strands += _subtract_common(environment, members)
        floors = medians([points.errors for points in members]).tolist()
        strands += [
            _strand(environment, points, floor)
            for points, floor in zip(members, floors, strict=True)
        ]
    return strands


def _strand(environment: str, points: _Points, floor: float) -> Strand:
    first, logs = first_and_medians(points.positions, points.logs)
    place, when = points.positions[first], points.times[first]
    return Strand(points.series, points.key, environment, place, logs, when, floor)


def _subtract_common(environment: str, members: list[_Points]) -> list[Strand]:
    """Subtracts what the series of each run have in common, in place; returns the strand of that,
    or none if no run has enough series."""
    names, codes = _number_runs(members)
    sizes = [points.logs.size for points in members]
    splits = np.cumsum(sizes)[:-1]
    positions = np.concatenate([points.positions for points in members])
    times = np.concatenate([points.times for points in members])
    levels = medians([points.logs for points in members])
    residuals: Floats = np.concatenate([points.logs for points in members])
    residuals = residuals - np.repeat(levels, sizes)
    common, count = _median_by(codes, residuals, names.size)
    where = np.zeros(names.size, dtype=np.int64)
    where[codes] = positions
    when = np.full(names.size, np.nan)
    when[codes] = times
    enough = count >= LEAST_SERIES
    if not enough.any():
        return []
    # A run of few series has the machine's state of the run before that had enough.
    order = np.lexsort((names, when, where))
    last = np.maximum.accumulate(np.where(enough[order], np.arange(order.size), -1))
    filled = np.where(last >= 0, common[order][np.maximum(last, 0)], 0.0)
    common[order] = filled
    for points, own in zip(members, np.split(common[codes], splits), strict=True):
        points.logs = points.logs - own
    kept = order[enough[order]]
    whole = _Points(-1, "", where[kept], common[kept], when[kept], names[kept], np.empty(0))
    return [_strand(environment, whole, 0.0)]


def _number_runs(members: list[_Points]) -> tuple[Texts, Ints]:
    """The runs' names, and the number of each point's run. Most series are in the same runs, whose
    names are compared once: sorting those of some million points takes minutes."""
    numbers: dict[str, int] = {}
    known: dict[bytes, Ints] = {}
    codes = []
    for points in members:
        same = points.runs.tobytes()
        if same not in known:
            found = [numbers.setdefault(name, len(numbers)) for name in points.runs.tolist()]
            known[same] = np.array(found, dtype=np.int64)
        codes.append(known[same])
    return np.array(list(numbers)), np.concatenate(codes)


def _median_by(codes: Ints, values: Floats, n: int) -> tuple[Floats, Ints]:
    # Numbers of 16 bits are sorted by their digits, in a tenth of the time.
    order = np.argsort(codes.astype(np.uint16) if n <= 1 << 16 else codes, kind="stable")
    ordered = values[order]
    count = np.bincount(codes, minlength=n)
    parts = np.split(ordered, np.cumsum(count)[:-1])
    return medians(parts), count
