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
    """A product of large matrices, an outer one and a matrix by a vector, as MXNet's users
    know them, plain and with one or both transposed."""
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
    """Two matrices."""
    rows, wide = square(size)
    return products(rows, wide, size.extent(10), size.extent(100), ())


@FAMILIES.add("batch_dot", "_sg_onednn_batch_dot")
def batch_dot(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Batches of large products, of narrow ones, and those of BERT-base's attention: scores of
    queries and keys, and values weighted by them.

    The batch grows with the size and the first matrices do not, so that time grows in proportion.
    """
    yield from products(1000, 256, 10, 100, (size.extent(32),))
    batch, length = tokens(size)
    heads = (batch * HEADS, length)
    yield {"lhs": tensor(*heads, WIDTH), "rhs": tensor(*heads, WIDTH), "transpose_b": True}
    yield {"lhs": tensor(*heads, length, fill=SIMPLEX), "rhs": tensor(*heads, WIDTH)}


@FAMILIES.add("khatri_rao")
def khatri_rao(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Column by column Kronecker products: rows multiply, columns stay."""
    for extent in (32, 64):
        rows, columns = extent, size.extent(extent)
        yield {"args": tensors([tensor(rows, columns)] * 2)}
    yield {"args": tensors([tensor(8, size.extent(100))] * LIST_LENGTH)}


@FAMILIES.add("_npi_einsum")
def einsum(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A transposed copy, a sum of products along an axis, and a product of matrices.

    The last is small: without a matrix library behind it, it takes a loop per element.
    """
    rows, columns = square(size)
    yield {"data": tensors([tensor(rows, columns)]), "subscripts": "ij->ji"}
    yield {"data": tensors([tensor(rows, columns)] * 2), "subscripts": "ij,ij->i"}
    extent = size.extent(128)
    yield {"data": tensors([tensor(extent, extent)] * 2), "subscripts": "ij,jk->ik"}
