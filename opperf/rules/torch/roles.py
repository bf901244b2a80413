"""Families by role that only PyTorch's operators have, under the names of their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping

from opperf.model import Operator
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Choice, Use
from opperf.rules.engine import arguments_by_role
from opperf.rules.registering import Family, Rows
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments

RolesFamily = Callable[[CanonicalOperation, Preset], Rows]
"""Inputs by role."""


def by_role(table: Mapping[str, Use | Choice]) -> Callable[[RolesFamily], Family]:
    """Decorator: the family of operators whose inputs another makes by role, by their table."""

    def wrap(family: RolesFamily) -> Family:
        @functools.wraps(family)
        def made(operator: Operator, size: Preset) -> Iterable[Arguments]:
            return arguments_by_role(operator, table, family, size)

        return made

    return wrap
