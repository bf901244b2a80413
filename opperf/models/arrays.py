"""Arrays of a network, its weights, inputs and targets: how they are declared, and drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

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
