"""The sentences and tables of a session's report, which every format for people shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from opperf.compare.ab.forecast import processes
from opperf.compare.ab.report import CoarseReport, CoarseRow, Report, Row
from opperf.compare.results import TITLE, UNCOMPARED, WHERE, different_rows, not_compared, sentence
from opperf.compare.statistics.blocks import BLOCK
from opperf.compare.statistics.data import Shift, Verdict
from opperf.compare.statistics.weights import Weighted
from opperf.compare.weighted import ARMS, sentences, table
from opperf.model import DIFFERENT
from opperf.results.terminal import GAP
from opperf.results.text import pluralize, short_inputs

OPERATOR, INPUTS = "Operator", "Inputs"
"""Headers of the columns of operators and of their inputs."""

INPUTS_WIDTH = 44
"""Characters of the inputs in a table, at least, where fewer distinguish an operator's cases: the
figures then fit beside them on a page."""

MAX_ROWS = 100
"""Most rows of a table; JSON has all."""

MAX_SAME = 20
"""Most rows of the table of figures that are the same: the longest and the least urgent."""


INTERVAL = "90 % interval"
"""Each bound is wrong with a probability of 5 %, `Thresholds.same_level`."""

NUMBERS = frozenset({"B/A", INTERVAL, "Detectable", "Blocks"})
"""Headers of figures' columns that hold numbers."""


class Table(NamedTuple):
    """A table of the report."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: int = 0
    """Rows that are not in it."""
    numbers: frozenset[str] = NUMBERS
    """Headers of its columns that hold numbers."""

    @property
    def remainder(self) -> str:
        """A line on the rows that are not in it; empty if there are none."""
        return f"and {self.more} more; --format json has all" if self.more else ""


def _results_table(report: Report) -> Table:
    """The cases of which A and B do not compute the same."""
    return Table(TITLE, (OPERATOR, INPUTS, WHERE), *different_rows(report.results))


def _difference(row: Row) -> str:
    return row.difference if row.results == DIFFERENT else ""


def _columns(report: Report, rows: Iterable[Row]) -> Mapping[str, Callable[[Row], str]]:
    """The columns of a table of verdicts: with settings, where those of the session's cases differ,
    and with notes and results, where some of the rows have a note, or results that differ."""
    rows = list(rows)
    differ = any(row.results == DIFFERENT for row in rows)
    noted = any(row.note for row in rows)
    vary = len({row.settings for row in report.rows}) > 1
    return {
        **{title: read for title, read in COLUMNS.items() if title != SETTINGS or vary},
        **({NOTE: lambda row: row.note} if noted else {}),
        **({TITLE: _difference} if differ else {}),
    }


def _verdict_tables(report: Report, width: int | None) -> Iterable[Table]:
    for verdict in SHOWN:
        found = [row for row in report.rows if row.verdict is verdict]
        found.sort(key=lambda row: -abs(math.log(row.ratio or 1.0)))
        most = MAX_SAME if verdict is Verdict.SAME else MAX_ROWS
        columns = _columns(report, found[:most])
        rows = _cells(report.rows, found[:most], columns, width)
        yield Table(verdict.value.capitalize(), list(columns), rows, len(found) - len(rows))


def _coarse_table(coarse: CoarseReport, width: int | None) -> Table:
    """The figures that changed with all threads, the largest change first."""
    found = sorted(_changed(coarse), key=lambda row: -abs(math.log(row.ratio or 1.0)))
    rows = _cells(coarse.rows, found[:MAX_ROWS], COARSE_COLUMNS, width)
    title = f"Changed by more than {coarse.threshold:.0%} with all threads"
    return Table(title, list(COARSE_COLUMNS), rows, len(found) - len(rows))


def _weighted_table(weighted: Weighted) -> Table:
    """The operators that made the difference of the totals."""
    made = table(weighted, ARMS)
    left = len(weighted.operators) - len(made.rows)
    return Table(made.title, made.titles, made.rows, left, frozenset(made.titles[1:]))


AnyRow = TypeVar("AnyRow", Row, CoarseRow)


def _cells(
    run: Sequence[AnyRow],
    shown: Sequence[AnyRow],
    columns: Mapping[str, Callable[[AnyRow], str]],
    width: int | None,
) -> list[list[str]]:
    """The cells of some of a session's rows. The inputs use what other columns leave of the width,
    and are at least as long as distinguishes the session's cases."""
    taken = 0
    for title in columns.keys() - {INPUTS, NOTE, TITLE}:
        texts: list[str] = [columns[title](row) for row in shown]
        taken += max(map(len, (title, *texts))) + GAP
    room = max(INPUTS_WIDTH, (width or 0) - taken)
    short = short_inputs(((row.operator, row.inputs) for row in run), room)
    return [
        [
            short[row.operator, row.inputs] if title == INPUTS else read(row)
            for title, read in columns.items()
        ]
        for row in shown
    ]


def _changed(coarse: CoarseReport) -> list[CoarseRow]:
    return [row for row in coarse.rows if row.changed]


def ratio_text(row: Row | CoarseRow) -> str:
    """The ratio; empty without one."""
    return "" if row.ratio is None else f"{row.ratio:.3f}"


def interval_text(row: Row | CoarseRow) -> str:
    """The interval of the ratio; empty without one."""
    return "" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}"


def _detectable(row: Row) -> str:
    return "" if row.detectable is None else _percent(row.detectable)


def _percent(share: float) -> str:
    """A change; percentages beyond 100 say no more."""
    return f"{share:.1%}" if share <= 1 else "over 100%"


COMMON: dict[str, Callable[[Row | CoarseRow], str]] = {
    OPERATOR: lambda row: row.operator,
    INPUTS: lambda row: row.inputs,
    "Metric": lambda row: row.metric,
    "B/A": ratio_text,
    INTERVAL: interval_text,
}

SETTINGS = "Settings"
"""Header of the column of the settings of both arms."""

NOTE = "Note"
"""Header of the column of why a figure has no verdict."""

COLUMNS: dict[str, Callable[[Row], str]] = {
    **{title: COMMON[title] for title in (OPERATOR, INPUTS)},
    SETTINGS: lambda row: row.settings or "default",
    **COMMON,
    "Detectable": _detectable,
    "Blocks": lambda row: str(row.blocks),
}
"""Columns of a figure's row."""

COARSE_COLUMNS: dict[str, Callable[[CoarseRow], str]] = {
    **COMMON,
    "Change": lambda row: row.changed or "",
}
"""Columns of a figure's row in the coarse look."""

SHOWN = (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.AMBIGUOUS, Verdict.SAME)
"""Verdicts that have a table, in this order."""

LISTS: tuple[tuple[str, str, str, Callable[[Report], dict[str, str]]], ...] = (
    ("Without a partner", "Case", "Reason", lambda report: report.alone),
    ("Excluded: do not run in both A and B", "Case", "Reason", lambda report: report.excluded),
    ("Missing in some process", "Case", "Reason", lambda report: report.lost),
)
"""Tables of cases without a comparison: title, headers, and content."""


def tables(report: Report, width: int | None = None) -> list[Table]:
    """The tables of the report that have rows, for a terminal of some width."""
    found = [_results_table(report)]
    found += _verdict_tables(report, width) if report.valid else []
    found += [_weighted_table(report.weighted)] if report.weighted else []
    found += [_coarse_table(report.coarse, width)] if report.coarse else []
    found.append(
        Table(
            "The arms' environments differ",
            ("Field", "A", "B"),
            [(one.field, one.a, one.b) for one in report.differences],
        )
    )
    lists = [(title, name, why, read(report)) for title, name, why, read in LISTS]
    lists.append((UNCOMPARED, "Case", "Reason", not_compared(report.results)))
    for title, name, why, reasons in lists:
        rows = list(reasons.items())
        found.append(Table(title, (name, why), rows[:MAX_ROWS], max(0, len(rows) - MAX_ROWS)))
    return [table for table in found if table.rows]


def summary(report: Report) -> list[str]:
    """The summary of the session, a sentence each."""
    counts = ", ".join(
        f"{report.counts[verdict.value]} {verdict.value}"
        for verdict in Verdict
        if verdict.value in report.counts
    )
    figures = pluralize(sum(report.counts.values()), "figure")
    return [
        *([f"Invalid: {report.reason}."] if not report.valid else []),
        *([_unfinished(report)] if report.valid and not report.complete else []),
        f"{figures} of {pluralize(report.cases, 'case')}: {counts or 'nothing measured'}.",
        *([sentence(report.results)] if report.results else []),
        f"Changed: by more than {report.threshold:.1%}; same: within {report.same_within:.1%}. "
        f"Measured by {processes(report.processes)}.",
        *_power(report),
        *([_adjustment(report)] if report.explained is not None or report.note else []),
        *([_shift(report.shift)] if report.valid and report.shift is not None else []),
        *(sentences(report.weighted, ARMS) if report.weighted else []),
        *([_coarse(report.coarse)] if report.coarse else []),
    ]


def _unfinished(report: Report) -> str:
    """The sentence on a session that is not complete."""
    if not report.blocks:
        return f"Unfinished: no verdicts before {report.first_look} blocks; --resume continues."
    return (
        f"Unfinished: verdicts after {report.blocks} of at most {report.block_cap} blocks; "
        "--resume continues."
    )


def _power(report: Report) -> list[str]:
    """The sentence on the smallest change that could have been found, if there is one."""
    if report.detectable is None or report.detectable_with_four_times is None:
        return []
    change, smaller = map(_percent, (report.detectable, report.detectable_with_four_times))
    return [
        f"The smallest change that could have been found in the median figure is {change}; smaller "
        f"ones cannot be told from noise. With four times the blocks it would be {smaller}."
    ]


def _adjustment(report: Report) -> str:
    """The sentence on the adjustment for the core's speed."""
    if report.explained is None:
        return f"{report.note[:1].upper()}{report.note[1:]}."
    return (
        f"Adjusted for the core's speed, which explains {report.explained:.0%} of the median "
        "figure's variance."
    )


def _shift(shift: Shift) -> str:
    """The sentence on the shift of all operators together."""
    ratio, low, high = (math.exp(value) for value in (shift.effect, shift.low, shift.high))
    note = f"; {shift.note}" if shift.note else ""
    return (
        f"All operators together: {shift.verdict.value}, B/A {ratio:.3f} "
        f"({low:.3f} to {high:.3f}), p {shift.p:.2g}{note}."
    )


def _coarse(coarse: CoarseReport) -> str:
    """The sentence on the coarse look with all threads."""
    number = len(_changed(coarse))
    figures = pluralize(number, "figure") if number else "no figure"
    effect = "; this does not affect the exit code" if number else ""
    return (
        f"With all threads ({pluralize(coarse.blocks, 'block')} of {BLOCK}): {figures} changed by "
        f"more than {coarse.threshold:.0%}{effect}."
    )
