"""Shapes that a user gives to some tensors, and those of the other tensors that follow."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from opperf.errors import UnsupportedError
from opperf.frameworks import Framework
from opperf.model import (
    Argument,
    CallableTarget,
    Case,
    Operator,
    OperatorTarget,
    Target,
    TensorSpec,
    iter_tensors,
    map_tensors,
)
from opperf.model.values import UNKNOWN
from opperf.rules.callables import bounds_of
from opperf.rules.contents import decided
from opperf.rules.engine import Inputs
from opperf.rules.fitting import dense_if_any
from opperf.rules.ranges import Limit, Shape, in_range, limit_of, reshaped, shapes_by_place
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments

SHAPED = "+shape"
"""End of the origin of inputs in a user's shapes."""

MATRIX = 2
"""Number of axes of a matrix."""

Shapes = Mapping[str, Shape]
"""A user's shapes, by argument."""


def inputs_in_shapes(
    inputs: list[Inputs],
    shapes: Shapes,
    preset: Preset,
    make: Callable[[Preset], list[Inputs] | NoInputs],
) -> list[Inputs]:
    """Returns the inputs that suit a user's shapes best, dense ones where there are any; `make`
    makes those of a preset.

    Best are those that the rule makes for matrices of the user's extents, where they have the
    user's shapes: all that follows from rows and columns belongs together then. Others are those
    whose tensors have as many axes as the user's, else all.
    """
    if not any(_pairs(candidate.arguments, shapes) for candidate in inputs):
        return inputs
    for shape in shapes.values():
        # The second factor of a product has the columns of the first as rows.
        for matrix in (shape, shape[::-1]):
            if len(matrix) != MATRIX:
                continue
            made = make(dataclasses.replace(preset, matrix=(matrix[0], matrix[1])))
            found = [] if isinstance(made, NoInputs) else dense_if_any(made)
            exact = [
                candidate
                for candidate in found
                if all(a == b for a, b in _pairs(candidate.arguments, shapes))
            ]
            if exact and _pairs(exact[0].arguments, shapes):
                return [
                    dataclasses.replace(candidate, origin=f"{candidate.origin}{SHAPED}")
                    for candidate in exact
                ]
    dense = dense_if_any(inputs)
    ranked = [
        candidate
        for candidate in dense
        if all(len(a) == len(b) for a, b in _pairs(candidate.arguments, shapes))
    ]
    return ranked or dense


Change = tuple[Shape, Shape]
"""A tensor's shape, and the one that the user gives it."""


def _pairs(arguments: Mapping[str, Argument], shapes: Shapes) -> list[Change]:
    return [
        (spec.shape, shapes[name])
        for name, value in arguments.items()
        if name in shapes
        for spec in iter_tensors(value)
    ]


def with_shapes(
    framework: Framework, case: Case, shapes: Shapes, values: Collection[str] = ()
) -> Case:
    """Returns the case with the user's shapes, which apply to each tensor of a list, and the other
    tensors in shapes that follow. Indices are in range of what they index, as a framework may not
    check them, and integers that the other arguments decide follow them; those of a user's `values`
    are kept."""
    changes = _pairs(case.arguments, shapes)
    if all(own == new for own, new in changes):
        return case

    def shape_of(name: str, spec: TensorSpec) -> Shape:
        if name in shapes:
            return shapes[name]
        return spec.shape if _has_own_shape(spec) else follow(spec.shape, changes)

    wanted = _inferred(framework, case, shapes) or _reshaped(case.arguments, shape_of)
    bounds, places = bounds_of(framework, case.target), shapes_by_place(wanted)

    def limit(place: str) -> Limit:
        return limit_of(place, wanted, places, bounds)

    arguments = with_decided(
        framework, case.target, within_range(case.arguments, wanted, limit), values
    )
    return msgspec.structs.replace(case, arguments=arguments, origin=f"{case.origin}{SHAPED}")


def with_decided(
    framework: Framework, target: Target, arguments: Arguments, kept: Collection[str] = ()
) -> Arguments:
    """Returns the arguments of a target with the integers that the others decide; those `kept` are
    a user's own."""
    if not isinstance(target, (OperatorTarget, CallableTarget)):
        return arguments
    signature = framework.signature(target)
    if isinstance(target, OperatorTarget):
        return decided(framework, signature, arguments, kept)
    operator = framework.naming.wrapped_operator(target, signature)
    if operator is None:
        return arguments
    change = functools.partial(decided, framework)
    made = under_operator_names(operator, framework.function(target), arguments, change)
    return {**made, **{name: arguments[name] for name in kept}}


def bounded(framework: Framework, case: Case) -> Case:
    """Returns the case with the indices of which the rule shows what they index in range of that,
    whatever values and shapes the case has."""
    bounds = bounds_of(framework, case.target)
    if not bounds.of:
        return case

    def limit(place: str) -> Limit:
        return Limit(bounds.limit(place, case.arguments), True)

    arguments = within_range(case.arguments, case.arguments, limit)
    return msgspec.structs.replace(case, arguments=arguments)


def within_range(
    before: Mapping[str, Argument], made: Mapping[str, Argument], limit: Callable[[str], Limit]
) -> Arguments:
    """Returns the arguments that were `before`, by name or place, in the shapes that they are
    `made` with, with integers below the limit at their place."""

    def limited(place: str, argument: Argument, own: Argument) -> Argument:
        if isinstance(argument, tuple):
            listed = own if isinstance(own, tuple) else ()
            elements = dict(enumerate(listed)) if len(listed) == len(argument) else {}
            return tuple(
                limited(f"{place}.{i}", element, elements.get(i, before.get(f"{place}.{i}")))  # type: ignore[misc]
                for i, element in enumerate(argument)
            )
        if isinstance(argument, TensorSpec) and isinstance(own, TensorSpec):
            return in_range(own, argument.shape, *limit(place))
        return argument

    return {name: limited(name, value, before.get(name)) for name, value in made.items()}


def _reshaped(
    arguments: Mapping[str, Argument], shape_of: Callable[[str, TensorSpec], Shape]
) -> dict[str, Argument]:
    return {
        name: map_tensors(value, lambda spec, name=name: reshaped(spec, shape_of(name, spec)))  # type: ignore[misc]
        for name, value in arguments.items()
    }


def _has_own_shape(spec: TensorSpec) -> bool:
    return spec.fill.distribution == "literal"


def _inferred(framework: Framework, case: Case, shapes: Shapes) -> dict[str, Argument] | None:
    """Other tensors as the framework infers them; None where it does not."""
    arguments = _reshaped(
        case.arguments,
        lambda name, spec: shapes.get(name, spec.shape if _has_own_shape(spec) else UNKNOWN),
    )
    if any(isinstance(value, tuple) and any(iter_tensors(value)) for value in arguments.values()):
        return None
    try:
        asked = msgspec.structs.replace(case, arguments=arguments)
        return framework.inference.with_inferred_shapes(asked).arguments
    except UnsupportedError:
        return None


def follow(shape: Shape, changes: Sequence[Change]) -> Shape:
    """Returns another tensor's shape after changes: the new one where it was the same, else with
    each extent that changes to one other, wherever it is, changed too."""
    for own, new in changes:
        if shape == own:
            return new
    extents: dict[int, set[int]] = {}
    for own, new in changes:
        if len(own) == len(new):
            for before, after in zip(own, new, strict=True):
                extents.setdefault(before, set()).add(after)
    # An extent of one is shared with no other tensor, but broadcasts.
    certain = {
        before: next(iter(after))
        for before, after in extents.items()
        if before > 1 and len(after) == 1
    }
    return tuple(certain.get(extent, extent) for extent in shape)


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
