"""The report of a session, as text, Markdown and JSON."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec
from tabulate import tabulate

from opperf.compare.ab.forecast import processes
from opperf.compare.ab.session import Session, metric_of, pair_of
from opperf.compare.statistics.data import Analysis, CaseVerdict, Shift, Verdict
from opperf.errors import one_line
from opperf.model import Struct
from opperf.results.terminal import Column, table_text
from opperf.results.text import inputs_text, pluralize, wrap
from opperf.runner.resuming import find_lasting_differences

INPUTS_WIDTH = 44
"""Most characters of the inputs in a table: the figures then fit beside them."""

MAX_ROWS = 100
"""Most rows of a table; JSON has all."""

MAX_SAME = 20
"""Most rows of the table of figures that are the same: the longest and the least urgent."""


class Row(Struct, frozen=True, omit_defaults=False):
    """A figure and its verdict."""

    id: str
    operator: str
    inputs: str
    metric: str
    verdict: Verdict
    ratio: float | None = None
    """B over A."""
    low: float | None = None
    high: float | None = None
    """Bounds of the ratio, each wrong with the probability `Thresholds.same_level`."""
    p: float | None = None
    detectable: float | None = None
    """Smallest change that its blocks find four times out of five, as a share."""
    blocks: int = 0
    note: str = ""


class Difference(Struct, frozen=True):
    """A field of the environment that differs between the arms."""

    field: str
    a: str
    b: str


class Report(Struct, frozen=True, omit_defaults=False):
    """The results of a session. A figure is a metric of a case."""

    framework: str
    a: str
    b: str
    started: str
    complete: bool
    """Whether nothing is left to measure."""
    valid: bool
    reason: str
    """Why the session is invalid, and what to do."""
    cases: int
    processes: int
    blocks: int
    """Blocks of A and B at the latest look, on which the verdicts rest."""
    block_cap: int
    """Most blocks of A and B."""
    first_look: int
    """Blocks before the first verdict."""
    threshold: float
    same_within: float
    """Share below which a change counts as none, where that could be shown."""
    detectable: float | None
    """Median over the figures of their smallest detectable changes, as a share; None without
    one."""
    detectable_with_four_times: float | None
    """The same with four times the blocks, whose standard errors are half as large."""
    explained: float | None
    """Share of the median figure's variance that the core's speed explains and that is subtracted;
    None where nothing is."""
    note: str
    """Why nothing is subtracted although reference work was timed."""
    counts: dict[str, int]
    shift: Shift | None
    """None with too few figures."""
    rows: tuple[Row, ...]
    """One for every figure, the largest ratio first."""
    differences: tuple[Difference, ...]
    alone: dict[str, str]
    excluded: dict[str, str]
    lost: dict[str, str]
    """Cases without a figure in some process, each with the last reason."""


def report_of(session: Session, analysis: Analysis) -> Report:
    """The report of a session and its analysis."""
    header = session.header
    pairs = {pair.id: pair for pair in header.pairs}

    def row(one: CaseVerdict) -> Row:
        pair = pairs[pair_of(one.case)]
        return Row(
            id=pair.id,
            operator=pair.label,
            inputs=inputs_text(pair.a),
            metric=metric_of(one.case),
            verdict=one.verdict,
            ratio=one.ratio,
            low=_exp(one.low),
            high=_exp(one.high),
            p=one.p,
            detectable=_change(one.detectable),
            blocks=one.n_blocks,
            note=one.note,
        )

    rows = sorted(map(row, analysis.verdicts), key=lambda one: -(one.ratio or 0.0))
    environments = header.environments
    looks = header.thresholds.looks
    detectable = _median(one.detectable for one in analysis.verdicts)
    return Report(
        framework=" ".join([header.framework, *_versions(session)]),
        a=str(header.a),
        b=str(header.b),
        started=header.started,
        complete=session.closing is not None,
        valid=analysis.valid,
        reason=analysis.reason,
        cases=len(pairs),
        processes=len(session.lines),
        blocks=looks[analysis.looks - 1] if analysis.looks else 0,
        block_cap=looks[-1],
        first_look=looks[0],
        threshold=header.thresholds.threshold,
        same_within=header.thresholds.same_within,
        detectable=_change(detectable),
        detectable_with_four_times=_change(_halve_beyond(header.thresholds.margin, detectable)),
        explained=analysis.explained,
        note=analysis.note,
        counts=dict(Counter(one.verdict.value for one in rows)),
        shift=analysis.shift,
        rows=tuple(rows),
        differences=tuple(
            Difference(name, str(before), str(after))
            for name, before, after in find_lasting_differences(
                environments["A"], environments["B"]
            )
        ),
        alone=header.alone,
        excluded=header.excluded,
        lost={
            f"{pairs[name].label} ({inputs_text(pairs[name].a)})": one.reason
            for name, one in session.lost.items()
        },
    )


def _versions(session: Session) -> list[str]:
    """The framework's version, if it is the same in both arms."""
    header = session.header
    found = {one.versions.get(header.framework, "") for one in header.environments.values()}
    return [version for version in found if version] if len(found) == 1 else []


def _change(value: float | None) -> float | None:
    """A log ratio as a share."""
    return None if value is None else math.expm1(value)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _halve_beyond(margin: float, value: float | None) -> float | None:
    """The value with its distance to the margin halved."""
    return None if value is None else margin + (value - margin) / 2


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(value)


class Table(NamedTuple):
    """A table of the report."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: int = 0
    """Rows that are not in it."""


def _verdict_tables(report: Report) -> Iterable[Table]:
    for verdict in SHOWN:
        found = [row for row in report.rows if row.verdict is verdict]
        found.sort(key=lambda row: -abs(math.log(row.ratio or 1.0)))
        most = MAX_SAME if verdict is Verdict.SAME else MAX_ROWS
        rows = [[read(row) for read in COLUMNS.values()] for row in found[:most]]
        yield Table(verdict.value.capitalize(), list(COLUMNS), rows, len(found) - len(rows))


def _ratio(row: Row) -> str:
    return "" if row.ratio is None else f"{row.ratio:.3f}"


def _interval(row: Row) -> str:
    return "" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}"


def _detectable(row: Row) -> str:
    return row.note or ("" if row.detectable is None else f"{row.detectable:.1%}")


INTERVAL = "90 % interval"
"""Each bound is wrong with a probability of 5 %, `Thresholds.same_level`."""


COLUMNS: dict[str, Callable[[Row], str]] = {
    "Operator": lambda row: row.operator,
    "Inputs": lambda row: one_line(row.inputs, INPUTS_WIDTH),
    "Metric": lambda row: row.metric,
    "B/A": _ratio,
    INTERVAL: _interval,
    "Detectable": _detectable,
    "Blocks": lambda row: str(row.blocks),
}
"""Columns of a figure's row."""

SHOWN = (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.AMBIGUOUS, Verdict.SAME)
"""Verdicts that have a table, in this order."""

LISTS: tuple[tuple[str, str, str, Callable[[Report], dict[str, str]]], ...] = (
    ("Without a partner", "Case", "Reason", lambda report: report.alone),
    ("Excluded: do not run in both arms", "Case", "Reason", lambda report: report.excluded),
    ("Missing in some process", "Case", "Reason", lambda report: report.lost),
)
"""Tables of cases without a comparison: title, headers, and content."""


def _tables(report: Report) -> list[Table]:
    """The tables of the report that have rows."""
    tables = [*_verdict_tables(report)] if report.valid else []
    tables.append(
        Table(
            "The arms' environments differ",
            ("Field", "A", "B"),
            [(one.field, one.a, one.b) for one in report.differences],
        )
    )
    for title, name, why, read in LISTS:
        found = list(read(report).items())
        tables.append(Table(title, (name, why), found[:MAX_ROWS], max(0, len(found) - MAX_ROWS)))
    return [table for table in tables if table.rows]


def _summary(report: Report) -> list[str]:
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
        f"Changed: by more than {report.threshold:.1%}; same: within {report.same_within:.1%}. "
        f"Measured by {processes(report.processes)}.",
        *_power(report),
        *([_adjustment(report)] if report.explained is not None or report.note else []),
        *([_shift(report.shift)] if report.valid and report.shift is not None else []),
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
    return [
        f"A change of {report.detectable:.1%} could have been found in the median figure; half as "
        f"far above the threshold, {report.detectable_with_four_times:.1%}, takes four times the "
        "blocks."
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


NUMBERS = frozenset({"B/A", INTERVAL, "Detectable", "Blocks"})
"""Headers of columns that hold numbers."""

REASONS = frozenset({"Reason"})
"""Headers of columns whose texts wrap and are never cut."""


def text_of(report: Report, width: int | None = None) -> str:
    """The report as text, no wider than `width`."""
    sentences = [wrap(line, width) if width else line for line in _summary(report)]
    blocks = [f"{report.framework}\nA: {report.a}\nB: {report.b}", "\n".join(sentences)]
    for table in _tables(report):
        columns = [
            Column(
                header,
                cells,
                is_text=header not in NUMBERS,
                is_extra=header == "Blocks",
                wraps=header in REASONS,
            )
            for header, cells in zip(table.headers, zip(*table.rows, strict=True), strict=True)
        ]
        blocks.append(f"{table.title}\n\n{table_text(columns, width)}{_more(table)}")
    return "\n\n".join(blocks)


def markdown_of(report: Report) -> str:
    """The report as Markdown."""
    blocks = [
        f"# {report.framework}: A against B",
        f"- A: `{report.a}`\n- B: `{report.b}`",
        "\n".join(f"- {line}" for line in _summary(report)),
    ]
    for table in _tables(report):
        rows = [[cell.replace("|", "\\|") for cell in row] for row in table.rows]
        grid = tabulate(rows, table.headers, tablefmt="github", disable_numparse=True)
        blocks.append(f"## {table.title}\n\n{grid}{_more(table)}")
    return "\n\n".join(blocks)


def _more(table: Table) -> str:
    return f"\n\nand {table.more} more; --format json has all" if table.more else ""


def json_of(report: Report) -> str:
    """The report as JSON, with every figure."""
    return msgspec.json.format(msgspec.json.encode(report)).decode()


TEXT = "text"
"""The format for a terminal."""

FORMATS: dict[str, Callable[[Report], str]] = {
    TEXT: text_of,
    "md": markdown_of,
    "json": json_of,
}
"""Functions that write a report, by the name of the format."""
