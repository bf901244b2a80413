"""Totals of count times time on two sides, what each operator changes of them, and the geometric
mean of the ratios weighted by count.

Two averages of the same ratios: that of the totals is the mean of the ratios weighted by base time,
what the whole program gains; the geometric mean weighted by count, exp(sum(w ln r) / sum(w)), is
the usual call's, in which short calls count as much as long ones.
Source: P. J. Fleming and J. J. Wallace, How Not to Lie with Statistics: The Correct Way to
Summarize Benchmark Results, CACM 29(3), 1986, on the geometric mean of ratios.
Assumption: the calls of a case take its median; the errors of two figures are independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opperf.model import Struct
from opperf.statistics.data import none_if_nan


class Weighed(NamedTuple):
    """A case with its counts, and the times of one call in nanoseconds."""

    operator: str
    base_calls: int
    new_calls: int
    base_ns: float
    new_ns: float
    half_widths_ns: tuple[float, float] | None = None


class Part(Struct, frozen=True, omit_defaults=False):
    """An operator's part in the change of the total."""

    operator: str
    cases: int
    base_calls: int
    new_calls: int
    base_ns: float
    new_ns: float
    change_ns: float
    half_width_ns: float | None
    of_total: float | None
    """The change as a share of the base's total, positive if it is slower; None of nothing."""
    of_change: float | None
    """Negative if it is opposite to the total's change; None if that did not change."""
    ratio: float | None
    """New time over base time; None of nothing."""


class Alone(Struct, frozen=True, omit_defaults=False):
    """A case that is in no total, as only one side has its time."""

    side: str
    """The one that has it: `base` or `new`."""
    operator: str
    inputs: str
    calls: int
    time_ns: float


class Weighted(Struct, frozen=True, omit_defaults=False):
    """Two sides, weighted by count."""

    metrics: tuple[str, ...]
    cases: int
    base_calls: int
    new_calls: int
    base_ns: float
    new_ns: float
    """Time of all calls of the cases of both sides."""
    half_width_ns: float | None
    ratio: float | None
    geometric_mean: float | None
    """Of the ratios of the cases, weighted by the base's count; None without a ratio."""
    unmeasured_calls: int
    """The base's calls of cases that neither side has a time of."""
    recounted: int
    operators: tuple[Part, ...]
    alone: tuple[Alone, ...]

    @property
    def change_ns(self) -> float:
        return self.new_ns - self.base_ns


def weigh(
    cases: Iterable[Weighed],
    alone: Iterable[Alone] = (),
    metrics: Iterable[str] = (),
    unmeasured_calls: int = 0,
) -> Weighted:
    """Returns the totals of the cases, and each operator's part in their change."""
    found = list(cases)
    timed = [case for case in found if case.base_ns > 0 and case.new_ns > 0]
    whole = _part("", found, None)
    by_operator: dict[str, list[Weighed]] = {}
    for case in found:
        by_operator.setdefault(case.operator, []).append(case)
    parts = [_part(name, members, whole) for name, members in by_operator.items()]
    return Weighted(
        metrics=tuple(metrics),
        cases=whole.cases,
        base_calls=whole.base_calls,
        new_calls=whole.new_calls,
        base_ns=whole.base_ns,
        new_ns=whole.new_ns,
        half_width_ns=whole.half_width_ns,
        ratio=whole.ratio,
        geometric_mean=none_if_nan(
            geometric_mean(
                [case.new_ns / case.base_ns for case in timed], [case.base_calls for case in timed]
            )
        ),
        unmeasured_calls=unmeasured_calls,
        recounted=sum(case.base_calls != case.new_calls for case in found),
        operators=tuple(sorted(parts, key=lambda part: (-abs(part.change_ns), part.operator))),
        alone=tuple(sorted(alone, key=lambda case: (-case.time_ns, case.operator, case.inputs))),
    )


def geometric_mean(values: Iterable[float], weights: Sequence[float] | None = None) -> float:
    """Returns the geometric mean of positive values, of equal weights by default; NaN without a
    weight."""
    return mean_of_logs(list(map(math.log, values)), weights)


def mean_of_logs(logs: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """Returns the geometric mean of values, by their logarithms."""
    shares = [1.0] * len(logs) if weights is None else weights
    total = math.fsum(shares)
    if not total:
        return math.nan
    return math.exp(math.fsum(w * log for w, log in zip(shares, logs, strict=True)) / total)


def _part(operator: str, cases: list[Weighed], whole: Part | None) -> Part:
    """Returns the totals of cases, and their part in the whole change, or in their own."""
    base_ns = math.fsum(case.base_calls * case.base_ns for case in cases)
    new_ns = math.fsum(case.new_calls * case.new_ns for case in cases)
    change_ns = new_ns - base_ns
    return Part(
        operator=operator,
        cases=len(cases),
        base_calls=sum(case.base_calls for case in cases),
        new_calls=sum(case.new_calls for case in cases),
        base_ns=base_ns,
        new_ns=new_ns,
        change_ns=change_ns,
        half_width_ns=_half_width(cases),
        of_total=_quotient(change_ns, whole.base_ns if whole else base_ns),
        of_change=_quotient(change_ns, whole.change_ns if whole else change_ns),
        ratio=_quotient(new_ns, base_ns),
    )


def _half_width(cases: list[Weighed]) -> float | None:
    """Returns the half-width of the change, in nanoseconds; None if a case has no interval."""
    widths = [
        calls * width
        for case in cases
        if case.half_widths_ns is not None
        for calls, width in zip((case.base_calls, case.new_calls), case.half_widths_ns, strict=True)
    ]
    return math.hypot(*widths) if len(widths) == 2 * len(cases) else None


def _quotient(part: float, whole: float) -> float | None:
    return part / whole if whole else None
