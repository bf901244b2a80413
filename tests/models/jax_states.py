"""Models of JAX that keep something from call to call, though their arrays cannot be written to."""

import jax
import jax.numpy as jnp
import numpy as np

INPUTS = (np.linspace(0.0, 1.0, 12, dtype="float32").reshape(3, 4),)


class Counting:
    def __init__(self):
        self.calls, self.array, self.seen, self.last = 0, np.zeros(4, "float32"), [], None

    def __call__(self, x):
        self.calls += 1
        self.array += 1
        self.seen.append(self.calls)
        self.last = x if self.last is None else jnp.concatenate([self.last, x])
        return self.last.sum() * self.calls + jnp.asarray(self.array) + sum(self.seen)


def counting():
    return Counting(), INPUTS


def trained():
    counting = Counting()

    def call(weights, x):
        return counting(x @ weights)

    return {"call": call, "inputs": INPUTS, "parameters": jnp.ones((4, 4))}


def growing():
    """Appends to a list among its inputs."""

    def call(arrays):
        arrays.append(arrays[0] + 1)
        return sum(arrays)

    return call, ([INPUTS[0]],)


def donating():
    """Gives the memory of its input to a program of its own."""
    add = jax.jit(lambda x: x + 1, donate_argnums=0)
    return (lambda x: add(x) * 2), INPUTS
