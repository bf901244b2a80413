"""A rule's configuration made to fit a size that a user asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from opperf.model import Operator, TensorSpec
from opperf.rules.ranges import Shape, in_range, is_shape, limit_at
from opperf.rules.values import Arguments

LENGTHS = ("begin", "end")
"""Plain arguments of a rule that count elements along the first tensor's axes: they shrink and
grow with it."""


class Inference(NamedTuple):
    """What a framework says of an operator's shapes without a call, and where it says too much."""

    shapes: Callable[[str, Arguments, Mapping[str, Shape]], Mapping[str, Shape]]
    """The shapes of an operator's tensors, by name, that follow from the known ones; an element of
    a list goes by its position, `args0`."""
    output_shapes: Callable[[str, Arguments], list[Shape] | None]
    """The shapes of its outputs, as far as they can be inferred; None where the arguments are
    refused."""
    fixed_rank: frozenset[str] = frozenset()
    """Operators whose first tensor keeps its rule's number of axes: the framework infers the shapes
    of others and then refuses the call."""
    fixed_shape: frozenset[str] = frozenset()
    """Operators whose first tensor keeps its rule's shape."""


def fit(
    operator: Operator,
    configurations: list[Arguments],
    sized: list[Arguments],
    size: Shape,
    given: Arguments,
    inference: Inference,
) -> Arguments:
    """The first configuration that takes its first tensor in this size, its other tensors as
    they follow from that one; the first configuration as it is if none does.

    `sized` are the same configurations as the rule itself makes them for matrices of this size:
    they come first, for their tensors and numbers belong together. Those whose first tensor is
    of the size come before others, and then those whose first tensor has as many axes, or as
    many elements. `given` stands in for arguments of the same name, unless nothing can be made
    to go with it.
    """

    def distance(pair: tuple[Arguments, Arguments]) -> tuple[bool, bool, bool]:
        shape = _first(pair[0])[1].shape
        return shape != size, len(shape) != len(size), math.prod(shape) != math.prod(size)

    # As made for the preset, a configuration is known to be valid; another must be as good.
    scaled = sorted(zip(sized, configurations, strict=True), key=distance)
    plain = sorted(zip(configurations, configurations, strict=True), key=distance)
    for theirs in (given, {}) if given else (given,):
        for arguments, valid in (*scaled, *plain):
            for candidate in _candidates(operator, arguments, size, theirs, inference):
                if _is_accepted(operator, valid, candidate, inference):
                    return candidate
    return plain[0][0]


def _tensors(arguments: Arguments) -> dict[str, TensorSpec]:
    """The tensors by name, an element of a list by its position, `args0`."""
    found: dict[str, TensorSpec] = {}
    for name, value in arguments.items():
        if isinstance(value, TensorSpec):
            found[name] = value
        elif isinstance(value, tuple):
            listed = ((f"{name}{i}", element) for i, element in enumerate(value))
            found.update((n, element) for n, element in listed if isinstance(element, TensorSpec))
    return found


NO_TENSOR = TensorSpec(())


def _first(arguments: Arguments) -> tuple[str, TensorSpec]:
    """The first tensor and its name, which is empty where there is none."""
    return next(iter(_tensors(arguments).items()), ("", NO_TENSOR))


def _rank(arguments: Arguments) -> int:
    """Axes of the first tensor."""
    return len(_first(arguments)[1].shape)


def _candidates(
    operator: Operator, arguments: Arguments, size: Shape, given: Arguments, inference: Inference
) -> Iterator[Arguments]:
    """A rule's arguments at a size, the likeliest first."""
    first, spec = _first(arguments)
    own = spec.shape
    written_down = any(map(_is_literal, _tensors(arguments).values()))
    for shape in _shapes_for(operator, size, spec, inference) if first else ():
        if written_down and shape[0] < own[0]:
            # They may name the last of the rule's samples, as regions of interest do.
            continue
        for values in (arguments, _scale_lengths(arguments, own, shape)):
            asked = {**values, **given}
            known = {first: shape} | {name: spec.shape for name, spec in _tensors(given).items()}
            inferred = {**inference.shapes(operator.name, asked, known), **known}
            yield _with_shapes(asked, own, shape, inferred)


def _is_literal(spec: TensorSpec) -> bool:
    """Whether a tensor's data are a rule's own, which have a shape of their own."""
    return spec.fill.distribution == "literal"


SQUARE = ("positive_definite", "lower_triangular")
"""Distributions of square matrices."""


def _shapes_for(
    operator: Operator, size: Shape, spec: TensorSpec, inference: Inference
) -> list[Shape]:
    """The shapes to try for a rule's first tensor: matrices that have to be square are as large
    as fits into the size, or as the rule makes them for its rows."""
    if operator.name in inference.fixed_shape:
        return []
    if len(size) > 1 and spec.shape[-2:] == (math.prod(size[:-1]),) * 2 != size[-2:]:
        return [spec.shape]
    shapes = _shapes_of_rank(size, len(spec.shape), operator.name in inference.fixed_rank)
    if spec.layout == "csr":
        # Compressed rows are those of one matrix.
        return shapes[-1:]
    if spec.fill.distribution in SQUARE:
        return [(*shape[:-2], min(shape[-2:]), min(shape[-2:])) for shape in shapes]
    return shapes


def _shapes_of_rank(size: Shape, rank: int, is_fixed: bool) -> list[Shape]:
    """The shapes to try for a first tensor to which the rule gives `rank` axes.

    Most operators take any number of axes, so the size is tried as it is, and one of too many
    axes with its leading ones in one. A vector stays a vector: a framework may infer shapes from a
    matrix in its place and then end the process, as MXNet 1.9.1 does in `unravel_index`.
    """
    if rank == len(size):
        return [size]
    if is_fixed:
        return []
    if rank == 1:
        return [(math.prod(size),)]
    leading = len(size) - rank + 1
    return [size] if leading < 1 else [size, (math.prod(size[:leading]), *size[leading:])]


def _scale_lengths(arguments: Arguments, own: Shape, shape: Shape) -> Arguments:
    """The arguments with `LENGTHS` in the proportion of a new shape to the rule's own."""
    changed = dict(arguments)
    axis = arguments.get("axis")
    for name in LENGTHS:
        value = arguments.get(name)
        if isinstance(value, tuple) and len(value) == len(own) == len(shape):
            changed[name] = tuple(v * to // of for v, of, to in zip(value, own, shape, strict=True))  # type: ignore[operator]
        elif isinstance(value, int) and isinstance(axis, int) and len(own) == len(shape):
            changed[name] = value * shape[axis] // own[axis]
    return changed


def _with_shapes(
    arguments: Arguments, own: Shape, shape: Shape, shapes: Mapping[str, Shape]
) -> Arguments:
    """The arguments with these shapes; tensors that have none there change as the first does, from
    the rule's `own` shape to another, in the extents that they have in common."""

    def each(change: Callable[[str, TensorSpec], TensorSpec], made: Arguments) -> Arguments:
        return {
            name: change(name, value)
            if isinstance(value, TensorSpec)
            else tuple(
                change(f"{name}{i}", element) if isinstance(element, TensorSpec) else element
                for i, element in enumerate(value)
            )
            if isinstance(value, tuple)
            else value
            for name, value in made.items()
        }

    def placed(name: str, spec: TensorSpec) -> TensorSpec:
        made = shapes.get(name)
        if not made:
            made = spec.shape if _is_literal(spec) else _scale_shape(spec.shape, own, shape)
        return msgspec.structs.replace(spec, shape=made)

    made = each(placed, arguments)
    before = _tensors(arguments)
    if all(spec.shape == before[name].shape for name, spec in _tensors(made).items()):
        return made
    extents = {name: value for name, value in made.items() if is_shape(value)}
    extents |= {name: spec.shape for name, spec in _tensors(made).items()}
    return each(
        lambda name, spec: in_range(before[name], spec.shape, limit_at(name, extents)), made
    )


def _scale_shape(other: Shape, own: Shape, shape: Shape) -> Shape:
    """The shape of another tensor when the first, in the rule of shape `own`, has `shape`: extents
    that are the first's stay so, and those of as many axes keep their proportion to it."""
    if other == own:
        return shape
    extents = {math.prod(own): math.prod(shape)}
    if len(own) != len(shape):
        return tuple(extents.get(extent, extent) for extent in other)
    extents |= dict(zip(own, shape, strict=True))

    def extent_at(i: int, extent: int) -> int:
        along = own[i] if i < len(own) else 0
        if extent == along:
            return shape[i]
        if extent in extents:
            return extents[extent]
        if len(other) == len(own) and extent > 1 and along % extent == 0:
            return max(1, shape[i] * extent // along)
        return extent

    return tuple(extent_at(i, extent) for i, extent in enumerate(other))


def _is_accepted(
    operator: Operator, own: Arguments, candidate: Arguments, inference: Inference
) -> bool:
    """Whether the framework infers as much about the outputs of a candidate as about those of the
    rule's own arguments. Where it infers nothing, whether the axes are as many."""
    expected = inference.output_shapes(operator.name, own)
    if not expected:
        return _rank(candidate) == _rank(own)
    found = inference.output_shapes(operator.name, candidate)
    return found is not None and len(found) >= len(expected)
