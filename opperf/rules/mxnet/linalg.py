"""Linear algebra: factorisations, solvers, triangles and diagonals."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator
from opperf.rules.engine import Families
from opperf.rules.shapes import Shape, square
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    LOWER_TRIANGULAR,
    NORMAL,
    POSITIVE_DEFINITE,
    Arguments,
    fixed,
    tensor,
)

FAMILIES = Families()

ORDER = 64
"""Rows of each matrix of a batch."""
SMALL = Fill("constant", 1e-5)
"""Tolerance below which a singular value counts as zero; those of these matrices are far above."""
THIN = 32
"""Rows of matrices that have more columns."""


def batch_of_matrices(size: Preset) -> Shape:
    """Shape of a batch of small square matrices, which grows with the size."""
    return (size.extent(64), ORDER, ORDER)


def single_matrix(size: Preset) -> Shape:
    """Shape of one larger square matrix, on which algorithms of cubic time are still fast."""
    return (size.extent(256), size.extent(256))


def shapes(size: Preset) -> tuple[Shape, Shape]:
    """Shapes of a batch of matrices and of a single one."""
    return (batch_of_matrices(size), single_matrix(size))


SQUARE_FILLS: dict[str, Fill] = {
    **dict.fromkeys(("linalg_sumlogdiag", "_linalg_syevd"), POSITIVE_DEFINITE),
    **dict.fromkeys(("_npi_eig", "_npi_eigvals"), POSITIVE_DEFINITE),
    **dict.fromkeys(("_npi_svd", "_npi_qr", "_npi_pinv_scalar_rcond"), POSITIVE_DEFINITE),
    "_npi_matrix_rank_none_tol": POSITIVE_DEFINITE,
    # It computes a matrix's inverse from the matrix's Cholesky factor.
    "linalg_potri": LOWER_TRIANGULAR,
    **dict.fromkeys(("linalg_syrk", "linalg_extractdiag", "linalg_extracttrian"), NORMAL),
}
"""Fill of the matrix of operators of one square matrix."""


@FAMILIES.add(*SQUARE_FILLS)
def one_matrix(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One square matrix, well conditioned where that matters."""
    for shape in shapes(size):
        yield {operator.tensors[0].name: tensor(*shape, fill=fill_of(operator))}


def fill_of(operator: Operator) -> Fill:
    """The fill of an operator's matrix, by any of the operator's names."""
    return next(SQUARE_FILLS[name] for name in operator.names if name in SQUARE_FILLS)


@FAMILIES.add("linalg_gelqf")
def lq(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Matrices with more columns than rows."""
    rows, columns = single_matrix(size)
    yield {"A": tensor(size.extent(64), THIN, ORDER)}
    yield {"A": tensor(rows, 2 * columns)}


@FAMILIES.add("linalg_makediag")
def makediag(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A batch of vectors and a single one, which become diagonals of matrices."""
    batch, order, _ = batch_of_matrices(size)
    yield {"A": tensor(batch, order)}
    yield {"A": tensor(square(size)[0])}


@FAMILIES.add("linalg_maketrian")
def maketrian(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A batch of vectors and a single one, which hold the elements of triangular matrices."""
    batch, order, _ = batch_of_matrices(size)
    yield {"A": tensor(batch, order * (order + 1) // 2)}
    rows, _ = square(size)
    yield {"A": tensor(rows * (rows + 1) // 2)}


def gemm_variants(size: Preset) -> tuple[tuple[Shape, bool], ...]:
    """Shapes of a product's factors, each with whether the second is transposed."""
    return ((square(size), False), (square(size), True), (batch_of_matrices(size), False))


@FAMILIES.add("linalg_gemm")
def gemm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two factors, one of them transposed or not, and the matrix to add."""
    for shape, transpose in gemm_variants(size):
        yield {
            "A": tensor(*shape),
            "B": tensor(*shape),
            "C": tensor(*shape),
            "transpose_b": transpose,
        }


@FAMILIES.add("linalg_gemm2")
def gemm2(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two factors, one of them transposed or not."""
    for shape, transpose in gemm_variants(size):
        yield {"A": tensor(*shape), "B": tensor(*shape), "transpose_b": transpose}


@FAMILIES.add("linalg_trmm", "linalg_trsm")
def triangular(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A lower triangular matrix and a general one, from the left and from the right."""
    batch, one = shapes(size)
    for shape, rightside in ((batch, False), (one, False), (one, True)):
        yield {
            "A": tensor(*shape, fill=LOWER_TRIANGULAR),
            "B": tensor(*shape),
            "rightside": rightside,
        }


@FAMILIES.add("_npi_pinv", "_npi_matrix_rank")
def with_tolerance(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Matrices, and a tolerance for each."""
    matrix, tolerance = (parameter.name for parameter in operator.tensors)
    for shape in (batch_of_matrices(size), (1, *single_matrix(size))):
        yield {
            matrix: tensor(*shape, fill=POSITIVE_DEFINITE),
            tolerance: fixed(*shape[:-2], fill=SMALL),
        }


@FAMILIES.add("_npi_norm")
def norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Square matrices: the operator computes singular values, and takes no more rows than
    columns."""
    for shape in shapes(size):
        yield {"data": tensor(*shape)}
