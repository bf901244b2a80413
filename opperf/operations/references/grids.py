"""Reading of images and volumes at the points of a grid."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from opperf.operations.references.reference import Array, Shape

CUBIC = -0.75
"""Slope of the cubic kernel at a distance of one, as image libraries have it."""


def coordinates(extents: Shape, align: bool) -> list[Array]:
    """Coordinates of the elements of each axis in [-1, 1], which are the centres of the first and
    last element if `align`, else their outer edges."""
    return [
        np.linspace(-1, 1, extent) * (1 if align else (extent - 1) / extent)
        if extent > 1
        else np.zeros(1)
        for extent in extents
    ]


def affine_grid(theta: Array, extents: Shape, align: bool) -> Array:
    """The points that an affine map, a matrix for each sample, takes the elements to. Coordinates
    are in the order of the axes from last to first."""
    meshes = np.meshgrid(*coordinates(extents, align), indexing="ij")
    points = np.stack([*meshes[::-1], np.ones(extents)], axis=-1)
    return np.einsum("...j,nij->n...i", points, theta)


def positions(points: Array, extent: int, align: bool) -> Array:
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


def cubic(distance: Array) -> Array:
    """Weights of the cubic kernel."""
    x = np.abs(distance)
    near = (CUBIC + 2) * x**3 - (CUBIC + 3) * x**2 + 1
    far = CUBIC * x**3 - 5 * CUBIC * x**2 + 8 * CUBIC * x - 4 * CUBIC
    return np.where(x <= 1, near, far)


def terms(at: Array, kind: str) -> Iterator[tuple[Array, Array]]:
    """Whole positions near those of an axis, with their weights."""
    first = np.floor(at)
    if kind == "nearest":
        yield np.rint(at), np.ones_like(at)
    elif kind == "linear":
        yield from ((first, first + 1 - at), (first + 1, at - first))
    else:
        for step in (-1, 0, 1, 2):
            yield first + step, cubic(at - first - step)


def grid_sample(data: Array, grid: Array, kind: str, padding: str, align: bool) -> Array:
    """Data (samples, channels, axes ...) read at the points of a grid (samples, points ..., axes),
    whose coordinates are in [-1, 1] and in the order of the axes from last to first."""
    extents = data.shape[2:]
    axes = []
    for axis, extent in enumerate(extents):
        at = positions(grid[..., len(extents) - 1 - axis], extent, align)
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
