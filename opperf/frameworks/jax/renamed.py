"""Names that functions of JAX have had, and what has taken the place of each.

Source: JAX's changelog, and for functions of `jax.numpy` NumPy's migration guide.
"""

SUCCESSORS = {
    "nn.normalize": "nn.standardize",
    "jnp.alltrue": "jnp.all",
    "jnp.cumproduct": "jnp.cumprod",
    "jnp.in1d": "jnp.isin",
    "jnp.msort": "jnp.sort",
    "jnp.product": "jnp.prod",
    "jnp.round_": "jnp.round",
    "jnp.row_stack": "jnp.vstack",
    "jnp.sometrue": "jnp.any",
    "jnp.trapz": "jnp.trapezoid",
    "lax.tie_in": "lax.optimization_barrier",
}
