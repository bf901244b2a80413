"""Tables of configurations by an operator's name, for operators that share no more than a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from opperf.model import Operator
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments

Variants = Callable[[Preset], Iterable[Arguments]]
"""The configurations of one operator at a size."""


def own(table: Mapping[str, Variants], operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The configurations of an operator in a table, by any of the operator's names."""
    return next(table[name] for name in operator.names if name in table)(size)
