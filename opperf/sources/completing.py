"""Completes the cases of sources that know no framework, as recordings and configurations.

Such a case has its target by a name that users know, some arguments by position, and tensors of
which only shape and dtype are known. In the framework's process they become the target under its
canonical name, arguments by name, and contents that suit the operator.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from opperf.errors import UnknownOperatorError, UnsupportedError, UsageError
from opperf.frameworks import Framework
from opperf.model import (
    CallableTarget,
    Case,
    ObjectTarget,
    Operator,
    OperatorTarget,
    Struct,
    Target,
    iter_tensors,
    map_tensors,
    split_positional,
)
from opperf.rules.engine import rules_module
from opperf.rules.layer_contents import layer_contents
from opperf.rules.values import Arguments
from opperf.sources.array_types import with_array_type

Completion = Literal["each", "all"]
"""Whether a case that cannot be completed is that case's record, or an error of the file."""


class Completed(Struct, frozen=True):
    """A case as the framework calls it; or as it was, and why it cannot be called."""

    case: Case
    refusal: str = ""


class Called(NamedTuple):
    """What a target of a framework's own is."""

    target: Target
    """Under its canonical name."""
    function: Callable[..., Any]
    signature: Operator
    operator: Operator | None
    """The operator that it is or calls."""


Known = dict[Target, Called]
"""What targets are, which takes a framework milliseconds to find."""


def complete_all(framework: Framework, cases: Iterable[Case]) -> tuple[Completed, ...]:
    """Returns cases as the framework calls them."""
    known: Known = {}
    return tuple(complete(framework, case, known) for case in cases)


def complete(framework: Framework, case: Case, known: Known) -> Completed:
    """Returns a case as the framework calls it. One whose package is not installed stays as it is,
    and its record says so. `known` are the targets of earlier cases, to which its own is added."""
    try:
        return Completed(_completed(framework, case, known))
    except UnsupportedError:
        return Completed(case)
    except (UnknownOperatorError, UsageError) as error:
        return Completed(case, str(error))


def _completed(framework: Framework, case: Case, known: Known) -> Case:
    """Raises `UnknownOperatorError`, `UsageError` for arguments that the target lacks, and
    `UnsupportedError`."""
    if isinstance(case.target, ObjectTarget):
        return _completed_object(framework, case, case.target)
    if case.target not in known:
        known[case.target] = _called(framework, case.target)
    target, function, signature, operator = known[case.target]
    if isinstance(target, ObjectTarget):
        return _completed_object(framework, case, target)
    arguments = _in_array_type(framework, target, case.arguments)
    contents = rules_module(framework.rules).CONTENTS
    if isinstance(target, OperatorTarget):
        names = [one.name for one in signature.parameters]
        arguments = contents(signature, _named(target.path, names, arguments))
    elif operator is not None:
        arguments = _with_contents(operator, function, arguments, contents)
    case = msgspec.structs.replace(
        case, target=target, arguments=arguments, category=signature.category
    )
    return _with_passes(framework, case)


def _called(framework: Framework, target: Target) -> Called:
    """Returns what a target is; of a class of layers, an object built without arguments. Raises
    `UnknownOperatorError`."""
    found = _target(framework, target)
    function = framework.function(found)
    signature = framework.signature(found, function)
    if framework.is_layer(function):
        assert isinstance(found, CallableTarget)
        return Called(ObjectTarget(found.framework, found.path), function, signature, None)
    return Called(found, function, signature, framework.wrapped_operator(found, signature))


def _completed_object(framework: Framework, case: Case, target: ObjectTarget) -> Case:
    """Returns the case of an object, in the phase in which layers do all that they do."""
    constructor = framework.constructor(target)
    if not isinstance(constructor, type) and framework.place(
        CallableTarget(target.framework, target.path)
    ):
        raise UsageError(f"{target.path} is a function, which is not built: omit its `build`")
    arguments = _in_array_type(framework, target, case.arguments)
    arguments = layer_contents(target, arguments)
    settings = msgspec.structs.replace(case.settings, phase="train")
    case = msgspec.structs.replace(
        case, target=target, arguments=arguments, settings=settings, category=LAYER
    )
    return _with_passes(framework, case)


LAYER = "layer"
"""Category of objects that are built before they are called."""


def _in_array_type(framework: Framework, target: Target, arguments: Arguments) -> Arguments:
    """Returns arguments with tensors of the target's array type."""
    array_type = framework.array_type(target)
    return {name: with_array_type(value, array_type) for name, value in arguments.items()}


def _with_passes(framework: Framework, case: Case) -> Case:
    """Returns the case without a backward pass, and without gradients, where the framework has
    none."""
    if framework.gradients:
        return case
    arguments = {
        name: map_tensors(value, lambda spec: msgspec.structs.replace(spec, gradient=False))
        for name, value in case.arguments.items()
    }
    return msgspec.structs.replace(case, arguments=arguments, passes=("forward",))


def _with_contents(
    operator: Operator,
    function: Callable[..., Any],
    arguments: Arguments,
    contents: Callable[[Operator, Arguments], Arguments],
) -> Arguments:
    """Returns the arguments of a function with the contents that the operator it calls has for
    them. The function may take others, and in another order."""
    own = _parameters(function) or [one.name for one in operator.parameters]
    theirs = _renamed(own, operator, arguments)
    filled = contents(operator, {theirs[place]: arguments[place] for place in theirs})
    return {place: filled.get(theirs.get(place, ""), one) for place, one in arguments.items()}


def _parameters(function: Callable[..., Any]) -> list[str]:
    """Returns the names of a function's parameters; none if it has no signature, as one in C."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _renamed(own: Sequence[str], operator: Operator, arguments: Arguments) -> dict[str, str]:
    """Returns the operator's name of each argument of a function with the parameters `own`: its
    own name, or that of a tensor of which the function has no parameter, in their order."""
    known = [one.name for one in operator.parameters]
    others = iter([one.name for one in operator.tensors if one.name not in own])
    found: dict[str, str] = {}
    for place, value in arguments.items():
        name = own[int(place)] if place.isdecimal() and int(place) < len(own) else place
        if name not in known and any(iter_tensors(value)):
            name = next(others, name)
        if name in known and name not in found.values():
            found[place] = name
    return found


def _target(framework: Framework, target: Target) -> Target:
    """Returns a target under the framework's own name. Raises `UnknownOperatorError`."""
    if isinstance(target, CallableTarget):
        return framework.callable_target(target.path)
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


def distinguish(cases: Iterable[Case]) -> list[Case]:
    """Returns the cases, each that equals earlier ones with their number."""
    seen: Counter[str] = Counter()
    made = []
    for case in cases:
        made.append(msgspec.structs.replace(case, repeat=seen[case.id]))
        seen[case.id] += 1
    return made
