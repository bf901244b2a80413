"""Inputs of canonical operations by role, which are the same for every framework."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from opperf.errors import UsageError, suggest
from opperf.model import Argument, Struct, TensorSpec, iter_tensors, map_tensors
from opperf.operations import OPERATIONS
from opperf.operations.names import Named
from opperf.ranges import UNNAMED, shape_text
from opperf.rules.configurations import inputs_of, notes_of
from opperf.rules.engine import OPERATION, Inputs, name_of
from opperf.rules.families import FAMILIES
from opperf.rules.ranges import Shape, reshaped
from opperf.rules.registering import OperationFamily, of_operation
from opperf.rules.sizes import INT64, PRESETS, Preset
from opperf.sources.selecting import Selection
from opperf.sources.shapes import follow, inputs_in_shapes
from opperf.sources.sweeping import Point, at_point, configuration_tag, points_of

TENSORS = ("tensor", "tensors")
"""Kinds of inputs that have a shape."""


class Row(Struct, frozen=True):
    """A configuration of an operation: its inputs by role."""

    operation: str
    roles: dict[str, Argument]
    notes: dict[str, Argument] = {}
    """The notes of its family, beside the inputs."""
    origin: str = ""
    point: dict[str, int] = {}
    tags: tuple[str, ...] = ()


def rows_of(name: Named, selection: Selection) -> list[Row]:
    """Returns the rows of an operation in the user's shapes and values, by role, at every point of
    a sweep; each tensor's contents are drawn by its role. Raises `UsageError` for an operation
    without inputs by role, and for a role that it lacks."""
    family = FAMILIES.by_operation.get(name.operation)
    if family is None:
        raise UsageError(
            f"{name.operation}: its inputs are each framework's own, so that no two frameworks "
            "have the same; measure it with opperf run"
        )
    found: list[Row] = []
    for point in points_of(selection):
        here = at_point(selection, point)
        _check_roles(name.operation, here)
        for place, row in enumerate(_rows_at(name, family, here)):
            own = _used(point, selection, name.operation)
            marked = {"point": own, "tags": (configuration_tag(place),)} if own else {}
            found.append(msgspec.structs.replace(row, **marked))
    distinct = {msgspec.json.encode((row.roles, row.notes)): row for row in reversed(found)}
    return list(reversed(distinct.values()))


def tensor_roles(operation: str) -> tuple[str, ...]:
    """Returns the roles of an operation that have a shape."""
    inputs = OPERATIONS[operation].inputs
    return tuple(role for role, kind in inputs.items() if kind in TENSORS)


def of_first_tensor(name: Named, shape: Shape) -> dict[str, Shape]:
    """Returns a shape as that of the operation's first tensor; empty where no row has as many
    axes."""
    role = next(iter(tensor_roles(name.operation)), "")
    rows = rows_of(name, Selection()) if role else []
    specs = (spec for row in rows for spec in iter_tensors(row.roles.get(role)))
    return {role: shape} if any(len(spec.shape) == len(shape) for spec in specs) else {}


def _check_roles(operation: str, selection: Selection) -> None:
    shaped, every = tensor_roles(operation), tuple(OPERATIONS[operation].inputs)
    for role, shape in selection.shapes.items():
        if role == UNNAMED:
            if len(shaped) != 1:
                raise UsageError(
                    f"--shape {shape_text(role, shape)}: {operation} has several tensors; name "
                    f"one: {', '.join(shaped)}"
                )
        elif role not in shaped:
            raise UsageError(
                f"--shape {role}=...: {operation} has no tensor {role!r}{suggest(role, shaped)}; "
                f"it has: {', '.join(shaped) or 'none'}"
            )
    for role in selection.values:
        if role not in every:
            raise UsageError(
                f"--arg {role}=...: {operation} has no input {role!r}{suggest(role, every)}; it "
                f"has: {', '.join(every)}"
            )


def _rows_at(name: Named, family: OperationFamily, selection: Selection) -> Iterable[Row]:
    operation = name.operation
    shapes = {role or tensor_roles(operation)[0]: shape for role, shape in selection.shapes.items()}
    origin = OPERATION + name_of(family)

    def make(preset: Preset) -> list[Inputs]:
        made = (Inputs(dict(roles), origin) for roles in of_operation(family, operation, preset))
        return [inputs for inputs in made if _has_axes(inputs, name)]

    preset = PRESETS[INT64 if selection.int64_tensor else selection.size]
    made = make(preset)
    if shapes:
        made = inputs_in_shapes(made, shapes, preset, make)
    for inputs in made[: selection.configurations]:
        roles = {**_in_shapes(inputs_of(inputs.arguments), shapes), **selection.values}
        yield Row(
            operation,
            {role: _drawn_by_role(value, role) for role, value in roles.items()},
            notes_of(inputs.arguments),
            inputs.origin,
        )


def _has_axes(inputs: Inputs, name: Named) -> bool:
    if name.axes is None:
        return True
    specs = (spec for value in inputs.arguments.values() for spec in iter_tensors(value))
    first = next(specs, None)
    return first is not None and len(first.shape) == name.axes


def _in_shapes(roles: Mapping[str, Argument], shapes: Mapping[str, Shape]) -> dict[str, Argument]:
    changes = [
        (spec.shape, shapes[role])
        for role, value in roles.items()
        if role in shapes
        for spec in iter_tensors(value)
    ]
    if all(own == new for own, new in changes):
        return dict(roles)

    def in_shape(role: str, spec: TensorSpec) -> TensorSpec:
        if spec.fill.distribution == "literal" and role not in shapes:
            return spec
        return reshaped(spec, shapes[role] if role in shapes else follow(spec.shape, changes))

    return {
        role: map_tensors(value, functools.partial(in_shape, role)) for role, value in roles.items()
    }


def _drawn_by_role(value: Argument, place: str) -> Argument:
    """Returns an input whose contents are drawn by its role, whatever an operator calls it."""
    if isinstance(value, tuple):
        return tuple(_drawn_by_role(each, f"{place}.{i}") for i, each in enumerate(value))  # type: ignore[misc]
    if not isinstance(value, TensorSpec) or value.fill.of:
        return value
    return msgspec.structs.replace(value, fill=msgspec.structs.replace(value.fill, of=place))


def _used(point: Point, selection: Selection, operation: str) -> dict[str, int]:
    """Returns the values of the variables that the operation's inputs have."""
    inputs = OPERATIONS[operation].inputs
    shapes = (shape for role, shape in selection.swept_shapes.items() if not role or role in inputs)
    values = (value for role, value in selection.values.items() if role in inputs)
    words = set(_words((*shapes, *values)))
    return {variable: value for variable, value in point.items() if variable in words}


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from _words(each)
    elif isinstance(value, str):
        yield value


def dtypes_of_rows(rows: Iterable[Row], dtype: str) -> set[str]:
    """Returns the dtypes that tensors of rows have where this one is asked for."""
    return {dtype} | {
        spec.dtype
        for row in rows
        for value in row.roles.values()
        for spec in iter_tensors(value)
        if spec.dtype
    }
