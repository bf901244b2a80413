"""Tables as plain text, no wider than the terminal if there is one."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from opperf.results.text import cut_distinct, split_words

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


class Column(NamedTuple):
    """A column of a table."""

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


def table_text(columns: Iterable[Column], width: int | None = None) -> str:
    """Returns the columns as a table of at most `width` characters. Texts that wrap become
    narrower first, down to their longest word; then others are cut, with an ellipsis, the longest
    first. Texts that differ stay different."""
    # Takes some 50 ms to import, and only tables need it.
    from rich.box import Box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    kept = fitting_columns(list(columns), width)
    widths = widths_of(kept, width)
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


def _cells(column: Column, width: int) -> Sequence[str]:
    if not column.is_text:
        # A right-justified text loses the spaces at its end, by which figures are aligned.
        return [cell.rjust(column.width) for cell in column.cells]
    if column.wraps:
        return [split_words(cell, width) for cell in column.cells]
    return cut_distinct(column.cells, width)


def fitting_columns(columns: Sequence[Column], width: int | None) -> list[Column]:
    """Returns the columns that fit in this width."""
    kept = list(columns)
    for extra in sorted({column.extra for column in columns if column.extra}, reverse=True):
        if width is not None and least_width(kept) > width:
            kept = [column for column in kept if column.extra != extra]
    return kept


def widths_of(columns: Sequence[Column], width: int | None) -> list[int]:
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


def _least_wrapped(column: Column) -> int:
    """Returns the width at which a text that wraps still has its longest word on a line."""
    if not column.wraps or column.is_whole:
        return column.width
    words = (word for cell in column.cells for word in cell.split())
    longest = max(map(len, (column.title, *words)))
    return max(LEAST_TEXT, min(MOST_WORD, longest))


def _least_cut(column: Column) -> int:
    is_cut = column.is_text and not column.wraps and not column.is_whole
    return LEAST_TEXT if is_cut else _least_wrapped(column)


LEAST_WIDTHS: tuple[Callable[[Column], int], ...] = (
    _least_wrapped,
    _least_cut,
    lambda column: LEAST_CUT if column.is_text else column.width,
)
"""Minimum widths of a column, each tried where those before do not fit."""


def least_width(columns: Sequence[Column]) -> int:
    """Returns the characters of a table whose texts have their minimum width."""
    widths = (
        column.width if column.is_whole else min(column.width, _least_cut(column))
        for column in columns
    )
    return sum(widths) + GAP * (len(columns) - 1)
