"""What a comparison of two files says: one structure, whatever it is written as."""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from opperf.compare.statistics.data import Verdict
from opperf.metrics import metric_named
from opperf.model import Metric, Struct


class Side(Struct, frozen=True):
    """One of the two files."""

    path: str
    started: str = ""
    """ISO 8601, UTC; empty where the file does not tell."""
    cases: int = 0
    """Cases that were chosen, whatever came of them."""
    averages: bool = False
    """Whether the file holds averages only."""


class Difference(Struct, frozen=True):
    """Something beside the operators that differs between the two runs."""

    field: str
    """Name of the environment's field, with a dot and a key where it is a mapping; a setting's
    is `settings.<name>`."""
    base: Any
    new: Any


class Row(Struct, frozen=True):
    """One metric of one case that both files have."""

    id: str
    """Of the case in the base; empty where the base tells none."""
    operator: str
    inputs: str
    category: str
    metric: str
    unit: str
    """Of `base` and `new`."""
    base: float
    """Median, or the mean where one of the files holds averages only."""
    new: float
    verdict: Verdict
    ratio: float | None = None
    """New over base; None where one of them is zero or no finite number."""
    low: float | None = None
    high: float | None = None
    """Interval of the ratio; None where there is none."""
    note: str = ""
    """Why the verdict is what it is, as one line."""
    caveat: str = ""
    """What is odd about the figures, as one line."""
    base_half_width: float | None = None
    new_half_width: float | None = None
    """Of the intervals of the medians; None where there is none."""

    @property
    def described(self) -> Metric:
        """The metric."""
        return metric_named(self.metric, self.unit)

    @property
    def is_worse(self) -> bool:
        """Whether the new figure is on the wrong side of the base's: of a time, larger."""
        return self.new > self.base if self.described.lower_is_better else self.new < self.base


class ChangeKind(str, enum.Enum):
    """What became of a case that the two files do not both have figures of."""

    BROKEN = "broken"
    """Measured in the base, and in the new run tried and not measured."""
    DISAPPEARED = "disappeared"
    """Measured in the base, and not in the new file at all."""
    MENDED = "mended"
    """Tried and not measured in the base, and measured in the new run."""
    APPEARED = "appeared"
    """Not in the base at all."""


MISSING = frozenset({ChangeKind.BROKEN, ChangeKind.DISAPPEARED})
"""What had figures and has none now."""


class Change(Struct, frozen=True):
    """A case, or one metric of it, that only one of the files has figures of."""

    kind: ChangeKind
    id: str
    operator: str
    inputs: str
    metric: str = ""
    """The metric that has come or gone; empty for the whole case."""
    reason: str = ""
    """How the case ended in the run that has no figures, as one line."""


class Mean(Struct, frozen=True):
    """The geometric mean of ratios."""

    category: str
    """`ALL` for all categories together."""
    metric: str
    ratio: float
    cases: int
    """Ratios that it is the mean of."""


ALL = "all"
"""The mean over every category, told last."""


class Comparison(Struct, frozen=True):
    """Two files, compared."""

    base: Side
    new: Side
    threshold: float
    """Smallest change of a time that is of interest, as a share."""
    metrics: tuple[str, ...]
    """Those compared, in the order they are told in."""
    differences: tuple[Difference, ...] = ()
    rows: tuple[Row, ...] = ()
    """By metric; within it the largest ratio first, rows without one last."""
    means: tuple[Mean, ...] = ()
    changes: tuple[Change, ...] = ()
    unmeasured: int = 0
    """Cases of the base that neither run measured."""
    fail_on: tuple[str, ...] = ()
    """What the comparison is asked to look for."""
    notes: tuple[str, ...] = ()
    """What a reader has to know of all verdicts, a sentence each."""
    confirm: str = ""
    """The command that settles what is suspect; empty where nothing is."""

    def rows_of(self, metric: str) -> tuple[Row, ...]:
        """The rows of one metric, in their order."""
        return tuple(row for row in self.rows if row.metric == metric)

    def changes_of(self, kind: ChangeKind) -> tuple[Change, ...]:
        """The changes of one kind, in their order."""
        return tuple(change for change in self.changes if change.kind is kind)


def counted_verdicts(rows: Iterable[Row]) -> dict[Verdict, int]:
    """How many rows have each verdict, in the order in which `Verdict` lists them."""
    found = Counter(row.verdict for row in rows)
    return {verdict: found[verdict] for verdict in Verdict if found[verdict]}


def sorted_rows(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows with the largest ratio first; those without one last, and rows alike by name."""
    return tuple(
        sorted(
            rows,
            key=lambda row: (row.ratio is None, -(row.ratio or 0.0), row.operator, row.inputs),
        )
    )


def geometric_means(rows: Iterable[Row]) -> tuple[Mean, ...]:
    """The mean ratio of each category and metric, and of all categories together. Rows without a
    ratio do not count; neither does a category without a name, but in the mean of all."""
    logs: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.ratio is not None:
            for category in {row.category, ALL} - {""}:
                logs.setdefault((category, row.metric), []).append(math.log(row.ratio))
    return tuple(
        Mean(category, metric, math.exp(math.fsum(found) / len(found)), len(found))
        for (category, metric), found in sorted(logs.items(), key=_all_last)
    )


def _all_last(item: tuple[tuple[str, str], list[float]]) -> tuple[bool, str, str]:
    (category, metric), _ = item
    return category == ALL, category, metric
