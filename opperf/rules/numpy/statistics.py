"""Histograms and polynomials."""

from __future__ import annotations

from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import line, square, vector
from opperf.rules.values import OPEN_UNIT, POSITIVE, call, fixed, literal
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

BINS = 64
ZEROS_OF = 16
"""Coefficients or zeros of a polynomial: zeros of a higher degree are ill-conditioned."""
DEGREE = 4
DIVISOR = literal([4.0, 1.0, 0.5])
"""A divisor whose zeros are inside the unit circle, so that the remainders do not grow."""


ROWS: dict[str, Variants] = {
    "histogram_bin_edges": lambda size: [
        {"a": fixed(*vector(size)), "bins": rule, WHY: why}
        for rule, why in (
            (BINS, "a number of bins, as a plot has: only minimum and maximum are found"),
            ("auto", "as many bins as the data suggest, as to explore them: the quartiles too"),
        )
    ],
    "histogram2d": lambda size: {
        "a scatter plot's density": call(x=fixed(*line(size)), y=fixed(*line(size)), bins=BINS)
    },
    "poly": lambda size: {"a filter's poles": call(seq_of_zeros=fixed(ZEROS_OF, fill=OPEN_UNIT))},
    "roots": lambda size: {"a filter's zeros: eigenvalues": call(p=fixed(ZEROS_OF, fill=POSITIVE))},
    "polyfit": lambda size: {
        "a low degree to many points, as a calibration curve: least squares": call(
            x=fixed(*line(size), fill=OPEN_UNIT), y=fixed(*line(size)), deg=DEGREE
        )
    },
    "polyadd polysub": lambda size: {
        "responses of two filters in parallel": call(a1=fixed(*line(size)), a2=fixed(*line(size)))
    },
    "polydiv": lambda size: {
        "by a quadratic, as two roots are divided out: a Python loop over coefficients": call(
            u=fixed(*square(size)[:1]), v=fixed(3, fill=DIVISOR, dtype="float64")
        )
    },
    "polyder polyint": lambda size: {"a truncated power series": call(p=fixed(*line(size)), m=1)},
}
add_rows(FAMILIES.add, ROWS)
