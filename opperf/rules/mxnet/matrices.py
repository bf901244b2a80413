"""Products of matrices and tensors."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.bert import HEADS, WIDTH, tokens
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import LIST_LENGTH, square
from opperf.rules.sizes import Preset
from opperf.rules.values import SIMPLEX, Arguments, tensor, tensors

FAMILIES = Families()


def products(
    rows: int, wide: int, narrow: int, short: int, batch: tuple[int, ...]
) -> Iterable[Arguments]:
    """The products of MXNet's utility."""
    yield {
        WHY: "large matrices, as a wide dense layer's of many samples: bound by arithmetic",
        "lhs": tensor(*batch, rows, wide),
        "rhs": tensor(*batch, wide, rows),
    }
    yield {
        WHY: "narrow factors, the second transposed, as an update of low rank: bound by writing",
        "lhs": tensor(*batch, rows, narrow),
        "rhs": tensor(*batch, rows, narrow),
        "transpose_b": True,
    }
    yield {
        WHY: "a vector by a matrix, both transposed, as a classifier of one sample",
        "lhs": tensor(*batch, rows, 1),
        "rhs": tensor(*batch, short, rows),
        "transpose_a": True,
        "transpose_b": True,
    }


@FAMILIES.add("dot")
def dot(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The products of single matrices."""
    rows, wide = square(size)
    return products(rows, wide, size.extent(10), size.extent(100), ())


@FAMILIES.add("batch_dot", "_sg_onednn_batch_dot")
def batch_dot(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The products of batches of matrices, and those of BERT-base's attention: queries by keys, and
    values by scores.

    The batch grows with the size, and the matrices of the first products do not, so that the time
    grows in proportion to the size.
    """
    yield from products(1000, 256, 10, 100, (size.extent(8),))
    batch, length = tokens(size)
    heads = (batch * HEADS, length)
    yield {
        WHY: "BERT-base, attention's scores: queries by keys, the second transposed",
        "lhs": tensor(*heads, WIDTH),
        "rhs": tensor(*heads, WIDTH),
        "transpose_b": True,
    }
    yield {
        WHY: "BERT-base, attention's output: values weighted by scores",
        "lhs": tensor(*heads, length, fill=SIMPLEX),
        "rhs": tensor(*heads, WIDTH),
    }


@FAMILIES.add("khatri_rao")
def khatri_rao(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two matrices, and a list of them, for Kronecker products column by column."""
    for extent, why in (
        (32, "two factors of 32 rows, as of a small tensor's CP decomposition"),
        (64, "two factors of 64 rows, whose result is eight times as large"),
    ):
        rows, columns = extent, size.extent(extent)
        yield {WHY: why, "args": tensors([tensor(rows, columns)] * 2)}
    yield {
        WHY: "three factors, as of the CP decomposition of a tensor with four axes",
        "args": tensors([tensor(8, size.extent(100))] * LIST_LENGTH),
    }


@FAMILIES.add("_npi_einsum")
def einsum(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Operands of a transposed copy, of a sum of products along an axis, and of a matrix product.

    The last are small, as the operator computes their product by loops, without a matrix library.
    """
    rows, columns = square(size)
    matrix, extent = tensor(rows, columns), size.extent(128)
    small = tensor(extent, extent)
    for why, operands, subscripts in (
        ("one operand: a transposed copy", [matrix], "ij->ji"),
        ("each row by its own partner, as similarities of pairs", [matrix] * 2, "ij,ij->i"),
        ("a product of small matrices, in loops without BLAS", [small] * 2, "ij,jk->ik"),
    ):
        yield {WHY: why, "data": tensors(operands), "subscripts": subscripts}
