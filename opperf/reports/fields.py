"""The declaration of columns: of a tuple of fields and some objects are made the table of a report,
the header and rows of its CSV, and its objects in JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast

from opperf.reports.model import Cell, Column, ColumnKind, Table
from opperf.results.text import Shown
from opperf.results.units import Figure, Unit, choose_unit, unit_of

Item = TypeVar("Item")

Other = TypeVar("Other")


NAME = ColumnKind(is_name=True)
"""A name of code, such as an operator's."""

LONG_NAME = ColumnKind(is_name=True, wraps=True)
"""A name of code that may take several lines."""

LABEL = ColumnKind(is_whole=True)
"""A word of few letters, such as a category."""

WORD = ColumnKind()
"""A text that is cut where there is not enough room."""

TEXT = ColumnKind(wraps=True)
"""A text that takes several lines where there is not enough room."""

NUMBER = ColumnKind(is_number=True)


def number(write: Callable[[Any], str], none: str = "") -> ColumnKind:
    """Returns the kind of numbers that tables write so."""
    return ColumnKind(lambda value: none if value is None else write(value), is_number=True)


COUNT = number("{:,}".format)

GENERAL = number("{:g}".format)

PERCENT = number(lambda share: f"{100 * share:.1f} %")
"""A share of 1."""


def figure(unit: Unit | str, file_size: float = 1.0) -> ColumnKind:
    """Returns the kind of figures in a unit, or in that which suits them of a metric's unit."""
    return ColumnKind(is_number=True, unit=unit, file_size=file_size)


TIME = figure("ns")

MEMORY = figure("B")

MILLISECONDS = figure("ns", unit_of("ns").size)
"""Times that files have in milliseconds."""

KILOBYTES = figure("B", unit_of("B").size)
"""Memory that files have in kilobytes."""

TIMES = replace(TIME, is_alike=True)
"""Times that are compared."""


@dataclass(frozen=True)
class Field(Generic[Item]):
    """A column of some objects."""

    key: str
    """In JSON and CSV; empty where they do not have it."""
    title: str | None
    """In tables; None where they do not have it."""
    kind: ColumnKind
    read: Callable[[Item], Any]
    """Returns a text, number, `Figure`, sequence or structure of an object, or None."""
    shown: Callable[[Item], Cell | Figure | str | None] | None = None
    """Returns the content of a table in the place of the value."""
    extra: int = 0
    """Above 0 of a column that may be dropped for want of room, the highest number first."""
    is_optional: bool = False
    """Whether tables omit it where no object has it."""
    is_key: bool = False
    """Whether its numbers, as texts do, say what a row is of."""
    among: Sequence[Shown] | None = None
    """Of inputs, which are read as `Shown`: all cases of the run, from which a shorter text must
    tell those of the rows."""
    page_title: str = ""

    def of(self, pick: Callable[[Other], Item]) -> Field[Other]:
        """Returns the same column of objects of which one of these is picked."""
        read, shown = self.read, self.shown
        of_other: Any = {"read": lambda item: read(pick(item))}
        if shown is not None:
            of_other["shown"] = lambda item: shown(pick(item))
        return cast("Field[Other]", replace(self, **of_other))

    def value(self, item: Item) -> Any:
        """Returns the value of an object as files have it, with all digits."""
        found = self.read(item)
        if self.among is not None:
            return found[1]
        if isinstance(found, Figure):
            found = found.value
        return found if found is None or self.kind.file_size == 1 else found / self.kind.file_size

    def cell(self, item: Item) -> Cell:
        """Returns the cell of an object in a table."""
        found = self.value(item) if self.among is not None else self.read(item)
        shown = found if self.shown is None else self.shown(item)
        if isinstance(shown, Cell):
            return shown
        if self.kind.unit is not None:
            figure = Figure(shown) if isinstance(shown, (int, float)) else shown
            return Cell(figure, self.kind.tone(found))
        text = self.kind.text(found) if self.shown is None else str(shown or "")
        return Cell(text, self.kind.tone(found))

    def entry(self, item: Item) -> str | int | float | None:
        """Returns the cell of an object in CSV: what is no text or number as tables have it."""
        found = self.value(item)
        if isinstance(found, bool):
            return str(found).lower()
        return found if isinstance(found, (str, int, float)) else str(self.cell(item).value or "")

    def column(self, items: Sequence[Item]) -> Column:
        """Returns the column of objects in a table."""
        kind, unit = self.kind, self.kind.unit
        cells = [self.cell(item) for item in items]
        if isinstance(unit, str):
            unit = _unit_of(unit, cells)
        cases = None if self.among is None else (list(map(self.read, items)), self.among)
        title = self.title or ""
        return Column(title, cells, kind, unit, self.extra, self.is_key, cases, self.page_title)


def _unit_of(measured: str, cells: Iterable[Cell]) -> Unit:
    return choose_unit(measured, [cell.value for cell in cells if isinstance(cell.value, Figure)])


def table_of(
    fields: Iterable[Field[Item]], items: Iterable[Item], most: int | None = None, **more: Any
) -> Table:
    """Returns the table of objects, a row each, of which a terminal shows `most`; `more` are fields
    of `Table`."""
    listed = list(items)
    columns = [(field, field.column(listed)) for field in fields if field.title is not None]
    alike = [cell for field, column in columns if field.kind.is_alike for cell in column.cells]
    table = Table(
        tuple(
            column._replace(unit=_unit_of(str(field.kind.unit), alike))
            if field.kind.is_alike
            else column
            for field, column in columns
            if not field.is_optional or any(cell.value not in ("", None) for cell in column.cells)
        ),
        **more,
    )
    left = len(listed) - len(listed[:most])
    if not left:
        return table
    said = f"and {left:,} more; --format json has all"
    return table._replace(shown=tuple(range(len(listed) - left)), more=said)


def texts_table(titles: Iterable[str], rows: Iterable[Sequence[str]], **more: Any) -> Table:
    """Returns a table of texts, a row for each sequence: the first column has names."""
    fields: list[Field[Sequence[str]]] = [
        Field("", title, TEXT if place else NAME, itemgetter(place))
        for place, title in enumerate(titles)
    ]
    return table_of(fields, rows, **more)


def rows_of(
    fields: Iterable[Field[Item]], items: Iterable[Item]
) -> tuple[list[str], list[list[Any]]]:
    """Returns the header of CSV and its rows, one for each object."""
    written = [field for field in fields if field.key]
    return [field.key for field in written], [
        [field.entry(item) for field in written] for item in items
    ]


def objects_of(fields: Iterable[Field[Item]], items: Iterable[Item]) -> list[dict[str, Any]]:
    """Returns the objects as JSON has them."""
    written = [field for field in fields if field.key]
    return [{field.key: field.value(item) for field in written} for item in items]
