"""Uses of operators that take a part of an operation's inputs."""

from __future__ import annotations

from collections.abc import Callable

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Roles, Use


def only_if(entry: Use, holds: Callable[[Roles], bool]) -> Use:
    """Returns the use with the inputs of which something holds."""

    def to_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        return entry.to_arguments(operator, roles) if holds(roles) else None

    return Use(entry.operation, entry.apply, to_arguments)


def of_ranks(entry: Use, **axes: int) -> Use:
    """Returns the use with tensors of these numbers of axes, by role."""

    def holds(roles: Roles) -> bool:
        return all(
            isinstance(spec := roles[role], TensorSpec) and len(spec.shape) == count
            for role, count in axes.items()
        )

    return only_if(entry, holds)


def if_complete(entry: Use) -> Use:
    """Returns the use with the inputs that are all an operator requires."""

    def to_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        made = entry.to_arguments(operator, roles)
        required = {parameter.name for parameter in operator.parameters if parameter.required}
        return made if made is not None and required <= made.keys() else None

    return Use(entry.operation, entry.apply, to_arguments)
