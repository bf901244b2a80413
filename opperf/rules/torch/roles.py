"""Families by role that only PyTorch's operators have, under the names of their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

from opperf.model import Operator
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.engine import arguments_by_role
from opperf.rules.registering import Family
from opperf.rules.sizes import Preset
from opperf.rules.torch import operations
from opperf.rules.values import Arguments

RolesFamily = Callable[[CanonicalOperation, Preset], Iterable[Roles]]
"""Inputs by role."""


def by_role(family: RolesFamily) -> Family:
    """Decorator: the family of operators whose inputs another makes by role, by their own table of
    operations."""

    @functools.wraps(family)
    def made(operator: Operator, size: Preset) -> Iterable[Arguments]:
        return arguments_by_role(operator, operations.TABLE, family, size)

    return made
