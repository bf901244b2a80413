"""Contents of inputs: those of seeds, and those that show what usual ones do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from opperf.candidates.protocol import STORED, Bytes, Layout, decoded, encoded
from opperf.dtypes import is_floating

MAGNITUDES = (1e-3, 1e3)
"""Factors of inputs: lower precision inside shows in some magnitude, and tolerances do not hide
what is small."""

MOST_INPUTS = 8
"""Inputs that are changed one at a time."""

NEAR = 3
"""Contents that differ from one another in an element: a cache that looks at some elements takes
them for the same."""

ROUNDINGS = np.float32(2**16)
"""Roundings of float32 in one of bfloat16, which has the upper half of its bits."""

Array = Any


class Content(NamedTuple):
    """The inputs of one call."""

    name: str
    data: Bytes
    kind: str = "usual"
    """`usual`; `changed`, in one input; `near`, in one element; `NaN`; `scaled`, whose results have
    a spread of their own; `special`, whose results may all be equal."""
    changed: int = -1
    """Number of the one input that is another one than in the first content."""


def _mapped(
    layout: Layout, data: Bytes, function: Callable[[Array], Array], only: int | None = None
) -> Bytes:
    """Returns contents whose floating-point inputs, or one of them, are a function of these."""
    return _mapped_by_dtype(layout, data, lambda numbers, dtype: function(numbers), only)


def _mapped_by_dtype(
    layout: Layout, data: Bytes, function: Callable[[Array, str], Array], only: int | None = None
) -> Bytes:
    made = data.copy()
    for number, place in enumerate(layout.tensors):
        if is_floating(place.dtype) and only in (None, number):
            part = slice(place.offset, place.offset + place.bytes)
            numbers = decoded(data[part], place.dtype, place.shape)
            with np.errstate(all="ignore"):
                made[part] = encoded(function(numbers, place.dtype), place.dtype)
    return made


def nudged(layout: Layout, data: Bytes, random: np.random.Generator) -> Bytes:
    """Returns contents whose floating-point elements are off by one rounding, up or down."""

    def nudge(numbers: Array, dtype: str) -> Array:
        sign = np.where(random.random(numbers.shape) < 0.5, -1, 1).astype(numbers.dtype)
        if dtype in STORED:
            # By the longer dtype's spacing on that side; infinity has none.
            step = np.abs(np.spacing(np.nextafter(numbers, sign * np.inf))) * ROUNDINGS
            return np.where(np.isfinite(numbers), numbers + sign * step, numbers)
        return np.nextafter(numbers, sign * np.inf)

    return _mapped_by_dtype(layout, data, nudge)


def largest_of(layout: Layout, data: Bytes) -> float:
    """Returns the largest size of the floating-point elements."""
    parts = [
        decoded(data[place.offset : place.offset + place.bytes], place.dtype, place.shape)
        for place in layout.tensors
        if is_floating(place.dtype)
    ]
    return max((float(np.nanmax(np.abs(part), initial=0.0)) for part in parts), default=0.0)


def contents(layout: Layout, seeds: Bytes, random: np.random.Generator) -> Iterator[Content]:
    """Yields the contents of all calls whose results are compared, the first seed's first."""
    for number, data in enumerate(seeds):
        yield Content(f"seed {number + 1}", data)
    first, second = seeds[0], seeds[1]
    for number, place in enumerate(layout.tensors[:MOST_INPUTS]):
        part = slice(place.offset, place.offset + place.bytes)
        data = first.copy()
        data[part] = second[part]
        yield Content(f"another input {number}", data, "changed", number)
    floating = [
        number
        for number, place in enumerate(layout.tensors)
        if is_floating(place.dtype) and place.bytes
    ]
    if not floating:
        return
    for factor in MAGNITUDES:
        data = _mapped(layout, first, partial(_scaled, factor=factor))
        yield Content(f"inputs times {factor:g}", data, "scaled")
    for name, function in SPECIAL.items():
        yield Content(name, _mapped(layout, first, function), "special")
    for number in floating[:MOST_INPUTS]:
        data = _mapped(layout, first, partial(_with, value=np.nan, random=random), number)
        yield Content(f"a NaN in input {number}", data, "NaN")
    for _ in range(NEAR):
        number = int(random.choice(floating))
        place = layout.tensors[number]
        others = decoded(
            second[place.offset : place.offset + place.bytes], place.dtype, place.shape
        ).reshape(-1)
        other = others[random.integers(others.size)]
        data = _mapped(layout, first, partial(_with, value=other, random=random), number)
        yield Content("inputs that differ in one element", data, "near")


SPECIAL: dict[str, Callable[[Array], Array]] = {
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "negated inputs": np.negative,
}


def _scaled(numbers: Array, factor: float) -> Array:
    return numbers * numbers.dtype.type(factor)


def _with(numbers: Array, value: float, random: np.random.Generator) -> Array:
    made = numbers.copy().reshape(-1)
    made[random.integers(made.size)] = value
    return made.reshape(numbers.shape)
