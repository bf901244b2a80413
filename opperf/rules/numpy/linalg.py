"""Products, norms and Fourier transforms in forms that NumPy alone has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opperf.model import Operator
from opperf.operations.uses import Array, Table, merge, use
from opperf.rules.configurations import WHY
from opperf.rules.deviations import IN_DOUBLE
from opperf.rules.families.linalg import matrix_to_diagonalise
from opperf.rules.families.products import RANK_ONE, factors
from opperf.rules.families.transforms import AXES, along
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import cube, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, call, fixed, tensors
from opperf.rules.variants import Variants, add_rows

ONE = "x=a|A|x"
TWO = "x=a|a1 y=b|v|a2"

X1_X2 = "x=x1 y=x2"
"""The two arrays, under their names in ufuncs and in the array API standard."""


PRODUCTS: Table = {
    "convolve": use("convolve", f"{TWO} mode"),
    "corrcoef": use("correlation_coefficients", "x"),
    "correlate": use("correlate", f"{TWO} mode"),
    "cov": use("covariance", "x=m"),
    "cross": use("cross_product", TWO),
    "dot": use("dot", TWO),
    "inner": use("inner_product", TWO),
    "kron": use("kronecker_product", TWO),
    "einsum": use("einsum", "subscripts tensors=operands"),
    "linalg.cross": use("cross_product", X1_X2),
    "linalg.matmul": use("matrix_product", X1_X2),
    "linalg.matrix_power": use("matrix_power", "x=a exponent=n"),
    "linalg.multi_dot": use("matrix_product_chain", "matrices=arrays"),
    "linalg.outer": use("outer_product", X1_X2),
    "linalg.tensordot": use("tensordot", f"{X1_X2} axes"),
    "linalg.trace": use("trace", lambda x: {"x": x.transpose(-2, -1, *range(x.ndim - 2))}),
    "matmul": use("matrix_product", X1_X2),
    "outer": use("outer_product", TWO),
    "polymul": use("convolve", TWO, mode="full"),
    "tensordot": use("tensordot", f"{TWO} axes"),
    "vdot": use("vector_dot", TWO),
}


STEPS = {4: 2.0**-23, 8: 2.0**-52}
"""The distance from 1 to the next number, by the bytes of one: of single and double precision."""


def least_squares_roles(a: Array, b: Array, rcond: float | None) -> dict[str, Any]:
    """A system of equations and the cutoff of singular values: NumPy's None stands for one that
    depends on the precision and the longer side."""
    cutoff = STEPS[a.dtype.itemsize] * max(a.shape) if rcond is None else rcond
    return {"x": a, "right_hand_side": b, "cutoff": cutoff}


def least_squares_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """A system of equations, with NumPy's default cutoff."""
    return {"a": roles["x"], "b": roles["right_hand_side"], "rcond": None}


def svd_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """A matrix, and whether to compute all singular vectors, which are many of a tall one."""
    *_, rows, columns = roles["x"].shape
    return {"a": roles["x"], "full_matrices": rows == columns}


FACTORISATIONS: Table = {
    "linalg.cholesky": use("cholesky", ONE),
    "linalg.cond": use(
        "condition_number",
        f"{ONE} norm=p",
        to_arguments=lambda operator, roles: {"x": roles["x"], "p": roles.get("norm")},
    ),
    "linalg.det": use("determinant", ONE),
    "linalg.eig": use("eigenvectors", ONE),
    "linalg.eigh": use("eigenvectors_of_symmetric", ONE),
    "linalg.eigvals": use("eigenvalues", ONE),
    "linalg.eigvalsh": use("eigenvalues_of_symmetric", ONE),
    "linalg.inv": use("inverse", ONE),
    "linalg.lstsq": use("least_squares", least_squares_roles, to_arguments=least_squares_arguments),
    "linalg.matrix_rank": use("matrix_rank", ONE),
    "linalg.pinv": use("pseudo_inverse", ONE),
    "linalg.qr": use("qr", ONE),
    "linalg.slogdet": use("sign_and_log_determinant", ONE),
    "linalg.solve": use("solve", "x=a right_hand_side=b"),
    "linalg.svd": use("svd", f"{ONE} -full_matrices", to_arguments=svd_arguments),
    "linalg.tensorinv": use("tensor_inverse", "x=a split=ind"),
    "linalg.tensorsolve": use("tensor_solve", "x=a right_hand_side=b"),
}

TRANSFORMS: Table = {
    **{
        f"fft.{pre}fft{end}": along(f"{kind}fourier_transform", "a", "axes" if end else "axis", own)
        for pre, kind in {"": "", "i": "inverse_", "r": "real_", "ir": "inverse_real_"}.items()
        for end, own in AXES.items()
    },
    "fft.fftfreq": use("fourier_frequencies", "count=n spacing=d"),
    "fft.hfft": along("hermitian_fourier_transform", "a", "axis", (-1,)),
    "fft.ihfft": along("inverse_hermitian_fourier_transform", "a", "axis", (-1,)),
    "fft.rfftfreq": use("real_fourier_frequencies", "count=n spacing=d"),
}

OPERATIONS: Table = merge(PRODUCTS, FACTORISATIONS, TRANSFORMS)


FAMILIES = Families()

DIFFERENCES = dict.fromkeys(
    (
        *("fourier_transform", "hermitian_fourier_transform", "inverse_fourier_transform"),
        *("inverse_hermitian_fourier_transform", "inverse_real_fourier_transform"),
        *("real_fourier_transform", "correlation_coefficients", "covariance", "vandermonde"),
    ),
    IN_DOUBLE,
)

NUCLEAR = "sum of singular values (nuclear), as the penalty of matrix completion"


@FAMILIES.also("einsum")
def einsum(operator: Operator, size: Preset) -> Rows:
    """Three operands, two at a time by BLAS."""
    why = "a tensor by two factors, in the cheapest order and by BLAS: without, one loop for all"
    return {why: call(subscripts=RANK_ONE, operands=factors(size), optimize=True)}


@FAMILIES.add("einsum_path")
def einsum_path(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Products with an order to choose, and one without."""
    matrices = tensors([fixed(*matrix_to_diagonalise(size))] * 4)
    for subscripts, operands, why in (
        ("ij,jk->ik", matrices[:2], "two matrices, no order to choose: time of Python alone"),
        (RANK_ONE, factors(size), "a tensor and two factors: three orders"),
        ("ij,jk,kl,lm->im", matrices, "four matrices, as the layers of a deep linear network"),
    ):
        yield {"subscripts": subscripts, "operands": operands, WHY: why}


def of_matrices(one: str, stack: str) -> Variants:
    """The configurations of a function of one array: a matrix, and a stack, each with why."""
    return lambda size: {one: call(x=fixed(*square(size))), stack: call(x=fixed(*cube(size)))}


@FAMILIES.add("fft.fftshift", "fft.ifftshift")
def centre(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Spectra, shifted along all axes and along one."""
    image, signals = "along both axes, as an image's", "along each row, for many signals"
    yield {"x": fixed(*square(size)), WHY: f"{image} spectrum: four blocks copied"}
    yield {"x": fixed(*square(size)), "axes": (1,), WHY: f"{signals}: halves of rows copied"}


ROWS: dict[str, Variants] = {
    "linalg.norm linalg.matrix_norm": lambda size: {
        NUCLEAR: call(x=fixed(*matrix_to_diagonalise(size)), ord="nuc")
    },
    "linalg.svdvals": lambda size: {
        "weights whose spectral norm is limited": call(x=fixed(*matrix_to_diagonalise(size))),
        "many rows and few columns, as data by principal components": call(x=fixed(*tall(size))),
    },
    "matvec": lambda size: {
        why: call(x1=fixed(*shape), x2=fixed(*shape[:-2], shape[-1]))
        for shape, why in (
            (square(size), "a matrix by one vector, as a dense layer of one sample"),
            (cube(size), "each matrix of a stack by its vector, as keys by a query"),
        )
    },
    "vecmat": lambda size: {
        why: call(x1=fixed(*shape[:-1]), x2=fixed(*shape))
        for shape, why in (
            (square(size), "a vector by one matrix, as a step of a Markov chain"),
            (cube(size), "each vector by a matrix of a stack, as weights of attention by values"),
        )
    },
    "vecdot linalg.vecdot": lambda size: {
        why: call(x1=fixed(*shape), x2=fixed(*shape))
        for shape, why in (
            (square(size), "row by row, as scores of pairs of embeddings"),
            (vector(size), "two long vectors, as a step of conjugate gradients"),
        )
    },
    "linalg.diagonal": of_matrices(
        "a matrix's diagonal, as the variances of a covariance: a view",
        "the diagonals of a batch of covariances: a view",
    ),
    "linalg.matrix_transpose matrix_transpose": of_matrices(
        "a layer's weights: a view", "the keys of attention, a stack: a view"
    ),
    "linalg.trace": of_matrices(
        "a matrix, as the degrees of freedom of a smoother",
        "each matrix of a stack, as the total variances of a batch of covariances",
    ),
}
add_rows(FAMILIES.add, ROWS)
