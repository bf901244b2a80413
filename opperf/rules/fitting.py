"""Fits a rule's configuration to a size that a user asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from opperf.model import Operator, TensorSpec
from opperf.rules.bounds import Bounds, find_bounds
from opperf.rules.engine import Inputs
from opperf.rules.ranges import Shape, in_range, is_shape, limit_of
from opperf.rules.values import Arguments

LENGTHS = ("begin", "end")
"""Plain arguments that are positions along the first tensor's axes, and scale with its extents."""


class Inference(NamedTuple):
    """A framework's inference of shapes, and the operators for which it accepts too many."""

    shapes: Callable[[str, Arguments, Mapping[str, Shape]], Mapping[str, Shape]]
    """Infers the shapes of an operator's tensors from known ones, by name, as `args0` of a list."""
    output_shapes: Callable[[str, Arguments], list[Shape] | None]
    """Infers the shapes of an operator's outputs, as far as possible; None of refused arguments."""
    fixed_rank: frozenset[str] = frozenset()
    """Operators whose first tensor keeps its rule's number of axes."""
    fixed_shape: frozenset[str] = frozenset()
    """Operators whose first tensor keeps its rule's shape."""


def dense_if_any(made: list[Inputs]) -> list[Inputs]:
    """Returns the inputs whose tensors are all dense, else all: a size says nothing of layouts."""
    return [inputs for inputs in made if inputs.is_dense] or made


def fit(
    operator: Operator,
    configurations: list[Arguments],
    sized: list[Arguments],
    size: Shape,
    replacements: Arguments,
    inference: Inference,
) -> Arguments:
    """The first configuration that the framework accepts with its first tensor in this size and the
    other tensors inferred from it; the first configuration unchanged if there is none.

    `sized` are the same configurations as the rule makes them for matrices of this size. They come
    first, as their tensors and plain values are consistent. Configurations whose first tensor has
    the size come before others, then those with as many axes, then those with as many elements.
    `replacements` replace arguments of the same name, unless no configuration is accepted with
    them.
    """

    bounds = find_bounds([*configurations, *sized], operator)

    def distance(pair: tuple[Arguments, Arguments]) -> tuple[bool, bool, bool]:
        shape = _first(pair[0])[1].shape
        return shape != size, len(shape) != len(size), math.prod(shape) != math.prod(size)

    # A configuration for the preset is known to be valid, and one for the size is compared to it.
    scaled = sorted(zip(sized, configurations, strict=True), key=distance)
    plain = sorted(zip(configurations, configurations, strict=True), key=distance)
    for replacing in (replacements, {}) if replacements else (replacements,):
        for arguments, valid in (*scaled, *plain):
            for candidate in _candidates(operator, arguments, size, replacing, inference, bounds):
                if _is_accepted(operator, valid, candidate, inference):
                    return candidate
    return plain[0][0]


def _tensors(arguments: Arguments) -> dict[str, TensorSpec]:
    """The tensors by name; an element of a list is named by its position, `args0`."""
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
    """The first tensor's name and the tensor; an empty name and `NO_TENSOR` where there is none."""
    return next(iter(_tensors(arguments).items()), ("", NO_TENSOR))


def _rank(arguments: Arguments) -> int:
    """Number of axes of the first tensor."""
    return len(_first(arguments)[1].shape)


def _candidates(
    operator: Operator,
    arguments: Arguments,
    size: Shape,
    replacements: Arguments,
    inference: Inference,
    bounds: Bounds,
) -> Iterator[Arguments]:
    """A rule's arguments at a size, in the order in which to try them."""
    first, spec = _first(arguments)
    own = spec.shape
    has_literal = any(map(_is_literal, _tensors(arguments).values()))
    for shape in _shapes_for(operator, size, spec, inference) if first else ():
        if has_literal and shape[0] < own[0]:
            # Literal data may hold the numbers of all samples, as regions of interest do.
            continue
        for values in (arguments, _scale_lengths(arguments, own, shape)):
            wanted = {**values, **replacements}
            known = {first: shape}
            known |= {name: spec.shape for name, spec in _tensors(replacements).items()}
            inferred = {**inference.shapes(operator.name, wanted, known), **known}
            made = _with_shapes(wanted, own, shape, inferred, bounds)
            if all(map(_is_possible, _tensors(made).values())):
                yield made


def _is_possible(spec: TensorSpec) -> bool:
    """Whether a tensor's layout can have its shape: `csr` holds one matrix."""
    return spec.layout != "csr" or len(spec.shape) == 2


def _is_literal(spec: TensorSpec) -> bool:
    """Whether a tensor has literal data, and so a fixed shape."""
    return spec.fill.distribution == "literal"


SQUARE = ("positive_definite", "invertible", "lower_triangular", "upper_triangular")


def _shapes_for(
    operator: Operator, size: Shape, spec: TensorSpec, inference: Inference
) -> list[Shape]:
    """The shapes to try for a rule's first tensor; square ones are the largest within the size."""
    if operator.name in inference.fixed_shape:
        return []
    if len(size) > 1 and spec.shape[-2:] == (math.prod(size[:-1]),) * 2 != size[-2:]:
        return [spec.shape]
    shapes = _shapes_of_rank(size, len(spec.shape), operator.name in inference.fixed_rank)
    if spec.layout == "csr":
        # The format holds one matrix, so that leading axes have to be merged.
        return shapes[-1:]
    if spec.fill.distribution in SQUARE:
        return [(*shape[:-2], min(shape[-2:]), min(shape[-2:])) for shape in shapes]
    return shapes


def _shapes_of_rank(size: Shape, rank: int, is_fixed: bool) -> list[Shape]:
    """The shapes to try for a first tensor that has `rank` axes in the rule.

    Most operators take any number of axes, so the size is tried as it is, and one with too many
    axes also with its leading axes merged. A vector stays a vector: a framework may infer shapes
    from a matrix in its place and then crash, as MXNet 1.9.1 does in `unravel_index`.
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
    """The arguments with `LENGTHS` scaled from the rule's own shape to a new one."""
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
    arguments: Arguments, own: Shape, shape: Shape, shapes: Mapping[str, Shape], bounds: Bounds
) -> Arguments:
    """The arguments with these shapes. A tensor without one changes the extents that it shares with
    the first tensor, as that changes from its `own` shape to `shape`."""

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

    def with_shape(name: str, spec: TensorSpec) -> TensorSpec:
        made = shapes.get(name)
        if not made:
            made = spec.shape if _is_literal(spec) else _scale_shape(spec.shape, own, shape)
        return msgspec.structs.replace(spec, shape=made)

    made = each(with_shape, arguments)
    before = _tensors(arguments)
    if all(spec.shape == before[name].shape for name, spec in _tensors(made).items()):
        return made
    extents = {name: value for name, value in made.items() if is_shape(value)}
    extents |= {name: spec.shape for name, spec in _tensors(made).items()}

    def limited(name: str, spec: TensorSpec) -> TensorSpec:
        return in_range(before[name], spec.shape, *limit_of(name, made, extents, bounds))

    return each(limited, made)


def _scale_shape(other: Shape, own: Shape, shape: Shape) -> Shape:
    """The shape of another tensor when the first changes from shape `own` to `shape`: extents equal
    to the first's stay equal, and with as many axes a divisor of an extent stays in proportion."""
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
    """Whether the framework infers as many outputs of a candidate as of the rule's own arguments.
    Where it infers none of these, whether the first tensors have as many axes."""
    expected = inference.output_shapes(operator.name, own)
    if not expected:
        return _rank(candidate) == _rank(own)
    found = inference.output_shapes(operator.name, candidate)
    return found is not None and len(found) >= len(expected)
