"""Whether results are right: by the spread of the reference's own, and by the error that the
reference itself has in its dtype, beside its results in float64."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opperf.candidates.model import Problem
from opperf.candidates.protocol import Output
from opperf.instruments.verification.nearness import CHANGES

Array = NDArray[Any]

OWN_ERRORS = 8.0
"""Times the reference's own error that a result may be off: another order of the same sums."""

LEAST_ROUNDINGS, MOST_SHARE = 64.0, 1e-5
"""Roundings that a result may be off where the reference has none, up to this share of the spread:
a tenth of what a product of half-precision factors is off."""

FEW_ROUNDINGS = 4.0
"""Roundings that it may be off in half precision, and for the root of the number of elements that
each result is made of, as a plain sum's error grows."""

EPSILONS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Distances of 1 from the next number."""

PARTS = {"complex64": "float32", "complex128": "float64"}


class Results(NamedTuple):
    """The results of the reference for some inputs."""

    outputs: tuple[Output, ...]
    own: tuple[Array, ...]
    """In the problem's dtype."""
    wide: tuple[Array, ...]
    """In float64, where it takes that, else as `own`."""


class Allowed(NamedTuple):
    """How far an output may be off."""

    share: float
    """Of an element, and of the spread of all; 0 of integers, which are to be equal."""
    spread: float
    rtol: float = 0.0
    atol: float = 0.0
    """As the problem states them."""

    def bounds(self, right: Array, spread: float) -> Array:
        size = np.abs(right)
        own = self.share * (size + spread)
        scale = min(1.0, spread / self.spread) if self.spread else 1.0
        return np.asarray(np.maximum(own, self.atol * scale + self.rtol * size))


class Off(NamedTuple):
    """How far a result is off."""

    absolute: float = 0.0
    share: float = 0.0
    """Of the spread of the reference's."""
    problem: str = ""
    """The reason for which it is wrong; empty if it is right."""


def spread_of(values: Array) -> float:
    """Returns the standard deviation of the finite ones; their largest size if they are equal."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0
    with np.errstate(all="ignore"):
        deviation = float(np.std(finite))
        largest = float(np.abs(finite).max())
    # The deviation of equal numbers is a rounding of them.
    return deviation if deviation > 1e-6 * largest else largest


def is_exact(values: Array) -> bool:
    """Whether they are integers or booleans."""
    return values.dtype.kind not in "fc"


def allowed(
    found: Sequence[Results], nudged: Results, elements: int, problem: Problem, largest: float = 1.0
) -> list[Allowed]:
    """Returns how far each output may be off, from results for some inputs, which have a number of
    elements together, and for the first of them with each element off by one rounding: what is
    sensitive to that may be off as much. A step between may have numbers as large as the
    `largest`, of which a rounding is then one of the results'."""
    made = []
    for at, output in enumerate(found[0].outputs):
        own, wide = found[0].own[at], found[0].wide[at]
        if is_exact(own):
            made.append(Allowed(0.0, 0.0))
            continue
        epsilon = EPSILONS[PARTS.get(output.dtype, output.dtype)]
        depth = math.sqrt(max(1.0, elements / max(1, own.size)))
        least = max(
            min(LEAST_ROUNDINGS * epsilon, MOST_SHARE),
            FEW_ROUNDINGS * epsilon * max(depth, largest),
        )
        errors = [_error(each.own[at], each.wide[at]) for each in found]
        error = max(*errors, _error(nudged.wide[at], wide))
        made.append(
            Allowed(
                max(OWN_ERRORS * error, least),
                spread_of(wide),
                problem.rtol or 0.0,
                problem.atol or 0.0,
            )
        )
    return made


def _error(own: Array, wide: Array) -> float:
    both = np.isfinite(own) & np.isfinite(wide)
    size = np.abs(wide[both]) + spread_of(wide)
    with np.errstate(all="ignore"):
        errors = np.abs(own[both] - wide[both]) / size
    return float(np.nanmax(errors, initial=0.0))


def compare(found: Array, right: Results, at: int, most: Allowed, least_spread: float = 0.0) -> Off:
    """Returns how far an output is off. NaN and infinity have to be where the reference's are."""
    own, wide = right.own[at], right.wide[at]
    if is_exact(own):
        differing = int(np.count_nonzero(found != own))
        return Off(float(differing), 0.0, f"{differing} elements differ" if differing else "")
    if not np.array_equal(np.isnan(found), np.isnan(own)):
        # A library may lose a NaN in one dtype, and not in another.
        own = wide
    for test, name in ((np.isnan, "NaN"), (np.isinf, "infinity")):
        there, expected = test(found), test(own)
        if name == "infinity":
            # By their signs, and what only float64 can hold is not asked for.
            there, expected = (
                np.where(there, np.sign(found), 0),
                np.where(expected, np.sign(own), 0),
            )
        if not np.array_equal(there, expected):
            return Off(math.inf, math.inf, f"{name} is not where the reference's is")
    finite = np.isfinite(own) & np.isfinite(wide)
    values, expected = found[finite].astype(wide.dtype), wide[finite]
    spread = max(spread_of(expected), least_spread)
    with np.errstate(all="ignore"):
        errors = np.abs(values - expected)
        excess = errors > most.bounds(expected, spread)
    largest = float(errors.max(initial=0.0))
    share = largest / spread if spread else (math.inf if largest else 0.0)
    if not excess.any():
        return Off(largest, share)
    count = int(np.count_nonzero(excess))
    part = f"{count} of {own.size} elements are off" if own.size > 1 else "it is off"
    return Off(
        largest, share, f"{part}, by up to {largest:.3g}, {share:.2g} of the reference's spread"
    )


def differing(found: Array, right: Array, most: Allowed) -> NDArray[np.bool_]:
    """Returns which rows are not as near to the reference's as is allowed, by the usual spread."""
    found, right = (each.reshape(len(each), -1) for each in (found, right))
    if is_exact(right):
        return np.asarray((found != right).any(1))
    with np.errstate(all="ignore"):
        off = np.abs(found - right)
        differs: NDArray[np.bool_] = ~(off.max(1, initial=0.0) <= most.share * most.spread)
        if differs.any():
            # NaN and infinity among them, and large numbers, may be off by more.
            own, other = found[differs], right[differs]
            near = (own == other) | (np.isnan(own) & np.isnan(other))
            near |= off[differs] <= most.bounds(other, most.spread)
            differs[differs] = ~near.all(1)
    return differs


def controls(right: Results, other: Results) -> Iterator[tuple[str, list[Array]]]:
    """Yields results that are wrong, each with its name: no tolerance may pass them. `other` are
    those for other inputs."""
    yield "zeros", [np.zeros_like(each) for each in right.own]
    yield "the results for other inputs", list(other.own)
    # What is compared exactly tells any change; one number has no order and is its own mean.
    if any(not is_exact(each) and each.size > 1 for each in right.own):
        for name, change in CHANGES.items():
            yield name, [change(each) for each in right.own]


def passes(found: Sequence[Array], right: Results, most: Sequence[Allowed]) -> bool:
    """Whether all outputs are right."""
    return all(
        one.shape == right.own[at].shape and not compare(one, right, at, most[at]).problem
        for at, one in enumerate(found)
    )


def follows(before: Array, after: Array, change: Array) -> bool | None:
    """Whether an output changed as the reference's did; None if that did not change."""
    size = float(np.vdot(change, change).real)
    if not size or not math.isfinite(size):
        return None
    with np.errstate(all="ignore"):
        return bool(np.vdot(change, after - before).real >= FOLLOWED * size)


FOLLOWED = 0.5
"""Share of the reference's change that counts as the same one, under rounding."""
