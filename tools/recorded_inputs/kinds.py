"""Smaller inputs of the same kind of work.

A product of 8192 rows and one of 64 are other work for a library, and so are sums of 8192 numbers
and of 16. An extent that the result lacks, as the inner one of a product or the rows of a column's
sum, decides the kind: it and the others stay in proportion.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from tools.recorded_inputs.calling import Arguments, run
from tools.recorded_inputs.reading import Tensor
from tools.recorded_inputs.scaling import (
    Group,
    Limits,
    Place,
    excess,
    halved,
    places,
    reduce,
    units,
    with_extents,
)

SPREAD = 32
"""Largest ratio of the factors by which two extents are reduced where one of them is not in the
result. Batches that are halved four times are those of other machines."""

PRODUCTS = ("addmm", "bmm", "mm")
"""Products of matrices, whose rows and columns decide the kind as well: one of few rows reads the
other matrix for each."""

LEAST = 16
"""Smallest extent that is halved with others in proportion: windows and lists are shorter."""

MADE = "size"
"""Argument of operators that make a tensor, which has nothing of the tensor they take."""


def within(
    operator: str, arguments: Arguments, free: list[Group], limits: Limits
) -> Arguments | None:
    """Returns the arguments of a call within the limits: with a smaller batch, or, where that would
    be another kind of work, with all extents in proportion; None if that is no way either."""
    batch = reduce(operator, arguments, free, limits)
    if is_alike(operator, arguments, batch, free):
        return batch
    even = reduce_evenly(operator, arguments, free, limits)
    return even if is_alike(operator, arguments, even, free) else None


def reduce_evenly(
    operator: str, arguments: Arguments, free: list[Group], limits: Limits
) -> Arguments:
    """Returns the arguments of a call within the limits, if it can be, with extents halved in
    turns, the longest first."""
    work = excess(operator, arguments, limits)
    times = dict.fromkeys(free, 0)
    left = list(free)
    while work is not None and work > 1 and left:
        extents = places(arguments)
        group = min(left, key=lambda one: (times[one], -units(one, extents)))
        smaller = with_extents(arguments, halved(group, extents))
        needed = excess(operator, smaller, limits) if units(group, extents) >= LEAST else None
        if needed is None:
            left.remove(group)
        else:
            work, arguments = needed, smaller
            times[group] += 1
    return arguments


def is_alike(operator: str, before: Arguments, after: Arguments, free: list[Group]) -> bool:
    """Whether smaller arguments are the same kind of work."""
    if before == after or MADE in before:
        return True
    old, new = places(before), places(after)
    # Of one place along the axis, there is nothing to choose or to sum.
    if any(place not in new for place in old if is_axis(before, place)):
        return False
    factors = [Fraction(old[group[0]], new.get(group[0], 1)) for group in free]
    inner = [
        operator.split(".")[1] in PRODUCTS or is_inner(operator, before, group) for group in free
    ]
    return all(
        max(one, other) <= SPREAD * min(one, other)
        for (one, first), (other, second) in itertools.combinations(
            zip(factors, inner, strict=True), 2
        )
        if first or second
    )


AXIS = "dim"
"""Argument with the axis, or the axes, that an operator works along."""


def is_axis(arguments: Arguments, place: Place) -> bool:
    """Whether a place is the extent of an axis that the operator works along."""
    dim, tensor = arguments.get(AXIS), arguments[place.argument]
    if not isinstance(tensor, Tensor):
        return False
    axes = dim if isinstance(dim, tuple) else (dim,)
    rank = len(tensor.shape)
    return any(isinstance(axis, int) and place.axis in (axis, axis + rank) for axis in axes)


def is_inner(operator: str, arguments: Arguments, group: Group) -> bool:
    """Whether the results have none of a group's extents."""
    extents = places(arguments)
    twice = with_extents(arguments, {place: 2 * extents[place] for place in group})
    return _elements(operator, twice) == _elements(operator, arguments)


def _elements(operator: str, arguments: Arguments) -> int:
    return sum(one.numel() for one in run(operator, arguments) or ())
