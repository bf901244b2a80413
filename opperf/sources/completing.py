"""Completes the cases of sources that know no framework, as recordings and configurations.

Such a case has its target by a name that users know, some arguments by position, and tensors of
which only shape and dtype are known. In the framework's process they become the target under its
canonical name, arguments by name, and contents that suit the operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from opperf.errors import UnknownOperatorError, UsageError
from opperf.frameworks import Framework
from opperf.model import (
    Case,
    OperatorTarget,
    Struct,
    Target,
    split_positional,
)
from opperf.rules.engine import rules_module
from opperf.rules.values import Arguments
from opperf.sources.batch import Batch, find_batch, scale

Completion = Literal["each", "all"]
"""Whether a case that cannot be completed is that case's record, or an error of the file."""


class Completed(Struct, frozen=True):
    """A case as the framework calls it, or as far as it is known, and why it cannot be called."""

    case: Case
    refusal: str = ""
    scaled: bool = False
    """Whether its batch was scaled."""


def complete(
    framework: Framework, cases: Sequence[Case], batch_factor: float = 1.0
) -> tuple[Completed, ...]:
    """Returns the cases as the framework calls them, with their batch scaled.

    Raises `UsageError` if it is to be scaled and the cases have none.
    """
    named = [_named_case(framework, case) for case in cases]
    if batch_factor != 1.0:
        batch = find_batch(one.case for one in named)
        if batch is None:
            raise UsageError("--scale-batch: no call has a tensor of several axes")
        named = [
            one if one.refusal else _in_batch(framework, one.case, batch, batch_factor)
            for one in named
        ]
    return tuple(
        one if one.refusal else msgspec.structs.replace(one, case=_suited(framework, one.case))
        for one in named
    )


def _in_batch(framework: Framework, case: Case, batch: Batch, factor: float) -> Completed:
    """Returns a case with its batch scaled, if it has one."""
    made = scale(case, batch, factor, framework.output_shapes)
    return Completed(made, scaled=made != case)


def _named_case(framework: Framework, case: Case) -> Completed:
    """Returns a case with its target and arguments under the framework's names."""
    try:
        target = _target(framework, case.target)
        case = msgspec.structs.replace(case, target=target)
        signature = framework.signature(target)
        case = msgspec.structs.replace(case, category=signature.category)
        if isinstance(target, OperatorTarget):
            names = [one.name for one in signature.parameters]
            arguments = _named(target.path, names, case.arguments)
            case = msgspec.structs.replace(case, arguments=arguments)
    except (UnknownOperatorError, UsageError) as error:
        return Completed(case, str(error))
    return Completed(case)


def _suited(framework: Framework, case: Case) -> Case:
    """Returns a case with contents that suit its operator."""
    if not isinstance(case.target, OperatorTarget):
        return case
    signature = framework.signature(case.target)
    arguments = rules_module(framework.rules).CONTENTS(signature, case.arguments)
    return msgspec.structs.replace(case, arguments=arguments)


def _target(framework: Framework, target: Target) -> Target:
    """Returns a target under the framework's own name. Raises `UnknownOperatorError`."""
    if not isinstance(target, OperatorTarget):
        return target
    found = framework.resolve(target.path)
    return framework.callable_target(target.path) if found is None else found.target


def _named(path: str, names: Sequence[str], arguments: Arguments) -> Arguments:
    """Returns an operator's arguments by name, in the order of its parameters. Raises
    `UsageError`."""
    unnamed, named = split_positional(arguments)
    if len(unnamed) > len(names):
        raise UsageError(f"{path} takes {len(names)} arguments, not {len(unnamed)}")
    made = dict(zip(names, unnamed, strict=False))
    for name, value in named.items():
        if name not in names:
            raise UsageError(f"{path} has no argument {name!r}")
        if name in made:
            raise UsageError(f"{path} has two values of the argument {name!r}")
        made[name] = value
    return {name: made[name] for name in names if name in made}


def merge(cases: Iterable[Case]) -> list[Case]:
    """Returns the cases without those that have the id of an earlier one, whose count they add
    to."""
    found: dict[str, Case] = {}
    for case in cases:
        earlier = found.get(case.id)
        count = case.count + (0 if earlier is None else earlier.count)
        found[case.id] = msgspec.structs.replace(earlier or case, count=count)
    return list(found.values())
