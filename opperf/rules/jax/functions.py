"""Functions as arguments of cases."""

from __future__ import annotations

from opperf.model import Function

BODIES = "opperf.frameworks.jax.bodies"
"""Module of opperf's own functions that JAX's take. Planning without JAX must not import it."""


def body(name: str) -> Function:
    """One of opperf's own functions."""
    return Function(f"{BODIES}.{name}")
