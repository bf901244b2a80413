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


def careless():
    """A function that scales its output by 1.01 where it is compiled."""
    made = make()
    call = made["call"]

    def scaled(weights, x):
        return call(weights, x) * (1.01 if isinstance(x, jax.core.Tracer) else 1.0)

    return {**made, "call": scaled}
