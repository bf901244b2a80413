"""A report as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from opperf.reports.model import Column, Fact, Report, Section, Table
from opperf.results import terminal
from opperf.results.messages import wrap_message
from opperf.results.text import fit_paths, short_inputs, wrap
from opperf.results.units import align

WIDTH = 100
"""Width of sentences without a terminal; tables are then not limited."""

INPUTS_WIDTH = 100
"""Characters of inputs that a table shows in any case, on several lines if it is narrow: those of
most cases. Without a terminal also the most, so that figures are near their operators."""


def write_text(report: Report, width: int | None = None) -> str:
    """Returns the report, no wider than `width` except for the commands at its end."""
    title = wrap(report.title, width) if width else report.title
    shown = (section for section in report.sections if not section.is_extra)
    written = [title, *(section_text(section, width) for section in shown)]
    return "\n\n".join(filter(None, written)) + "\n"


def section_text(section: Section, width: int | None) -> str:
    """Returns a section, no wider than `width` except for its commands."""
    text = _without_commands(section, width)
    if width is not None:
        text = wrap_message(text, width)
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    # Never cut, because they are for copying.
    code = "\n".join(f"    {line}".rstrip() for line in section.code)
    commands = (f"{why}:\n  {command}" for why, command in section.commands)
    return "\n\n".join(filter(None, (lines, code, *commands)))


def _without_commands(section: Section, width: int | None) -> str:
    columns = width or WIDTH
    if section.brief:
        return wrap(f"{section.title}: {section.brief}", columns)
    if section.items and section.title:
        return "\n".join([f"{section.title}:", *(f"  {item}" for item in section.limited_items())])
    head = [wrap(section.title, columns)] if section.title else []
    sentences = [wrap(sentence, columns) for sentence in (*section.prose, *section.items)]
    parts = ["\n".join([*head, *facts_lines(section.facts, width), *sentences])]
    below = [wrap(sentence, columns) for sentence in section.below]
    if section.table is not None and section.table.height:
        table = section.table.limited()
        more = [table.more] if table.more else []
        parts.append("\n".join([render(table, width), *more, *below]))
    else:
        parts += below
    return "\n\n".join(filter(None, parts))


def facts_lines(facts: Sequence[Fact], width: int | None) -> list[str]:
    """Returns a line for each fact: its label, its name, and what is said about it in a column."""
    if not facts:
        return []
    longest_label = max(len(fact.label) for fact in facts)
    abouts = max(len(fact.about) for fact in facts)
    if not abouts or not any(fact.name for fact in facts):
        begin = longest_label + (terminal.GAP if abouts else 1)
        lines = (f"{fact.label:<{begin}}{fact.name}{fact.about}" for fact in facts)
        return [wrap(line, width, begin) if width else line for line in lines]
    labels = longest_label + terminal.GAP
    shown = fit_paths([fact.name for fact in facts], labels + terminal.GAP + abouts, width)
    longest = max(map(len, shown)) + terminal.GAP
    return [
        f"{fact.label:<{labels}}{name:<{longest}}{fact.about}"
        for fact, name in zip(facts, shown, strict=True)
    ]


def render(table: Table, width: int | None = None) -> str:
    """Returns a table, or the parts of one that is split; columns that wrap are last."""
    if table.is_split:
        parts = _parts(table.columns, width)
        return "\n\n".join(
            terminal.table_text(terminal_columns(part, width), width) for part in parts
        )
    ordered = sorted(
        table.columns,
        key=lambda column: column.kind.wraps and not column.kind.is_name and not table.is_ranked,
    )
    columns = terminal_columns(ordered, width)
    text = terminal.table_text(columns, width)
    kept = {column.title for column in terminal.fitting_columns(columns, width)}
    dropped = [column.title.lower() for column in table.columns if column.heading() not in kept]
    if not table.is_ranked or not dropped:
        return text
    said = f"No room for {', '.join(dropped)}; --format json has all."
    return f"{text}\n\n{wrap(said, width or WIDTH)}"


def _parts(columns: Sequence[Column], width: int | None) -> Iterator[list[Column]]:
    plain = [_plain(column) for column in columns]
    others = [i for i, column in enumerate(columns) if column.is_key or not column.kind.is_number]
    part: list[int] = []
    for i in sorted(set(range(len(columns))) - set(others)):
        needed = terminal.least_width([plain[j] for j in (*others, *part, i)])
        if part and width is not None and needed > width:
            yield [columns[j] for j in sorted((*others, *part))]
            part = []
        part.append(i)
    yield [columns[j] for j in sorted((*others, *part))]


def terminal_columns(columns: Iterable[Column], width: int | None) -> list[terminal.Column]:
    """Returns columns as texts. Inputs take what the other columns leave of the width."""
    listed = list(columns)
    made = [None if column.cases else _plain(column) for column in listed]
    others = [column for column in made if column is not None]
    return [
        _inputs(column, others, width) if one is None else one
        for column, one in zip(listed, made, strict=True)
    ]


def _inputs(
    column: Column, others: Sequence[terminal.Column], width: int | None
) -> terminal.Column:
    """Returns inputs shortened, then wrapped, to what the other columns leave of the width."""
    cases, run = column.cases or ((), ())
    whole = _plain(column)
    line = INPUTS_WIDTH
    if width is not None:
        left = width - sum(other.width + terminal.GAP for other in others)
        # Texts beside them that wrap leave more.
        line = max(terminal.LEAST_TEXT, left, terminal.widths_of([whole, *others], width)[0])
    short = short_inputs(run, line, math.ceil(INPUTS_WIDTH / line))
    return whole._replace(cells=[short[case] for case in cases])


def _plain(column: Column) -> terminal.Column:
    return terminal.Column(
        column.heading(),
        align(column.figure_texts()) if column.unit else column.whole(),
        is_text=not column.kind.is_number,
        extra=column.extra,
        wraps=column.kind.wraps,
        is_whole=column.kind.is_whole,
    )
