"""Findings as text: a table, then the reason and the fix of each warning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from opperf.results.messages import wrap_message
from opperf.results.terminal import GAP, Column, table_text
from opperf.results.text import pluralize
from opperf.runner.health.finding import Finding

LEAST_STATE = 20
"""Minimum width of the states' column: a narrower one would break most words."""

INDENT = "    "

STYLES = {"ok": "green", "warn": "bold yellow", "unknown": "dim"}
"""Style of each level on a terminal with colours."""


def title(name: str) -> str:
    """Returns a finding's name with spaces."""
    return name.replace("_", " ")


def report_text(findings: Sequence[Finding], width: int | None = None) -> str:
    """Returns the report, no wider than `width` except for commands, which are for copying."""
    warnings = [_warning(found, width) for found in findings if found.level == "warn"]
    return "\n\n".join([_table(findings, width), *warnings, _closing(findings)])


def _table(findings: Sequence[Finding], width: int | None) -> str:
    """Returns a table with a row for each finding; long states take several lines."""
    fixed = [
        Column("Finding", [title(found.name) for found in findings]),
        Column("Level", [found.level for found in findings]),
    ]
    states = Column("State", [found.state for found in findings], wraps=True)
    if width is not None:
        width = max(width, sum(column.width + GAP for column in fixed) + LEAST_STATE)
    return table_text([*fixed, states], width)


def _warning(found: Finding, width: int | None) -> str:
    """Returns why it matters, and the command below."""
    why = f"{title(found.name)}: {found.explanation}"
    told = why if width is None else wrap_message(why, width)
    return "\n".join([told, *([INDENT + found.fix] if found.fix else [])])


def _closing(findings: Sequence[Finding]) -> str:
    levels = Counter(found.level for found in findings)
    warnings = pluralize(levels["warn"], "warning")
    return f"{warnings}, {levels['unknown']} unknown, {levels['ok']} ok"


def print_report(findings: Sequence[Finding], width: int | None) -> None:
    """Prints the report, with coloured levels on a terminal."""
    text = report_text(findings, width)
    if width is None:
        print(text)
        return
    # Costs some 50 ms to import, and only a terminal shows it.
    from rich.console import Console
    from rich.text import Text

    coloured = Text(text)
    for level, style in STYLES.items():
        # Words are between gaps only in the table.
        coloured.highlight_regex(rf"(?<= {{{GAP}}}){level}(?= {{{GAP}}})", style)
    Console(highlight=False).print(coloured, soft_wrap=True)
