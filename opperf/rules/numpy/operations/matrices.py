"""NumPy's products of arrays, its linear algebra and its Fourier transforms."""

from __future__ import annotations

from typing import Any

from opperf.model import Operator
from opperf.operations.uses import Array, Table, use

ONE = "x=a|A|x"
TWO = "x=a|a1 y=b|v|a2"

X1_X2 = "x=x1 y=x2"
"""The two arrays, under their names in ufuncs and in the array API standard."""


def trace_roles(x: Array) -> dict[str, Any]:
    """A stack of matrices, with the matrices' own axes first."""
    return {"x": x.transpose(-2, -1, *range(x.ndim - 2))}


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
    "linalg.trace": use("trace", trace_roles),
    "matmul": use("matrix_product", X1_X2),
    "outer": use("outer_product", TWO),
    "polymul": use("convolve", TWO, mode="full"),
    "tensordot": use("tensordot", f"{TWO} axes"),
    "vdot": use("vector_dot", TWO),
}


SINGLE_STEP = 2.0**-23
"""The distance from 1 to the next number in single precision."""


def least_squares_roles(a: Array, b: Array, rcond: float | None) -> dict[str, Any]:
    """A system of equations and the cutoff of singular values: NumPy's None stands for one that
    depends on the precision and the longer side."""
    cutoff = SINGLE_STEP * max(a.shape) if rcond is None else rcond
    return {"x": a, "right_hand_side": b, "cutoff": cutoff}


def least_squares_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """A system of equations, with NumPy's default cutoff."""
    return {"a": roles["x"], "b": roles["right_hand_side"], "rcond": None}


def svd_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """A matrix, and whether to compute all singular vectors: for square ones alone, as a matrix of
    many rows has as many vectors of that length."""
    *_, rows, columns = roles["x"].shape
    return {"a": roles["x"], "full_matrices": rows == columns}


FACTORISATIONS: Table = {
    "linalg.cholesky": use("cholesky", ONE),
    "linalg.cond": use("condition_number", f"{ONE} norm=p"),
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

AXES = {"": (-1,), "2": (-2, -1), "n": None}
"""The transformed axes, by the end of the function's name."""

TRANSFORMS: Table = {
    **{
        f"fft.{start}fft{end}": use(f"{operation}fourier_transform", "x=a", axes=axes)
        for start, operation in {
            "": "",
            "i": "inverse_",
            "r": "real_",
            "ir": "inverse_real_",
        }.items()
        for end, axes in AXES.items()
    },
    "fft.fftfreq": use("fourier_frequencies", "count=n spacing=d"),
    "fft.hfft": use("hermitian_fourier_transform", "x=a", axes=(-1,)),
    "fft.ihfft": use("inverse_hermitian_fourier_transform", "x=a", axes=(-1,)),
    "fft.rfftfreq": use("real_fourier_frequencies", "count=n spacing=d"),
}
