"""Configurations of operators in tables by the operators' names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from opperf.model import Operator
from opperf.rules.registering import Rows, entry_of, listed
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, taken

Row = Callable[[Preset], Arguments]
"""The one configuration of an operator at a size."""
Variants = Callable[[Preset], Rows]
"""The configurations of one operator at a size."""


def own(table: Mapping[str, Variants], operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Returns the configurations of an operator in a table, by the first of its names there."""
    return listed(entry_of(table, operator)(size))


def add_rows(
    register: Callable[..., Callable[[Any], object]],
    table: Mapping[str, Row | Variants],
    **options: str,
) -> None:
    """Registers a family of each entry of a table, whose key is the names of operators, or of
    operations, with spaces between them. Each family has its entry's file and line."""
    for names, rows in table.items():
        register(*names.split(), **options)(_family(names, rows))


def add_offered(
    register: Callable[..., Callable[[Any], object]], table: Mapping[str, Row | Variants]
) -> None:
    """As `add_rows`, of rows with the arguments of several operators: each takes those it has."""
    for names, rows in table.items():
        register(*names.split())(_family(names, rows, taken))


def _family(
    names: str,
    rows: Row | Variants,
    arguments: Callable[[Any, Arguments], Arguments] = lambda _, row: row,
) -> Callable[[object, Preset], Iterable[Arguments]]:
    @functools.wraps(rows)
    def family(operator: object, size: Preset) -> Iterable[Arguments]:
        return [arguments(operator, row) for row in listed(rows(size))]

    family.__name__ = names.partition(" ")[0]
    return family
