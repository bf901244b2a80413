"""The plain form of a rule's inputs, which is what a user means who gives a shape and no more:
contiguous tensors, and the operator's default options.

Arguments of two operators that are compared with each other, which have different names: the
user's options and functions name them once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator

import msgspec

from opperf.frameworks import Framework
from opperf.model import (
    Argument,
    Case,
    Kind,
    Operator,
    Target,
    TensorSpec,
    iter_tensors,
    map_tensors,
)
from opperf.operations.uses import Use
from opperf.rules.dependencies import ascending
from opperf.rules.engine import Inputs, rules_module, uses_of
from opperf.rules.values import Arguments

PLAIN, OPTIONED = "+plain", "+plain+options"
"""Parts of the origin of inputs in their plain form, without and with the options of their rule."""

WHY_PLAIN = "contiguous, with the operator's default options"
WHY_OPTIONED = "contiguous, with the options of a rule, as the operator refuses its defaults"

OPTIONS = (Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.SHAPE, Kind.FLOATS, Kind.ENUM, Kind.STRING)
"""Kinds of parameters that are no tensors and may be left at their default."""


def plain_forms(operator: Operator, inputs: list[Inputs], kept: Collection[str]) -> list[Inputs]:
    """Returns the plain forms of an operator's inputs, those first that stand for a use: without
    the options that have a default, but for the names in `kept`, then with them, as the operator
    may need some. Inputs that are nearly plain come first.

    Sparse tensors have none, nor do inputs without a tensor, whose options are all that they are.
    """
    dense = [
        candidate
        for candidate in inputs
        if candidate.is_dense and any(_tensors(candidate.arguments))
    ]
    ordered = sorted(
        dense, key=lambda candidate: any(map(is_laid_out, _tensors(candidate.arguments)))
    )
    optional = {
        parameter.name
        for parameter in operator.parameters
        if parameter.kind in OPTIONS and not parameter.required
    } - set(kept)
    forms: list[Inputs] = []
    for names, origin in ((optional, PLAIN), (frozenset[str](), OPTIONED)):
        for candidate in ordered:
            arguments = {
                name: contiguous(value)
                for name, value in candidate.arguments.items()
                if name not in names or any(iter_tensors(value))
            }
            if not any(arguments == other.arguments for other in forms):
                form = dataclasses.replace(
                    candidate, arguments=arguments, origin=candidate.origin + origin
                )
                forms.append(form)
    return forms


def is_plain(case: Case) -> bool:
    """Returns whether a case has a plain form of its rule's inputs."""
    return PLAIN in case.origin


def why_plain(case: Case) -> str:
    """Returns the reason for a case in its plain form."""
    return WHY_OPTIONED if OPTIONED in case.origin else WHY_PLAIN


def contiguous(argument: Argument) -> Argument:
    """Returns an argument with its tensors contiguous, each in storage of its own."""
    return map_tensors(argument, _contiguous)


def _contiguous(spec: TensorSpec) -> TensorSpec:
    own = msgspec.structs.replace(spec, strides=(), offset=0, memory_format="", storage="")
    is_in_order = spec.fill.distribution == "sequence" and max(spec.fill.low, spec.fill.high) <= 1
    if is_in_order and len(spec.strides) == 1:
        # Its strides are the distances of its numbers.
        return msgspec.structs.replace(own, fill=ascending(0, (spec.size - 1) * spec.strides[0]))
    return own


def is_laid_out(spec: TensorSpec) -> bool:
    """Returns whether a tensor is not contiguous, or shares its storage."""
    return spec != _contiguous(spec)


def _tensors(arguments: Arguments) -> Iterator[TensorSpec]:
    for value in arguments.values():
        yield from iter_tensors(value)


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
    table = rules_module(framework.rules).OPERATIONS
    operator = framework.naming.wrapped_operator(*signature) or signature[1]
    return [use for use, _ in uses_of(operator, table)]


def _alone(operator: Operator, other: Operator) -> list[str]:
    return [
        parameter.name
        for parameter in operator.parameters
        if parameter.required and not other.parameter(parameter.name)
    ]
