"""What the reports for readers have in common: titles, figures and sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from opperf.compare.files.comparison import (
    ALL,
    Change,
    ChangeKind,
    Comparison,
    Mean,
    Row,
    counted_verdicts,
)
from opperf.compare.statistics.data import Verdict
from opperf.model import DECLARED
from opperf.results.figures import NOT_APPLICABLE, Unit
from opperf.results.text import counted
from opperf.results.units import Figure, fitting, shown

SHOWN_ROWS = 40
"""Rows of one metric that a report to be read shows: two screens. CSV and JSON have all."""

SHOWN_QUIET = 10
"""Rows shown of a metric of more, where nothing was found: the largest changes, for a look."""

SHOWN_NAMES = 20
"""Cases named of those that have come or gone."""

SHOWN_REASONS = 3
"""Reasons that are told why there is no answer: numbers of samples come in many combinations."""

SHOWN_DIFFERENCES = 25
"""Differences between the environments that are shown: two builds may differ in every feature."""

QUIET = (Verdict.SAME, Verdict.UNSUSPICIOUS, Verdict.AMBIGUOUS)
"""Verdicts of rows that are no findings."""

CHANGES = {
    ChangeKind.BROKEN: "Measured before, not now",
    ChangeKind.DISAPPEARED: "Not in the new file",
    ChangeKind.MENDED: "Measured now, not before",
    ChangeKind.APPEARED: "Not in the base",
}
"""Titles, in the order in which they are told."""


def base_figure(row: Row) -> Figure:
    """The base's figure."""
    return Figure(row.base, row.base_half_width)


def new_figure(row: Row) -> Figure:
    """The new file's figure."""
    return Figure(row.new, row.new_half_width)


def unit_of(rows: Sequence[Row]) -> Unit:
    """The unit that fits the figures of these rows, those of both files."""
    figures = [figure for row in rows for figure in (base_figure(row), new_figure(row))]
    return fitting(rows[0].unit, figures)


def figure_texts(row: Row, unit: Unit) -> tuple[str, str]:
    """Both figures of a row."""
    return str(shown(base_figure(row), unit)), str(shown(new_figure(row), unit))


def ratio_text(ratio: float | None) -> str:
    """A ratio, or a cell without value."""
    return NOT_APPLICABLE if ratio is None else f"{ratio:.3f}"


def interval_text(row: Row) -> str:
    """The interval of a ratio, or a cell without value."""
    if row.low is None or row.high is None:
        return NOT_APPLICABLE
    return f"[{row.low:.3f}, {row.high:.3f}]"


def mean_text(mean: Mean | None) -> str:
    """A mean ratio, and of how many."""
    return NOT_APPLICABLE if mean is None else f"{mean.ratio:.3f} ({mean.cases})"


def shown_rows(rows: Sequence[Row]) -> tuple[list[Row], str]:
    """The rows that are shown, in their order, and what is said of those that are not: where there
    are many, the findings, or a few of the largest changes if nothing was found."""
    if len(rows) <= SHOWN_ROWS:
        return list(rows), ""
    ranked = sorted(rows, key=_rank)
    found = sum(row.verdict not in QUIET for row in rows)
    number = min(found, SHOWN_ROWS) if found else SHOWN_QUIET
    kept = {id(row) for row in ranked[:number]}
    left = counted_verdicts(ranked[number:])
    told = ", ".join(f"{number} {verdict.value}" for verdict, number in left.items())
    return [row for row in rows if id(row) in kept], f"{told} not shown; csv and json have all"


def _rank(row: Row) -> tuple[bool, float]:
    """Findings before the rest, large changes before small ones."""
    return row.verdict in QUIET, -abs(math.log(row.ratio)) if row.ratio else 0.0


def summary_text(comparison: Comparison, metric: str) -> str:
    """The verdicts of a metric in a sentence: `12 cases: 1 regressed, 11 same`."""
    rows = comparison.rows_of(metric)
    verdicts = ", ".join(_verdict_text(rows, one, n) for one, n in counted_verdicts(rows).items())
    means = [m for m in comparison.means if m.category == ALL and m.metric == metric]
    mean = f"; geometric mean of the ratios {means[0].ratio:.3f}" if means else ""
    return f"{counted(len(rows), 'case')} in common: {verdicts}{mean}"


def _directions(row: Row) -> tuple[str, str]:
    """Words for a worse figure and for a better one."""
    if row.described.is_time:
        return "slower", "faster"
    return ("more", "less") if row.described.lower_is_better else ("less", "more")


def _verdict_text(rows: Iterable[Row], verdict: Verdict, number: int) -> str:
    if verdict is not Verdict.SUSPECT:
        return f"{number} {verdict.value}"
    suspect = [row for row in rows if row.verdict is Verdict.SUSPECT]
    worse, better = _directions(suspect[0])
    count = sum(row.is_worse for row in suspect)
    parts = ((count, worse), (number - count, better))
    return f"{number} suspect ({', '.join(f'{n} {word}' for n, word in parts if n)})"


def reasons(rows: Iterable[Row]) -> list[str]:
    """Why rows are without an answer, the most frequent reasons first."""
    found = Counter(row.note for row in rows if row.verdict is Verdict.AMBIGUOUS)
    told = [f"{number} ambiguous: {reason}" for reason, number in found.most_common(SHOWN_REASONS)]
    more = found.total() - sum(number for _, number in found.most_common(SHOWN_REASONS))
    return [*told, *([f"{more} ambiguous for other reasons"] if more else [])]


def remarks(row: Row) -> str:
    """Why a row has its verdict, and what is odd about its figures."""
    return "; ".join(part for part in (row.note, row.caveat) if part)


def change_text(change: Change) -> str:
    """A case that has come or gone, on one line."""
    metric = f" {change.metric}" if change.metric else ""
    inputs = f" ({change.inputs})" if change.inputs else ""
    return f"{change.operator}{inputs}{metric}{f': {change.reason}' if change.reason else ''}"


def operators_text(changes: Sequence[Change]) -> str:
    """The operators of cases that have come or gone, each with how many cases."""
    numbers: dict[str, int] = {}
    for change in changes:
        numbers[change.operator] = numbers.get(change.operator, 0) + 1
    names = [name if n == 1 else f"{name} ({n})" for name, n in numbers.items()]
    more = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def mean_rows(comparison: Comparison) -> list[list[str]]:
    """A row for each category, a column for each metric, all categories last."""
    by_place = {(mean.category, mean.metric): mean for mean in comparison.means}
    categories = list(dict.fromkeys(mean.category for mean in comparison.means))
    categories.sort(key=lambda category: (category == ALL, category))
    return [
        [category, *(mean_text(by_place.get((category, m))) for m in comparison.metrics)]
        for category in categories
    ]


def difference_rows(
    comparison: Comparison, limit: int | None = SHOWN_DIFFERENCES
) -> tuple[list[list[str]], str]:
    """What differs beside the operators, and what is said of the differences beyond the limit."""
    rows = [
        [one.field, _value_text(one.field, one.base), _value_text(one.field, one.new)]
        for one in comparison.differences
    ]
    more = len(rows) - len(rows[:limit])
    return rows[:limit], f"{more} more differences; json has all" if more else ""


def _value_text(field: str, value: Any) -> str:
    """The value of a field that differs; several, separated by commas."""
    if isinstance(value, tuple):
        return ", ".join(_value_text(field, one) for one in value)
    group, _, name = field.partition(".")
    text = DECLARED[name].text(value) if group == "settings" else value
    return "not set" if text in (None, "") else str(text)


def closing_sentences(comparison: Comparison) -> list[str]:
    """What a reader has to know of the verdicts, and how much nothing is known of."""
    told = list(comparison.notes)
    if comparison.unmeasured:
        told.append(f"{counted(comparison.unmeasured, 'case')} measured in neither run.")
    return told


def shortened(name: str, width: int) -> str:
    """A name in at most so many columns. What is left out is in its middle: names of one family
    differ at their ends."""
    if len(name) <= width:
        return name
    tail = (width - 1) // 2
    return f"{name[: width - 1 - tail]}…{name[-tail:]}"
