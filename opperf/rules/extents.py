"""Groups of extents of a case's inputs that can change together, and random shapes by them.

They are found by trial: an extent is doubled, and the framework accepts or refuses the call. An
extent that cannot change alone may have to equal others, as the rows of a weight equal
`num_filter`; the smallest such group is kept. Extents that follow from others by arithmetic (the
length of a flattened buffer), and those that these follow from, stay as they are.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from opperf.defaults import MAX_ELEMENTS, MIN_ELEMENTS
from opperf.model import Argument, Struct, TensorSpec, map_tensors
from opperf.rules.ranges import reshaped
from opperf.rules.values import BELOW, Arguments, up_to_limit

FACTOR = 2
"""Factor of an extent in a trial: twice a number keeps its divisors."""

FIXED_FILLS = ("literal", "given", "function")
"""Fills with data of a fixed shape."""

SHARED = "same"
"""The fill of a tensor that is the same as another argument."""


class Place(NamedTuple):
    """Position of an extent: a tensor's axis, or an integer among plain values."""

    argument: str
    element: int | None
    """Position in a list of tensors; None for an argument that is no list."""
    axis: int | None
    """A tensor's axis or a position in a tuple of numbers; None for a single number."""
    shape: bool
    """Whether it is a tensor's axis."""


Group = tuple[Place, ...]
"""Places that change together, all of equal extent; the first is a tensor's axis."""

Accepts = Callable[[Arguments], bool]
"""Whether a framework accepts these arguments."""


def places(arguments: Arguments) -> dict[Place, int]:
    """The extent at every place that may hold one."""
    return dict(_places(arguments))


def _places(arguments: Arguments) -> Iterator[tuple[Place, int]]:
    for name, value in arguments.items():
        for index, element in _elements(value):
            if isinstance(element, TensorSpec):
                if element.fill.distribution not in (*FIXED_FILLS, SHARED):
                    for axis, extent in enumerate(element.shape):
                        yield Place(name, index, axis, True), extent
            elif isinstance(element, tuple):
                for position, number in enumerate(element):
                    if _is_count(number):
                        yield Place(name, index, position, False), number
            elif _is_count(element):
                yield Place(name, index, None, False), element  # type: ignore[misc]


def _elements(value: Argument) -> list[tuple[int | None, object]]:
    """The elements of a list of tensors, each with its position; anything else as it is."""
    if isinstance(value, tuple) and _is_list(value):
        return list(enumerate(value))
    return [(None, value)]


def _is_list(value: Argument) -> bool:
    return isinstance(value, tuple) and any(isinstance(item, TensorSpec) for item in value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def with_extents(arguments: Arguments, extents: Mapping[Place, int]) -> Arguments:
    """The arguments with other extents at some places, indices in range and equal tensors equal."""
    bounds = _bounds(arguments, extents)

    def put(name: str, index: int | None, value: Argument) -> Argument:
        if isinstance(value, TensorSpec):
            shape = tuple(
                extents.get(Place(name, index, axis, True), extent)
                for axis, extent in enumerate(value.shape)
            )
            fill = value.fill
            if fill.distribution in BELOW and fill.high in bounds:
                fill = up_to_limit(fill, float(max(bounds[fill.high], fill.low + 1)))
            return msgspec.structs.replace(reshaped(value, shape), fill=fill)
        if isinstance(value, tuple):
            return tuple(
                extents.get(Place(name, index, position, False), number)
                for position, number in enumerate(value)
            )
        return extents.get(Place(name, index, None, False), value)

    made: Arguments = {}
    for name, value in arguments.items():
        if isinstance(value, tuple) and _is_list(value):
            elements = (put(name, i, element) for i, element in enumerate(value))
            made[name] = tuple(elements)  # type: ignore[arg-type]
        else:
            made[name] = put(name, None, value)
    return {name: _match_owner(value, made) for name, value in made.items()}


def _bounds(arguments: Arguments, extents: Mapping[Place, int]) -> dict[float, int]:
    """New bounds of indices by the old ones; of several equal extents, the smallest new one."""
    bounds: dict[float, int] = {}
    for place, before in places(arguments).items():
        after = extents.get(place, before)
        if place.shape and before != 1:
            bounds[before] = min(after, bounds.get(before, after))
    return bounds


def _match_owner(value: Argument, made: Arguments) -> Argument:
    """The value, in the shape of the argument that it is the same as, if it is."""

    def match(spec: TensorSpec) -> TensorSpec:
        if spec.fill.distribution != SHARED:
            return spec
        name, _, index = str(spec.fill.data).partition(".")
        owner = made[name]
        if index and isinstance(owner, tuple):
            owner = owner[int(index)]
        if not isinstance(owner, TensorSpec):
            return spec
        return msgspec.structs.replace(spec, shape=owner.shape)

    return map_tensors(value, match)


WINDOW = 8
"""Plain values below this are windows, strides or numbers of parts, not extents."""


def groups(arguments: Arguments, accepts: Accepts, least: int = WINDOW) -> list[Group]:
    """The groups of extents that can change. Plain values below `least` stay as they are."""
    found: list[Group] = []
    settled: set[Place] = set()
    all_places = places(arguments)
    for place, extent in all_places.items():
        if not place.shape or place in settled:
            continue
        alike = [
            other
            for other, size in all_places.items()
            if size == extent
            and other != place
            and other not in settled
            and (other.shape or size >= least)
        ]
        group = _group(arguments, place, alike, extent, accepts)
        if group:
            found.append(group)
            settled.update(group)
    return found


def _group(
    arguments: Arguments, place: Place, alike: list[Place], extent: int, accepts: Accepts
) -> Group:
    """The smallest group of places of equal extent that contains `place`; empty without one."""

    def takes(members: Iterable[Place]) -> bool:
        return accepts(with_extents(arguments, dict.fromkeys(members, FACTOR * extent)))

    if takes([place]):
        return (place,)
    shapes = [other for other in alike if other.shape]
    for others in (shapes, alike):
        if others and takes([place, *others]):
            return (place, *_fewest(place, others, takes))
    return ()


def _fewest(
    place: Place, others: list[Place], takes: Callable[[Iterable[Place]], bool]
) -> list[Place]:
    """The other places that have to change together with `place`."""
    kept = list(others)
    # Two of equal extents may be a group of their own, and change only together.
    for size in (1, 2):
        for some in itertools.combinations(others, size):
            fewer = [other for other in kept if other not in some]
            if len(fewer) == len(kept) - size and takes([place, *fewer]):
                kept = fewer
    return kept


def elements(arguments: Arguments) -> int:
    """Number of elements of the largest tensor."""
    found = (spec for value in arguments.values() for _, spec in _elements(value))
    return max((spec.size for spec in found if isinstance(spec, TensorSpec)), default=0)


def stretch(
    arguments: Arguments, free: Iterable[Group], shares: Mapping[Group, float], wanted: int
) -> Arguments:
    """The arguments scaled so that the largest tensor has about `wanted` elements. The logarithms
    of the groups' extents are in proportion to `shares`."""
    listed = list(free)

    def at(total: float) -> Arguments:
        extents = {
            place: max(1, round(math.exp(total * shares[group])))
            for group in listed
            for place in group
        }
        return with_extents(arguments, extents)

    # The elements increase with the total, so that bisection finds it.
    low, high = 0.0, math.log(wanted) / min(shares[group] for group in listed)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if elements(at(middle)) <= wanted else (low, middle)
    return at(low)


BISECTIONS = 40
"""Halvings of the interval: enough for the logarithm of any 64-bit number."""


LEAST_SHARE = 0.15
"""Minimum of an extent's weight in the logarithm of the elements; the maximum is 1."""

MAX_MISSES = 100
"""Consecutive draws outside the limits after which drawing ends: fixed extents may prevent all."""


class Fuzz(Struct, frozen=True):
    """Number of random shapes per operator, and the limits of their elements."""

    count: int
    least: int = MIN_ELEMENTS
    """Elements of the largest tensor, at least."""
    most: int = MAX_ELEMENTS
    """Elements of the largest tensor, or output, at most."""


def draw(
    arguments: Arguments, free: list[Group], fuzz: Fuzz, seed: int, key: str
) -> Iterator[Arguments]:
    """An endless iterator of arguments of random shapes, the same for the same seed and key.

    The number of elements is drawn from a log-uniform distribution, and so is its spread over the
    extents that can change. Draws outside the limits are dropped; `FUTILE` of them in a row end the
    iterator.
    """
    rng = random.Random(f"{seed} {key}")
    low, high = math.log(fuzz.least), math.log(fuzz.most)
    misses = 0
    while misses < MAX_MISSES:
        wanted = round(math.exp(rng.uniform(low, high)))
        shares = {group: rng.uniform(LEAST_SHARE, 1.0) for group in free}
        made = stretch(arguments, free, shares, wanted)
        misses += 1
        if fuzz.least <= elements(made) <= fuzz.most:
            misses = 0
            yield made
