"""The records that a plot draws, and the dimensions by which it tells lines and panels apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opperf.errors import UsageError
from opperf.model import Status
from opperf.plurals import pluralize
from opperf.results.projection import Observation, Source, observations

ELEMENTS = "elements"
"""Name of the number of elements of the largest tensor, as a size."""

MOST_LINES = 6
"""Most lines of one panel, and bars of one row: more cannot be told apart at a glance, and get
panels of their own."""


def names_of(sources: Sequence[Source]) -> str:
    """Returns the names of the files, for a message."""
    return ", ".join(source.name for source in sources)


def measured(sources: Sequence[Source]) -> list[Observation]:
    """Returns the records with results. Raises `UsageError` if there is none."""
    found = [entry for entry in observations(sources) if entry.record.status is Status.OK]
    if not found:
        raise UsageError(f"{names_of(sources)}: no record has results, so there is nothing to plot")
    return found


def counted(number: int, why: str) -> list[str]:
    """Returns a note on the records that are not drawn; nothing without any."""
    return [f"{pluralize(number, 'record')} {why}"] if number else []


def without_results(sources: Sequence[Source]) -> list[str]:
    """Returns a note on the records without results; nothing without any."""
    missing = sum(entry.record.status is not Status.OK for entry in observations(sources))
    return counted(missing, "without results not drawn")


def columns_of(dimensions: Sequence[Mapping[str, str]], by: Sequence[str]) -> tuple[str, ...]:
    """Returns the dimensions that distinguish the lines of a panel: those that the user names, or
    all with more than one value, without the first ones if the lines were too many."""
    columns = [
        name
        for name in dict.fromkeys(name for own in dimensions for name in own)
        if (not by or name in by) and len({own.get(name) for own in dimensions}) > 1
    ]
    while _most_lines(dimensions, columns) > MOST_LINES:
        columns = columns[1:]
    return tuple(columns)


def _most_lines(dimensions: Iterable[Mapping[str, str]], columns: Sequence[str]) -> int:
    """Returns the most lines of a panel, where panels have the other dimensions."""
    panels: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for own in dimensions:
        title, line = split(own, columns)
        panels.setdefault(title, set()).add(line)
    return max(map(len, panels.values()))


def split(
    own: Mapping[str, str], columns: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the texts of a record's panel and of its line."""
    return (
        tuple(text for name, text in own.items() if name not in columns and text),
        tuple(own[name] for name in columns if own.get(name)),
    )
