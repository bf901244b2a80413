"""Norms and distances of vectors, and norms of matrices."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.families.linalg import matrix_to_diagonalise, stack_of_matrices
from opperf.rules.families.losses import TARGET
from opperf.rules.registering import Families
from opperf.rules.shapes import DISPATCH, column, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import tensor

FAMILIES = Families()


@FAMILIES.operation("vector_norm", "sum_of_powers")
def vector_norm(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A tensor as one vector, rows and columns."""
    yield {"x": tensor(*square(size)), WHY: "a matrix as one vector, as to clip a gradient"}
    yield {"x": tensor(*column(size)), WHY: DISPATCH}
    yield {
        "x": tensor(*tall(size)),
        "order": 2.0,
        "axis": 1,
        "keepdims": True,
        WHY: "each row, as to normalise embeddings",
    }
    yield {
        "x": tensor(*square(size)),
        "order": 1.0,
        "axis": 0,
        WHY: "absolute values of each column, as to prune a layer's units",
    }
    yield {
        "x": tensor(*square(size)),
        "order": 3.0,
        "axis": 1,
        WHY: "third powers of each row, as generalised mean pooling: a general power of each",
    }


@FAMILIES.operation("matrix_norm")
def matrix_norm(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Matrices, by their elements, their columns and their singular values."""
    decomposed = matrix_to_diagonalise(size)
    for norm, shape, why in (
        ("fro", square(size), "of all elements (Frobenius), as a penalty on a layer's weights"),
        ("nuc", decomposed, "sum of singular values (nuclear), as of matrix completion"),
        ("spectral", decomposed, "largest singular value, as spectral normalisation limits it"),
        ("columns", square(size), "largest sum of a column, as to bound an error"),
        (
            "spectral",
            stack_of_matrices(size),
            "largest singular values of a stack of small matrices",
        ),
    ):
        yield {"x": tensor(*shape), "norm": norm, WHY: why}


@FAMILIES.operation("distance")
def distance(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two matrices as vectors."""
    for why, shape, order in (
        ("two matrices of weights, as to see how far a step has moved them", square(size), 2.0),
        ("sum of absolute differences, as of two pictures", square(size), 1.0),
        (DISPATCH, column(size), 2.0),
    ):
        yield {
            "x": tensor(*shape),
            "y": tensor(*shape, fill=TARGET),
            "order": order,
            WHY: why,
        }


@FAMILIES.operation("distance_of_rows")
def distance_of_rows(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Pairs of long vectors and of short ones."""
    for why, shape, order in (
        ("pairs of sentences' vectors, as a Siamese network compares them", square(size), 2.0),
        ("many pairs of short vectors, as of faces", tall(size), 2.0),
        ("sums of absolute differences of many pairs, as in one-shot learning", tall(size), 1.0),
    ):
        yield {
            "x": tensor(*shape),
            "y": tensor(*shape, fill=TARGET),
            "order": order,
            "epsilon": 1e-6,
            WHY: why,
        }


POINTS = 3
"""Coordinates of a point."""


@FAMILIES.operation("pairwise_distances")
def pairwise_distances(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Clouds of points, and vectors of a batch."""
    vectors, clouds = (size.extent(1024), 128), (size.samples(8), size.extent(512), POINTS)
    for why, shape, order in (
        ("a batch's vectors against centres, as k-means: by a product of matrices", vectors, 2.0),
        ("absolute differences of vectors from centres, as of histograms", vectors, 1.0),
        ("points of two clouds in space, as Chamfer distance", clouds, 2.0),
    ):
        *stack, rows, width = shape
        yield {
            "x": tensor(*shape),
            "y": tensor(*stack, rows // 2, width, fill=TARGET),
            "order": order,
            WHY: why,
        }


@FAMILIES.operation("distances_among")
def distances_among(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Long vectors and points of few coordinates."""
    for why, rows, width, order in (
        ("all pairs of vectors of 128 elements, as for hierarchical clustering", 512, 128, 2.0),
        ("all pairs of many atoms of a molecule", 1024, POINTS, 2.0),
        ("absolute differences of all pairs of histograms", 512, 64, 1.0),
    ):
        yield {"x": tensor(size.extent(rows, least=8), width), "order": order, WHY: why}
