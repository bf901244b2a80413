"""Findings of JAX's cases that are no faults."""

from tests.conformance.exceptions import Exempt
from tests.conformance.judging import CONSTANT
from tests.conformance.reasons import CREATION

TABLE: tuple[Exempt, ...] = (Exempt(CONSTANT, CREATION, "jnp.ones jnp.zeros"),)

FINITE_AT_TIMES = ""
"""Functions that may return NaN or infinity, and do so by chance."""
