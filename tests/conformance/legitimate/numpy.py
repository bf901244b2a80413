"""Findings of NumPy's cases that are no faults."""

from tests.conformance.exceptions import Exempt
from tests.conformance.judging import CONSTANT, WITHOUT_IMAGINARY_PART
from tests.conformance.reasons import CREATION, INTEGER_VALUES, SIGN, UNWRITTEN

TABLE = (
    Exempt(CONSTANT, CREATION, "full full_like ones ones_like zeros zeros_like"),
    Exempt(CONSTANT, UNWRITTEN, "empty empty_like", sometimes=True),
    Exempt(CONSTANT, SIGN, "linalg.slogdet", place="output[[]0]"),
)

BY_DTYPE = {
    "complex64": (
        Exempt(
            WITHOUT_IMAGINARY_PART,
            CREATION,
            "arange eye full full_like geomspace identity indices linspace logspace ones ones_like "
            "piecewise tri zeros zeros_like",
        ),
        Exempt(
            WITHOUT_IMAGINARY_PART,
            INTEGER_VALUES,
            "intersect1d setdiff1d setxor1d trim_zeros union1d unique",
        ),
        Exempt(WITHOUT_IMAGINARY_PART, "a norm, in the dtype of the matrix", "linalg.cond"),
        Exempt(WITHOUT_IMAGINARY_PART, "the sign of the real part, before NumPy 2", "sign"),
    )
}
"""Findings in other dtypes than float32."""

FINITE_AT_TIMES = "empty empty_like"
"""Functions that may return NaN or infinity, and do so by chance: memory that is not written."""
