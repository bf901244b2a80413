"""Helpers of tables of configurations by operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from opperf.model import Operator
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments

Variants = Callable[[Preset], Iterable[Arguments]]
"""The configurations of one operator at a size."""


def configurations_of(
    table: Mapping[str, Variants], operator: Operator, size: Preset
) -> Iterable[Arguments]:
    """Returns the configurations of an operator in a table, by the first of its names there."""
    return next(table[name] for name in operator.names if name in table)(size)
