"""Products of `jax.lax`, and the factorisations and systems of `jax.lax.linalg`."""

from __future__ import annotations

from typing import Any

from opperf.model import Argument, Operator
from opperf.operations.uses import Array, Choice, Roles, Table, of_ranks, use

Contraction = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], ...]]
"""`dimension_numbers` of a product: the axes of each array that are summed over, and those that
count matrices of a stack."""

OF_STACKS: Contraction = (((2,), (1,)), ((0,), (0,)))
"""Each matrix of a stack by another."""

OF_FIRST_AXES: Contraction = (((0, 1), (0, 1)), ((), ()))
"""Sums over the first two axes of both."""


def of_first_axes(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The arguments of sums over the first two axes."""
    own = roles["axes"] == OF_FIRST_AXES[0]
    return {"lhs": roles["x"], "rhs": roles["y"]} if own else None


def first_axes_roles(lhs: Array, rhs: Array, dimension_numbers: Contraction) -> dict[str, Any]:
    """The inputs of sums over some axes of both."""
    return {"x": lhs, "y": rhs, "axes": dimension_numbers[0]}


def triangular_roles(
    a: Array,
    b: Array,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    unit_diagonal: bool = False,
) -> dict[str, Any]:
    """A triangular system."""
    return {
        **{"x": b, "triangle": a, "right": not left_side, "upper": not lower},
        **{"transpose": transpose_a, "unit": unit_diagonal},
    }


REDUCED: dict[str, Argument] = {"full_matrices": False}
"""Vectors as many as values: of many rows there would be as many vectors of that length, and JAX
has gradients of this form alone."""

TABLE: Table = {
    "lax.batch_matmul": of_ranks(use("matrix_product", "x=lhs y=rhs"), x=3, y=3),
    "lax.dot": Choice(
        "dimension_numbers",
        {
            None: use("dot", "x=lhs y=rhs"),
            OF_STACKS: of_ranks(use("matrix_product", "x=lhs y=rhs -dimension_numbers"), x=3, y=3),
            OF_FIRST_AXES: use("tensordot", first_axes_roles, to_arguments=of_first_axes),
        },
    ),
    "lax.linalg.cholesky": use("cholesky", "x -symmetrize_input"),
    "lax.linalg.householder_product": use("householder_product", "packed=a scales=taus"),
    "lax.linalg.ormqr": use("householder_times", "packed=a scales=taus other=c left transpose"),
    "lax.linalg.qr": use("qr", "x -full_matrices", also=REDUCED),
    "lax.linalg.svd": use("svd", "x -full_matrices", also=REDUCED),
    "lax.linalg.triangular_solve": use("triangular_solution", triangular_roles),
}
