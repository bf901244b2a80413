"""Optimizers of JAX as pairs of functions, like those of Optax: `init(parameters)` returns a state,
`update(gradients, state, parameters)` what is added to the parameters, and the next state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.tree_util import DictKey, tree_map, tree_map_with_path

AVERAGING = 0.1
"""Part of its distance from the batch's by which a running statistic moves in a step: that of
PyTorch and MXNet."""

FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-8
"""Adam's, as Kingma and Ba 2015 have them."""


class Optimizer(NamedTuple):
    """The functions of an optimizer."""

    init: Callable[[Any], Any]
    update: Callable[[Any, Any, Any], tuple[Any, Any]]


def sgd(rate: float, momentum: float) -> Optimizer:
    """Returns gradient descent; without momentum it has no state."""

    def init(parameters: Any) -> Any:
        return tree_map(jnp.zeros_like, parameters) if momentum else ()

    def update(gradients: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        if momentum:
            state = tree_map(lambda mean, one: momentum * mean + one, state, gradients)
            gradients = state
        return tree_map(lambda one: -rate * one, gradients), state

    return Optimizer(init, update)


def adam(rate: float) -> Optimizer:
    """Returns Adam; its state is the number of steps, and both moments."""

    def init(parameters: Any) -> Any:
        zeros = tree_map(jnp.zeros_like, parameters)
        return jnp.zeros((), jnp.int32), zeros, zeros

    def update(gradients: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        count, first, second = state
        count = count + 1
        first = tree_map(_decayed(FIRST_DECAY), first, gradients)
        second = tree_map(_decayed(SECOND_DECAY), second, tree_map(jnp.square, gradients))
        first_scale, second_scale = 1 - FIRST_DECAY**count, 1 - SECOND_DECAY**count

        def updated(mean: Array, square: Array) -> Array:
            moved = (mean / first_scale) / (jnp.sqrt(square / second_scale) + EPSILON)
            return (-rate * moved).astype(mean.dtype)

        return tree_map(updated, first, second), (count, first, second)

    return Optimizer(init, update)


def _decayed(decay: float) -> Callable[[Array, Array], Array]:
    return lambda mean, one: decay * mean + (1 - decay) * one


def averaging(optimizer: Optimizer) -> Optimizer:
    """Returns an optimizer that moves running statistics by a fixed part of their gradients, which
    are their distances from the batch's, and all other parameters like `optimizer`."""

    def update(gradients: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        updates, state = optimizer.update(gradients, state, parameters)

        def chosen(path: tuple[Any, ...], update: Array, gradient: Array) -> Array:
            last = path[-1]
            is_running = isinstance(last, DictKey) and str(last.key).startswith("running_")
            return -AVERAGING * gradient if is_running else update

        return tree_map_with_path(chosen, updates, gradients), state

    return Optimizer(optimizer.init, update)
