"""A report, and its tables, as text for a terminal."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from opperf.reports.model import Column, Fact, Report, Section, Table
from opperf.results.messages import wrap_message
from opperf.results.text import cut_distinct, fit_paths, short_inputs, split_words, wrap
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
    parts = ["\n".join([*head, *_facts_lines(section.facts, width), *sentences])]
    below = [wrap(sentence, columns) for sentence in section.below]
    if section.table is not None and section.table.height:
        table = section.table.limited()
        more = [table.more] if table.more else []
        parts.append("\n".join([render(table, width), *more, *below]))
    else:
        parts += below
    return "\n\n".join(filter(None, parts))


def _facts_lines(facts: Sequence[Fact], width: int | None) -> list[str]:
    """Returns a line for each fact: its label, its name, and what is said about it in a column."""
    if not facts:
        return []
    longest_label = max(len(fact.label) for fact in facts)
    abouts = max(len(fact.about) for fact in facts)
    if not abouts or not any(fact.name for fact in facts):
        begin = longest_label + (GAP if abouts else 1)
        lines = (f"{fact.label:<{begin}}{fact.name}{fact.about}" for fact in facts)
        return [wrap(line, width, begin) if width else line for line in lines]
    labels = longest_label + GAP
    shown = fit_paths([fact.name for fact in facts], labels + GAP + abouts, width)
    longest = max(map(len, shown)) + GAP
    return [
        f"{fact.label:<{labels}}{name:<{longest}}{fact.about}"
        for fact, name in zip(facts, shown, strict=True)
    ]


def render(table: Table, width: int | None = None) -> str:
    """Returns a table, or the parts of one that is split; columns that wrap are last."""
    if table.is_split:
        parts = _parts(table.columns, width)
        return "\n\n".join(table_text(terminal_columns(part, width), width) for part in parts)
    ordered = sorted(
        table.columns,
        key=lambda column: column.kind.wraps and not column.kind.is_name and not table.is_ranked,
    )
    columns = terminal_columns(ordered, width)
    text = table_text(columns, width)
    kept = {column.title for column in _fitting_columns(columns, width)}
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
        needed = _least_width([plain[j] for j in (*others, *part, i)])
        if part and width is not None and needed > width:
            yield [columns[j] for j in sorted((*others, *part))]
            part = []
        part.append(i)
    yield [columns[j] for j in sorted((*others, *part))]


def terminal_columns(columns: Iterable[Column], width: int | None) -> list[TextColumn]:
    """Returns columns as texts. Inputs take what the other columns leave of the width."""
    listed = list(columns)
    made = [None if column.cases else _plain(column) for column in listed]
    others = [column for column in made if column is not None]
    return [
        _inputs(column, others, width) if one is None else one
        for column, one in zip(listed, made, strict=True)
    ]


def _inputs(column: Column, others: Sequence[TextColumn], width: int | None) -> TextColumn:
    """Returns inputs shortened, then wrapped, to what the other columns leave of the width."""
    cases, run = column.cases or ((), ())
    whole = _plain(column)
    line = INPUTS_WIDTH
    if width is not None:
        left = width - sum(other.width + GAP for other in others)
        # Texts beside them that wrap leave more.
        line = max(LEAST_TEXT, left, _widths_of([whole, *others], width)[0])
    short = short_inputs(run, line, math.ceil(INPUTS_WIDTH / line))
    return whole._replace(cells=[short[case] for case in cases])


def _plain(column: Column) -> TextColumn:
    return TextColumn(
        column.heading(),
        align(column.figure_texts()) if column.unit else column.whole(),
        is_text=not column.kind.is_number,
        extra=column.extra,
        wraps=column.kind.wraps,
        is_whole=column.kind.is_whole,
    )


BLANK = "    \n"
"""An empty line of a `rich` box: a table has no lines except the one below its titles."""

GAP = 2
"""Spaces between two columns."""

UNLIMITED = 10_000
"""Characters of a line without a terminal: more than any table has."""

LEAST_TEXT = 16
"""Minimum width of a column of texts, below which extra columns are dropped."""

LEAST_CUT = 4
"""Minimum width of a text where the figures leave no more: three letters and the ellipsis."""

MOST_WORD = 28
"""Longest word that a column of texts has room for: nearly all names of arguments are shorter."""


class TextColumn(NamedTuple):
    """A column as texts."""

    title: str
    cells: Sequence[str]
    is_text: bool = True
    """Whether it is aligned to the left and may be cut; figures never are."""
    extra: int = 0
    wraps: bool = False
    is_whole: bool = False
    """Whether a text is neither cut nor wrapped while other columns can be."""

    @property
    def width(self) -> int:
        return max(map(len, (*self.title.split("\n"), *self.cells)))


def table_text(columns: Iterable[TextColumn], width: int | None = None) -> str:
    """Returns the columns as a table of at most `width` characters. Texts that wrap become
    narrower first, down to their longest word; then others are cut, with an ellipsis, the longest
    first. Texts that differ stay different."""
    # Takes some 50 ms to import, and only tables need it.
    from rich.box import Box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    kept = _fitting_columns(list(columns), width)
    widths = _widths_of(kept, width)
    table = Table(
        box=Box(f"{BLANK * 2} -  \n{BLANK * 5}", ascii=True),
        show_edge=False,
        pad_edge=False,
        # The box has a space between two columns as well.
        padding=(0, GAP - 1, 0, 0),
        header_style="",
    )
    for column, taken in zip(kept, widths, strict=True):
        table.add_column(
            Text(split_words(column.title, taken), overflow="ellipsis"),
            justify="left" if column.is_text else "right",
            width=taken,
            overflow="ellipsis",
        )
    for row in zip(*map(_cells, kept, widths), strict=True):
        table.add_row(
            *(
                Text(
                    cell,
                    justify="left",
                    no_wrap=not column.is_text,
                    overflow="fold" if column.is_text else "ellipsis",
                )
                for column, cell in zip(kept, row, strict=True)
            )
        )
    file = io.StringIO()
    Console(file=file, width=width or UNLIMITED, color_system=None).print(table)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def _cells(column: TextColumn, width: int) -> Sequence[str]:
    if not column.is_text:
        # A right-justified text loses the spaces at its end, by which figures are aligned.
        return [cell.rjust(column.width) for cell in column.cells]
    if column.wraps:
        return [split_words(cell, width) for cell in column.cells]
    return cut_distinct(column.cells, width)


def _fitting_columns(columns: Sequence[TextColumn], width: int | None) -> list[TextColumn]:
    kept = list(columns)
    for extra in sorted({column.extra for column in columns if column.extra}, reverse=True):
        if width is not None and _least_width(kept) > width:
            kept = [column for column in kept if column.extra != extra]
    return kept


def _widths_of(columns: Sequence[TextColumn], width: int | None) -> list[int]:
    """Returns the characters of each column, all of them if there is room; else texts give what is
    missing, the widest first: those that wrap, then those that are cut, then all."""
    taken = [column.width for column in columns]
    if width is None:
        return taken
    room = width - GAP * (len(columns) - 1)
    for least in LEAST_WIDTHS:
        if sum(taken) <= room:
            break
        floors = [min(least(one), now) for one, now in zip(columns, taken, strict=True)]
        taken = _shrunk(taken, floors, room)
    return taken


def _shrunk(widths: Sequence[int], floors: Sequence[int], room: int) -> list[int]:
    """Returns widths from `floors`, the widest made equal until all fit, if they can."""
    found = list(floors)
    for level in range(max(widths), 0, -1):
        found = [max(floor, min(one, level)) for one, floor in zip(widths, floors, strict=True)]
        if sum(found) <= room:
            break
    left = room - sum(found)
    # The level below the one that is too wide leaves a few characters.
    for place, one in enumerate(widths):
        if left > 0 and found[place] < one:
            found[place] += 1
            left -= 1
    return found


def _least_wrapped(column: TextColumn) -> int:
    """Returns the width at which a text that wraps still has its longest word on a line."""
    if not column.wraps or column.is_whole:
        return column.width
    words = (word for cell in column.cells for word in cell.split())
    longest = max(map(len, (column.title, *words)))
    return max(LEAST_TEXT, min(MOST_WORD, longest))


def _least_cut(column: TextColumn) -> int:
    is_cut = column.is_text and not column.wraps and not column.is_whole
    return LEAST_TEXT if is_cut else _least_wrapped(column)


LEAST_WIDTHS: tuple[Callable[[TextColumn], int], ...] = (
    _least_wrapped,
    _least_cut,
    lambda column: LEAST_CUT if column.is_text else column.width,
)
"""Minimum widths of a column, each tried where those before do not fit."""


def _least_width(columns: Sequence[TextColumn]) -> int:
    """Returns the characters of a table whose texts have their minimum width."""
    widths = (
        column.width if column.is_whole else min(column.width, _least_cut(column))
        for column in columns
    )
    return sum(widths) + GAP * (len(columns) - 1)
