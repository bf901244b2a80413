"""Choices between the arrays of `jax.lax`."""

from __future__ import annotations

from dataclasses import replace

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Roles, Table, Use, only_if, use
from opperf.rules.jax.as_numpy import narrowed


def is_of_one_shape(roles: Roles) -> bool:
    """Whether nothing is broadcast."""
    return len({one.shape for one in roles.values() if isinstance(one, TensorSpec)}) == 1


def with_narrow_indices(entry: Use) -> Use:
    """Returns the use with indices of 32 bits."""

    def to_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        made = entry.to_arguments(operator, roles)
        return made and {name: narrowed(value) for name, value in made.items()}

    return replace(entry, to_arguments=to_arguments)


TABLE: Table = {
    "lax.select": only_if(use("where", "condition=pred x=on_true y=on_false"), is_of_one_shape),
    "lax.select_n": with_narrow_indices(use("choose", "indices=which choices=cases")),
}
