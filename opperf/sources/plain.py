"""The plain form of a rule's inputs, which is what a user means who gives a shape and no more:
contiguous tensors, and the operator's default options."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator

import msgspec

from opperf.model import Argument, Case, Kind, Operator, TensorSpec, iter_tensors, map_tensors
from opperf.rules.dependencies import ascending
from opperf.rules.engine import Inputs
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
