"""Linear algebra: factorisations, solvers, triangles and diagonals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import Fill, Operator
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import Shape, square
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    LOWER_TRIANGULAR,
    NORMAL,
    POSITIVE_DEFINITE,
    Arguments,
    call,
    fixed,
    tensor,
)
from opperf.rules.variants import Variants, add_rows

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


def triangle(order: int) -> int:
    """Number of elements of a triangular matrix."""
    return order * (order + 1) // 2


class Square(NamedTuple):
    """An operator of one square matrix."""

    fill: Fill
    batch: str
    """Why it takes a batch of small matrices."""
    one: str
    """Why it takes a larger matrix."""


SQUARE = {
    "linalg_sumlogdiag": Square(
        POSITIVE_DEFINITE, "a mixture's log determinants", "a Gaussian process's log determinant"
    ),
    "_linalg_syevd": Square(
        POSITIVE_DEFINITE, "covariances of groups, to whiten", "one covariance, for its components"
    ),
    # The operators take no matrix with complex eigenvalues.
    "_npi_eig": Square(
        POSITIVE_DEFINITE, "a stack with real eigenvalues", "the modes of masses between springs"
    ),
    "_npi_eigvals": Square(
        POSITIVE_DEFINITE, "a stack's real eigenvalues", "how fast masses between springs swing"
    ),
    "_npi_qr": Square(
        NORMAL, "many trajectories' tangents, in a stack", "one matrix, for orthogonal weights"
    ),
    "_npi_pinv_scalar_rcond": Square(
        POSITIVE_DEFINITE, "small covariances to precisions", "one covariance, as to a precision"
    ),
    "_npi_matrix_rank_none_tol": Square(
        POSITIVE_DEFINITE, "small covariances of full rank", "one covariance of full rank"
    ),
    "linalg_syrk": Square(
        NORMAL, "a stack by its transpose: Gram matrices", "one gradient, as Shampoo's statistics"
    ),
    "linalg_extractdiag": Square(
        NORMAL, "diagonals of a stack, as variances", "one diagonal: elements a row apart"
    ),
    "linalg_extracttrian": Square(
        NORMAL, "triangles of a stack, as DLRM's products", "one triangle, as a covariance's"
    ),
}
"""Operators of one square matrix, by name."""


@FAMILIES.add(*SQUARE, replaces="LAPACK is called for each matrix of a stack")
def one_matrix(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One square matrix, well conditioned where that matters."""
    matrix = next(SQUARE[name] for name in operator.names if name in SQUARE)
    for why, shape in zip((matrix.batch, matrix.one), shapes(size), strict=True):
        yield {WHY: why, operator.tensors[0].name: tensor(*shape, fill=matrix.fill)}


@FAMILIES.add("_npi_svd", replaces="it takes no more rows than columns")
def svd(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Square matrices and one with more columns than rows."""
    stack, (rows, columns) = shapes(size)
    for why, shape in (
        ("a stack of small matrices, as the weights of heads that are compressed", stack),
        ("one matrix of variables by more samples, for principal components", (rows, 4 * columns)),
    ):
        yield {WHY: why, "A": tensor(*shape)}


@FAMILIES.add("linalg_gemm", "linalg_gemm2", replaces="it takes stacks of matrices alone")
def gemm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two factors, one of them transposed or not, and the matrix to add, if any."""
    names = [parameter.name for parameter in operator.tensors]
    weights = "the second transposed, as a dense layer's weights: outputs by inputs"
    for why, shape, transpose in (
        ("large matrices in the order of BLAS: bound by arithmetic", square(size), False),
        (weights, square(size), True),
        ("a stack of small ones: a call of BLAS for each", batch_of_matrices(size), False),
    ):
        yield {**dict.fromkeys(names, tensor(*shape)), "transpose_b": transpose, WHY: why}


@FAMILIES.add("linalg_trmm")
def triangular(operator: Operator, size: Preset) -> Rows:
    """A lower triangular matrix and a general one, from the left and from the right."""
    batch, one = shapes(size)
    return {
        why: call(A=tensor(*shape, fill=LOWER_TRIANGULAR), B=tensor(*shape), rightside=rightside)
        for why, shape, rightside in (
            ("a stack of small Cholesky factors of a mixture's covariances", batch, False),
            ("one larger Cholesky factor from the left, for a Gaussian process", one, False),
            ("the factor from the right, as samples in rows are coloured", one, True),
        )
    }


@FAMILIES.add("_npi_pinv", "_npi_matrix_rank", replaces="it takes a tolerance for each matrix")
def with_tolerance(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Matrices, and a tolerance for each."""
    matrix, limit = (parameter.name for parameter in operator.tensors)
    batch, one = shapes(size)
    rows = [
        ("a stack of small matrices, each with the tolerance of float32", batch, POSITIVE_DEFINITE),
        ("one larger matrix with a tolerance", (1, *one), POSITIVE_DEFINITE),
    ]
    if "_npi_pinv" in operator.names:
        more = (1, size.extent(1024, least=2 * ORDER), ORDER)
        rows.append(("one of more rows than columns, for linear regression", more, NORMAL))
    for why, shape, fill in rows:
        yield {WHY: why, matrix: tensor(*shape, fill=fill), limit: fixed(*shape[:-2], fill=SMALL)}


VARIANTS: dict[str, Variants] = {
    "linalg_maketrian": lambda size: {
        "outputs as samples' Cholesky factors": call(A=tensor(size.extent(64), triangle(ORDER))),
        "a variational Gaussian process's large factor": call(A=tensor(triangle(square(size)[0]))),
    },
    # The operator computes singular values, and takes no more rows than columns.
    "_npi_norm": lambda size: {
        "largest singular values of small matrices": call(data=tensor(*batch_of_matrices(size))),
        "one large matrix's, as spectral normalisation": call(data=tensor(*single_matrix(size))),
    },
    "linalg_gelqf": lambda size: {
        "a stack of small matrices: LAPACK for each": call(A=tensor(size.extent(64), THIN, ORDER)),
        "one matrix, as orthogonal initialisation of a layer with fewer outputs than inputs": call(
            A=tensor(single_matrix(size)[0], 2 * single_matrix(size)[1])
        ),
    },
    "linalg_makediag": lambda size: {
        "a VAE's variances as diagonal covariances": call(A=tensor(*batch_of_matrices(size)[:2])),
        "one long vector of scales: almost all is writing zeros": call(A=tensor(square(size)[0])),
    },
}
add_rows(FAMILIES.add, VARIANTS)
