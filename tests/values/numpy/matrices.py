"""NumPy's products of arrays, its linear algebra and its Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.values.canonical.operation import Array
from tests.values.uses import Table, use

ONE = "x=a|A|x"
TWO = "x=a|a1 y=b|v|a2"

X1_X2 = "x=x1 y=x2"
"""As NumPy 2 has them under a standard's names."""

PRODUCTS: Table = {
    "convolve": use("convolve", f"{TWO} mode"),
    "corrcoef": use("correlation_coefficients", "x"),
    "correlate": use("correlate", f"{TWO} mode"),
    "cov": use("covariance", "x=m"),
    "cross": use("cross_product", TWO),
    "dot": use("dot", TWO),
    "inner": use("inner_product", TWO),
    "kron": use("kronecker_product", TWO),
    "linalg.cross": use("cross_product", X1_X2),
    "linalg.matrix_power": use("matrix_power", "x=a exponent=n"),
    "linalg.multi_dot": use("matrix_product_chain", "matrices=arrays"),
    "linalg.outer": use("outer_product", X1_X2),
    "linalg.tensordot": use("tensordot", f"{X1_X2} axes"),
    "outer": use("outer_product", TWO),
    "polymul": use("convolve", TWO, mode="full"),
    "tensordot": use("tensordot", f"{TWO} axes"),
    "vdot": use("vector_dot", TWO),
}


def least_squares(a: Array, b: Array, rcond: float | None) -> dict[str, Any]:
    """None is a limit by the precision and the longer side, which is said here."""
    cutoff = np.finfo(np.float32).eps * max(a.shape) if rcond is None else rcond
    return {"x": a, "right_hand_side": b, "cutoff": cutoff}


FACTORISATIONS: Table = {
    "linalg.cholesky": use("cholesky", ONE),
    "linalg.cond": use("condition_number", f"{ONE} norm=p"),
    "linalg.det": use("determinant", ONE),
    "linalg.eig": use("eigenvectors", ONE),
    "linalg.eigh": use("eigenvectors", ONE),
    "linalg.eigvals": use("eigenvalues", ONE),
    "linalg.eigvalsh": use("eigenvalues_of_symmetric", ONE),
    "linalg.inv": use("inverse", ONE),
    "linalg.lstsq": use("least_squares", least_squares),
    "linalg.matrix_rank": use("matrix_rank", ONE),
    "linalg.pinv": use("pseudo_inverse", ONE),
    "linalg.qr": use("qr", ONE),
    "linalg.slogdet": use("sign_and_log_determinant", ONE),
    "linalg.solve": use("solve", "x=a right_hand_side=b"),
    "linalg.svd": use("svd", f"{ONE} -full_matrices"),
    "linalg.tensorinv": use("tensor_inverse", "x=a split=ind"),
    "linalg.tensorsolve": use("tensor_solve", "x=a right_hand_side=b"),
}

AXES = {"": (-1,), "2": (-2, -1), "n": None}
"""The axes that are transformed, by the end of the function's name."""

TRANSFORMS: Table = {
    f"fft.{start}fft{end}": use(f"{operation}fourier_transform", "x=a", axes=axes)
    for start, operation in {
        "": "",
        "i": "inverse_",
        "r": "real_",
        "ir": "inverse_real_",
    }.items()
    for end, axes in AXES.items()
}
