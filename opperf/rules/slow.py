"""Functions that take so long for an element that they are measured on fewer."""

from __future__ import annotations

from opperf.rules.shapes import Shape, column, slim, square
from opperf.rules.sizes import Preset

DERIVATIVES = ("gammainc_derivative", "gamma_sample_derivative")
"""Derivatives of functions, which frameworks have no further gradient of."""

SLOW = frozenset(
    {
        *("bessel_j_up_to", "betainc", "expi", "gammainc", "gammaincc", "hyp1f1", "polygamma"),
        *("zeta", *DERIVATIVES),
    }
)
"""Functions that take half a microsecond for an element, or their derivatives do: a matrix of a
million takes too long."""

SLOWEST = frozenset({"exp1", "expn", "hyp2f1"})
"""Functions that take 5 to 60 microseconds for an element where a framework compiles a series."""


def largest(name: str, size: Preset) -> Shape:
    """The shape of the largest tensors that a function is measured with."""
    if name in SLOWEST:
        return column(size)
    return slim(size) if name in SLOW else square(size)
