"""Arrays of a network, its weights, inputs and targets: how they are declared and drawn. Weights
of layers, by their names as PyTorch has them, with the usual initialisation.

Biases, and the scales and shifts of normalisation, differ from the 0 and 1 of a new network as
those of a trained one do, so that a network without them has other outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from opperf.model import Struct

if TYPE_CHECKING:
    import numpy as np


DENSE, CONVOLUTION, IMAGES, OTHER = "dense", "convolution", "images", "other"
"""Kinds of arrays, by which frameworks choose a layout: weights of dense layers, of convolutions,
and images; all others have the same in each."""


class Array(Struct, frozen=True):
    """An array to be drawn."""

    shape: tuple[int, ...]
    """As PyTorch and MXNet have it: outputs before inputs, channels before rows and columns."""
    distribution: str = "normal"
    """A key of `DISTRIBUTIONS`."""
    center: float = 0.0
    width: float = 1.0
    """The standard deviation; of a uniform distribution half of its range."""
    kind: str = OTHER
    """`DENSE`, `CONVOLUTION`, `IMAGES` or `OTHER`."""

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


def _normal(rng: np.random.Generator, array: Array) -> Any:
    return rng.standard_normal(array.shape, "float32") * array.width + array.center


def _uniform(rng: np.random.Generator, array: Array) -> Any:
    # In place: the table of an embedding is hundreds of megabytes.
    drawn = rng.random(array.shape, "float32")
    drawn *= 2 * array.width
    drawn += array.center - array.width
    return drawn


def _integers(rng: np.random.Generator, array: Array) -> Any:
    return rng.integers(0, int(array.width), array.shape, "int32")


def _bits(rng: np.random.Generator, array: Array) -> Any:
    return rng.integers(0, 2, array.shape).astype("float32")


DISTRIBUTIONS = {"normal": _normal, "uniform": _uniform, "integers": _integers, "bits": _bits}
"""Functions that draw an array, float32 or int32. Integers are from 0 to below the width, bits are
0.0 or 1.0."""


def draw(array: Array, name: str, seed: int) -> np.ndarray[Any, Any]:
    """Returns an array's contents: by the seed and its own name, whatever else is drawn."""
    import numpy as np

    rng = np.random.default_rng([seed, *name.encode()])
    drawn: np.ndarray[Any, Any] = DISTRIBUTIONS[array.distribution](rng, array)
    return drawn


Weights: TypeAlias = dict[str, Array]

SMALL = 0.1
"""Standard deviation of what normalisation adds, and of its scales."""

HE, XAVIER = 2.0, 1.0
"""Gains: variances of a weight times its number of inputs, before ReLU (He et al. 2015) and before
what is no ReLU (Glorot and Bengio 2010), with which outputs are of the size of inputs."""


def dense(name: str, inputs: int, outputs: int, gain: float = XAVIER) -> Weights:
    """Returns weight and bias of a dense layer."""
    width = math.sqrt(gain / inputs)
    return {
        f"{name}.weight": Array((outputs, inputs), width=width, kind=DENSE),
        f"{name}.bias": _bias(inputs, outputs),
    }


def dense_layers(name: str, widths: Sequence[int]) -> Weights:
    """Returns weights and biases of dense layers between these widths, with ReLU between them."""
    made: Weights = {}
    for number, (inputs, outputs) in enumerate(zip(widths, widths[1:], strict=False)):
        made |= dense(f"{name}.{number}", inputs, outputs, HE)
    return made


def _bias(inputs: int, outputs: int) -> Array:
    return Array((outputs,), "uniform", width=1 / math.sqrt(inputs))


def embedding(name: str, rows: int, width: int, deviation: float = 0) -> Weights:
    """Returns the table of an embedding; without a standard deviation its rows have length 1."""
    return {f"{name}.weight": Array((rows, width), width=deviation or 1 / math.sqrt(width))}


def convolution(name: str, inputs: int, outputs: int, kernel: int) -> Weights:
    """Returns the weight of a convolution without a bias."""
    shape = (outputs, inputs, kernel, kernel)
    width = math.sqrt(HE / (inputs * kernel**2))
    return {f"{name}.weight": Array(shape, width=width, kind=CONVOLUTION)}


def pixelwise(name: str, inputs: int, outputs: int) -> Weights:
    """Returns weight and bias of a convolution of 1 x 1."""
    return {**convolution(name, inputs, outputs, 1), f"{name}.bias": _bias(inputs, outputs)}


def upsampling(name: str, inputs: int, outputs: int) -> Weights:
    """Returns weight and bias of a transposed convolution whose kernels of 2 x 2 do not overlap."""
    width = math.sqrt(HE / inputs)
    return {
        f"{name}.weight": Array((inputs, outputs, 2, 2), width=width, kind=CONVOLUTION),
        f"{name}.bias": _bias(inputs, outputs),
    }


def norm(name: str, channels: int, scale: float = 1.0) -> Weights:
    """Returns scales and shifts of a normalisation."""
    return {
        f"{name}.weight": Array((channels,), center=scale, width=SMALL * scale),
        f"{name}.bias": Array((channels,), width=SMALL),
    }


def batch_norm(name: str, channels: int, scale: float = 1.0) -> Weights:
    """Returns scales and shifts of a batch normalisation, and running statistics, which the phase
    `train` updates."""
    return {
        **norm(name, channels, scale),
        f"{name}.running_mean": Array((channels,), width=SMALL),
        f"{name}.running_var": Array((channels,), "uniform", center=1.0, width=0.5),
    }


def lstm(name: str, width: int, layers: int) -> Weights:
    """Returns weights and biases of LSTM layers whose inputs are as wide as they are; gates in the
    order input, forget, cell, output."""
    arrays = {
        "weight": Array((4 * width, width), width=math.sqrt(XAVIER / width), kind=DENSE),
        "bias": _bias(width, 4 * width),
    }
    return {
        f"{name}.{role}_{side}_l{layer}": array
        for layer in range(layers)
        for role, array in arrays.items()
        for side in ("ih", "hh")
    }
