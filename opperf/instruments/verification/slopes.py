"""Gradients beside the slopes of a reference: for gradients `v` of the results, with which the
backward pass began, <gradient, u> is the derivative of <v, reference(x + t u)> at t = 0, for any
direction u."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from opperf.instruments.verification.arrays import Comparison
from opperf.instruments.verification.nearness import EACH, WORST_CONDITION, Allowed
from opperf.operations.differentiation import Way

DIRECTIONS = 4
"""Random directions of each input: an error three times as large as what is allowed along a typical
one is missed by all of four in 0.4 % of cases."""

FEW = 32
"""Elements of an input up to which each is checked by itself."""

STEPS = (1e-4, 1e-6)
"""Of central differences, in sizes of the input: the second where the first meets a kink or leaves
the domain."""

IMAGINARY = 1e-30
"""Step along the imaginary axis: its square is nothing beside the result."""

DIFFERENCE_ERROR = 1e-9
"""Share of a slope by differences of double precision that may be off."""

Along = Callable[[Any], Any]
"""Computes <v, reference> at an input of these contents."""


class Slope(NamedTuple):
    """A derivative along a direction."""

    value: float
    error: float
    is_kinked: bool = False
    """Whether there is a kink, so that it is none."""


def slope_of(along: Along, x: Any, u: Any, way: Way) -> Slope:
    """Returns the derivative along a direction, by the first step that meets no kink."""
    if way == "exact":
        value, half = (
            float(np.real(along(x + t * u) - along(x - t * u))) / (2 * t) for t in (1, 0.5)
        )
        if abs(value - half) <= DIFFERENCE_ERROR * (abs(value) + _size(u)):
            return Slope(value, DIFFERENCE_ERROR * abs(value))
        # What the call does with its arguments is of a higher degree.
    if way == "complex" and not np.iscomplexobj(x):
        value = float(np.imag(along(x + 1j * IMAGINARY * u))) / IMAGINARY
        return Slope(value, DIFFERENCE_ERROR * abs(value))
    found = Slope(math.nan, math.inf, True)
    for step in STEPS:
        found = _difference(along, x, u, step)
        if not found.is_kinked:
            return found
    return found


def _difference(along: Along, x: Any, u: Any, step: float) -> Slope:
    here = np.real(along(x))
    sides = [[np.real(along(x + sign * part * step * u)) for sign in (1, -1)] for part in (1, 0.5)]
    (wide, narrow) = [
        (high - low) / (2 * part * step) for (high, low), part in zip(sides, (1, 0.5), strict=True)
    ]
    # The slopes of both sides differ by less, the smaller the step is; but not at a kink.
    bent = [
        (high + low - 2 * here) / (part * step)
        for (high, low), part in zip(sides, (1, 0.5), strict=True)
    ]
    value = float((4 * narrow - wide) / 3)
    noise = DIFFERENCE_ERROR * (abs(value) + abs(float(here)) * 1e-6 / step)
    wobble = abs(float(narrow - wide)) / 3
    kink = abs(float(2 * bent[1] - bent[0]))
    is_kinked = not math.isfinite(value) or max(kink, wobble) > KINK * (abs(value) + _size(u))
    return Slope(value, noise + LEFT * wobble, is_kinked)


LEFT = 1e-2
"""Part of the difference of two steps' slopes that is left of their extrapolation's error."""

KINK = 1e-5
"""Share of a slope by which those of two steps, or of both sides, differ at a kink."""


def _size(u: Any) -> float:
    return float(np.linalg.norm(np.asarray(u).ravel())) * 1e-2


def directions_of(x: Any, seed: int) -> Iterator[Any]:
    """Yields directions: of few elements each, else random ones, every second in shares of the
    elements themselves, which leaves no domain."""
    size = math.sqrt(float(np.mean(np.square(np.abs(x))))) or 1.0
    units = (1, 1j) if np.iscomplexobj(x) else (1,)
    if x.size <= FEW:
        for place in range(x.size):
            yield from (size * unit * np.eye(1, x.size, place).reshape(x.shape) for unit in units)
        return
    draw = np.random.default_rng(seed)
    for number in range(DIRECTIONS):
        scale = np.where(x == 0, size, np.abs(x)) if number % 2 else size
        yield sum(unit * draw.standard_normal(x.shape) for unit in units) * scale


def smooth_part(function: Callable[[Any], list[Any]], x: Any, u: Any) -> Any:
    """Returns a direction without the elements at which a function that is elementwise has a
    kink."""
    here = function(x)
    if any(np.shape(result) != x.shape for result in here):
        return u
    step = STEPS[-1]
    high, low = function(x + step * u), function(x - step * u)
    kept = np.ones(x.shape, bool)
    for middle, above, below in zip(here, high, low, strict=True):
        slope = np.abs(above - below) / (2 * step)
        kept &= np.abs(above + below - 2 * middle) / step <= 1e-2 * (slope + 1e-2 * np.abs(u))
    return np.where(kept, u, 0.0)


class Checked(NamedTuple):
    """The comparison of one gradient, and how many of its directions met a kink."""

    comparison: Comparison
    kinked: int
    directions: int
    blind: int = 0
    """Those along which zeros would pass as well, so much does one rounding of the input change."""


def compare_gradient(
    gradient: Any,
    x: Any,
    function: Callable[[Any], list[Any]],
    heads: list[Any],
    way: Way,
    allowed: Allowed,
    seed: int,
    shape: str = "",
) -> Checked:
    """Returns how a gradient with respect to `x` compares with slopes of a function of it, along
    directions that keep the shape of a matrix."""
    if not np.isfinite(gradient).all():
        return Checked(Comparison("slope", "it has NaN or infinite elements"), 0, 0)
    along = partial(_weighted, function, heads)
    draw = np.random.default_rng(seed + 1)
    kinked = count = blind = 0
    for u in directions_of(x, seed):
        count += 1
        u = SHAPES[shape](u)
        u = smooth_part(function, x, u) if way == "differences" else u
        if not u.any():
            kinked += 1
            continue
        slope = slope_of(along, x, u, way)
        if slope.is_kinked or not math.isfinite(slope.value):
            kinked += 1
            continue
        found = float(np.real(np.sum(np.conj(gradient) * u)))
        off, most = abs(found - slope.value), _limit(gradient, u, slope, allowed)
        if off > most:
            signs = draw.choice([-1.0, 1.0], x.shape)
            moved = slope_of(along, x * (1 + allowed.rounding * signs), u, way)
            change = abs(moved.value - slope.value) * allowed.unit / allowed.rounding
            if math.isfinite(change):
                most += EACH * min(change, WORST_CONDITION * most / EACH)
            blind += abs(slope.value) <= most
        if off > most:
            text = (
                f"along a direction it is {found:.6g}, and the slope {slope.value:.6g}: "
                f"off by {off:.2g}, where rounding explains {most:.2g}"
            )
            return Checked(Comparison("slope", text, error=off, allowed=most), kinked, count)
    return Checked(Comparison("slope"), kinked, count, blind)


def _limit(gradient: Any, u: Any, slope: Slope, allowed: Allowed) -> float:
    """Returns the largest error along a direction that rounding explains."""
    spread = math.sqrt(float(np.mean(np.square(np.abs(gradient)))))
    parts = math.sqrt(float(np.sum(np.square((np.abs(gradient) + spread) * np.abs(u)))))
    size = abs(slope.value) + parts
    return EACH * (allowed.unit * size + slope.error) + DIFFERENCE_ERROR * parts


def _weighted(function: Callable[[Any], list[Any]], heads: list[Any], x: Any) -> Any:
    made = zip(heads, function(x), strict=True)
    return sum(np.sum(np.conj(head) * result) for head, result in made)


def _symmetric(u: Any) -> Any:
    return (u + np.swapaxes(u, -1, -2)) / 2 if _is_square(u) else u


def _lower(u: Any) -> Any:
    return np.tril(u) if _is_square(u) else u


def _is_square(u: Any) -> bool:
    return bool(u.ndim > 1 and u.shape[-1] == u.shape[-2])


SHAPES: Mapping[str, Callable[[Any], Any]] = {
    "": lambda u: u,
    "symmetric": _symmetric,
    "lower": _lower,
}
"""Directions among matrices that an operation reads half of."""
