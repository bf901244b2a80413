"""The comparison of two files: one structure, from which all reports are written."""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Iterable

from opperf.comparison.results import ResultsRow
from opperf.comparison.statistics.data import Verdict
from opperf.comparison.statistics.weights import Weighted
from opperf.machine.environment import Difference
from opperf.metrics import metric_named
from opperf.model import Metric, Struct


class Side(Struct, frozen=True):
    """One of the two files."""

    path: str
    started: str = ""
    """ISO 8601, UTC; empty where the file does not have it."""
    cases: int = 0
    """Selected cases, measured or not."""
    averages: bool = False
    """Whether the file holds averages only."""
    comparability: str = ""
    """Key of its environment: times of two files with the same one may be joined. Empty where the
    file has no environment."""
    arm: str = ""
    """Arm of a session, whose file has both sides; empty for a run."""

    @property
    def name(self) -> str:
        """The path, and the arm if there is one."""
        return f"{self.path} ({self.arm})" if self.arm else self.path


class Row(Struct, frozen=True):
    """One metric of one case that both files have."""

    id: str
    """Id of the case in the base; empty where the base has none."""
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
    """The reason for the verdict, as one line."""
    caveat: str = ""
    """A qualification of the figures, as one line."""
    base_half_width: float | None = None
    new_half_width: float | None = None
    """Half-widths of the medians' intervals; None where there is none."""
    base_unreliable: bool = False
    new_unreliable: bool = False
    """Whether the figures' samples drift or have two levels."""
    settings: str = ""
    """Those that distinguish it from rows with the same operator and inputs, as text."""
    changed_settings: str = ""
    """Those that are not at their declared defaults, as text, whatever other rows there are."""
    point: str = ""
    """Values of swept variables, as text."""
    other_id: str = ""
    """Id of the case in the new file, where it is another call."""
    allowed: float | None = None
    """Largest difference that counts as none; None for a metric that differs from run to run."""
    tolerance: str = ""
    """The rule that it follows from: `1% or 50 instructions`."""
    results: str = ""
    """How the results of the case compare, a `SameResults`; empty if they were not."""
    difference: str = ""
    """The first difference of the results, as one line, or why there is none to tell."""

    @property
    def described(self) -> Metric:
        """The metric."""
        return metric_named(self.metric, self.unit)

    @property
    def is_worse(self) -> bool:
        """Whether the new figure is worse than the base's: of a time, larger."""
        return self.new > self.base if self.described.lower_is_better else self.new < self.base


class ChangeKind(str, enum.Enum):
    """The kind of change of a case that only one of the files has figures of."""

    BROKEN = "broken"
    """Measured in the base, and in the new run tried and not measured."""
    DISAPPEARED = "disappeared"
    """Measured in the base, and not in the new file at all."""
    FIXED = "fixed"
    """Tried and not measured in the base, and measured in the new run."""
    APPEARED = "appeared"
    """Not in the base at all."""


MISSING = frozenset({ChangeKind.BROKEN, ChangeKind.DISAPPEARED})
"""Changes of cases that had figures and have none now."""


class Change(Struct, frozen=True):
    """A case, or one metric of it, that only one of the files has figures of."""

    kind: ChangeKind
    id: str
    operator: str
    inputs: str
    metric: str = ""
    """The metric that appeared or disappeared; empty for the whole case."""
    reason: str = ""
    """Why the other run has no figures, as one line."""
    settings: str = ""
    """As a row's."""
    changed_settings: str = ""
    """As a row's."""


class Mean(Struct, frozen=True):
    """The geometric mean of ratios."""

    category: str
    """`ALL` for all categories together."""
    metric: str
    ratio: float
    cases: int
    """Number of ratios."""


ALL = "all"
"""The name of the mean over every category, which is last."""


class Comparison(Struct, frozen=True):
    """Two files, compared."""

    base: Side
    new: Side
    threshold: float
    """Smallest change of a time that is of interest, as a share."""
    metrics: tuple[str, ...]
    """Compared metrics, in the order of the reports."""
    differences: tuple[Difference, ...] = ()
    """In the environments, labels and settings."""
    rows: tuple[Row, ...] = ()
    """Grouped by metric; the largest ratio first, rows without one last."""
    means: tuple[Mean, ...] = ()
    changes: tuple[Change, ...] = ()
    unmeasured: int = 0
    """Cases of the base that neither run measured."""
    fail_on: tuple[str, ...] = ()
    """Findings to fail on."""
    limits_file: str = ""
    """The project's file of thresholds and tolerances; empty without one."""
    notes: tuple[str, ...] = ()
    """Remarks on all verdicts, a sentence each."""
    results: tuple[ResultsRow, ...] = ()
    """How the results of each case compare, where the new run compared them with the base's."""
    weighted: Weighted | None = None
    """The totals weighted by count; None unless asked for."""
    confirm: str = ""
    """The command that measures suspect cases again; empty where there are none."""
    explain: str = ""
    """The command that lists the functions of the largest change of a count; empty where there is
    none, or no profile."""
    incomparable: tuple[str, ...] = ()
    """Facts by which the comparability keys of the environments differ."""

    @property
    def comparable(self) -> bool | None:
        """Whether the comparability keys are the same; None where a file has no environment."""
        keys = (self.base.comparability, self.new.comparability)
        return keys[0] == keys[1] if all(keys) else None

    @property
    def commands(self) -> tuple[tuple[str, str], ...]:
        """Commands to run next, each with the reason."""
        found = (("To confirm", self.confirm), ("Functions that changed", self.explain))
        return tuple((why, command) for why, command in found if command)

    def rows_of(self, metric: str) -> tuple[Row, ...]:
        """The rows of one metric, in their order."""
        return tuple(row for row in self.rows if row.metric == metric)

    def changes_of(self, kind: ChangeKind) -> tuple[Change, ...]:
        """The changes of one kind, in their order."""
        return tuple(change for change in self.changes if change.kind is kind)


def count_verdicts(rows: Iterable[Row]) -> dict[Verdict, int]:
    """The number of rows with each verdict, in the order of `Verdict`."""
    found = Counter(row.verdict for row in rows)
    return {verdict: found[verdict] for verdict in Verdict if found[verdict]}


def sort_rows(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Sorts rows by ratio, the largest first and those without one last, then by name."""
    return tuple(
        sorted(
            rows,
            key=lambda row: (row.ratio is None, -(row.ratio or 0.0), row.operator, row.inputs),
        )
    )


def geometric_means(rows: Iterable[Row]) -> tuple[Mean, ...]:
    """The geometric mean ratio of each category and metric, and of all categories together. Rows
    without a ratio do not count; rows without a category count only in the mean of all."""
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
