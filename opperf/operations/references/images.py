"""Scaling of images and of other data on a grid, with any number of spatial axes, and reading of
them at points. Each method is
linear and separable: a matrix for each spatial axis, whose transpose is the gradient's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opperf.operations.references.reference import Array, Functions, Shape

Weights = Callable[..., Array]
"""The matrix of an axis, from its extents before and after."""

SHARPNESS = -0.75
"""Parameter of the cubic convolution's kernel, as image libraries have it."""


def positions(before: int, after: int, align_corners: bool) -> Array:
    """Where each output pixel is among the input's: the outermost centres match, or the edges."""
    if align_corners:
        return np.arange(after) * (before - 1) / max(after - 1, 1)
    return (np.arange(after) + 0.5) * before / after - 0.5


def nearest(before: int, after: int) -> Array:
    """The matrix that copies the pixel whose interval an output pixel begins in."""
    return np.eye(before)[np.arange(after) * before // after]


def linear(before: int, after: int, align_corners: bool) -> Array:
    """The matrix of weights of both neighbours."""
    return weigh(before, np.maximum(positions(before, after, align_corners), 0), "linear")


def cubic_kernel(distance: Array) -> Array:
    """Weights by distance of Keys' cubic convolution."""
    near = (SHARPNESS + 2) * distance**3 - (SHARPNESS + 3) * distance**2 + 1
    far = SHARPNESS * (distance**3 - 5 * distance**2 + 8 * distance - 4)
    return np.where(distance <= 1, near, far)


def cubic(before: int, after: int, align_corners: bool) -> Array:
    """The matrix of Keys' cubic convolution of four neighbours."""
    return weigh(before, positions(before, after, align_corners), "cubic")


def weigh(before: int, at: Array, kind: str) -> Array:
    """The matrix of neighbours' weights by their distance. Beyond the border are its own pixels."""
    made = np.zeros((len(at), before))
    for whole, weight in terms(at, kind):
        index = whole.clip(0, before - 1).astype(int)
        np.add.at(made, (np.arange(len(at)), index), weight)
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


def coordinates(extents: Shape, align: bool) -> list[Array]:
    """Coordinates of each axis in [-1, 1]: of the outermost centres if `align`, else edges."""
    return [
        np.linspace(-1, 1, extent) * (1 if align else (extent - 1) / extent)
        if extent > 1
        else np.zeros(1)
        for extent in extents
    ]


def affine_grid(theta: Array, extents: Shape, align: bool) -> Array:
    """The points that an affine map of each sample takes elements to, last axis first."""
    meshes = np.meshgrid(*coordinates(extents, align), indexing="ij")
    points = np.stack([*meshes[::-1], np.ones(extents)], axis=-1)
    return np.einsum("...j,nij->n...i", points, theta)


def place(points: Array, extent: int, align: bool) -> Array:
    """Positions along an axis, in elements, of points in [-1, 1]."""
    return (points + 1) / 2 * (extent - 1) if align else ((points + 1) * extent - 1) / 2


def folded(at: Array, extent: int, padding: str, align: bool) -> Array:
    """Positions moved into the axis: to its border, or mirrored at it."""
    if padding == "reflection":
        low, span = (0.0, extent - 1.0) if align else (-0.5, float(extent))
        if span:
            turned = np.abs(at - low) % (2 * span)
            at = low + np.minimum(turned, 2 * span - turned)
    return at if padding == "zeros" else at.clip(0, extent - 1)


def terms(at: Array, kind: str) -> Iterator[tuple[Array, Array]]:
    """Whole positions near those of an axis, with their weights."""
    first = np.floor(at)
    if kind == "nearest":
        yield np.rint(at), np.ones_like(at)
    elif kind == "linear":
        yield from ((first, first + 1 - at), (first + 1, at - first))
    else:
        for step in (-1, 0, 1, 2):
            yield first + step, cubic_kernel(abs(at - first - step))


def grid_sample(data: Array, grid: Array, kind: str, padding: str, align: bool) -> Array:
    """Data (samples, channels, axes ...) read at the points of a grid (samples, points ..., axes),
    whose coordinates are in [-1, 1] and in the order of the axes from last to first."""
    extents = data.shape[2:]
    axes = []
    for axis, extent in enumerate(extents):
        at = place(grid[..., len(extents) - 1 - axis], extent, align)
        # A cubic kernel mirrors each of the elements that it reads, others the point alone.
        moved = at if kind == "cubic" else folded(at, extent, padding, align)
        axes.append(list(terms(moved, kind)))
    by_pixel = np.moveaxis(data, 1, -1)
    sample = np.arange(len(data)).reshape(-1, *[1] * (grid.ndim - 2))
    made = np.zeros((len(data), *grid.shape[1:-1], data.shape[1]))
    for corner in itertools.product(*axes):
        weight = np.prod([share for _, share in corner], axis=0)
        index = []
        for (whole, _), extent in zip(corner, extents, strict=True):
            own = folded(whole, extent, padding, align)
            weight = weight * ((own >= 0) & (own < extent))
            index.append(own.clip(0, extent - 1).astype(int))
        pixel = (sample, *index)
        made += weight[..., None] * by_pixel[pixel]
    return np.moveaxis(made, -1, 1)


METHODS: dict[str, Weights] = {"cubic": cubic, "linear": linear, "nearest": nearest}

REFERENCES: Functions = {
    **{f"upsample_{name}": upsample(weights) for name, weights in METHODS.items()},
    **{f"upsample_{name}_gradient": gradient_of(method) for name, method in METHODS.items()},
}
