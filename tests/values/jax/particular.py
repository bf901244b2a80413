"""Exceptions in the comparison of JAX's functions."""

from __future__ import annotations

UNCOMPARED = frozenset({"jnp.where"})
"""Functions whose reference takes three arguments only: of a condition alone it has no results."""

CONSTANT: frozenset[str] = frozenset(
    {
        *("jnp.full_like", "jnp.ones_like", "jnp.zeros_like"),
        *("jnp.isclose", "jnp.isfinite", "jnp.isinf", "jnp.isnan", "jnp.isneginf", "jnp.isposinf"),
        *("lax.full", "lax.full_like", "lax.is_finite"),
        # A tensor of one element, which happens to be zero.
        *("jnp.bitwise_and", "lax.bitwise_and"),
    }
)
"""Functions whose results are one number everywhere, by label; most look for numbers that no array
of a benchmark holds."""
