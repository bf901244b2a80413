"""Random shapes: the inputs of a rule, with extents drawn anew."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from opperf.defaults import LEAST_ELEMENTS, MOST_ELEMENTS
from opperf.model import Struct
from opperf.rules.extents import Group, elements, stretched
from opperf.rules.values import Arguments

LEAST_SHARE = 0.15
"""Share of the logarithm of the elements that an extent gets at least, against one at most: long
and thin as well as square, but rarely a column of one."""

FUTILE = 100
"""Draws of a wrong number of elements after which none of the right one is expected: extents that
cannot change may hold too many, or too few."""


class Fuzz(Struct, frozen=True):
    """How many random shapes of each operator, and of how many elements."""

    count: int
    least: int = LEAST_ELEMENTS
    """Elements of the largest tensor, at least."""
    most: int = MOST_ELEMENTS
    """Elements of the largest tensor, or output, at most."""


def drawn(
    arguments: Arguments, free: list[Group], fuzz: Fuzz, seed: int, key: str
) -> Iterator[Arguments]:
    """Arguments of random shapes without end, the same for the same seed and key.

    The number of elements is drawn from a log-uniform distribution, and so is how it is spread
    over the extents that can change. Those are left out that come to fewer or more elements than
    wanted; `FUTILE` of them on end, and there are no more.
    """
    rng = random.Random(f"{seed} {key}")
    low, high = math.log(fuzz.least), math.log(fuzz.most)
    misses = 0
    while misses < FUTILE:
        wanted = round(math.exp(rng.uniform(low, high)))
        shares = {group: rng.uniform(LEAST_SHARE, 1.0) for group in free}
        made = stretched(arguments, free, shares, wanted)
        misses += 1
        if fuzz.least <= elements(made) <= fuzz.most:
            misses = 0
            yield made
