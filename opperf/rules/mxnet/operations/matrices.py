"""MXNet's products of matrices and tensors, and its linear algebra."""

from __future__ import annotations

from typing import Any

from opperf.model import Argument, Operator
from opperf.operations.uses import Roles, Table, use


def least_squares_roles(A: Any, B: Any, rcond: float) -> dict[str, Any]:
    """A system of equations and the cutoff of singular values; MXNet's default is negative."""
    return {"x": A, "right_hand_side": B, "cutoff": None if rcond < 0 else rcond}


def least_squares_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A system of equations, with MXNet's default cutoff, which depends on the precision."""
    return {"A": roles["x"], "B": roles["right_hand_side"], "rcond": -1.0}


def tensordot_roles(a: Any, b: Any, a_axes_summed: Any, b_axes_summed: Any) -> dict[str, Any]:
    """Two tensors, and a pair of the axes of each that are summed over."""
    return {"x": a, "y": b, "axes": (a_axes_summed, b_axes_summed)}


def tensordot_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """Two tensors and the axes of each; None for a number of axes, which another operator takes."""
    axes = roles["axes"]
    if not isinstance(axes, tuple):
        return None
    return {"a": roles["x"], "b": roles["y"], "a_axes_summed": axes[0], "b_axes_summed": axes[1]}


def tensordot_int_axes_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """Two tensors and the number of axes that are summed over; None for lists of axes."""
    if not isinstance(roles["axes"], int):
        return None
    return {"a": roles["x"], "b": roles["y"], "axes": roles["axes"]}


ONE = "x=A|M|a"
TWO = "x=lhs|A|a y=rhs|B|b"
GEMM = f"{TWO} addend=C transpose_x=transpose_a transpose_y=transpose_b"

PRODUCT = use("matrix_product", GEMM)
DOT = use("dot", TWO)
CHOLESKY = use("cholesky", ONE)

TABLE: Table = {
    "_contrib_interleaved_matmul_encdec_qk": use(
        "cross_attention_scores", "queries keys_values heads"
    ),
    "_contrib_interleaved_matmul_encdec_valatt": use(
        "cross_attention_context", "keys_values attention heads"
    ),
    "_contrib_interleaved_matmul_selfatt_qk": use(
        "self_attention_scores", "queries_keys_values heads"
    ),
    "_contrib_interleaved_matmul_selfatt_valatt": use(
        "self_attention_context", "queries_keys_values attention heads"
    ),
    "_linalg_syevd": use("eigenvectors_in_rows", ONE),
    "_np_dot": DOT,
    "_npi_cholesky": CHOLESKY,
    "_npi_cross": use("cross_product", TWO),
    "_npi_dot": DOT,
    "_npi_eig": use("eigenvectors", ONE),
    "_npi_eigh": use("eigenvectors_of_symmetric", ONE),
    "_npi_eigvals": use("eigenvalues", ONE),
    "_npi_eigvalsh": use("eigenvalues_of_symmetric", ONE),
    "_npi_einsum": use("einsum", "tensors=data subscripts"),
    "_npi_kron": use("kronecker_product", TWO),
    "_npi_lstsq": use("least_squares", least_squares_roles, to_arguments=least_squares_arguments),
    "_npi_matmul": PRODUCT,
    "_npi_matrix_rank": use("matrix_rank", f"{ONE} least=tol"),
    "_npi_matrix_rank_none_tol": use("matrix_rank", ONE),
    "_npi_pinv": use("pseudo_inverse", f"{ONE} cutoff=rcond"),
    "_npi_pinv_scalar_rcond": use("pseudo_inverse", ONE),
    "_npi_qr": use("qr", ONE),
    "_npi_solve": use("solve", "x=A right_hand_side=B"),
    "_npi_svd": use("svd", ONE),
    "_npi_tensordot": use("tensordot", tensordot_roles, to_arguments=tensordot_arguments),
    "_npi_tensordot_int_axes": use(
        "tensordot", f"{TWO} axes", to_arguments=tensordot_int_axes_arguments
    ),
    "_npi_tensorinv": use("tensor_inverse", "x=a split=ind"),
    "_npi_tensorsolve": use("tensor_solve", "x=a right_hand_side=b"),
    "batch_dot": PRODUCT,
    "dot": use("matrix_product", f"{GEMM} -forward_stype"),
    "khatri_rao": use("khatri_rao_product", "matrices=args"),
    "linalg_det": use("determinant", ONE),
    "linalg_extractdiag": use("diagonal_of_matrix", ONE),
    "linalg_extracttrian": use("pack_triangle", ONE),
    "linalg_gelqf": use("lq", ONE),
    "linalg_gemm": PRODUCT,
    "linalg_gemm2": PRODUCT,
    "linalg_inverse": use("inverse", ONE),
    "linalg_makediag": use("diagonal_matrix", ONE),
    "linalg_maketrian": use("unpack_triangle", ONE),
    "linalg_potrf": CHOLESKY,
    "linalg_potri": use("inverse_from_cholesky", ONE),
    "linalg_slogdet": use("sign_and_log_determinant", ONE),
    "linalg_sumlogdiag": use("sum_of_log_diagonal", ONE),
    "linalg_syrk": use("matrix_times_own_transpose", ONE),
    "linalg_trmm": use("triangular_product", "triangle=A x=B right=rightside"),
    "linalg_trsm": use("triangular_solution", "triangle=A x=B right=rightside"),
}
