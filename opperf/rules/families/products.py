"""Products of matrices with a tensor added (GEMM and the like), and products of vectors."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import FEED_FORWARD, HEADS, WIDTH, layer_width
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import cube, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import tensor

FAMILIES = Families()

HALF = 0.5
"""A scale that no product can do without."""


@FAMILIES.operation("scaled_matrix_product")
def scaled_matrix_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Dense layers, a matrix by a vector, and stacks of matrices."""
    rows, columns = square(size)
    tokens, head = size.extent(1024), size.extent(128, least=8)
    units, inside = layer_width(size), layer_width(size, FEED_FORWARD)
    batch = size.pictures * HEADS
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
    yield {**made, WHY: "a rank-one update, as of the memory of linear attention"}
    scaled = {"scale": HALF, "addend_scale": HALF}
    yield {**made, **scaled, WHY: "a rank-one update with decay, as a running covariance"}


@FAMILIES.operation("vector_products")
def vector_products(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Rows of matrices, columns, and two long vectors."""
    for why, shape, axis in (
        ("row by row, as scores of pairs of embeddings", square(size), -1),
        ("many short rows, as of users and items", tall(size), -1),
        ("column by column, along the first axis", square(size), 0),
        ("two long vectors, as a step of conjugate gradients: bound by memory", vector(size), -1),
    ):
        yield {"x": tensor(*shape), "y": tensor(*shape), "axis": axis, WHY: why}
