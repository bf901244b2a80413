"""JAX's linear algebra, `jax.scipy.linalg` and `jax.scipy.sparse.linalg`."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import ANYTHING, Array, Choice, Roles, Table, merge, use
from opperf.rules.values import literal


def transposed(made: Array, arguments: object) -> Array:
    """Returns the upper factor in place of the lower one."""
    return made.swapaxes(-1, -2)


def solution_roles(c_and_lower: tuple[Array, bool], b: Array) -> dict[str, Any]:
    """A lower factor, and right-hand sides."""
    factor, lower = c_and_lower
    assert lower
    return {"x": factor, "right_hand_side": b}


def solution_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A lower factor with the word that it is one, and right-hand sides."""
    return {"c_and_lower": (roles["x"], True), "b": roles["right_hand_side"]}  # type: ignore[dict-item]


def lu_roles(lu_and_piv: tuple[Array, Array], b: Array, trans: int = 0) -> dict[str, Any]:
    """Packed factors with pivots from one, and right-hand sides."""
    packed, pivots = lu_and_piv
    return {"packed": packed, "pivots": pivots + 1, "right_hand_side": b, "adjoint": trans == 1}


def from_zero(value: Any) -> Any:
    """Returns nested lists of pivots that count from zero."""
    return [from_zero(one) for one in value] if isinstance(value, list) else value - 1


def lu_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Packed factors with pivots from zero, right-hand sides, and whether to transpose."""
    pivots = roles["pivots"]
    assert isinstance(pivots, TensorSpec)
    own = msgspec.structs.replace(pivots, fill=literal(from_zero(pivots.fill.data)))
    made: dict[str, Argument] = {
        "lu_and_piv": (roles["packed"], own),  # type: ignore[dict-item]
        "b": roles["right_hand_side"],
    }
    return made | ({"trans": 1} if roles.get("adjoint") else {})


def triangular_roles(
    a: Array, b: Array, trans: int = 0, lower: bool = False, unit_diagonal: bool = False
) -> dict[str, Any]:
    """A triangular system."""
    return {
        **{"x": b, "triangle": a, "right": False, "upper": not lower},
        **{"transpose": trans == 1, "unit": unit_diagonal},
    }


def one_matrix(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """Returns one matrix as an argument; None for a stack, which JAX's function does not take."""
    x = roles["x"]
    assert isinstance(x, TensorSpec)
    return {"a": x} if len(x.shape) == 2 else None


ONE = {
    "det": "determinant",
    "inv": "inverse",
}
"""Operations of functions of one matrix."""

FACTORISATIONS: Table = {
    **{name: use(operation, "x=a") for name, operation in ONE.items()},
    "block_diag": use("block_diagonal", "tensors=arrs"),
    "cho_factor": use(
        "cholesky", "x=a", lambda made, arguments: (transposed(made, arguments), ANYTHING)
    ),
    "cho_solve": use("solution_from_cholesky", solution_roles, to_arguments=solution_arguments),
    "cholesky": use("cholesky", "x=a", transposed),
    "eigh": Choice(
        "eigvals_only",
        {
            None: use("eigenvectors_of_symmetric", "x=a"),
            True: use("eigenvalues_of_symmetric", "x=a -eigvals_only"),
        },
    ),
    "expm": use("matrix_exponential", "x=A"),
    "lu": use("lu", "x=a", to_arguments=one_matrix),
    "lu_factor": use("lu_packed", "x=a", first=0),
    "lu_solve": use("solution_from_lu", lu_roles, to_arguments=lu_arguments),
    "qr": use("qr", "x=a -mode", also={"mode": "economic"}),
    "solve": use("solve", "x=a right_hand_side=b"),
    "solve_triangular": use("triangular_solution", triangular_roles),
    # All singular vectors have no gradient.
    "svd": use("svd", "x=a -full_matrices", also={"full_matrices": False}),
}

SYSTEM = "x=A right_hand_side=b -tol -x0"

ITERATIVE: Table = {
    "bicgstab": use("solve", SYSTEM),
    "cg": use("solve", SYSTEM),
    # With a number that says whether it converged.
    "gmres": use("solve", SYSTEM, lambda made, arguments: (made, ANYTHING)),
}

TABLE: Table = merge(
    {f"scipy.linalg.{name}": one for name, one in FACTORISATIONS.items()},
    {f"scipy.sparse.linalg.{name}": one for name, one in ITERATIVE.items()},
)
