"""PyTorch's products of matrices and vectors."""

from __future__ import annotations

from typing import Any

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Roles, Table, of_ranks, use


def tensordot_roles(self: Any, other: Any, dims_self: Any, dims_other: Any) -> dict[str, Any]:
    """Two tensors, and a pair of the axes of each that are summed over."""
    return {"x": self, "y": other, "axes": (dims_self, dims_other)}


def tensordot_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Two tensors and the axes of each, also where a number of axes stands for them."""
    x, axes = roles["x"], roles["axes"]
    assert isinstance(x, TensorSpec)
    if isinstance(axes, int):
        rank = len(x.shape)
        axes = (tuple(range(rank - axes, rank)), tuple(range(axes)))
    assert isinstance(axes, tuple)
    ours, theirs = axes
    return {"self": x, "other": roles["y"], "dims_self": ours, "dims_other": theirs}


VECTORS = "x=self y=vec2"
SCALES = "addend=self scale=alpha addend_scale=beta"

MATMUL = use("matrix_product", "x=self y=other")
MATRICES = use("matrix_product", "x=self y=mat2")
GEMM = use("scaled_matrix_product", f"{SCALES} x=mat1|mat|batch1 y=mat2|vec|batch2")
OUTER = use("outer_product", VECTORS)

TABLE: Table = {
    "addbmm": use("scaled_sum_of_products", f"{SCALES} x=batch1 y=batch2"),
    "addmm.default": of_ranks(GEMM, x=2, y=2),
    "addmv": of_ranks(GEMM, x=2, y=1),
    "addr": use("scaled_outer_product", f"{SCALES} x=vec1 y=vec2"),
    "baddbmm.default": of_ranks(GEMM, x=3, y=3),
    "bmm.default": of_ranks(MATRICES, x=3, y=3),
    "chain_matmul": use("matrix_product_chain", "matrices"),
    "dot": of_ranks(use("inner_product", "x=self y=tensor"), x=1, y=1),
    "einsum": use("einsum", "subscripts=equation tensors"),
    "ger": OUTER,
    "inner": use("inner_product", "x=self y=other"),
    "linalg_matmul": MATMUL,
    "linalg_multi_dot": use("matrix_product_chain", "matrices=tensors"),
    "linalg_vecdot": use("vector_products", "x y axis=dim"),
    "matmul": MATMUL,
    "mm.default": of_ranks(MATRICES, x=2, y=2),
    "mv": of_ranks(use("matrix_product", "x=self y=vec"), x=2, y=1),
    "outer": OUTER,
    "tensordot": use("tensordot", tensordot_roles, to_arguments=tensordot_arguments),
    "vdot": of_ranks(use("vector_dot", "x=self y=other"), x=1, y=1),
}
