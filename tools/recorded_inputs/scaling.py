"""Smaller inputs of a call: extents that scale together, found by trial on the meta device.

An extent is doubled, and PyTorch accepts or refuses the call. One that cannot double alone may have
to be equal to others, as the rows of a gradient are to those of the data, or a multiple of another,
as the rows of a view are of the batch. The smallest such group is kept. Doubling shows more than
halving: an extent of 1 would broadcast.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from tools.recorded_inputs.calling import Arguments, elements, multiply_adds, run
from tools.recorded_inputs.reading import Tensor


class Place(NamedTuple):
    """Position of an extent: a tensor's axis, or a whole number of a plain argument."""

    argument: str
    index: int | None
    """Position in a list of tensors; None for an argument that is no list of them."""
    axis: int | None
    """A tensor's axis or a position in a list of numbers; None for a single number."""
    tensor: bool


Group = tuple[Place, ...]
"""Places whose extents scale by the same factor."""

EXTENTS = (
    *("size", "input_size", "input_sizes", "output_size", "normalized_shape", "bias_sizes"),
    *("groups", "num_weights"),
)
"""Arguments that are extents; other numbers are windows, axes, options."""

NO_BATCH = ""
"""In place of an argument: the longest extents are halved first."""

DATA = {
    "_embedding_bag": NO_BATCH,
    "_embedding_bag_per_sample_weights_backward": NO_BATCH,
    "embedding": "indices",
    "gather": "index",
    "index_add": "source",
    "index_select": NO_BATCH,
    "new_empty_strided": "size",
    "new_ones": "size",
    "new_zeros": "size",
    "scatter_add": "index",
    "where": "self",
}
"""The argument whose outermost axis is the batch, by the operator's name, where it is not the first
tensor."""


class Limits(NamedTuple):
    """The largest work of a call."""

    elements: int
    """Read and written."""
    multiply_adds: int


def places(arguments: Arguments) -> dict[Place, int]:
    """Returns the extents that may change, by their places."""
    found: dict[Place, int] = {}
    for name, value in arguments.items():
        listed = isinstance(value, tuple) and any(isinstance(one, Tensor) for one in value)
        for index, one in enumerate(value) if listed else [(None, value)]:
            if isinstance(one, Tensor):
                for axis, extent in enumerate(one.shape):
                    found[Place(name, index, axis, True)] = extent
            elif name in EXTENTS and isinstance(one, tuple):
                for axis, extent in enumerate(one):
                    found[Place(name, index, axis, False)] = extent
            elif name in EXTENTS and isinstance(one, int):
                found[Place(name, index, None, False)] = one
    return {place: extent for place, extent in found.items() if extent > 1}


def with_extents(arguments: Arguments, extents: dict[Place, int]) -> Arguments:
    """Returns the arguments with other extents at some places."""

    def put(name: str, index: int | None, value: Any) -> Any:
        if isinstance(value, Tensor):
            shape = tuple(
                extents.get(Place(name, index, axis, True), extent)
                for axis, extent in enumerate(value.shape)
            )
            return replace(value, shape=shape, strides=strides_of(value, shape))
        if isinstance(value, tuple):
            return tuple(
                extents.get(Place(name, index, axis, False), one) for axis, one in enumerate(value)
            )
        return extents.get(Place(name, index, None, False), value)

    return {
        name: tuple(put(name, index, one) for index, one in enumerate(value))
        if isinstance(value, tuple) and any(isinstance(one, Tensor) for one in value)
        else put(name, None, value)
        for name, value in arguments.items()
    }


def strides_of(tensor: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the strides of a tensor in another shape: in the same order, expanded where it was,
    and with gaps in proportion."""
    if not tensor.strides or shape == tensor.shape:
        return tensor.strides
    made = [0] * len(shape)
    inner, reach_before, reach_after = 0, 1, 1
    for axis in sorted(range(len(shape)), key=lambda axis: (tensor.strides[axis], -axis)):
        step = tensor.strides[axis]
        if step == 0:
            continue
        # A part of a larger tensor has gaps between its rows.
        gap = step / reach_before if inner else step
        made[axis] = max(1, math.ceil(gap * reach_after))
        if tensor.shape[axis] > 1:
            inner += 1
            reach_before = step * tensor.shape[axis]
            reach_after = made[axis] * shape[axis]
    return tuple(made)


def groups(arguments: Arguments, accepts: Callable[[Arguments], bool]) -> list[Group]:
    """Returns the groups of extents that can scale, in the order of their first places."""
    found: list[Group] = []
    settled: set[Place] = set()
    every = places(arguments)

    def doubles(members: Iterable[Place]) -> bool:
        return accepts(with_extents(arguments, {one: 2 * every[one] for one in members}))

    for place, extent in every.items():
        if place in settled:
            continue
        others = {one: size for one, size in every.items() if one != place and one not in settled}
        equal = [one for one, size in others.items() if size == extent]
        related = [one for one, size in others.items() if size % extent == 0 or extent % size == 0]
        group = next((one for one in candidates(place, equal, related) if doubles(one)), ())
        if group:
            group = (place, *fewest(place, list(group[1:]), doubles))
            found.append(group)
            settled.update(group)
    return found


MANY = 16
"""Places of which all combinations of three are tried, and groups that are compared. Lists of
tensors have more, which are much alike."""


def candidates(place: Place, equal: list[Place], related: list[Place]) -> Iterable[Group]:
    """Yields possible groups of a place, the likeliest first."""
    yield (place,)
    for one in related:
        yield (place, one)
    tensors = [one for one in equal if one.tensor]
    yield (place, *tensors)
    yield (place, *equal)
    for one in related:
        if one not in equal:
            yield (place, *tensors, one)
            yield (place, *equal, one)
    if len(related) <= MANY:
        for size in (2, 3):
            for several in itertools.combinations(related, size):
                yield (place, *several)


def fewest(
    place: Place, others: list[Place], doubles: Callable[[Iterable[Place]], bool]
) -> list[Place]:
    """Returns the places that have to scale together with `place`."""
    kept = list(others)
    for size in (1, 2) if len(others) <= MANY else (1,):
        for some in itertools.combinations(others, size):
            fewer = [one for one in kept if one not in some]
            if len(fewer) == len(kept) - size and doubles([place, *fewer]):
                kept = fewer
    return kept


def batch_place(operator: str, arguments: Arguments) -> Place | None:
    """Returns the outermost axis in memory of the data, which is the batch of most calls, or the
    tokens of a product of matrices."""
    data = DATA.get(operator.split(".")[1])
    for least in (2, 1):
        # A bias comes before the data of `addmm`.
        for name, value in arguments.items():
            if data not in (None, name):
                continue
            if name in EXTENTS:
                return Place(name, None, 0, False)
            index, first = (0, value[0]) if isinstance(value, tuple) and value else (None, value)
            if isinstance(first, Tensor) and len(first.shape) >= least:
                steps = first.strides
                return Place(name, index, steps.index(max(steps)) if steps else 0, True)
    return None


def excess(operator: str, arguments: Arguments, limits: Limits) -> float | None:
    """Returns how many times the limits a call works, or None if PyTorch refuses it."""
    outputs = run(operator, arguments)
    if outputs is None:
        return None
    return max(
        elements(arguments, outputs) / limits.elements,
        multiply_adds(operator, arguments, outputs) / limits.multiply_adds,
    )


HELPS = 0.75
"""Largest ratio of the work after and before an extent is halved that counts as less work. A small
batch of a large weight makes little less of it."""


def reduce(operator: str, arguments: Arguments, free: list[Group], limits: Limits) -> Arguments:
    """Returns the arguments of a call within the limits, if it can be. The batch is halved while
    that helps, then the longest extents, those of several tensors last: a picture's side before the
    channels, which weights have too."""
    work = excess(operator, arguments, limits)
    first = batch_place(operator, arguments)
    left = list(free)
    while work is not None and work > 1 and left:
        extents = places(arguments)
        left.sort(key=lambda group: (first not in group, -units(group, extents) / len(group)))
        best: tuple[float, Arguments] | None = None
        for group in left[:MANY]:
            smaller = with_extents(arguments, halved(group, extents))
            needed = excess(operator, smaller, limits)
            if needed is None or smaller == arguments:
                left.remove(group)
            elif best is None or needed < best[0]:
                best = (needed, smaller)
                if needed <= HELPS * work:
                    break
        if best is None or best[0] >= work:
            break
        work, arguments = best
    return arguments


def units(group: Group, extents: dict[Place, int]) -> int:
    """Returns the greatest number that divides all extents of a group."""
    return math.gcd(*(extents.get(place, 1) for place in group))


def halved(group: Group, extents: dict[Place, int]) -> dict[Place, int]:
    """Returns the extents of a group at half their size, rounded up to whole units."""
    whole = units(group, extents)
    return {place: extents.get(place, 1) // whole * -(-whole // 2) for place in group}
