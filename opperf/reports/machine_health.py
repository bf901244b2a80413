"""The findings of `opperf doctor` as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from opperf.machine.health.finding import Finding
from opperf.plurals import pluralize
from opperf.results.messages import wrap_message
from opperf.results.terminal import GAP, Column, table_text

LEAST_STATE = 20
"""Least width of the states: a narrower column would break most words."""

INDENT = "    "

STYLES = {"ok": "green", "warn": "bold yellow", "unknown": "dim"}


def title(name: str) -> str:
    """Returns a finding's name in words."""
    return name.replace("_", " ")


def findings_text(findings: Sequence[Finding], width: int | None = None) -> str:
    """Returns the report, no wider than `width` but for commands, which are for copying."""
    warnings = [_warning(found, width) for found in findings if found.level == "warn"]
    levels = Counter(found.level for found in findings)
    counts = f"{levels['unknown']} unknown, {levels['ok']} ok"
    closing = f"{pluralize(len(warnings), 'warning')}, {counts}"
    return "\n\n".join([_table(findings, width), *warnings, closing])


def _table(findings: Sequence[Finding], width: int | None) -> str:
    fixed = [
        Column("Finding", [title(found.name) for found in findings]),
        Column("Level", [found.level for found in findings]),
    ]
    states = Column("State", [found.state for found in findings], wraps=True)
    if width is not None:
        width = max(width, sum(column.width + GAP for column in fixed) + LEAST_STATE)
    return table_text([*fixed, states], width)


def _warning(found: Finding, width: int | None) -> str:
    why = f"{title(found.name)}: {found.explanation}"
    told = why if width is None else wrap_message(why, width)
    return "\n".join([told, *([INDENT + found.fix] if found.fix else [])])


def print_findings(findings: Sequence[Finding], width: int | None) -> None:
    """Prints the report, with coloured levels on a terminal."""
    text = findings_text(findings, width)
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
