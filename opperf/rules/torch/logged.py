"""Arguments of PyTorch's operators as logs and configurations of programs have them."""

from __future__ import annotations

from opperf.model import Argument, Device, Operator
from opperf.rules.values import Arguments

PLACEMENT = ("device", "pin_memory")
"""Arguments that say where a result is, which is the case's own device."""

USUAL: tuple[Argument, ...] = (None, "strided")
"""Values of optional arguments that are what the operator does without them."""


def own_arguments(operator: Operator, arguments: Arguments) -> Arguments:
    """Returns an operator's arguments without those that place the result, unless it needs one, and
    without those that change nothing."""
    optional = {one.name for one in operator.parameters if not one.required}
    return {
        name: value
        for name, value in arguments.items()
        if (name not in PLACEMENT or isinstance(value, Device) and name not in optional)
        and not (name in optional and value in USUAL)
    }
