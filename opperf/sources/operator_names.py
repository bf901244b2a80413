"""Arguments of functions under the names of the operators that they call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from opperf.model import Operator, iter_tensors
from opperf.rules.values import Arguments


def under_operator_names(
    operator: Operator,
    function: Callable[..., Any],
    arguments: Arguments,
    change: Callable[[Operator, Arguments], Arguments],
) -> Arguments:
    """Returns the arguments of a function, changed under the names that the operator which it calls
    has for them. The function may take others, and in another order."""
    own = _parameters(function) or [parameter.name for parameter in operator.parameters]
    theirs = _renamed(own, operator, arguments)
    changed = change(operator, {theirs[place]: arguments[place] for place in theirs})
    return {
        place: changed.get(theirs.get(place, ""), argument) for place, argument in arguments.items()
    }


def _parameters(function: Callable[..., Any]) -> list[str]:
    """Returns the names of a function's parameters; none if it has no signature, as one in C."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _renamed(own: Sequence[str], operator: Operator, arguments: Arguments) -> dict[str, str]:
    """Returns the operator's name of each argument of a function with the parameters `own`: its
    own name, or that of a tensor of which the function has no parameter, in their order."""
    known = [parameter.name for parameter in operator.parameters]
    others = iter([parameter.name for parameter in operator.tensors if parameter.name not in own])
    found: dict[str, str] = {}
    for place, value in arguments.items():
        name = own[int(place)] if place.isdecimal() and int(place) < len(own) else place
        if name not in known and any(iter_tensors(value)):
            name = next(others, name)
        if name in known and name not in found.values():
            found[place] = name
    return found
