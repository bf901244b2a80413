"""Exceptions in the comparison of JAX's functions."""

from __future__ import annotations

UNCOMPARED = frozenset({"jnp.where"})
"""Functions whose reference takes three arguments only: of a condition alone it has no results."""

CONSTANT: frozenset[str] = frozenset(
    {
        *("jnp.full", "jnp.full_like", "jnp.ones", "jnp.ones_like", "jnp.zeros"),
        "jnp.zeros_like",
        *("jnp.isclose", "jnp.isfinite", "jnp.isinf", "jnp.isnan", "jnp.isneginf", "jnp.isposinf"),
        *("lax.full", "lax.full_like", "lax.is_finite"),
        # A tensor of one element, which happens to be zero.
        *("jnp.bitwise_and", "lax.bitwise_and"),
    }
)
"""Functions whose results are one number everywhere, by label; most look for numbers that no array
of a benchmark holds."""

LATER = frozenset(
    {
        *("jnp.top_k", "lax.broadcast_like", "lax.empty", "lax.linalg.ormqr", "lax.log2"),
        *("lax.one_minus_square", "lax.stack", "lax.stage", "lax.tile", "lax.unstack"),
        *(
            f"scipy.special.{name}"
            for name in (
                *("boxcox", "boxcox1p", "comb", "dawsn", "erfcinv", "erfcx", "loggamma"),
                *("owens_t", "sici", "wofz"),
            )
        ),
        *(f"scipy.stats.pareto.{name}" for name in ("cdf", "logcdf", "logsf", "ppf", "sf")),
    }
)
"""Functions that JAX 0.12 has, and 0.7 lacks."""
