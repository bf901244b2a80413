"""Models of JAX: a network's function, its parameters, and what its training needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import DictKey, tree_map, tree_map_with_path

from opperf.frameworks.models import Model
from opperf.models import networks
from opperf.models.jax.networks import function_of
from opperf.models.weights import CONVOLUTION, DENSE, IMAGES, OTHER

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


LAYOUTS: Mapping[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]] = {
    DENSE: lambda weight: weight.transpose(1, 0),
    CONVOLUTION: lambda weight: weight.transpose(2, 3, 1, 0),
    IMAGES: lambda images: images.transpose(0, 2, 3, 1),
    OTHER: lambda array: array,
}
"""Layouts by the kind of an array: inputs before outputs, channels last."""


def _cross_entropy(outputs: Array, target: Array) -> Array:
    logarithms = jax.nn.log_softmax(outputs)
    return -jnp.take_along_axis(logarithms, target[..., None], axis=-1).mean()


def _binary_cross_entropy(outputs: Array, target: Array) -> Array:
    return (jax.nn.softplus(outputs) - outputs * target).mean()


LOSSES: Mapping[str, Callable[[Array, Array], Array]] = {
    networks.CLASSES: _cross_entropy,
    networks.PIXELS: _cross_entropy,
    networks.CLICKS: _binary_cross_entropy,
}

OPTIMIZERS: Mapping[str, Callable[[networks.Optimizer], Optimizer]] = {
    "sgd": lambda made: sgd(made.rate, made.momentum),
    "adam": lambda made: adam(made.rate),
}


def _array(kind: str, array: np.ndarray[Any, Any]) -> Array:
    return jnp.asarray(LAYOUTS[kind](array))


def nested(arrays: Mapping[str, Array]) -> Any:
    """Returns arrays by dotted names as a tree: of dicts, and of lists where names are numbers."""
    if list(arrays) == [""]:
        return arrays[""]
    groups: dict[str, dict[str, Array]] = {}
    for name, array in arrays.items():
        first, _, rest = name.partition(".")
        groups.setdefault(first, {})[rest] = array
    if all(name.isdecimal() for name in groups):
        return [nested(groups[str(number)]) for number in range(len(groups))]
    return {name: nested(group) for name, group in groups.items()}


def build(instance: networks.Instance) -> Model:
    """Returns a network with its inputs, in float32."""
    network = instance.network
    drawn = {name: _array(kind, array) for name, kind, array in instance.weights()}
    return Model(
        call=function_of(instance.name, instance.extents, instance.phase == "train"),
        inputs=[_array(kind, array) for kind, array in instance.inputs()],
        loss=LOSSES[network.loss],
        optimizer=averaging(OPTIMIZERS[network.optimizer.name](network.optimizer)),
        targets=[jnp.asarray(instance.target())],
        parameters=nested(drawn),
    )
