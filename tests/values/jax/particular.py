"""Exceptions in the comparison of JAX's functions."""

from __future__ import annotations

CONSTANT: frozenset[str] = frozenset(
    {
        *("jnp.full_like", "jnp.ones_like", "jnp.zeros_like"),
        *("jnp.isclose", "jnp.isfinite", "jnp.isinf", "jnp.isnan", "jnp.isneginf", "jnp.isposinf"),
        # A tensor of one element, which happens to be zero.
        "jnp.bitwise_and",
    }
)
"""Functions whose results are one number everywhere, by label; most look for numbers that no array
of a benchmark holds."""
