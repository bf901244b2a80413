"""Findings of NumPy's cases that are no faults."""

from tests.conformance.exceptions import Exempt
from tests.conformance.judging import CONSTANT
from tests.conformance.reasons import CREATION, SIGN, UNWRITTEN

TABLE = (
    Exempt(CONSTANT, CREATION, "full full_like ones ones_like zeros zeros_like"),
    Exempt(CONSTANT, UNWRITTEN, "empty empty_like", sometimes=True),
    Exempt(CONSTANT, SIGN, "linalg.slogdet", place="output[[]0]"),
)

IN_HALF_PRECISION: tuple[Exempt, ...] = ()

FINITE_AT_TIMES = "empty empty_like"
"""Functions that may return NaN or infinity, and do so by chance: memory that is not written."""
