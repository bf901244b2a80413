"""Functions of JAX that models run in bfloat16, each with a configuration in it beside those in the
requested dtype: layers of language and vision models, and what moves their arrays."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()

PRODUCTS = "lax.dot lax.batch_matmul jnp.matmul jnp.dot jnp.einsum"
LAYERS = (
    "nn.dot_product_attention nn.softmax nn.log_softmax nn.logsumexp nn.gelu nn.silu nn.relu "
    "nn.sigmoid nn.glu nn.standardize lax.conv_general_dilated"
)
ELEMENTWISE = "jnp.add jnp.multiply jnp.where jnp.tanh lax.add lax.mul lax.rsqrt lax.logistic"
REDUCTIONS = "jnp.mean jnp.sum lax.top_k"
MEMORY = (
    "jnp.take jnp.concatenate lax.concatenate lax.gather lax.scatter "
    "lax.dynamic_update_slice lax.dynamic_update_slice_in_dim"
)

FAMILIES.repeat(
    "bfloat16",
    dict.fromkeys(" ".join((PRODUCTS, LAYERS, ELEMENTWISE, REDUCTIONS, MEMORY)).split(), ""),
)
