"""The report of a session as text for a terminal."""

from __future__ import annotations

from opperf.compare.ab.report import Report
from opperf.compare.ab.reports.tables import INPUTS, Table, summary, tables
from opperf.compare.results import TITLE, WHERE
from opperf.results.terminal import Column, table_text
from opperf.results.text import wrap

WRAPPED = frozenset({"Reason", "Case", INPUTS, TITLE, WHERE})
"""Headers of columns whose texts wrap and are never cut."""


def text_report(report: Report, width: int | None = None) -> str:
    """The report as text, no wider than `width`."""
    sentences = [wrap(line, width) if width else line for line in summary(report)]
    blocks = [f"{report.framework}\nA: {report.a}\nB: {report.b}", "\n".join(sentences)]
    for table in tables(report, width):
        columns = [
            Column(
                header,
                cells,
                is_text=header not in table.numbers,
                is_extra=header == "Blocks",
                wraps=header in WRAPPED,
            )
            for header, cells in zip(table.headers, zip(*table.rows, strict=True), strict=True)
        ]
        blocks.append(f"{table.title}\n\n{table_text(columns, width)}{_remainder(table)}")
    return "\n\n".join(blocks) + "\n"


def _remainder(table: Table) -> str:
    return f"\n\n{table.remainder}" if table.remainder else ""
