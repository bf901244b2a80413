"""Products of matrices and vectors, with a tensor added or not; Einstein sums, norms, distances."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import FEED_FORWARD, HEADS, WIDTH, few_sentences, layer_width
from opperf.rules.configurations import WHY
from opperf.rules.families.linalg import matrix_to_diagonalise, stack_of_matrices
from opperf.rules.families.losses import TARGET
from opperf.rules.registering import Families
from opperf.rules.shapes import FEW, cube, square, tall, tiny, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import SIMPLEX, call, fixed, odds, tensor, tensors
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

SCALED: Roles = {"scale": 0.5, "addend_scale": 0.5}
"""Scales that no product can do without."""


@FAMILIES.operation("scaled_matrix_product")
def scaled_matrix_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Dense layers, a matrix by a vector, and stacks of matrices."""
    rows, columns = square(size)
    tokens, head = size.extent(1024), size.extent(128, least=8)
    units, inside = layer_width(size), layer_width(size, FEED_FORWARD)
    batch, bloom = size.images * HEADS, size.images * 16
    equal, vectors = (tokens, tokens), (batch, head, WIDTH)
    for why, addend, x, y, options in (
        ("BERT-base, a projection with bias", (units,), (tokens, units), (units, units), {}),
        ("BERT-base, widening with bias", (inside,), (tokens // 4, units), (units, inside), {}),
        ("half a matrix, half a product, as steps of Muon", equal, equal, equal, SCALED),
        ("a bias plus a matrix by a vector, one sample", (rows,), (rows, columns), (columns,), {}),
        ("BERT-base, scores added to a mask", (1, head, head), vectors, (batch, WIDTH, head), {}),
        (
            "BLOOM-560m, an eighth of its scores and ALiBi's share of each key",
            *((bloom, 1, head), (bloom, head, WIDTH), (bloom, WIDTH, head), {"scale": 0.125}),
        ),
    ):
        yield {"addend": tensor(*addend), "x": tensor(*x), "y": tensor(*y), **options, WHY: why}


@FAMILIES.operation("scaled_sum_of_products")
def scaled_sum_of_products(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A stack of products that are summed."""
    shape = count, rows, width = cube(size)
    made = {"addend": tensor(rows, width), "x": tensor(*shape), "y": tensor(count, width, width)}
    yield {**made, WHY: "products of a stack summed, as a weight's gradient over steps in time"}


@FAMILIES.operation("scaled_outer_product")
def scaled_outer_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two long vectors and a matrix."""
    rows, columns = square(size)
    made = {"addend": tensor(rows, columns), "x": tensor(rows), "y": tensor(columns)}
    yield {**made, **SCALED, WHY: "a rank-one update with decay, as a running covariance"}


@FAMILIES.operation("vector_products")
def vector_products(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Rows of matrices, columns, and two long vectors."""
    for why, shape, axis in (
        ("row by row, as scores of pairs of embeddings", square(size), -1),
        ("many short rows, like those of users and items", tall(size), -1),
        ("column by column, along the first axis", square(size), 0),
        ("two long vectors, as a step of conjugate gradients: bound by memory", vector(size), -1),
    ):
        yield {"x": tensor(*shape), "y": tensor(*shape), "axis": axis, WHY: why}


PRODUCTS = {
    "ij,jk->ik": "a product of matrices: sums along rows of one and columns of the other",
    "ij,ij->i": "each row by its own partner, as similarities of pairs of embeddings",
}

RANK_ONE = "ijk,jr,kr->ir"
"""A tensor by the factors of two of its axes, whose columns belong together."""


def factors(size: Preset) -> tuple[TensorSpec, ...]:
    """The operands of `RANK_ONE`: a tensor, and two factors of rank 16."""
    side, rank = size.extent(128, least=8), 16
    return tensors([tensor(side, 64, 64), tensor(64, rank), tensor(64, rank)])


def contractions(size: Preset) -> Iterable[tuple[str, tuple[TensorSpec, ...], str]]:
    """Subscripts and operands that models run, each with why: as Flax has attention, with the heads
    of each token side by side (`flax.linen.dot_product_attention`), as a Switch Transformer sends
    tokens to experts (Fedus et al., 2021), and a decomposition of a tensor (Kolda, Bader 2009)."""
    batch, length, _ = few_sentences(size)
    heads = tensor(batch, length, HEADS, WIDTH)
    scores = tensor(batch, HEADS, length, length, fill=SIMPLEX)
    yield "bqhd,bkhd->bhqk", (heads, heads), "BERT-base in Flax, attention's scores by head"
    yield "bhqk,bkhd->bqhd", (scores, heads), "BERT-base in Flax, values weighted by scores"
    tokens, experts = size.extent(256, least=16), 8
    places = (2, tokens, experts, tokens // experts)
    why = "a Switch Transformer's tokens to their places at eight experts, by a mask of ones"
    yield "gsec,gsm->egcm", (fixed(*places, fill=odds(tokens - 1, 1)), tensor(2, tokens, 512)), why
    why = "a tensor by two factors, a step of its CP decomposition: three operands, one axis shared"
    yield RANK_ONE, factors(size), why


@FAMILIES.operation("einsum")
def einsum(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Products of two matrices, and contractions of more axes and operands."""
    for (subscripts, why), shape in zip(
        PRODUCTS.items(), (matrix_to_diagonalise(size), square(size)), strict=True
    ):
        yield {WHY: why, "subscripts": subscripts, "tensors": tensors([tensor(*shape)] * 2)}
    for subscripts, operands, why in contractions(size):
        yield {WHY: why, "subscripts": subscripts, "tensors": operands}


@FAMILIES.operation("matrix_norm")
def matrix_norm(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Matrices, by their elements, their columns and their singular values."""
    decomposed = matrix_to_diagonalise(size)
    for norm, shape, why in (
        ("fro", square(size), "of all elements (Frobenius), as a penalty on a layer's weights"),
        ("nuc", decomposed, "sum of singular values (nuclear), for matrix completion"),
        ("spectral", decomposed, "largest singular value, as spectral normalisation limits it"),
        ("columns", square(size), "largest sum of a column, as to bound an error"),
        ("spectral", stack_of_matrices(size), "largest singular values of many small matrices"),
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


@FAMILIES.operation("pairwise_distances")
def pairwise_distances(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Clouds of points, and vectors of a batch."""
    vectors, clouds = (size.extent(1024), 128), (size.samples(8), size.extent(512), POINTS)
    for why, shape, order in (
        ("a batch's vectors against centres, as k-means: by a product of matrices", vectors, 2.0),
        ("absolute differences of vectors from centres", vectors, 1.0),
        ("points of two clouds in space, as Chamfer distance", clouds, 2.0),
    ):
        *stack, rows, width = shape
        y = tensor(*stack, rows // 2, width, fill=TARGET)
        yield {"x": tensor(*shape), "y": y, "order": order, WHY: why}


VARIANTS: dict[str, Variants] = {
    "vector_norm sum_of_powers": lambda size: [
        {"x": tensor(*square(size)), WHY: "a matrix as one vector, as to clip a gradient"},
        {"x": tensor(*tiny(size)), **FEW},
        {"x": tensor(*tall(size)), "order": 2.0, "axis": 1, "keepdims": True, WHY: "rows' lengths"},
        {"x": tensor(*square(size)), "order": 1.0, "axis": 0, WHY: "columns, as to prune units"},
        {"x": tensor(*square(size)), "order": 3.0, "axis": 1, WHY: "cubes of rows, as GeM pools"},
    ],
    "norm": lambda size: [
        {"x": tensor(*square(size)), WHY: "a matrix as one vector, as to clip a gradient"},
        {
            "x": tensor(*tall(size)),
            "order": 2,
            "axis": 1,
            WHY: "rows' lengths, to normalise embeddings",
        },
        {"x": tensor(*square(size)), "order": 1, "axis": 0, WHY: "columns, as to prune units"},
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
            ("absolute differences of all pairs of vectors", 512, 64, 1.0),
        )
    ],
}
add_rows(FAMILIES.operation, VARIANTS)
