"""Products of matrices and tensors."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.bert import HEADS, WIDTH, tokens
from opperf.rules.engine import Families
from opperf.rules.shapes import LIST_LENGTH, square
from opperf.rules.sizes import Preset
from opperf.rules.values import SIMPLEX, Arguments, tensor, tensors

FAMILIES = Families()


def products(
    rows: int, wide: int, narrow: int, short: int, batch: tuple[int, ...]
) -> Iterable[Arguments]:
    """The products of MXNet's utility: of large matrices, of narrow ones with the second
    transposed, and of a vector and a matrix, both transposed."""
    yield {"lhs": tensor(*batch, rows, wide), "rhs": tensor(*batch, wide, rows)}
    yield {
        "lhs": tensor(*batch, rows, narrow),
        "rhs": tensor(*batch, rows, narrow),
        "transpose_b": True,
    }
    yield {
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
    yield {"lhs": tensor(*heads, WIDTH), "rhs": tensor(*heads, WIDTH), "transpose_b": True}
    yield {"lhs": tensor(*heads, length, fill=SIMPLEX), "rhs": tensor(*heads, WIDTH)}


@FAMILIES.add("khatri_rao")
def khatri_rao(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two matrices, and a list of them, for Kronecker products column by column."""
    for extent in (32, 64):
        rows, columns = extent, size.extent(extent)
        yield {"args": tensors([tensor(rows, columns)] * 2)}
    yield {"args": tensors([tensor(8, size.extent(100))] * LIST_LENGTH)}


@FAMILIES.add("_npi_einsum")
def einsum(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Operands of a transposed copy, of a sum of products along an axis, and of a matrix product.

    The last are small, as the operator computes their product by loops, without a matrix library.
    """
    rows, columns = square(size)
    yield {"data": tensors([tensor(rows, columns)]), "subscripts": "ij->ji"}
    yield {"data": tensors([tensor(rows, columns)] * 2), "subscripts": "ij,ij->i"}
    extent = size.extent(128)
    yield {"data": tensors([tensor(extent, extent)] * 2), "subscripts": "ij,jk->ik"}
