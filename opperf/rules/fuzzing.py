"""Random shapes: the inputs of a rule with random extents."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from opperf.defaults import MAX_ELEMENTS, MIN_ELEMENTS
from opperf.model import Struct
from opperf.rules.extents import Group, elements, stretch
from opperf.rules.values import Arguments

LEAST_SHARE = 0.15
"""Minimum of an extent's weight in the logarithm of the elements; the maximum is 1. Shapes are long
and thin as well as square, but rarely of one column."""

MAX_MISSES = 100
"""Consecutive draws outside the limits after which drawing ends: extents that cannot change may
hold too many elements already, or the others too few."""


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
