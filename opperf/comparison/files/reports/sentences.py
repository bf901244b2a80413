"""Titles, figures and sentences of the reports of a comparison."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from opperf.comparison.compared import (
    ALL,
    Change,
    ChangeKind,
    ComparedRow,
    Comparison,
    count_verdicts,
)
from opperf.comparison.results import sentence
from opperf.comparison.statistics.data import Verdict
from opperf.model import DECLARED
from opperf.plurals import pluralize
from opperf.results import units
from opperf.shares import share_text

SHOWN_ROWS = 40
"""Most rows of one metric in a report for readers: two screens. CSV and JSON have all."""

SHOWN_QUIET = 10
"""Rows of a metric with more than `SHOWN_ROWS` and no finding: the largest changes."""

SHOWN_NAMES = 20
"""Most cases that are named of those that appeared or disappeared."""

SHOWN_REASONS = 3
"""Most reasons for ambiguous rows: numbers of samples come in many combinations."""

SHOWN_DIFFERENCES = 25
"""Most differences between the runs: two builds may differ in every feature."""

QUIET = (Verdict.SAME, Verdict.NO_CLEAR_CHANGE, Verdict.AMBIGUOUS)
"""Verdicts that are not findings."""

CHANGES = {
    ChangeKind.BROKEN: "Measured before, not now",
    ChangeKind.DISAPPEARED: "Not in the new file",
    ChangeKind.FIXED: "Measured now, not before",
    ChangeKind.APPEARED: "Not in the base",
}
"""Titles of changes, in the order of the reports."""


def unit_of(rows: Sequence[ComparedRow]) -> units.Unit:
    """The unit for the figures of these rows in both files."""
    figures = [figure for row in rows for figure in row.figures]
    return units.choose_unit(rows[0].unit, figures)


def figure_texts(row: ComparedRow, unit: units.Unit) -> tuple[str, str]:
    """Both figures of a row."""
    base, new = (str(units.format_figure(figure, unit)) for figure in row.figures)
    return base, new


def mark_sentences(rows: Iterable[ComparedRow]) -> list[str]:
    """A sentence on the mark of uncertain figures, if one of the rows has it."""
    return units.mark_legend(figure for row in rows for figure in row.figures)


def select_rows(rows: Sequence[ComparedRow]) -> tuple[tuple[int, ...], str]:
    """Returns the indices of the rows to show, findings if there are some, and a sentence."""
    if len(rows) <= SHOWN_ROWS:
        return tuple(range(len(rows))), ""
    # Findings before the rest, large changes before small ones.
    ranks = [(row.verdict in QUIET, -abs(math.log(row.ratio or 1.0))) for row in rows]
    ranked = sorted(range(len(rows)), key=ranks.__getitem__)
    found = sum(row.verdict not in QUIET for row in rows)
    number = min(found, SHOWN_ROWS) if found else SHOWN_QUIET
    left = count_verdicts(rows[index] for index in ranked[number:])
    others = ", ".join(f"{number} {verdict.value}" for verdict, number in left.items())
    return tuple(sorted(ranked[:number])), f"{others} not shown; csv and json have all"


def summary_text(comparison: Comparison, metric: str) -> str:
    """The verdicts of a metric in a sentence: `12 cases: 1 regressed, 11 same`."""
    rows = comparison.rows_of(metric)
    counts = count_verdicts(rows).items()
    verdicts = ", ".join(_verdict_text(rows, verdict, number) for verdict, number in counts)
    means = [m for m in comparison.groups if m.category == ALL and m.metric == metric]
    mean = f"; geometric mean of the ratios {means[0].ratio:.3f}" if means else ""
    return f"{pluralize(len(rows), 'case')} in common: {verdicts}{mean}"


def _directions(row: ComparedRow) -> tuple[str, str]:
    if row.described.is_time:
        return "slower", "faster"
    return ("more", "less") if row.described.lower_is_better else ("less", "more")


def _verdict_text(rows: Iterable[ComparedRow], verdict: Verdict, number: int) -> str:
    if verdict is not Verdict.SUSPECT:
        return f"{number} {verdict.value}"
    suspect = [row for row in rows if row.verdict is Verdict.SUSPECT]
    worse, better = _directions(suspect[0])
    count = sum(row.is_worse for row in suspect)
    parts = ((count, worse), (number - count, better))
    return f"{number} suspect ({', '.join(f'{n} {word}' for n, word in parts if n)})"


def reasons(rows: Iterable[ComparedRow]) -> list[str]:
    """Why rows are ambiguous, the most frequent reasons first."""
    found = Counter(row.note for row in rows if row.verdict is Verdict.AMBIGUOUS)
    shown = found.most_common(SHOWN_REASONS)
    more = found.total() - sum(number for _, number in shown)
    return [
        *(f"{number} ambiguous: {reason}" for reason, number in shown),
        *([f"{more} ambiguous for other reasons"] if more else []),
    ]


def remarks(row: ComparedRow) -> str:
    """The reason for a row's verdict, and the qualification of its figures."""
    return "; ".join(part for part in (row.note, row.caveat) if part)


def case_text(one: ComparedRow | Change) -> str:
    """The case of a row or a change: `relu (data: (64, 64); float16)`."""
    details = "; ".join(part for part in (one.inputs, one.settings) if part)
    return f"{one.operator} ({details})" if details else one.operator


def change_text(change: Change) -> str:
    """A case that appeared or disappeared, on one line."""
    metric = f" {change.metric}" if change.metric else ""
    return f"{case_text(change)}{metric}{f': {change.reason}' if change.reason else ''}"


def missing_text(change: Change) -> str:
    """Why a case has no figures, as a sentence: `measured before, not now: crashed`."""
    title = CHANGES[change.kind]
    title = f"{title[:1].lower()}{title[1:]}"
    return f"{title}: {change.reason}" if change.reason else title


def operators_text(changes: Sequence[Change]) -> str:
    """The operators of cases that appeared or disappeared, each with the number of cases."""
    numbers: dict[str, int] = {}
    for change in changes:
        numbers[change.operator] = numbers.get(change.operator, 0) + 1
    names = [name if n == 1 else f"{name} ({n})" for name, n in numbers.items()]
    more = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def mean_rows(comparison: Comparison) -> list[list[str]]:
    """A row for each category, a column for each metric, all categories last."""
    texts = {
        (mean.category, mean.metric): f"{mean.ratio:.3f} ({mean.cases})"
        for mean in comparison.groups
    }
    categories = list(dict.fromkeys(mean.category for mean in comparison.groups))
    categories.sort(key=lambda category: (category == ALL, category))
    return [
        [category, *(texts.get((category, m), units.NOT_APPLICABLE) for m in comparison.metrics)]
        for category in categories
    ]


def difference_rows(comparison: Comparison) -> tuple[list[list[str]], tuple[int, ...], str]:
    """Returns a row for each difference, the indices of the shown, and a line on the others."""
    rows = [
        [name, _value_text(name, before), _value_text(name, after)]
        for name, before, after in comparison.differences
    ]
    more = len(rows) - SHOWN_DIFFERENCES
    shown = tuple(range(len(rows)))[:SHOWN_DIFFERENCES]
    return rows, shown, f"{pluralize(more, 'more difference')}; json has all" if more > 0 else ""


def _value_text(field: str, value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(_value_text(field, element) for element in value)
    group, _, name = field.partition(".")
    text = DECLARED[name].text(value) if group == "settings" else value
    return "not set" if text in (None, "") else str(text)


def closing_sentences(comparison: Comparison) -> list[str]:
    """Remarks on the verdicts, and the number of cases without figures."""
    sentences = [*comparison.notes, *_limits(comparison)]
    if comparison.results:
        sentences.insert(0, sentence(comparison.results))
    if comparison.unmeasured:
        sentences.append(f"{pluralize(comparison.unmeasured, 'case')} measured in neither run.")
    return sentences


def _limits(comparison: Comparison) -> list[str]:
    """Returns how large a change counts as none, by metric, the limit of most cases first."""
    found = []
    for metric in comparison.metrics:
        operators: dict[str, list[str]] = {}
        for row in comparison.rows_of(metric):
            limit = row.tolerance or share_text(comparison.threshold)
            operators.setdefault(limit, []).append(row.operator)
        if not operators:
            continue
        first, *others = sorted(operators, key=lambda limit: -len(operators[limit]))
        apart = "; ".join(
            f"{', '.join(dict.fromkeys(operators[limit]))} {limit}" for limit in others
        )
        found.append(f"{metric} {first} ({apart})" if apart else f"{metric} {first}")
    source = f", by {comparison.limits_file}" if comparison.limits_file else ""
    return [f"Changes up to these count as none: {', '.join(found)}{source}."] if found else []
