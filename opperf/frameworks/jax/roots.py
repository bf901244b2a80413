"""The modules that dotted paths of JAX's functions begin with."""

from __future__ import annotations

import jax
import jax.numpy as jnp

ROOTS = {"jax": jax, "jnp": jnp, "lax": jax.lax}
"""Modules by the first word of a dotted path."""
