"""PyTorch's linear algebra: factorisations, systems of equations, norms and distances."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import (
    ANYTHING,
    Array,
    Roles,
    Table,
    ToOutput,
    Use,
    if_complete,
    of_ranks,
    only_if,
    use,
)
from opperf.rules.values import fixed, literal

ONE = "x=self|A|input"

CUTOFF = 1e-6
"""Share of the largest singular value below which the others count as zero, for operators that
require one: eight times the step of single precision, and of no matrix here."""


def and_saved(count: int) -> ToOutput:
    """Returns the conversion of an output that is followed by results that are not compared:
    LAPACK's word on the outcome, ranks and what derivatives need."""
    return lambda made, arguments: (made, *[ANYTHING] * count)


def svd_arguments(option: str) -> Any:
    """Returns the conversion of a matrix to arguments with all singular vectors for square matrices
    alone, as a matrix of many rows has as many vectors of that length."""

    def convert(operator: Operator, roles: Roles) -> dict[str, Argument]:
        x = roles["x"]
        assert isinstance(x, TensorSpec)
        rows, columns = x.shape[-2:]
        name = "self" if operator.parameter("self") else "A"
        return {name: x, option: (rows == columns) == (option == "full_matrices")}

    return convert


def _least_squares_roles(
    self: Array, b: Array, rcond: float | None = None, driver: str | None = None
) -> dict[str, Any]:
    assert rcond is None
    return {"x": self, "right_hand_side": b}


def _least_squares_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    right = roles["right_hand_side"]
    assert isinstance(right, TensorSpec)
    return {"self": roles["x"], "b": msgspec.structs.replace(right, shape=(*right.shape, 1))}


def _triangular_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    made: dict[str, Argument] = {"self": roles["triangle"], "B": roles["x"], "upper": False}
    return None if "transpose" in roles else made | ({"left": False} if "right" in roles else {})


def _old_triangular_roles(
    self: Array, A: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> dict[str, Any]:
    return {
        **{"x": self, "triangle": A, "right": False, "upper": upper},
        **{"transpose": transpose, "unit": unitriangular},
    }


SHARE = 0.4
"""Share of the samples that are left where a gradient multiplies matrices with a row and a column
for each: of all of them it takes one and a half seconds."""


def with_fewer_samples(entry: Use) -> Use:
    """Returns the use with fewer rows of matrices that have many, and of their right-hand sides."""

    def to_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        x = roles["x"]
        assert isinstance(x, TensorSpec)
        samples, variables = x.shape[-2:]
        if samples == variables:
            return entry.to_arguments(operator, roles)
        left = max(variables, int(SHARE * samples))
        fewer = {
            role: msgspec.structs.replace(spec, shape=(left, *spec.shape[1:]))
            for role, spec in roles.items()
            if isinstance(spec, TensorSpec)
        }
        return entry.to_arguments(operator, {**roles, **fewer})

    return replace(entry, to_arguments=to_arguments)


NORM_NUMBERS = {"spectral": 2, "columns": 1}
"""PyTorch's numbers of norms of matrices; others are words."""
NORM_WORDS = {number: word for word, number in NORM_NUMBERS.items()}


def has_number(roles: Roles) -> bool:
    """Whether PyTorch has a number for the norm."""
    return roles["norm"] in NORM_NUMBERS


CHOLESKY = use("cholesky", f"{ONE} -upper")
POWER = use("matrix_power", f"{ONE} exponent=n")
SYSTEM = "x=A right_hand_side=B"

OF_ONE = (
    "cholesky_inverse=inverse_from_cholesky corrcoef=correlation_coefficients cov=covariance "
    "det=determinant geqrf=qr_packed inverse=inverse linalg_det=determinant "
    "linalg_eig=eigenvectors linalg_eigh=eigenvectors_of_symmetric linalg_eigvals=eigenvalues "
    "linalg_eigvalsh=eigenvalues_of_symmetric linalg_inv=inverse linalg_ldl_factor=ldl_packed "
    "linalg_ldl_factor_ex=ldl_packed linalg_lu=lu linalg_lu_factor=lu_packed "
    "linalg_lu_factor_ex=lu_packed linalg_matrix_exp=matrix_exponential "
    "linalg_matrix_rank.atol_rtol_float=matrix_rank "
    "linalg_matrix_rank.atol_rtol_tensor=matrix_rank linalg_qr=qr "
    "linalg_slogdet=sign_and_log_determinant linalg_svdvals=singular_values "
    "logdet=log_determinant matrix_exp=matrix_exponential qr=qr "
    "slogdet=sign_and_log_determinant"
)
"""Operators of one matrix and their operations."""

FACTORISATIONS: Table = {
    "cholesky": CHOLESKY,
    "cholesky_solve": use("solution_from_cholesky", "x=input2 right_hand_side=self"),
    "linalg_cholesky": CHOLESKY,
    "linalg_cholesky_ex": use("cholesky", ONE, and_saved(1)),
    "linalg_householder_product": use("householder_product", "packed=input scales=tau"),
    "linalg_svd": use("svd", f"{ONE} -full_matrices", to_arguments=svd_arguments("full_matrices")),
    "lu_unpack": use("unpack_lu", "packed=LU_data pivots=LU_pivots"),
    "orgqr": use("householder_product", "packed=self scales=input2"),
    "ormqr": use("householder_times", "packed=self scales=input2 other=input3 left transpose"),
    "svd": use("svd_in_columns", f"{ONE} -some", to_arguments=svd_arguments("some")),
}

PSEUDO_INVERSE = with_fewer_samples(use("pseudo_inverse", ONE))
LEAST_SQUARES = use(
    "least_squares",
    _least_squares_roles,
    lambda made, arguments: (made[0], *[ANYTHING] * 3),
    _least_squares_arguments,
)

EQUATIONS: Table = {
    "linalg_inv_ex": use("inverse", ONE, and_saved(1)),
    "linalg_ldl_solve": use("solution_from_ldl", "packed=LD pivots right_hand_side=B"),
    "linalg_lstsq": with_fewer_samples(LEAST_SQUARES),
    "linalg_lu_solve": use("solution_from_lu", "packed=LU pivots right_hand_side=B left adjoint"),
    "linalg_pinv.atol_rtol_float": PSEUDO_INVERSE,
    "linalg_pinv.atol_rtol_tensor": PSEUDO_INVERSE,
    "linalg_pinv.default": with_fewer_samples(
        use("pseudo_inverse", f"{ONE} cutoff=rcond", also={"rcond": CUTOFF})
    ),
    "linalg_pinv.rcond_tensor": with_fewer_samples(
        use("pseudo_inverse", f"{ONE} cutoff=rcond", also={"rcond": fixed(fill=literal(CUTOFF))})
    ),
    "linalg_solve": use("solve", SYSTEM),
    "linalg_solve_ex": use("solve", SYSTEM, and_saved(1)),
    "linalg_solve_triangular": use(
        "triangular_solution",
        lambda self, B, upper, left=True, unitriangular=False: {
            **{"x": B, "triangle": self, "right": not left, "upper": upper},
            "unit": unitriangular,
        },
        to_arguments=_triangular_arguments,
    ),
    "linalg_tensorinv": use("tensor_inverse", f"{ONE} split=ind"),
    "linalg_tensorsolve": use("tensor_solve", "x=self right_hand_side=other"),
    "lu_solve": use("solution_from_lu", "packed=LU_data pivots=LU_pivots right_hand_side=self"),
    "pinverse": PSEUDO_INVERSE,
    "triangular_solve": use(
        "triangular_solution",
        *(_old_triangular_roles, and_saved(1), "triangle=A x=self transpose", {"upper": False}),
    ),
}

VECTOR_NORM = use("vector_norm", "x=self order=ord|p axis=dim keepdims=keepdim")
MATRIX_NORM = use("matrix_norm", "x=self norm=ord keepdims=keepdim")
CONDITION = use(
    "condition_number",
    *(lambda self, p=None: {"x": self, "norm": NORM_WORDS.get(p, p)}, None, "x=self norm=p"),
)
NUMBERED = only_if(
    use(
        "matrix_norm",
        lambda self, ord, keepdim=False: {"x": self, "norm": NORM_WORDS[ord], "keepdims": keepdim},
        None,
        lambda operator, roles: {"self": roles["x"], "ord": NORM_NUMBERS[str(roles["norm"])]},
    ),
    has_number,
)
WORDED = only_if(MATRIX_NORM, lambda roles: not has_number(roles))
LAST_AXES: dict[str, Argument] = {"dim": (-2, -1)}

NORMS: Table = {
    "cdist": use("pairwise_distances", "x=x1 y=x2 order=p"),
    "dist": use("distance", "x=self y=other order=p"),
    "frobenius_norm": if_complete(
        use("vector_norm", "x=self axis=dim keepdims=keepdim", order=2.0)
    ),
    "linalg__powsum": use("sum_of_powers", "x=self order=ord axis=dim keepdims=keepdim"),
    "linalg_cond.default": only_if(CONDITION, lambda roles: "norm" not in roles),
    "linalg_cond.p_str": only_if(CONDITION, lambda roles: "norm" in roles),
    "linalg_matrix_norm.default": NUMBERED,
    "linalg_matrix_norm.str_ord": WORDED,
    "linalg_norm.default": VECTOR_NORM,
    "linalg_norm.ord_str": WORDED,
    "linalg_vector_norm": VECTOR_NORM,
    "norm.Scalar": use("vector_norm", "x=self order=p"),
    "norm.ScalarOpt_dim": if_complete(VECTOR_NORM),
    "nuclear_norm.default": use("matrix_norm", "x=self keepdims=keepdim", norm="nuc"),
    "nuclear_norm.dim": use(
        "matrix_norm", "x=self keepdims=keepdim -dim", norm="nuc", also=LAST_AXES
    ),
    "pairwise_distance": use("distance_of_rows", "x=x1 y=x2 order=p epsilon=eps keepdims=keepdim"),
    "pdist": use("distances_among", "x=self order=p"),
}

OTHERS: Table = {
    "cross": use("cross_product", "x=self y=other"),
    "kron": use("kronecker_product", "x=self y=other"),
    "linalg_cross": use("cross_product", "x=self y=other"),
    "linalg_diagonal": use("diagonal", "x=A offset axis1=dim1 axis2=dim2"),
    "linalg_matrix_power": POWER,
    "linalg_matrix_rank.default": use("matrix_rank", f"{ONE} least=tol", also={"tol": CUTOFF}),
    "linalg_matrix_rank.tol_tensor": use(
        "matrix_rank", f"{ONE} least=tol", also={"tol": fixed(fill=literal(CUTOFF))}
    ),
    "linalg_vander": use("vandermonde", "x columns=N", lambda made, arguments: made[..., ::-1]),
    "matrix_H": use("swapaxes", ONE, axis1=-2, axis2=-1),
    "matrix_power": POWER,
    "trace": of_ranks(use("trace", ONE), x=2),
}

OPERATIONS: Table = {
    **{name: use(made, ONE) for name, made in (pair.split("=") for pair in OF_ONE.split())},
    **{**FACTORISATIONS, **EQUATIONS, **NORMS, **OTHERS},
}
