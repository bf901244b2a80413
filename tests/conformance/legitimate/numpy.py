"""Findings of NumPy's cases that are no faults."""

from tests.conformance.exceptions import Exempt
from tests.conformance.judging import CONSTANT
from tests.conformance.reasons import CREATION, SIGN

TABLE = (
    Exempt(CONSTANT, CREATION, "full full_like ones ones_like zeros zeros_like"),
    Exempt(CONSTANT, SIGN, "linalg.slogdet", place="output[[]0]"),
)

FINITE_AT_TIMES = "empty empty_like"
"""Functions that may return NaN or infinity, and do so by chance: memory that is not written."""
