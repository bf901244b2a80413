"""A comparison, whatever its sides are: files, arms of a session, nodes, runs of a suite. Each
command has a judge that makes one, and one report draws it."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from opperf.comparison.results import ResultsRow
from opperf.comparison.statistics.data import Verdict
from opperf.comparison.statistics.weights import Weighted, geometric_mean
from opperf.machine.environment import Difference
from opperf.metrics import metric_named
from opperf.model import DIFFERENT, LoadedFile, Metric, Struct
from opperf.reports.model import Tone
from opperf.results.units import Figure


class Side(Struct, frozen=True):
    """One of what is compared."""

    path: str
    """Of its file, or of the run that it is; empty of an arm that is measured now."""
    started: str = ""
    """ISO 8601, UTC; empty where the file does not have it."""
    cases: int = 0
    averages: bool = False
    comparability: str = ""
    """Key of its environment, empty without one: times of the same key may be joined."""
    arm: str = ""
    """Arm of a session, whose file has both sides; empty for a run."""
    machine: str = ""
    """Its name, processor, cores and GPUs; empty where the file does not have them."""
    loaded: tuple[LoadedFile, ...] = ()
    """Files that its processes have loaded for users' functions."""

    @property
    def name(self) -> str:
        return f"{self.path} ({self.arm})" if self.arm else self.path


class ComparedRow(Struct, frozen=True):
    """One metric of one case that both sides have, with its verdict."""

    id: str
    operator: str
    inputs: str
    category: str
    metric: str
    unit: str
    base: float
    """Median, or the mean where one of the files holds averages only."""
    new: float
    verdict: Verdict
    ratio: float | None = None
    """New over base; None where one of them is zero or no finite number."""
    low: float | None = None
    high: float | None = None
    """Bounds of the ratio."""
    note: str = ""
    caveat: str = ""
    base_half_width: float | None = None
    new_half_width: float | None = None
    base_unreliable: bool = False
    new_unreliable: bool = False
    settings: str = ""
    """Those in which cases of the file differ that have the same operator and inputs."""
    changed_settings: str = ""
    """Those that are not at their defaults."""
    point: str = ""
    other_id: str = ""
    """Id of the case in the new file, where it is another call."""
    allowed: float | None = None
    """Largest difference that counts as none; None for a metric that differs from run to run."""
    tolerance: str = ""
    """The rule that it follows from: `1% or 50 instructions`."""
    results: str = ""
    difference: str = ""

    @property
    def described(self) -> Metric:
        return metric_named(self.metric, self.unit)

    @property
    def is_worse(self) -> bool:
        """Whether the new figure is worse than the base's: of a time, larger."""
        return self.new > self.base if self.described.lower_is_better else self.new < self.base

    @property
    def tone(self) -> Tone:
        """Worse where its results differ."""
        return "worse" if self.results == DIFFERENT else tone_of(self.verdict, self.is_worse)

    @property
    def figures(self) -> tuple[Figure, Figure]:
        """Those of the base and of the new side."""
        return (
            Figure(self.base, self.base_half_width, self.base_unreliable),
            Figure(self.new, self.new_half_width, self.new_unreliable),
        )


class ChangeKind(str, enum.Enum):
    """The kind of change of a case that only one of the sides has figures of."""

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
    """A case, or one metric of it, that only one of the sides has figures of."""

    kind: ChangeKind
    id: str
    operator: str
    inputs: str
    metric: str = ""
    reason: str = ""
    settings: str = ""
    changed_settings: str = ""


class GroupRatio(Struct, frozen=True):
    """The geometric mean of the ratios of a group of cases."""

    category: str
    metric: str
    ratio: float
    cases: int


ALL = "all"
"""The name of the group of every category, which is last."""


class Comparison(Struct, frozen=True):
    """Two sides, compared."""

    base: Side
    new: Side
    threshold: float
    """Smallest change of a time that is of interest, as a share."""
    metrics: tuple[str, ...]
    differences: tuple[Difference, ...] = ()
    rows: tuple[ComparedRow, ...] = ()
    """Grouped by metric; the largest ratio first, rows without one last."""
    groups: tuple[GroupRatio, ...] = ()
    changes: tuple[Change, ...] = ()
    unmeasured: int = 0
    fail_on: tuple[str, ...] = ()
    limits_file: str = ""
    notes: tuple[str, ...] = ()
    results: tuple[ResultsRow, ...] = ()
    weighted: Weighted | None = None
    confirm: str = ""
    explain: str = ""
    """The command for the largest change of a count; empty without one, or without a profile."""
    incomparable: tuple[str, ...] = ()
    samples: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    """Of both sides, by the id and the metric of a row."""

    @property
    def comparable(self) -> bool | None:
        """Whether the comparability keys are the same; None where a file has no environment."""
        keys = (self.base.comparability, self.new.comparability)
        return keys[0] == keys[1] if all(keys) else None

    @property
    def commands(self) -> tuple[tuple[str, str], ...]:
        found = (("To confirm", self.confirm), ("Functions that changed", self.explain))
        return tuple((why, command) for why, command in found if command)

    def rows_of(self, metric: str) -> tuple[ComparedRow, ...]:
        return tuple(row for row in self.rows if row.metric == metric)

    def changes_of(self, kind: ChangeKind) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.kind is kind)


class Tones(NamedTuple):
    """Tones of a verdict."""

    worse: Tone
    better: Tone
    """Where the new figure is not worse."""


TONES = {
    Verdict.REGRESSED: Tones("worse", "worse"),
    Verdict.DIFFERENT: Tones("worse", "worse"),
    Verdict.MISSING: Tones("worse", "worse"),
    Verdict.IMPROVED: Tones("better", "better"),
    Verdict.SUSPECT: Tones("worse", "better"),
    Verdict.AMBIGUOUS: Tones("open", "open"),
    Verdict.INVALID: Tones("open", "open"),
}
"""Tones of verdicts, for a reader who only skims; others have none."""


def tone_of(verdict: Verdict, is_worse: bool = True) -> Tone:
    """Returns the tone of a verdict; `is_worse` is of the figure of a suspect one."""
    tones = TONES.get(verdict, Tones("", ""))
    return tones.worse if is_worse else tones.better


def ratio_text(ratio: float | None, is_exact: bool = False) -> str:
    """Returns a ratio as text, with a digit more of a metric that is the same on every run; empty
    without one."""
    return "" if ratio is None or not ratio > 0 else f"{ratio:.{4 if is_exact else 3}f}"


EXACT = "exact"
"""The interval of a figure that is the same on every run."""


def interval_text(low: float | None, high: float | None) -> str:
    """Returns the interval of a ratio as text; empty without one."""
    if low is None or high is None or low != low or high != high:
        return ""
    return EXACT if low == high else f"{low:.3f} to {high:.3f}"


def count_verdicts(rows: Iterable[ComparedRow]) -> dict[Verdict, int]:
    """The number of rows with each verdict, in the order of `Verdict`."""
    found = Counter(row.verdict for row in rows)
    return {verdict: found[verdict] for verdict in Verdict if found[verdict]}


def sort_rows(rows: Iterable[ComparedRow]) -> tuple[ComparedRow, ...]:
    """Sorts rows by ratio, the largest first and those without one last, then by name."""
    return tuple(
        sorted(
            rows, key=lambda row: (row.ratio is None, -(row.ratio or 0.0), row.operator, row.inputs)
        )
    )


def geometric_means(rows: Iterable[ComparedRow]) -> tuple[GroupRatio, ...]:
    """Returns the geometric mean ratio of each metric, by category and of all, of rows whose
    results do not differ."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.ratio is not None and row.results != DIFFERENT:
            for category in {row.category, ALL} - {""}:
                ratios.setdefault((category, row.metric), []).append(row.ratio)
    return tuple(
        GroupRatio(category, metric, geometric_mean(found), len(found))
        for (category, metric), found in sorted(ratios.items(), key=_all_last)
    )


def _all_last(item: tuple[tuple[str, str], list[float]]) -> tuple[bool, str, str]:
    (category, metric), _ = item
    return category == ALL, category, metric
