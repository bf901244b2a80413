"""Configurations of operators that are alike, in a table by the operator's name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from opperf.model import Operator
from opperf.rules.registering import entry_of
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments

Variants = Callable[[Preset], Iterable[Arguments]]
"""The configurations of one operator at a size."""


def own(table: Mapping[str, Variants], operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Returns the configurations of an operator in a table, by the first of its names there."""
    return entry_of(table, operator)(size)
