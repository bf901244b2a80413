"""Arguments of two operators that are compared with each other, which have different names: the
user's options and functions name them once."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from opperf.frameworks import Framework
from opperf.model import Operator, Target
from opperf.operations.uses import Use
from opperf.rules.engine import rules_module, uses_of

Signature = tuple[Target, Operator]
"""A target and its arguments, as an operator or a function declares them."""


def with_names_of(
    framework: Framework, signature: Signature, partners: Iterable[Signature]
) -> Signature:
    """Returns a target with arguments that can also be named as those of its partners."""
    target, operator = signature
    others: dict[str, list[str]] = {}
    for partner in partners:
        for name, own in corresponding(framework, signature, partner).items():
            others.setdefault(own, []).append(name)
    parameters = tuple(
        msgspec.structs.replace(own, aliases=(*own.aliases, *others.get(own.name, ())))
        for own in operator.parameters
    )
    return target, msgspec.structs.replace(operator, parameters=parameters)


def corresponding(framework: Framework, signature: Signature, partner: Signature) -> dict[str, str]:
    """Returns the own names of the partner's arguments that are named otherwise: of the same role
    in an operation that both are uses of, and else of the same place among the required ones that
    only one of them has."""
    operator, other = signature[1], partner[1]
    found: dict[str, str] = {}
    for use in _uses(framework, signature):
        own = {role: name for name, role in use.roles.items() if operator.parameter(name)}
        for used in _uses(framework, partner):
            if used.operation == use.operation:
                found |= {
                    name: own[role]
                    for name, role in used.roles.items()
                    if role in own and other.parameter(name)
                }
    left = [name for name in _alone(operator, other) if name not in found.values()]
    rest = [name for name in _alone(other, operator) if name not in found]
    found |= dict(zip(rest, left, strict=False))
    return {name: own for name, own in found.items() if operator.own_name(name) == name != own}


def _uses(framework: Framework, signature: Signature) -> list[Use]:
    """Returns the uses of a target, or of the operator that it calls."""
    table = rules_module(framework.rules).OPERATIONS
    operator = framework.wrapped_operator(*signature) or signature[1]
    return [use for use, _ in uses_of(operator, table)]


def _alone(operator: Operator, other: Operator) -> list[str]:
    """Returns the required arguments that only one of two operators has."""
    return [
        parameter.name
        for parameter in operator.parameters
        if parameter.required and not other.parameter(parameter.name)
    ]
