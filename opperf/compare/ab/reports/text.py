"""The report of a session as text for a terminal."""

from __future__ import annotations

from opperf.compare.ab.report import Report
from opperf.compare.ab.reports.tables import OPERATOR, Table, summary, tables
from opperf.results.terminal import Column, table_text
from opperf.results.text import wrap

WHOLE = frozenset({OPERATOR, "Metric", "Change", "Field"})
"""Headers of columns of words, which lines do not end in; all other texts wrap."""


def text_report(report: Report, width: int | None = None) -> str:
    """The report as text, no wider than `width`."""
    sentences = [wrap(line, width) if width else line for line in summary(report)]
    arms = [report.framework, f"A: {report.a}", f"B: {report.b}"]
    blocks = ["\n".join(wrap(line, width) if width else line for line in arms)]
    blocks.append("\n".join(sentences))
    for table in tables(report, width):
        columns = [
            Column(
                header,
                cells,
                is_text=header not in table.numbers,
                is_extra=header == "Blocks",
                wraps=header not in WHOLE,
            )
            for header, cells in zip(table.headers, zip(*table.rows, strict=True), strict=True)
        ]
        blocks.append(f"{table.title}\n\n{table_text(columns, width)}{_remainder(table)}")
    return "\n\n".join(blocks) + "\n"


def _remainder(table: Table) -> str:
    return f"\n\n{table.remainder}" if table.remainder else ""
