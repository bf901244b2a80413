"""A call of JAX and its gradient as one program, which compiles in half the time of three."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from opperf.frameworks.jax.gradient import HEAD_SEED, LEAST_HEAD, TURNED
from opperf.frameworks.jax.programs import Flat

QUICKLY = {"jax_disable_most_optimizations": True}
"""Options with which a program compiles in half the time, and computes the same."""


@contextmanager
def compiled_quickly() -> Iterator[None]:
    """Returns a context in which XLA hardly optimises what it compiles."""
    before = {name: jax.config.values[name] for name in QUICKLY}
    for name, value in QUICKLY.items():
        jax.config.update(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


def head(result: jax.Array) -> Any:
    """Returns the head gradient of a result as `opperf.frameworks.jax.gradient` has it, behind a
    barrier: XLA would compute the gradient of what is linear as it compiles, for a minute."""
    made = np.random.default_rng(HEAD_SEED).random(result.shape, np.float32) + LEAST_HEAD
    turned = made * TURNED if jnp.iscomplexobj(result) else made
    return jax.lax.optimization_barrier(jnp.asarray(turned).astype(result.dtype))


def outputs_and_gradients(flat: Flat, differentiated: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Returns the results of a call, and its gradients in the order of the differentiated arrays;
    none where no result is a real or complex number. Raises what JAX raises for a function that it
    cannot compile or differentiate."""
    places = [
        next(place for place, one in enumerate(flat.arrays) if one is wanted)
        for wanted in differentiated
    ]

    def both(arrays: list[Any]) -> tuple[Any, list[Any]]:
        def function(*taken: Any) -> tuple[list[Any], Any]:
            every = list(arrays)
            for place, one in zip(places, taken, strict=True):
                every[place] = one
            results = flat(*every)
            leaves = jax.tree_util.tree_leaves(results)
            inexact = [one for one in leaves if isinstance(one, jax.Array)]
            return [one for one in inexact if jnp.issubdtype(one.dtype, jnp.inexact)], results

        found, pullback, results = jax.vjp(
            function, *(arrays[place] for place in places), has_aux=True
        )
        return results, list(pullback([head(one) for one in found])) if found else []

    return jax.block_until_ready(jax.jit(both)(list(flat.arrays)))
