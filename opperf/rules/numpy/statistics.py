"""Histograms and polynomials."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator, TensorSpec
from opperf.rules.engine import Families
from opperf.rules.families.linalg import KERNEL
from opperf.rules.numpy.names import Variants, own
from opperf.rules.shapes import line, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import OPEN_UNIT, POSITIVE, Arguments, between, fixed, literal

FAMILIES = Families()

BINS = 64
SEQUENCE = between(0, BINS - 1)
"""Fill of numbers between the ends of the bins."""


def rising() -> TensorSpec:
    """The edges of bins: 0, 1, 2 ..."""
    return fixed(BINS, fill=RISING, dtype="float64")


RISING = literal([float(i) for i in range(BINS)])


def samples(size: Preset) -> TensorSpec:
    """A long vector of numbers between the ends of the bins."""
    return fixed(*vector(size), fill=SEQUENCE)


COUNTED: dict[str, Variants] = {
    "histogram": lambda size: [{"a": fixed(*vector(size)), "bins": BINS}],
    "histogram_bin_edges": lambda size: [
        {"a": fixed(*vector(size)), "bins": rule} for rule in (BINS, "auto")
    ],
    "histogram2d": lambda size: [{"x": fixed(*line(size)), "y": fixed(*line(size)), "bins": BINS}],
    "histogramdd": lambda size: [{"sample": fixed(*line(size), 3), "bins": 16}],
    "digitize": lambda size: [{"x": samples(size), "bins": rising()}],
}


@FAMILIES.add(*COUNTED)
def count(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Samples, and the bins in which to count them."""
    return own(COUNTED, operator, size)


ZEROS_OF = 16
"""Number of coefficients or zeros of a polynomial: the zeros of one of higher degree are
ill-conditioned."""
DEGREE = 4
DIVISOR = literal([4.0, 1.0, 0.5])
"""A divisor whose zeros are inside the unit circle, so that the remainders do not grow."""

POLYNOMIALS: dict[str, Variants] = {
    "poly": lambda size: [{"seq_of_zeros": fixed(ZEROS_OF, fill=OPEN_UNIT)}],
    "roots": lambda size: [{"p": fixed(ZEROS_OF, fill=POSITIVE)}],
    "polyfit": lambda size: [
        {"x": fixed(*line(size), fill=OPEN_UNIT), "y": fixed(*line(size)), "deg": DEGREE}
    ],
    **dict.fromkeys(
        ("polyadd", "polysub"),
        lambda size: [{"a1": fixed(*line(size)), "a2": fixed(*line(size))}],
    ),
    "polymul": lambda size: [{"a1": fixed(*line(size)), "a2": fixed(KERNEL)}],
    "polydiv": lambda size: [
        {"u": fixed(*square(size)[:1]), "v": fixed(3, fill=DIVISOR, dtype="float64")}
    ],
    **dict.fromkeys(("polyder", "polyint"), lambda size: [{"p": fixed(*line(size)), "m": 1}]),
}


@FAMILIES.add(*POLYNOMIALS)
def polynomial(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Polynomials or their zeros, as many as each function computes in reasonable time and
    precision."""
    return own(POLYNOMIALS, operator, size)
