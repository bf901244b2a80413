"""Models of JAX, as a user's file has them."""

import jax
import jax.numpy as jnp


def make(batch_size=3):
    first, second = jax.random.split(jax.random.PRNGKey(0))
    parameters = {
        "first": jax.random.normal(first, (8, 16)),
        "second": jax.random.normal(second, (16, 4)),
    }

    def call(weights, x):
        return jax.nn.relu(x @ weights["first"]) @ weights["second"]

    return {"call": call, "inputs": (jnp.ones((batch_size, 8)),), "parameters": parameters}
