"""Findings as text: a table, then why each warning matters and what mends it."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from opperf.results.terminal import GAP, Column, table_text
from opperf.results.text import counted
from opperf.runner.health.finding import Finding

LEAST_STATE = 20
"""Columns for the states, however narrow the terminal is: fewer would break most words."""

INDENT = "    "

STYLES = {"ok": "green", "warn": "bold yellow", "unknown": "dim"}
"""How each level is shown on a terminal that has colours."""


def shown(name: str) -> str:
    """A finding's name as people write it."""
    return name.replace("_", " ")


def report_text(findings: Sequence[Finding], width: int | None = None) -> str:
    """The report, no wider than `width` but for commands, which stay whole so that they can be
    copied."""
    warnings = [_warning(found, width) for found in findings if found.level == "warn"]
    return "\n\n".join([_table(findings, width), *warnings, _closing(findings)])


def _table(findings: Sequence[Finding], width: int | None) -> str:
    """A row for each finding, long states on several lines."""
    fixed = [
        Column("Finding", [shown(found.name) for found in findings]),
        Column("Level", [found.level for found in findings]),
    ]
    states = Column("State", [found.state for found in findings], wraps=True)
    if width is not None:
        width = max(width, sum(column.width + GAP for column in fixed) + LEAST_STATE)
    return table_text([*fixed, states], width)


def _warning(found: Finding, width: int | None) -> str:
    """Why it matters, and the command below."""
    why = f"{shown(found.name)}: {found.explanation}"
    lines = [why] if width is None else textwrap.wrap(why, width)
    return "\n".join([*lines, *([INDENT + found.mend] if found.mend else [])])


def _closing(findings: Sequence[Finding]) -> str:
    levels = Counter(found.level for found in findings)
    warnings = counted(levels["warn"], "warning")
    return f"{warnings}, {levels['unknown']} unknown, {levels['ok']} ok"


def print_report(findings: Sequence[Finding], width: int | None) -> None:
    """Print the report, the levels in colour on a terminal."""
    text = report_text(findings, width)
    if width is None:
        print(text)
        return
    # Costs some 50 ms to import, and only a terminal shows it.
    from rich.console import Console
    from rich.text import Text

    coloured = Text(text)
    for level, style in STYLES.items():
        # Only in the table does a word stand between gaps.
        coloured.highlight_regex(rf"(?<= {{{GAP}}}){level}(?= {{{GAP}}})", style)
    Console(highlight=False).print(coloured, soft_wrap=True)
