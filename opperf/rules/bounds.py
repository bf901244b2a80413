"""The bounds of the integers in an operator's inputs: the extent that they index, or a number.

It is found from the operator's own rule: an extent that is the limit of the numbers in each of its
configurations, at several sizes. So it holds for whatever indices an operator of any framework
takes, and for shapes and axes that a user sets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from opperf.model import Argument, Operator, TensorSpec
from opperf.model import Mapping as MappingValue
from opperf.rules.values import BELOW, different

AXES = ("dim", "axis")

MAPS = ("start_index_map", "scatter_dims_to_operand_dims")
"""Entries of a mapping that list the axes of indices, as XLA's gather and scatter have them."""

WINDOW = "slice_sizes"
"""Argument with the extents of what is read at an index."""

LONGEST_TAIL = 3
"""Maximum axes of an image or volume, whose elements are counted row by row."""

Key = tuple[str, ...]
"""The kind of a limit, and its arguments: `("along", "self", "dim")`."""

Defaults = Mapping[str, int | None]
"""Values of `AXES` where a call omits them; None is no axis, of the elements in their order."""


class Bound(NamedTuple):
    """The limit of a tensor's numbers: the minimum of what the keys lead to, plus a shift."""

    keys: tuple[Key, ...]
    shift: int = 0

    def limit(self, arguments: Mapping[str, Argument], place: str, defaults: Defaults) -> int:
        """Returns the limit in a call; 0 where the call has nothing that the keys lead to."""
        found = limits(arguments, place, defaults)
        known = [found[key] for key in self.keys if key in found]
        return max(1, min(known) + self.shift) if known else 0


class Bounds(NamedTuple):
    """The bounds of an operator's tensors of integers, by place."""

    of: Mapping[str, Bound]
    free: frozenset[str]
    """Places of numbers that no extent bounds in the rule, as they index nothing."""
    defaults: Defaults

    def bound(self, place: str) -> Bound | None:
        """Returns the bound at a place, of which `indices.0` stands for each of a list."""
        return self.of.get(place) or self.of.get(_listed(place))

    def is_free(self, place: str) -> bool:
        """Whether the numbers at a place index nothing."""
        return place in self.free or _listed(place) in self.free

    def limit(self, place: str, arguments: Mapping[str, Argument]) -> int | None:
        """Returns the exclusive limit of the numbers at a place; None if it is unknown."""
        bound = self.bound(place)
        return (bound.limit(arguments, place, self.defaults) or None) if bound else None


NOTHING = Bounds({}, frozenset(), {})


def _listed(place: str) -> str:
    name, dot, _ = place.partition(".")
    return f"{name}{dot}" if dot else place


def places(arguments: Mapping[str, Argument]) -> Iterator[tuple[str, TensorSpec]]:
    """Yields the tensors of arguments, each with its place: `indices`, or `indices.0` in a list."""
    for name, value in arguments.items():
        if isinstance(value, TensorSpec):
            yield name, value
        elif isinstance(value, tuple):
            for i, element in enumerate(value):
                if isinstance(element, TensorSpec):
                    yield f"{name}.{i}", element


def _defaults_of(operator: Operator) -> Defaults:
    """Returns the axes of an operator's calls that name none."""
    made: dict[str, int | None] = {}
    for parameter in operator.parameters:
        text = parameter.default
        if parameter.name in AXES and text is not None:
            if text == "None":
                made[parameter.name] = None
            elif text.lstrip("-").isdecimal():
                made[parameter.name] = int(text)
    return made


def limits(arguments: Mapping[str, Argument], place: str, defaults: Defaults) -> dict[Key, int]:
    """Returns all that may limit the numbers at a place, the likeliest first."""
    found: dict[Key, int] = {}
    name, _, position = place.partition(".")
    # Lengths of a tensor have its name: `data_lengths`.
    others = [named for named in places(arguments) if named[0] != place]
    others.sort(key=lambda named: not name.startswith(named[0]))
    shapes = {other: spec.shape for other, spec in others if spec.shape}
    numbers = {
        other: value
        for other, value in arguments.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }
    axes: dict[str, int | None] = {
        by: numbers.get(by, default)
        for by, default in {**dict.fromkeys(numbers), **defaults}.items()
        if by in AXES and not (by in arguments and by not in numbers and arguments[by] is not None)
    }
    tuples = {other: _whole(value) for other, value in arguments.items() if _whole(value)}
    own = next((spec.shape for one, spec in places(arguments) if one == place), ())
    for by, axis in axes.items():
        for other, shape in shapes.items():
            if axis is None:
                found["along", other, by] = math.prod(shape)
            elif -len(shape) <= axis < len(shape):
                found["along", other, by] = shape[axis]
    for other, number in numbers.items():
        if other not in AXES:
            found["number", other] = number
    # A column for each point, with a number along each axis.
    rows = own[0] if len(own) > 1 else 0
    coordinates: dict[Key, int] = {
        ("coordinates", other): min(extents[:rows])
        for other, extents in {**tuples, **shapes}.items()
        if 0 < rows <= len(extents)
    }
    if rows > 1:
        found.update(coordinates)
    for other, extents in tuples.items():
        found.update(_of_tuple(other, extents, axes, position))
    for other, shape in shapes.items():
        if position and not other.startswith(f"{name}.") and int(position) < len(shape):
            found["own axis", other] = shape[int(position)]
        found.update(_mapped(arguments, other, shape))
    for other, shape in shapes.items():
        found["elements", other] = math.prod(shape)
    for other, shape in shapes.items():
        # Classes are along the second axis, and along the only one of a vector.
        for axis in range(max(2, len(shape))):
            found["axis", other, f"{axis}"] = shape[min(axis, len(shape) - 1)]
    for other, shape in shapes.items():
        for axis in range(-len(shape), 0):
            found["axis from the end", other, f"{axis}"] = shape[axis]
        for count in range(2, min(LONGEST_TAIL, len(shape)) + 1):
            found["last axes", other, f"{count}"] = math.prod(shape[-count:])
    # Of one axis, the numbers are rather indices in one row.
    return {**found, **coordinates}


def _of_tuple(
    other: str, extents: Sequence[int], axes: Mapping[str, int | None], position: str
) -> Iterator[tuple[Key, int]]:
    for by, axis in axes.items():
        if axis is not None and -len(extents) <= axis < len(extents):
            yield ("element along", other, by), extents[axis]
    if position and int(position) < len(extents):
        yield ("own element", other), extents[int(position)]
    for i, extent in enumerate(extents):
        yield ("element", other, f"{i}"), extent
    yield ("elements of shape", other), math.prod(extents)


def _mapped(
    arguments: Mapping[str, Argument], other: str, shape: Sequence[int]
) -> Iterator[tuple[Key, int]]:
    """Yields the limit of indices along the axes of a tensor that a mapping lists."""
    window = _whole(arguments.get(WINDOW)) or (1,) * len(shape)
    for name, value in arguments.items():
        if not isinstance(value, MappingValue):
            continue
        for entry in MAPS:
            axes = _whole(value.entries.get(entry))
            if axes and max(axes) < len(shape) == len(window):
                least = min(shape[axis] - window[axis] + 1 for axis in axes)
                yield ("mapped", other, name, entry), least


def _whole(value: object) -> tuple[int, ...]:
    """Returns a tuple of integers as it is; an empty one for any other value."""
    if isinstance(value, tuple) and all(type(number) is int for number in value):
        return value
    return ()


ALONG = ("along", "element along", "own axis")
"""Limits whose arguments say which axis is indexed."""

WHOLE = (*BELOW, "permutation", "sequence", "literal")
"""Fills of integers that may be indices."""

SHIFTS = (0, 1, -1)
"""Numbers up to the extent itself are lengths, and up to the one before leave one free."""


class _Seen(NamedTuple):
    """Numbers of a tensor in one configuration."""

    low: float
    high: float
    is_exact: bool
    """Whether they are drawn up to the limit itself, and not only below it."""
    is_permuted: bool
    """Whether they are the first numbers in a random order."""
    limits: dict[Key, int]
    present: frozenset[str]
    """The arguments of the configuration."""


def find_bounds(
    configurations: Iterable[Mapping[str, Argument]], operator: Operator | None = None
) -> Bounds:
    """Returns the bounds that hold in all of a rule's configurations of an operator."""
    defaults = {} if operator is None else _defaults_of(operator)
    seen: dict[str, list[_Seen]] = {}
    for arguments in configurations:
        for place, spec in places(arguments):
            drawn = _numbers(spec)
            if drawn is not None:
                found = limits(arguments, place, defaults)
                permuted = spec.fill.distribution == "permutation"
                one = _Seen(*drawn, permuted, found, frozenset(arguments))
                seen.setdefault(_listed(place), []).append(one)
    of: dict[str, Bound] = {}
    free = []
    for place, listed in seen.items():
        bound = _common(listed)
        if bound is not None:
            of[place] = bound
        elif any(case.is_exact for case in listed) and not _are_below_all(listed):
            free.append(place)
    return Bounds(of, frozenset(free), defaults)


def _numbers(spec: TensorSpec) -> tuple[float, float, bool] | None:
    """Returns a tensor's least integer, its largest plus one, and if that is the limit; or None."""
    fill = spec.fill
    if spec.layout != "dense" or fill.distribution not in WHOLE:
        return None
    if fill.distribution in BELOW:
        return fill.low, fill.high, True
    if fill.distribution != "literal":
        # A sequence goes on from row to row.
        is_shuffled = fill.distribution == "permutation"
        extent = spec.shape[-1] if is_shuffled and spec.shape else spec.size
        return 0.0, max(fill.high, float(different(fill, extent))), False
    flat = _whole(tuple(_flat(fill.data)))
    return (float(min(flat)), float(max(flat) + 1), False) if flat and min(flat) >= 0 else None


def _flat(data: object) -> Iterator[object]:
    if isinstance(data, (list, tuple)):
        for element in data:
            yield from _flat(element)
    else:
        yield data


def _common(listed: Sequence[_Seen]) -> Bound | None:
    """Returns the likeliest limit that all configurations have in common; None if there is none."""
    exact = any(case.is_exact for case in listed)
    for shift in SHIFTS if exact else (0,):
        keys = [
            key
            for key in dict.fromkeys(key for case in listed for key in case.limits)
            if _holds(key, shift, listed)
        ]
        if not keys:
            continue
        if exact or keys[0][0] in ALONG:
            _, alike = next(groupby(keys, lambda key: key[:2]))
            return Bound(tuple(alike), shift)
        # Each is at least the limit, and one of them is it.
        owner = keys[0][1] if all(case.is_permuted for case in listed) else None
        return Bound(tuple(key for key in keys if owner in (None, key[1])))
    return None


def _holds(key: Key, shift: int, listed: Sequence[_Seen]) -> bool:
    """Whether a key leads to the limit in each configuration that has its arguments."""
    own = [case for case in listed if case.present.issuperset(_arguments(key))]
    return bool(own) and all(
        key in case.limits
        and (
            case.limits[key] + shift == case.high
            if case.is_exact
            else case.limits[key] + shift >= case.high
        )
        and (shift < 1 or case.low >= 1)
        for case in own
    )


def _arguments(key: Key) -> Iterator[str]:
    """Yields the arguments that a key needs, without those that have defaults."""
    if key[0] in ("number", "mapped"):
        yield from (name.partition(".")[0] for name in key[1:3])
    else:
        yield key[1].partition(".")[0]


def _are_below_all(listed: Sequence[_Seen]) -> bool:
    """Whether the numbers are below every extent of the other tensors: they may index any."""
    extents = [
        [extent for key, extent in case.limits.items() if key[0] == "axis"] for case in listed
    ]
    return all(own and case.high <= min(own) for case, own in zip(listed, extents, strict=True))
