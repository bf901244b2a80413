"""Tables as plain text, no wider than the terminal if there is one."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opperf.model import Metric
from opperf.results.units import Figure, align, choose_unit, format_figure, unit_words

BLANK = "    \n"
"""An empty line of a `rich` box: a table has no lines except the one below its titles."""

GAP = 2
"""Spaces between two columns."""

UNLIMITED = 10_000
"""Characters of a line without a terminal: more than any table has."""

LEAST_TEXT = 16
"""Minimum width of a column of texts, below which extra columns are dropped."""


class Column(NamedTuple):
    """A column of a table."""

    title: str
    cells: Sequence[str]
    is_text: bool = True
    """Whether it is aligned to the left, and cut on a narrow terminal; else the cells are figures,
    which are never cut."""
    is_extra: bool = False
    """Whether it is dropped on a narrow terminal."""
    wraps: bool = False
    """Whether long texts take several lines instead of being cut."""
    is_whole: bool = False
    """Whether a text is neither cut nor wrapped while other columns can be."""

    @property
    def width(self) -> int:
        """Characters of its longest cell, or line of its title."""
        return max(map(len, (*self.title.split("\n"), *self.cells)))


def figure_column(
    metric: Metric, figures: Sequence[Figure | None], title: str = "", is_extra: bool = False
) -> Column:
    """Returns a metric's column, in the unit that suits its figures."""
    unit = choose_unit(metric.unit, figures)
    cells = align([format_figure(one, unit) for one in figures])
    heading = title or metric.title
    return Column(
        " ".join([heading, *unit_words(heading, unit)]), cells, is_text=False, is_extra=is_extra
    )


def table_text(columns: Iterable[Column], width: int | None = None) -> str:
    """Returns the columns as a table of at most `width` characters. Texts are cut, with an
    ellipsis, the longest first."""
    # Takes some 50 ms to import, and only tables need it.
    from rich.box import Box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    kept = _fitting_columns(list(columns), width)
    table = Table(
        box=Box(f"{BLANK * 2} -  \n{BLANK * 5}", ascii=True),
        show_edge=False,
        pad_edge=False,
        # The box has a space between two columns as well.
        padding=(0, GAP - 1, 0, 0),
        header_style="",
    )
    for column in kept:
        table.add_column(
            Text(column.title, no_wrap=True, overflow="ellipsis"),
            justify="left" if column.is_text else "right",
            no_wrap=column.is_whole or not column.is_text,
            overflow="ellipsis",
        )
    # A right-justified text loses the spaces at its end, by which figures are aligned.
    cells = [
        column.cells if column.is_text else [cell.rjust(column.width) for cell in column.cells]
        for column in kept
    ]
    for row in zip(*cells, strict=True):
        table.add_row(
            *(
                Text(
                    cell,
                    justify="left",
                    no_wrap=not column.wraps,
                    overflow="fold" if column.wraps else "ellipsis",
                )
                for column, cell in zip(kept, row, strict=True)
            )
        )
    file = io.StringIO()
    Console(file=file, width=width or UNLIMITED, color_system=None).print(table)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def _fitting_columns(columns: list[Column], width: int | None) -> list[Column]:
    """Returns the columns that fit in this width."""
    if width is None or least_width(columns) <= width:
        return columns
    return [column for column in columns if not column.is_extra]


def least_width(columns: Sequence[Column]) -> int:
    """Returns the characters of a table whose texts have their minimum width."""
    cells = (
        min(one.width, LEAST_TEXT) if one.is_text and not one.is_whole else one.width
        for one in columns
    )
    return sum(cells) + GAP * (len(columns) - 1)
