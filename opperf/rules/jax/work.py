"""The operations and bytes of functions of `jax.lax` without a canonical operation."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.operations.work.sizes import COMPUTED, COPY, Formula, cut, gathered, scattered

CLASSES: tuple[tuple[Formula, str], ...] = (
    (
        COPY,
        "jnp.conjugate jnp.imag jnp.positive jnp.real primitive.conj primitive.imag primitive.real",
    ),
    (
        COMPUTED,
        "lax.rng_bit_generator lax.rng_uniform primitive.random_bits primitive.rng_bit_generator "
        "primitive.rng_uniform random.bits random.double_sided_maxwell random.maxwell "
        "random.rademacher random.truncated_normal",
    ),
    (
        cut("operand"),
        "lax.dynamic_slice lax.dynamic_slice_in_dim lax.dynamic_index_in_dim lax.index_in_dim",
    ),
    (gathered("operand"), "lax.gather"),
    (gathered("src"), "lax.index_take"),
    (
        scattered("updates", 2),
        "lax.scatter_add lax.scatter_max lax.scatter_min lax.scatter_mul lax.scatter_sub",
    ),
    (scattered("updates", 1), "lax.scatter"),
    (
        scattered("update", 1),
        "lax.dynamic_update_slice lax.dynamic_update_slice_in_dim lax.dynamic_update_index_in_dim",
    ),
)
"""Formulas with the names of functions, whose inputs by role are their arguments."""

WORK: Mapping[str, Formula] = {
    name: formula for formula, names in CLASSES for name in names.split()
}
"""Formulas by the names of functions."""
