"""Models of JAX: a network's function, its parameters, and what its training needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from opperf.frameworks.models import Model
from opperf.models import networks
from opperf.models.arrays import CONVOLUTION, DENSE, IMAGES, OTHER
from opperf.models.jax.networks import FUNCTIONS
from opperf.models.jax.optimizers import Optimizer, adam, averaging, sgd

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
        call=FUNCTIONS[instance.name](instance.extents, instance.phase == "train"),
        inputs=[_array(kind, array) for kind, array in instance.inputs()],
        loss=LOSSES[network.loss],
        optimizer=averaging(OPTIMIZERS[network.optimizer.name](network.optimizer)),
        targets=[jnp.asarray(instance.target())],
        parameters=nested(drawn),
    )
