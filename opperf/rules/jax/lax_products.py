"""Inputs of the products of `jax.lax`: of stacks with other axes, and of groups of rows."""

from __future__ import annotations

from typing import Any

from opperf.model import Argument, Operator, TensorSpec
from opperf.model import Mapping as Fields
from opperf.operations.uses import Array, Choice, Roles, Table, of_ranks, use
from opperf.rules.bert import HEADS, UNITS, WIDTH, layer_width
from opperf.rules.registering import Families, Rows
from opperf.rules.sizes import Preset
from opperf.rules.values import call, fixed, literal, tensor
from opperf.rules.variants import add_rows

Contraction = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], ...]]
"""`dimension_numbers` of a product: axes that are summed over, and those of stacks."""

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


def triangular_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A lower factor and right-hand sides, or unknowns on the left."""
    left: dict[str, Argument] = {} if "right" in roles else {"left_side": True}
    transposed: dict[str, Argument] = {"transpose_a": True} if "transpose" in roles else {}
    return {"a": roles["triangle"], "b": roles["x"], "lower": True, **left, **transposed}


REDUCED: dict[str, Argument] = {"full_matrices": False}
"""Vectors as many as values: JAX has gradients of this form alone."""

OPERATIONS: Table = {
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
    "lax.linalg.triangular_solve": use(
        "triangular_solution",
        lambda a, b, left_side=False, lower=False, transpose_a=False, unit_diagonal=False: {
            **{"x": b, "triangle": a, "right": not left_side, "upper": not lower},
            **{"transpose": transpose_a, "unit": unit_diagonal},
        },
        to_arguments=triangular_arguments,
    ),
}


FAMILIES = Families()

EXPERTS = 8
"""Experts of a layer of Mixtral's."""


def attention(size: Preset) -> Rows:
    """Heads of attention as a stack of two axes."""
    heads = (size.images, HEADS, size.extent(128, least=8), WIDTH)
    batch, count, tokens, _ = heads
    return {
        "BERT-base, each head's scores by its values: a stack of two axes": call(
            lhs=tensor(batch, count, tokens, tokens), rhs=tensor(*heads)
        )
    }


def loads(size: Preset) -> TensorSpec:
    """Tokens of each expert: as uneven as a router's, together all."""
    each = tokens(size) // EXPERTS
    shares = [each + (each // 2 if expert % 2 else -(each // 2)) for expert in range(EXPERTS)]
    return fixed(EXPERTS, fill=literal(shares), dtype="int32")


def tokens(size: Preset) -> int:
    """Tokens of a batch, a multiple of the experts'."""
    return size.extent(1024, least=8 * EXPERTS)


def ragged(size: Preset) -> Rows:
    """A layer of a mixture of experts, tokens sorted by expert."""
    units = layer_width(size)
    return {
        "a mixture of experts in training, tokens sorted by expert, each through its layer": call(
            lhs=tensor(tokens(size), units),
            rhs=tensor(EXPERTS, units, units),
            group_sizes=loads(size),
        )
    }


def axes_of(contracted: tuple[int, int], rows: int, groups: tuple[int, ...]) -> Fields:
    """JAX's description of a product of groups of rows."""
    ours, theirs = contracted
    return Fields(
        {
            "dot_dimension_numbers": (((ours,), (theirs,)), ((), ())),
            "lhs_ragged_dimensions": (rows,),
            "rhs_group_dimensions": groups,
        }
    )


def ragged_by_axes(size: Preset) -> Rows:
    """The experts' layer, and the gradient of its weights."""
    units, inside = layer_width(size), layer_width(size, UNITS)
    sorted_tokens = tensor(tokens(size), units)
    return {
        "tokens sorted by expert, each through its own layer, weights transposed": call(
            lhs=sorted_tokens,
            rhs=tensor(EXPERTS, inside, units),
            group_sizes=loads(size),
            ragged_dot_dimension_numbers=axes_of((1, 2), 0, (0,)),
        ),
        "the gradient of each expert's weights: sums over its own tokens": call(
            lhs=sorted_tokens,
            rhs=tensor(tokens(size), inside),
            group_sizes=loads(size),
            ragged_dot_dimension_numbers=axes_of((0, 0), 0, ()),
        ),
    }


# Beside the products of all frameworks.
add_rows(FAMILIES.also, {"lax.batch_matmul": attention})
RAGGED = {"lax.ragged_dot": ragged, "lax.ragged_dot_general": ragged_by_axes}
add_rows(FAMILIES.add, RAGGED)
