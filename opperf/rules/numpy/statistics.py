"""Histograms and polynomials."""

from __future__ import annotations

from opperf.model import TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import line, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import OPEN_UNIT, POSITIVE, between, call, fixed, literal
from opperf.rules.variants import Variants, add_rows

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


ZEROS_OF = 16
"""Number of coefficients or zeros of a polynomial: the zeros of one of higher degree are
ill-conditioned."""
DEGREE = 4
DIVISOR = literal([4.0, 1.0, 0.5])
"""A divisor whose zeros are inside the unit circle, so that the remainders do not grow."""


ROWS: dict[str, Variants] = {
    "histogram": lambda size: {
        "bins of one width, for a layer's activations: each by arithmetic, no search": call(
            a=fixed(*vector(size)), bins=BINS
        )
    },
    "histogram_bin_edges": lambda size: [
        {"a": fixed(*vector(size)), "bins": rule, WHY: why}
        for rule, why in (
            (BINS, "a number of bins, as a plot has: only minimum and maximum are found"),
            ("auto", "as many bins as the data suggest, as to explore them: the quartiles too"),
        )
    ],
    "histogram2d": lambda size: {
        "pairs of numbers, as the density of a crowded scatter plot": call(
            x=fixed(*line(size)), y=fixed(*line(size)), bins=BINS
        )
    },
    "histogramdd": lambda size: [
        {"sample": fixed(*line(size), 3), "bins": 16, WHY: "three numbers each, as colours"}
    ],
    "digitize": lambda size: {
        "any rising edges, as ages to groups: a binary search each": call(
            x=samples(size), bins=rising()
        )
    },
    "poly": lambda size: {
        "few zeros, as a filter's poles: a short convolution for each": call(
            seq_of_zeros=fixed(ZEROS_OF, fill=OPEN_UNIT)
        )
    },
    "roots": lambda size: {
        "few coefficients, as a filter's: the eigenvalues of the companion matrix": call(
            p=fixed(ZEROS_OF, fill=POSITIVE)
        )
    },
    "polyfit": lambda size: {
        "a low degree to many points, as a calibration curve: least squares": call(
            x=fixed(*line(size), fill=OPEN_UNIT), y=fixed(*line(size)), deg=DEGREE
        )
    },
    "polyadd polysub": lambda size: {
        "two long ones of one length, as responses of filters in parallel": call(
            a1=fixed(*line(size)), a2=fixed(*line(size))
        )
    },
    "polydiv": lambda size: {
        "by a quadratic, as two roots are divided out: a Python loop over coefficients": call(
            u=fixed(*square(size)[:1]), v=fixed(3, fill=DIVISOR, dtype="float64")
        )
    },
    "polyder polyint": lambda size: {
        "a long one, as a truncated power series: a factor for each coefficient": call(
            p=fixed(*line(size)), m=1
        )
    },
}
add_rows(FAMILIES.add, ROWS)
