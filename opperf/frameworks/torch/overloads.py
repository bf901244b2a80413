"""Overloads of recorded calls: of those of one name, the one that takes a call's arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from opperf.frameworks.schema_types import NUMBERED, as_declared
from opperf.frameworks.torch import registry
from opperf.model import (
    Argument,
    Case,
    Device,
    Number,
    Operator,
    OperatorTarget,
    TensorSpec,
    split_positional,
)


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, Number))


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


DEVICE = "Device"

KINDS: Mapping[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, TensorSpec),
    "number": _is_number,
    "int": _is_integer,
    "float": lambda value: _is_number(value) and not isinstance(value, bool),
    # Traces write booleans as integers, too.
    "bool": lambda value: isinstance(value, bool) or value in (0, 1),
    "str": lambda value: isinstance(value, str),
    DEVICE: lambda value: isinstance(value, str),
    **dict.fromkeys(NUMBERED, _is_integer),
}
"""Whether a value can be of a declared type; no value is of any other one."""


def takes(declared: str, value: Argument) -> bool:
    """Whether a parameter of a declared type takes a value. What a trace does not say, None, may be
    any number."""
    if value is None:
        return declared != "Tensor" and not declared.startswith("List[Tensor")
    inner = declared.removesuffix("?")
    if inner.startswith("List[") and isinstance(value, tuple):
        element = inner.removeprefix("List[").removesuffix("]")
        if element.startswith("Optional["):
            element = element.removeprefix("Optional[").removesuffix("]") + "?"
        return all(takes(element, inner_value) for inner_value in value)
    return KINDS.get(inner, lambda value: False)(value)


def with_overload(case: Case) -> Case:
    """Returns a recorded call whose target names no overload with the one that takes its arguments,
    and these by name. Of several such overloads, it is the one that a plain name means, and the
    case says so. A call that none takes stays as it is."""
    target = case.target
    if not isinstance(target, OperatorTarget) or target.overload:
        return case
    values, _ = split_positional(case.arguments)
    fitting = [
        operator
        for operator in registry.overloads(target.name)
        if len(operator.parameters) == len(values)
        and all(
            takes(parameter.declared, value)
            for parameter, value in zip(operator.parameters, values, strict=True)
        )
    ]
    if not fitting:
        return case
    chosen, *others = fitting
    name = chosen.target.path
    if target.name.startswith("aten."):
        target = OperatorTarget(target.framework, f"aten.{chosen.name}", chosen.overload)
    else:
        target = chosen.target
    why = [case.why]
    if others:
        paths = ", ".join(other.target.path for other in others)
        why.append(f"{name}, or {paths}: its types fit all of them")
    unknown = ", ".join(_defaulted(chosen, values))
    if unknown:
        why.append(f"{unknown} not in the trace, the default is used")
    return msgspec.structs.replace(
        case, target=target, arguments=_named(chosen, values), why="; ".join(filter(None, why))
    )


def _defaulted(operator: Operator, values: list[Argument]) -> Iterator[str]:
    """Yields the names of parameters whose value is not known, though it is not None."""
    for parameter, value in zip(operator.parameters, values, strict=True):
        is_optional = parameter.declared.endswith("?") or parameter.declared == DEVICE
        if value is None and not is_optional and not parameter.required:
            yield parameter.name


def _named(operator: Operator, values: list[Argument]) -> dict[str, Argument]:
    """Returns the values by name, without those that are not known. A device that is required is
    the case's own."""
    return {
        parameter.name: Device()
        if value is None and parameter.declared == DEVICE
        else as_declared(value, parameter.declared)
        for parameter, value in zip(operator.parameters, values, strict=True)
        if value is not None
        or parameter.declared == DEVICE
        or (parameter.declared.endswith("?") and parameter.required)
    }
