"""Cases of files in the form in which they are joined, and the comparison of two files, from which
all reports and the exit code follow."""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from opperf.comparison.results import ResultsRow, count_different
from opperf.comparison.statistics.data import Verdict
from opperf.comparison.statistics.weights import Weighted
from opperf.errors import FOUND, INCONCLUSIVE
from opperf.machine.environment import Difference
from opperf.metrics import metric_named
from opperf.model import DIFFERENT, Metric, Struct


class Figure(Struct, frozen=True):
    """One metric of a case in a file."""

    unit: str
    median: float
    mean: float
    half_width: float | None = None
    samples: list[float] = []
    unsound: str = ""
    """Why a figure that should be the same on every run may vary."""
    unreliable: bool = False
    caveat: str = ""


class Entry(Struct, frozen=True):
    """One case of one file."""

    operator: str
    inputs: str
    shown: str
    """Operator and inputs in the form of results by operator, which have no other key."""
    details: str = ""
    """Details of the tensors besides their shapes, which not every writer of such results has."""
    pattern: str = ""
    """The operator as a command takes it; empty where none can name it."""
    id: str = ""
    place: int | None = None
    """Place among the planned cases of its file; None where the file has no plan."""
    selector: str = ""
    """Id by which a command chooses the case; empty where the file has none, nor one beside it."""
    call: str = ""
    category: str = ""
    count: int | None = None
    point: str = ""
    settings: dict[str, Any] = {}
    differing: str = ""
    """Those in which cases of the file differ that have the same operator and inputs, as text."""
    effort: dict[str, Any] = {}
    reason: str = ""
    figures: dict[str, Figure] = {}
    absent: dict[str, str] = {}


class Side(Struct, frozen=True):
    """One of the two files."""

    path: str
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

    @property
    def name(self) -> str:
        return f"{self.path} ({self.arm})" if self.arm else self.path


class Row(Struct, frozen=True):
    """One metric of one case that both files have."""

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
    note: str = ""
    caveat: str = ""
    base_half_width: float | None = None
    new_half_width: float | None = None
    base_unreliable: bool = False
    new_unreliable: bool = False
    settings: str = ""
    changed_settings: str = ""
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
    reason: str = ""
    settings: str = ""
    changed_settings: str = ""


class Mean(Struct, frozen=True):
    """The geometric mean of ratios."""

    category: str
    metric: str
    ratio: float
    cases: int


ALL = "all"
"""The name of the mean over every category, which is last."""


class Comparison(Struct, frozen=True):
    """Two files, compared."""

    base: Side
    new: Side
    threshold: float
    """Smallest change of a time that is of interest, as a share."""
    metrics: tuple[str, ...]
    differences: tuple[Difference, ...] = ()
    rows: tuple[Row, ...] = ()
    """Grouped by metric; the largest ratio first, rows without one last."""
    means: tuple[Mean, ...] = ()
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

    def rows_of(self, metric: str) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.metric == metric)

    def changes_of(self, kind: ChangeKind) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.kind is kind)


def count_verdicts(rows: Iterable[Row]) -> dict[Verdict, int]:
    """The number of rows with each verdict, in the order of `Verdict`."""
    found = Counter(row.verdict for row in rows)
    return {verdict: found[verdict] for verdict in Verdict if found[verdict]}


def sort_rows(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Sorts rows by ratio, the largest first and those without one last, then by name."""
    return tuple(
        sorted(
            rows, key=lambda row: (row.ratio is None, -(row.ratio or 0.0), row.operator, row.inputs)
        )
    )


def geometric_means(rows: Iterable[Row]) -> tuple[Mean, ...]:
    """Returns the geometric mean ratio of each metric, by category and of all, of rows whose
    results do not differ."""
    logs: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.ratio is not None and row.results != DIFFERENT:
            for category in {row.category, ALL} - {""}:
                logs.setdefault((category, row.metric), []).append(math.log(row.ratio))
    return tuple(
        Mean(category, metric, math.exp(math.fsum(found) / len(found)), len(found))
        for (category, metric), found in sorted(logs.items(), key=_all_last)
    )


def _all_last(item: tuple[tuple[str, str], list[float]]) -> tuple[bool, str, str]:
    (category, metric), _ = item
    return category == ALL, category, metric


SOUND = frozenset({Verdict.REGRESSED, Verdict.DIFFERENT, Verdict.IMPROVED, Verdict.SAME})
"""Verdicts of figures that are the same on every run."""

HINTS = frozenset({Verdict.SUSPECT, Verdict.NO_CLEAR_CHANGE})
"""Verdicts of figures that scatter."""

ANSWERS: dict[str, frozenset[Verdict]] = {
    "regressed": SOUND,
    "improved": SOUND,
    "suspect": SOUND | HINTS,
}
"""Verdicts that decide whether there is a finding; what is missing is always decided."""

TIMES = "times from two files are at most suspect; use --fail-on suspect, or opperf ab"

AVERAGES = "averages have no spread; compare run files (-f jsonl)"

UNSOUND = "every figure has a note on why it may vary, or cannot be judged; measure both again"

SUGGESTED = {
    "regressed": TIMES,
    "improved": TIMES,
    "suspect": "every common case is ambiguous; measure more samples of each",
}
"""Advice where it is not decided."""

FAILING: dict[str, Callable[[Row], bool]] = {
    "regressed": lambda row: row.verdict is Verdict.REGRESSED,
    "improved": lambda row: row.verdict is Verdict.IMPROVED,
    "suspect": lambda row: row.verdict is Verdict.SUSPECT and row.is_worse,
}
"""Predicates of the rows that are a finding: a case that may have become faster is none."""

LOOKED_FOR = (*FAILING, "missing", DIFFERENT)
"""Findings that `--fail-on` takes."""


def findings(comparison: Comparison, row: Row) -> list[str]:
    """Returns what a row is a finding of, among what to fail on."""
    return [word for word in comparison.fail_on if _is_found(word, row)]


def _is_found(word: str, row: Row) -> bool:
    if word == DIFFERENT:
        return row.results == DIFFERENT
    return word in FAILING and FAILING[word](row)


def is_missing(comparison: Comparison, change: Change) -> bool:
    """Whether a change is a finding to fail on."""
    return "missing" in comparison.fail_on and change.kind in MISSING


def outcome(comparison: Comparison) -> tuple[int, str]:
    """The exit code, and the reason if it is not 0, as one line."""
    found = {word: _count(comparison, word) for word in comparison.fail_on}
    if any(found.values()):
        return FOUND, ", ".join(f"{number} {word}" for word, number in found.items() if number)
    verdicts = {row.verdict for row in comparison.rows}
    open_words = [
        word for word in comparison.fail_on if word in ANSWERS and not verdicts & ANSWERS[word]
    ]
    if open_words and len(open_words) == len(comparison.fail_on):
        return INCONCLUSIVE, "; ".join(
            f"cannot decide whether anything is {word}: {_advice(comparison, word)}"
            for word in open_words
        )
    return 0, ""


def _count(comparison: Comparison, word: str) -> int:
    if word == DIFFERENT:
        return count_different(comparison.results)
    if word in FAILING:
        return sum(FAILING[word](row) for row in comparison.rows)
    return sum(is_missing(comparison, change) for change in comparison.changes)


def _advice(comparison: Comparison, word: str) -> str:
    steady = comparison.rows and all(row.described.is_steady for row in comparison.rows)
    if steady and (comparison.base.averages or comparison.new.averages):
        return AVERAGES
    return UNSOUND if steady and word != "suspect" else SUGGESTED[word]
