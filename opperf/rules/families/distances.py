"""Norms and distances of vectors, and norms of matrices."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.families.linalg import matrix_to_diagonalise, stack_of_matrices
from opperf.rules.families.losses import TARGET
from opperf.rules.registering import Families
from opperf.rules.shapes import FEW, square, tall, tiny
from opperf.rules.sizes import Preset
from opperf.rules.values import call, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()


@FAMILIES.operation("matrix_norm")
def matrix_norm(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Matrices, by their elements, their columns and their singular values."""
    decomposed = matrix_to_diagonalise(size)
    for norm, shape, why in (
        ("fro", square(size), "of all elements (Frobenius), as a penalty on a layer's weights"),
        ("nuc", decomposed, "sum of singular values (nuclear), for matrix completion"),
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
    moved = "two matrices of weights, as to see how far a step has moved them"
    for notes, shape, order in (
        ({WHY: moved}, square(size), 2.0),
        ({WHY: "sum of absolute differences of two images"}, square(size), 1.0),
        (FEW, tiny(size), 2.0),
    ):
        yield {"x": tensor(*shape), "y": tensor(*shape, fill=TARGET), "order": order, **notes}


POINTS = 3
"""Coordinates of a point."""


@FAMILIES.operation("pairwise_distances")
def pairwise_distances(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Clouds of points, and vectors of a batch."""
    vectors, clouds = (size.extent(1024), 128), (size.samples(8), size.extent(512), POINTS)
    for why, shape, order in (
        ("a batch's vectors against centres, as k-means: by a product of matrices", vectors, 2.0),
        ("absolute differences of histograms from centres", vectors, 1.0),
        ("points of two clouds in space, as Chamfer distance", clouds, 2.0),
    ):
        *stack, rows, width = shape
        yield {
            "x": tensor(*shape),
            "y": tensor(*stack, rows // 2, width, fill=TARGET),
            "order": order,
            WHY: why,
        }


VARIANTS: dict[str, Variants] = {
    "vector_norm sum_of_powers": lambda size: [
        {"x": tensor(*square(size)), WHY: "a matrix as one vector, as to clip a gradient"},
        {"x": tensor(*tiny(size)), **FEW},
        {
            "x": tensor(*tall(size)),
            "order": 2.0,
            "axis": 1,
            "keepdims": True,
            WHY: "each row, as to normalise embeddings",
        },
        {
            "x": tensor(*square(size)),
            "order": 1.0,
            "axis": 0,
            WHY: "absolute values of each column, as to prune a layer's units",
        },
        {
            "x": tensor(*square(size)),
            "order": 3.0,
            "axis": 1,
            WHY: "third powers of each row, as generalised mean pooling: a general power of each",
        },
    ],
    "distance_of_rows": lambda size: {
        why: call(x=tensor(*shape), y=tensor(*shape, fill=TARGET), order=order, epsilon=1e-6)
        for why, shape, order in (
            ("pairs of sentences' vectors, as a Siamese network compares them", square(size), 2.0),
            ("many pairs of short vectors that describe faces", tall(size), 2.0),
            ("sums of absolute differences of many pairs, for one-shot learning", tall(size), 1.0),
        )
    },
    "distances_among": lambda size: [
        {"x": tensor(size.extent(rows, least=8), width), "order": order, WHY: why}
        for why, rows, width, order in (
            ("all pairs of vectors of 128 elements, for hierarchical clustering", 512, 128, 2.0),
            ("all pairs of many atoms of a molecule", 1024, POINTS, 2.0),
            ("absolute differences of all pairs of histograms", 512, 64, 1.0),
        )
    ],
}
add_rows(FAMILIES.operation, VARIANTS)
