"""Products of matrices with a tensor added (GEMM and the like), of vectors, and Einstein sums."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import FEED_FORWARD, HEADS, WIDTH, few_sentences, layer_width
from opperf.rules.configurations import WHY
from opperf.rules.families.linalg import matrix_to_diagonalise
from opperf.rules.registering import Families
from opperf.rules.shapes import cube, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import SIMPLEX, fixed, odds, tensor, tensors

FAMILIES = Families()

HALF = 0.5
"""A scale that no product can do without."""


@FAMILIES.operation("scaled_matrix_product")
def scaled_matrix_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Dense layers, a matrix by a vector, and stacks of matrices."""
    rows, columns = square(size)
    tokens, head = size.extent(1024), size.extent(128, least=8)
    units, inside = layer_width(size), layer_width(size, FEED_FORWARD)
    batch = size.images * HEADS
    scaled = {"scale": HALF, "addend_scale": HALF}
    for why, addend, x, y, options in (
        (
            "BERT-base, a projection of 1024 tokens with its bias",
            (units,),
            (tokens, units),
            (units, units),
            {},
        ),
        (
            "BERT-base, feed-forward block of fewer tokens, widening, with its bias",
            (inside,),
            (tokens // 4, units),
            (units, inside),
            {},
        ),
        (
            "half a matrix plus half a product, as Newton-Schulz steps of Muon",
            (tokens, tokens),
            (tokens, tokens),
            (tokens, tokens),
            scaled,
        ),
        (
            "a bias plus a matrix by a vector, as a dense layer of one sample",
            (rows,),
            (rows, columns),
            (columns,),
            {},
        ),
        (
            "half of each, as a step of conjugate gradients",
            (rows,),
            (rows, columns),
            (columns,),
            scaled,
        ),
        (
            "BERT-base, scores of attention added to a mask",
            (1, head, head),
            (batch, head, WIDTH),
            (batch, WIDTH, head),
            {},
        ),
        (
            "half of each of a stack, as a running average of attention's context",
            (batch, head, WIDTH),
            (batch, head, head),
            (batch, head, WIDTH),
            scaled,
        ),
    ):
        yield {"addend": tensor(*addend), "x": tensor(*x), "y": tensor(*y), **options, WHY: why}


@FAMILIES.operation("scaled_sum_of_products")
def scaled_sum_of_products(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A stack of products that are summed."""
    count, rows, columns = cube(size)
    made = {
        "addend": tensor(rows, columns),
        "x": tensor(count, rows, columns),
        "y": tensor(count, columns, columns),
    }
    yield {**made, WHY: "products of a stack summed, as a weight's gradient over steps in time"}
    scaled = {"scale": HALF, "addend_scale": HALF}
    yield {**made, **scaled, WHY: "half the sum so far and half of a stack's, as an average"}


@FAMILIES.operation("scaled_outer_product")
def scaled_outer_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two long vectors and a matrix."""
    rows, columns = square(size)
    made = {"addend": tensor(rows, columns), "x": tensor(rows), "y": tensor(columns)}
    yield {**made, WHY: "a rank-one update of the memory of linear attention"}
    scaled = {"scale": HALF, "addend_scale": HALF}
    yield {**made, **scaled, WHY: "a rank-one update with decay, as a running covariance"}


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
"""Products of two matrices, each with what it computes."""

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
    yield (
        "gsec,gsm->egcm",
        (fixed(*places, fill=odds(tokens - 1, 1)), tensor(2, tokens, 512)),
        "a Switch Transformer's tokens to their places at eight experts, by a mask of ones",
    )
    why = "a tensor by two factors, a step of its CP decomposition: three operands, one axis shared"
    yield RANK_ONE, factors(size), why


@FAMILIES.operation("einsum")
def einsum(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Products of two matrices, and contractions of more axes and operands."""
    matrices = tensors([tensor(*matrix_to_diagonalise(size))] * 2)
    for subscripts, why in PRODUCTS.items():
        yield {WHY: why, "subscripts": subscripts, "tensors": matrices}
    for subscripts, operands, why in contractions(size):
        yield {WHY: why, "subscripts": subscripts, "tensors": operands}
