"""A comparison, whatever its sides are: files, arms of a session, nodes, runs of a suite. Each
command has a judge that makes one, and one report draws it."""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Literal

from opperf.comparison.results import ResultsRow
from opperf.machine.environment import Difference
from opperf.metrics import metric_named
from opperf.model import DIFFERENT, LoadedFile, Metric, SameResults, Struct
from opperf.reports.model import Tone
from opperf.results.units import Figure
from opperf.statistics.data import Shift, Verdict
from opperf.statistics.weights import Weighted, geometric_mean


class Side(Struct, frozen=True):
    """One of what is compared."""

    path: str
    """Of its file; of an arm that was measured its settings, of a run of a suite its name."""
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
    """Or the bench, or the node."""
    inputs: str
    metric: str
    verdict: Verdict
    category: str = ""
    unit: str = ""
    base: float | None = None
    """Median, or the mean where one of the sides has averages only; None where the judge has the
    ratio alone."""
    new: float | None = None
    base_half_width: float | None = None
    new_half_width: float | None = None
    base_unreliable: bool = False
    new_unreliable: bool = False
    ratio: float | None = None
    """New over base; None where one of them is zero or no finite number."""
    low: float | None = None
    high: float | None = None
    """Bounds of the ratio."""
    p: float | None = None
    """Of no change beyond the threshold; not corrected for the number of rows."""
    detectable: float | None = None
    """Smallest change that would be shown four times out of five, as a share."""
    blocks: int | None = None
    """Of a session, on which the ratio rests."""
    settings: str = ""
    """Those in which cases differ that have the same operator and inputs."""
    changed_settings: str = ""
    """Those that are not at their defaults."""
    point: str = ""
    note: str = ""
    caveat: str = ""
    basis: str = ""
    """Evidence of the verdict: counts and times, numbers of runs or of cases."""
    other_id: str = ""
    """Id of the case in the new file, where it is another call."""
    allowed: float | None = None
    """Largest difference that counts as none; None for a metric that differs from run to run."""
    tolerance: str = ""
    """The rule that it follows from: `1% or 50 instructions`."""
    results: SameResults | Literal[""] = ""
    difference: str = ""

    @property
    def described(self) -> Metric:
        return metric_named(self.metric, self.unit)

    @property
    def change(self) -> float:
        """The new figure less that of the base; zero without them."""
        return 0.0 if self.base is None or self.new is None else self.new - self.base

    @property
    def is_worse(self) -> bool:
        """Whether the new figure is worse than the base's: of a time, larger."""
        return self.change > 0 if self.described.lower_is_better else self.change < 0

    @property
    def tone(self) -> Tone:
        """Worse where its results differ."""
        return "worse" if self.results == DIFFERENT else tone_of(self.verdict, self.is_worse)

    @property
    def words(self) -> str:
        """The verdict, with that results differ where it does not say so."""
        if self.results != DIFFERENT or self.verdict is Verdict.DIFFERENT:
            return self.verdict.value
        return f"{self.verdict.value}, {DIFFERENT}"

    @property
    def figures(self) -> tuple[Figure | None, Figure | None]:
        """Those of the base and of the new side."""
        base, new = self.base, self.new
        return (
            None if base is None else Figure(base, self.base_half_width, self.base_unreliable),
            None if new is None else Figure(new, self.new_half_width, self.new_unreliable),
        )

    @property
    def remarks(self) -> str:
        """The reason for the verdict, and the qualification of the figures."""
        return "; ".join(filter(None, (self.note, self.caveat)))

    def findings(self, fail_on: Collection[str]) -> list[str]:
        """Returns what the row is a finding of, among what to fail on: a case that is probably
        faster is none."""
        is_none = self.verdict is Verdict.SUSPECT and not self.is_worse
        words = ("" if is_none else self.verdict.value, self.results)
        return [word for word in dict.fromkeys(words) if word in fail_on]


class ChangeKind(str, enum.Enum):
    """The kind of change of a case that only one of the sides has figures of, or that has no
    ratio."""

    BROKEN = "broken"
    """Measured in the base, and in the new run tried and not measured."""
    DISAPPEARED = "disappeared"
    """Measured in the base, and not in the new file at all."""
    REFUSED = "refused"
    """Measured in both, and not comparable."""
    FIXED = "fixed"
    """Tried and not measured in the base, and measured in the new run."""
    APPEARED = "appeared"
    """Not in the base at all."""
    NEITHER = "neither"
    """Tried on both sides, and without figures of either."""


MISSING = frozenset({ChangeKind.BROKEN, ChangeKind.DISAPPEARED})
"""Changes of cases that had figures and have none now."""


class Change(Struct, frozen=True):
    """A case, or one metric of it, that has no ratio: only one of the sides may have figures."""

    kind: ChangeKind
    id: str
    operator: str
    inputs: str
    metric: str = ""
    reason: str = ""
    settings: str = ""
    changed_settings: str = ""
    category: str = ""


class GroupRatio(Struct, frozen=True):
    """The geometric mean of the ratios of a group of cases."""

    category: str
    metric: str
    ratio: float
    cases: int
    low: float | None = None
    high: float | None = None
    key: str = "category"
    """Key that the group is a value of."""


ALL = "all"
"""The name of the group of every category, which is last."""


class GateReport(Struct, frozen=True):
    """Numbers of figures that a session counted before it timed, by result."""

    identical: int
    moved: int
    uncounted: int
    timed: int
    sample: int
    """Cases that were timed although both arms run the same instructions."""


class CoarseReport(Struct, frozen=True):
    """The results of the coarse look, which decides no verdict and no exit code."""

    blocks: int
    threshold: float
    rows: tuple[ComparedRow, ...]

    @property
    def changed(self) -> list[ComparedRow]:
        """The figures that changed with all threads; not those that are faster by other results."""
        return [row for row in self.rows if row.verdict in (Verdict.REGRESSED, Verdict.IMPROVED)]


class SessionFacts(Struct, frozen=True):
    """How a session measured, and what it says of all its figures together."""

    kind: Literal["times", "checks"] = "times"
    """`checks` of a session that compares results alone."""
    alternates: bool = False
    """Whether calls of the arms alternated within each process."""
    framework: str = ""
    complete: bool = True
    valid: bool = True
    reason: str = ""
    """Why it is not."""
    cases: int = 0
    processes: int = 0
    blocks: int = 0
    """Blocks of A and B at the latest look, on which the verdicts rest."""
    block_cap: int = 0
    first_look: int = 0
    detectable_with_four_times: float | None = None
    """`Comparison.detectable` with four times the blocks, whose standard errors are half as
    large."""
    explained: float | None = None
    """As in `Analysis`."""
    note: str = ""
    shift: Shift | None = None
    coarse: CoarseReport | None = None
    """None without one, or before it is complete."""
    nodes: tuple[str, ...] = ()
    """Names of the nodes of a cluster that measured it; empty for this machine."""
    gate: GateReport | None = None
    """None of a session that times all figures."""
    same_files: str = ""
    """That both arms have loaded the same files, although they are of two builds."""


class Comparison(Struct, frozen=True):
    """Sides, compared."""

    command: str
    """By which formats know its reports."""
    sides: tuple[Side, ...]
    """The base and the new one; or nodes, each of which is compared with the others of its kind."""
    threshold: float
    """Smallest change of a time that is of interest, as a share."""
    labels: tuple[str, str] = ("base", "new")
    """Names of the two sides in titles and sentences."""
    same_within: float | None = None
    """Share below which a change counts as none, where that could be shown."""
    detectable: float | None = None
    """Median of the figures' smallest detectable changes, as a share; None without one."""
    interval: str = "95 % interval"
    """Name of the intervals."""
    rows: tuple[ComparedRow, ...] = ()
    groups: tuple[GroupRatio, ...] = ()
    total: GroupRatio | None = None
    """Of all rows by their weights."""
    changes: tuple[Change, ...] = ()
    missing: frozenset[ChangeKind] = MISSING
    """Changes that are findings."""
    differences: tuple[Difference, ...] = ()
    incomparable: tuple[str, ...] = ()
    """Facts of the environments by which times are not comparable."""
    unmeasured: int = 0
    reasons: dict[str, dict[str, str]] = {}
    """Why cases are in no comparison, by the title of their table, and by case."""
    fail_on: tuple[str, ...] = ()
    limits_file: str = ""
    notes: tuple[str, ...] = ()
    results: tuple[ResultsRow, ...] = ()
    """Empty if they were not compared."""
    weighted: Weighted | None = None
    """None unless asked for."""
    confirm: str = ""
    explain: str = ""
    """The command for the largest change of a count; empty without one, or without a profile."""
    session: SessionFacts | None = None
    samples: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    """Of both sides, by the id and the metric of a row."""
    again: dict[str, tuple[tuple[str, str], ...]] = {}
    """Titles and commands that measure a case again, by the id of its rows."""

    @property
    def base(self) -> Side:
        return self.sides[0]

    @property
    def new(self) -> Side:
        return self.sides[1]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those of the rows, in their order."""
        return tuple(dict.fromkeys(row.metric for row in self.rows))

    @property
    def counts(self) -> dict[Verdict, int]:
        """The number of rows with each verdict, in the order of `Verdict`."""
        return count_verdicts(self.rows)

    @property
    def comparable(self) -> bool | None:
        """Whether the comparability keys are the same; None where a side has no environment."""
        keys = {side.comparability for side in self.sides}
        return len(keys) == 1 if all(keys) else None

    def rows_of(self, metric: str) -> tuple[ComparedRow, ...]:
        return tuple(row for row in self.rows if row.metric == metric)

    def changes_of(self, kind: ChangeKind) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.kind is kind)


TONES: dict[Verdict, Tone] = {
    Verdict.REGRESSED: "worse",
    Verdict.DIFFERENT: "worse",
    Verdict.MISSING: "worse",
    Verdict.IMPROVED: "better",
    Verdict.SUSPECT: "worse",
    Verdict.AMBIGUOUS: "open",
    Verdict.INVALID: "open",
}
"""Tones of verdicts, for a reader who only skims; others have none."""


def tone_of(verdict: Verdict, is_worse: bool = True) -> Tone:
    """Returns the tone of a verdict; `is_worse` is of the figure of a suspect one."""
    if verdict is Verdict.SUSPECT and not is_worse:
        return "better"
    return TONES.get(verdict, "")


def _digits(ratio: float, decimals: int = 3) -> str:
    # Others have an exponent.
    is_plain = 0.001 <= ratio < 1000.0
    return f"{ratio:.{decimals}f}" if is_plain else f"{ratio:.1e}"


def ratio_text(ratio: float | None, is_exact: bool = False) -> str:
    """Returns a ratio as text, with a digit more of a metric that is the same on every run; empty
    without one."""
    return "" if ratio is None or not ratio > 0 else _digits(ratio, 4 if is_exact else 3)


def interval_text(low: float | None, high: float | None) -> str:
    """Returns the interval of a ratio as text: `exact` of a figure that is the same on every run,
    and empty without one."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    return "exact" if low == high else f"{_digits(low)} to {_digits(high)}"


def size(row: ComparedRow) -> float:
    """Returns the key by which the largest changes are first."""
    return -abs(math.log(row.ratio or 1.0))


def count_verdicts(rows: Iterable[ComparedRow]) -> dict[Verdict, int]:
    """The number of rows with each verdict, in the order of `Verdict`."""
    found = Counter(row.verdict for row in rows)
    return {verdict: found[verdict] for verdict in Verdict if found[verdict]}


def sort_rows(rows: Iterable[ComparedRow]) -> tuple[ComparedRow, ...]:
    """Sorts rows by ratio, the largest first and those without one last, then by name."""
    return tuple(sorted(rows, key=lambda row: (-(row.ratio or -1.0), row.operator, row.inputs)))


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
        for category, metric in sorted(ratios, key=lambda key: (key[0] == ALL, key))
        for found in [ratios[category, metric]]
    )
