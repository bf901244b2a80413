"""A report as every writer reads it: sections of sentences and tables for people, and the same as
values for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from opperf.model import Run
from opperf.reports.pages.content import DataTable
from opperf.results.text import Shown
from opperf.results.units import Figure, FigureText, Unit, format_figure

Tone = Literal["", "worse", "better", "open"]
"""The message of a cell to a reader who only skims: nothing, or how a verdict turned out."""


INDENT = "  "
"""Of a row of a tree below another, where no style can indent it."""


class Cell(NamedTuple):
    """A cell of a table; of a figure, value, interval and mark, as the column has its unit."""

    value: str | Figure | None
    """None where there is no figure; a text in a column of figures says why."""
    tone: Tone = ""
    note: str = ""
    depth: int = 0
    """Number of rows that it is below, in a tree."""
    is_struck: bool = False
    """Whether it is struck out, like a wrong result, where a format can show that."""


def _text(value: Any) -> str:
    """Returns a value as text: words are separated by commas, None is empty."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


@dataclass(frozen=True)
class ColumnKind:
    """The kind of a column: how tables write, align and wrap it."""

    text: Callable[[Any], str] = _text
    tone: Callable[[Any], Tone] = lambda value: ""
    is_number: bool = False
    """Whether it is aligned to the right, and neither cut nor wrapped."""
    is_name: bool = False
    """Whether it is code."""
    wraps: bool = False
    is_whole: bool = False
    """Whether a text is neither cut nor wrapped while other columns can be."""
    unit: Unit | str | None = None
    """Of figures: the unit, or that of a metric, of which tables choose one that suits all."""
    is_alike: bool = False
    """Whether all columns of this kind in a table have one unit, as they are compared."""
    file_size: float = 1.0
    """Size of the unit of figures in files, in that of the metric."""


class Column(NamedTuple):
    """A column of a table."""

    title: str
    cells: Sequence[Cell]
    kind: ColumnKind
    unit: Unit | None = None
    extra: int = 0
    """Above 0 of a column that may be dropped for want of room, the highest number first."""
    is_key: bool = False
    """Whether its numbers, as texts do, say what a row is of."""
    cases: tuple[Sequence[Shown], Sequence[Shown]] | None = None
    """Of inputs: the cases of the rows, and all from which a shorter text must tell them."""
    page_title: str = ""

    def heading(self) -> str:
        return " ".join([self.title, *self.unit_words()]).replace("\n ", "\n")

    def unit_words(self) -> tuple[str, ...]:
        """Returns the name of the unit, unless the title says it."""
        name = self.unit.name if self.unit else ""
        is_said = f" {name} " in f" {' '.join(self.title.lower().split())} "
        return (name,) if name and not is_said else ()

    def whole(self) -> list[str]:
        if self.unit:
            return list(map(str, self.figure_texts()))
        return [
            INDENT * cell.depth + " ".join(str(cell.value or "").split()) for cell in self.cells
        ]

    def figure_texts(self) -> list[FigureText]:
        unit = self.unit or Unit("", 1.0)
        return [
            FigureText(cell.value)
            if isinstance(cell.value, str)
            else format_figure(cell.value, unit)
            for cell in self.cells
        ]


class Table(NamedTuple):
    """A table: a column for each quantity."""

    columns: tuple[Column, ...]
    shown: tuple[int, ...] | None = None
    more: str = ""
    is_ranked: bool = False
    """Whether columns stand by importance: a line names those that had no room."""
    is_split: bool = False
    """Whether figures that have no room are in further tables beside the same texts."""

    def limited(self) -> Table:
        """Returns the table of the shown rows."""
        if self.shown is None:
            return self
        picked = self.shown
        columns = tuple(_rows_of(column, picked) for column in self.columns)
        return self._replace(columns=columns, shown=None)

    @property
    def height(self) -> int:
        return len(self.columns[0].cells)


def _rows_of(column: Column, rows: Sequence[int]) -> Column:
    cells = [column.cells[row] for row in rows]
    if column.cases is None:
        return column._replace(cells=cells)
    own, run = column.cases
    return column._replace(cells=cells, cases=([own[row] for row in rows], run))


class Fact(NamedTuple):
    """One thing that is said about a side of a comparison."""

    label: str
    name: str
    about: str = ""
    page_label: str = ""


class Frame(NamedTuple):
    """A frame of a flame graph."""

    name: str
    begin: float
    """Where it begins, from 0 at the left to 1."""
    width: float
    """As a share of the graph's."""
    depth: int
    """Number of frames above it."""
    colour: str
    """As HTML writes it: `#ecece8`."""
    hover: str
    """Text, of several lines, that is shown on hover."""
    short: str = ""
    """The name where there is not room for all of it."""


class FlameGraph(NamedTuple):
    """A flame graph: frames below those that they are part of, as wide as their share."""

    title: str
    frames: Sequence[Frame]
    head: Sequence[str] = ()
    """Lines above it."""
    short_title: str = ""
    """The title above it, where it is another."""


class Drawing(NamedTuple):
    """An image that a template of this package draws."""

    title: str
    template: str
    content: Mapping[str, Any]
    """Variables of the template; texts are as XML can have them."""


MOST_ITEMS = 20
"""Most items of a list, where there is not room for all."""


class Section(NamedTuple):
    """A part of a report. What it has is written in the order of the fields."""

    title: str = ""
    facts: Sequence[Fact] = ()
    prose: Sequence[str] = ()
    table: Table | None = None
    items: Sequence[str] = ()
    brief: str = ""
    below: Sequence[str] = ()
    code: Sequence[str] = ()
    commands: Sequence[tuple[str, str]] = ()
    """Commands to run next, each with the reason."""
    is_folded: bool = False
    """Whether a page shows it on demand only, as it holds no finding."""
    flame: FlameGraph | None = None
    """Drawn in HTML, and alone as an image."""
    drawing: Drawing | None = None
    """Likewise."""
    is_extra: bool = False
    """Whether HTML alone has it, as there is room for it."""
    in_answer: bool = False
    """Whether pages omit it, whose `answer` says the same."""
    in_changes: bool = False
    """Whether HTML pages omit it, whose table of `Report.changes` has the same rows."""
    page_title: str = ""
    tip: str = ""
    manual: str = ""

    @property
    def has_content(self) -> bool:
        table = self.table is not None and self.table.height
        lists = (self.facts, self.prose, self.items, self.below, self.code, self.commands)
        return bool(table) or any(lists) or any((self.flame, self.drawing))

    def limited_items(self) -> list[str]:
        """Returns the items, where there is not room for all."""
        more = len(self.items) - MOST_ITEMS
        return [*self.items[:MOST_ITEMS], *([f"and {more} more"] if more > 0 else [])]


class RunOnPage(NamedTuple):
    """A run whose cases a page shows one by one."""

    name: str
    """As a command takes it: a path, or `@ID`."""
    run: Run
    scripts: Mapping[str, str] = MappingProxyType({})
    """By case's id, those that were made."""


class RowsOnPage(NamedTuple):
    """The rows of a comparison, for a page that draws intervals against the threshold."""

    table: DataTable | None
    """None of a comparison of nothing."""
    counts: Mapping[tuple[str, Tone], int]
    """Numbers of rows by verdict and its tone."""
    threshold: float
    """The smallest change of interest, as a share."""
    detectable: float | None = None
    """Median of the smallest changes that the figures would have shown, as a share."""
    facts: Sequence[tuple[str, str]] = ()
    """The two sides, and the machines."""


class Test(NamedTuple):
    """One row of a report as a test of continuous integration."""

    operator: str
    name: str
    id: str
    """Distinguishes tests of the same operator and name, which viewers merge."""
    result: Literal["failure", "error", "skipped", "system-out"]
    message: str
    kind: str = ""


@dataclass(frozen=True)
class Report:
    """The findings of a command, for every format."""

    command: str
    title: str
    sections: Sequence[Section]
    data: Any
    """All of it as values of JSON, or as structures that are encoded to such."""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    tests: Sequence[Test] = ()
    headline: str = ""
    """The title of a page for readers who did not make the report."""
    answer: Sequence[str] = ()
    """Paragraphs, with their markup, on the first thing to know and on what to do."""
    level: int = 2
    """Of its heading on a page: 1 of a page of its own."""
    runs: Sequence[RunOnPage] = ()
    """Whose cases a page in HTML has, each with its samples."""
    changes: RowsOnPage | None = None
    """Of a comparison."""
    comment: str = ""
    """Of a report for a pull request, what tells its comment from others; Markdown then has the
    length of a comment."""
