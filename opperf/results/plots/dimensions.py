"""Dimensions of the records of a plot: operator, inputs, settings, swept variables, file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opperf.errors import UsageError, unknown
from opperf.model import DECLARED, Record, Status
from opperf.plurals import pluralize
from opperf.results.varied import CONFIGURATION, OPERATOR, describe, variables_of

ELEMENTS = "elements"
"""Name of the number of elements of the largest tensor, as a size."""

FILE, CATEGORY = "file", "category"
"""Dimensions of the file that a record is from, and of its operator's category."""

MOST_LINES = 6
"""Most lines of one panel, and bars of one row: more cannot be told apart at a glance, and get
panels of their own."""

Dimensions = dict[str, str]
"""A text for each dimension of a record."""


class Source(NamedTuple):
    """The records of a file."""

    name: str
    records: Sequence[Record]

    @property
    def measured(self) -> list[Record]:
        """Those with results."""
        return [record for record in self.records if record.status is Status.OK]


def names_of(sources: Sequence[Source]) -> str:
    """Returns the names of the files, for a message."""
    return ", ".join(source.name for source in sources)


def measured_records(sources: Sequence[Source]) -> list[Record]:
    """Returns the records with results. Raises `UsageError` if there is none."""
    records = [record for source in sources for record in source.measured]
    if not records:
        raise UsageError(f"{names_of(sources)}: no record has results, so there is nothing to plot")
    return records


def counted(number: int, why: str) -> list[str]:
    """Returns a note on the records that are not drawn; nothing without any."""
    return [f"{pluralize(number, 'record')} {why}"] if number else []


def without_results(sources: Sequence[Source]) -> list[str]:
    """Returns a note on the records without results; nothing without any."""
    missing = sum(len(source.records) - len(source.measured) for source in sources)
    return counted(missing, "without results not drawn")


def dimensions_of(sources: Sequence[Source], x: str, by: Sequence[str] = ()) -> list[Dimensions]:
    """Returns what distinguishes each record with results besides the size `x`. The category is
    among it if `by` names it."""
    records = [record for source in sources for record in source.measured]
    files = [source.name for source in sources for _ in source.measured]
    variables = variables_of(record.case for record in records) if x != ELEMENTS else ()
    found = []
    for record, file, own in zip(records, files, describe(records), strict=True):
        others = {name: f"{name}={value}" for name, value in record.case.point.items()}
        own |= {name: others.get(name, "") for name in variables}
        own.pop(x, None)
        own |= {CATEGORY: record.case.category} if CATEGORY in by else {}
        found.append(own | ({FILE: file} if len(sources) > 1 else {}))
    return found


def columns_of(dimensions: Sequence[Dimensions], by: Sequence[str]) -> tuple[str, ...]:
    """Returns the dimensions that distinguish the lines of a panel: those that the user names, or
    all with more than one value, without the first ones if the lines were too many.

    Raises `UsageError` for an unknown dimension.
    """
    known = dict.fromkeys(name for own in dimensions for name in own)
    settings = [name for name, setting in DECLARED.items() if setting.identity]
    possible = dict.fromkeys((*known, OPERATOR, CONFIGURATION, CATEGORY, FILE, *settings))
    for name in by:
        if name not in possible:
            raise unknown("dimension for --by", name, possible)
    columns = [
        name
        for name in known
        if (not by or name in by) and len({own.get(name) for own in dimensions}) > 1
    ]
    while _most_lines(dimensions, columns) > MOST_LINES:
        columns = columns[1:]
    return tuple(columns)


def _most_lines(dimensions: Iterable[Dimensions], columns: Sequence[str]) -> int:
    """Returns the most lines of a panel, where panels have the other dimensions."""
    panels: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for own in dimensions:
        title, line = split(own, columns)
        panels.setdefault(title, set()).add(line)
    return max(map(len, panels.values()))


def split(own: Dimensions, columns: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the texts of a record's panel and of its line."""
    return (
        tuple(text for name, text in own.items() if name not in columns and text),
        tuple(own[name] for name in columns if own.get(name)),
    )
