"""Scaling of images and of other data on a grid, with any number of spatial axes.

Each method is linear and separable: a matrix for each spatial axis, whose transpose is the
gradient's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opperf.operations.references.reference import Array, Shape, references

Weights = Callable[..., Array]
"""The matrix of an axis, from its extents before and after."""

SHARPNESS = -0.75
"""Parameter of the cubic convolution's kernel, as image libraries have it."""


def positions(before: int, after: int, align_corners: bool) -> Array:
    """Where each output pixel is among the input's: the outermost centres match, or the outermost
    edges."""
    if align_corners:
        return np.arange(after) * (before - 1) / max(after - 1, 1)
    return (np.arange(after) + 0.5) * before / after - 0.5


def nearest(before: int, after: int) -> Array:
    """The matrix that copies the pixel whose interval an output pixel begins in."""
    return np.eye(before)[np.arange(after) * before // after]


def linear(before: int, after: int, align_corners: bool) -> Array:
    """The matrix of weights of both neighbours."""
    at = np.maximum(positions(before, after, align_corners), 0)
    return weigh(before, at, (0, 1), lambda distance: 1 - distance)


def cubic(before: int, after: int, align_corners: bool) -> Array:
    """The matrix of Keys' cubic convolution of four neighbours."""
    a = SHARPNESS

    def kernel(distance: Array) -> Array:
        near = (a + 2) * distance**3 - (a + 3) * distance**2 + 1
        far = a * (distance**3 - 5 * distance**2 + 8 * distance - 4)
        return np.where(distance <= 1, near, far)

    return weigh(before, positions(before, after, align_corners), (-1, 0, 1, 2), kernel)


def weigh(
    before: int, at: Array, neighbours: tuple[int, ...], kernel: Callable[[Array], Array]
) -> Array:
    """The matrix of neighbours' weights by their distance. Beyond the border are its own pixels."""
    made = np.zeros((len(at), before))
    first = np.floor(at).astype(int)
    for step in neighbours:
        index = np.minimum(np.maximum(first + step, 0), before - 1)
        np.add.at(made, (np.arange(len(at)), index), kernel(abs(at - (first + step))))
    return made


def along_axes(data: Array, matrices: list[Array]) -> Array:
    """The data multiplied by a matrix along each spatial axis."""
    for axis, matrix in enumerate(matrices, 2):
        data = np.moveaxis(np.tensordot(matrix, data, (1, axis)), 0, axis)
    return data


def upsample(weights: Weights) -> Callable[..., Array]:
    """The scaling by a method."""

    def scale(data: Array, output_size: Shape, **options: Any) -> Array:
        pairs = zip(data.shape[2:], output_size, strict=True)
        return along_axes(data, [weights(*pair, **options) for pair in pairs])

    return scale


def gradient_of(weights: Weights) -> Callable[..., Array]:
    """The gradient of the scaling by a method, from that of its result."""

    def gradient_at_input(gradient: Array, input_size: Shape, **options: Any) -> Array:
        pairs = zip(input_size, gradient.shape[2:], strict=True)
        return along_axes(gradient, [weights(*pair, **options).T for pair in pairs])

    return gradient_at_input


METHODS: dict[str, Weights] = {"cubic": cubic, "linear": linear, "nearest": nearest}

REFERENCES = references(
    {
        **{f"upsample_{name}": upsample(weights) for name, weights in METHODS.items()},
        **{f"upsample_{name}_gradient": gradient_of(method) for name, method in METHODS.items()},
    }
)
