"""PyTorch's sparse tensors, read as the dense ones that they stand for."""

from __future__ import annotations

from typing import Any

from opperf.operations.uses import Array, Table, use

GEMM = "addend=self x=mat1 y=mat2 scale=alpha addend_scale=beta"
MATRICES = use("matrix_product", "x=self|mat1 y=mat2")
SAME = use("identity", "x=self -sparse_dim -blocksize")


def masked_roles(self: Array, mask: Array) -> dict[str, Any]:
    """A tensor, and ones at the places that the mask stores."""
    return {"x": self, "y": mask != 0}


TABLE: Table = {
    "coalesce": SAME,
    "copy_sparse_to_sparse": use("identity", "x=src -self"),
    "hspmm": MATRICES,
    "smm": MATRICES,
    "sparse_mask": use("multiply", masked_roles),
    "sparse_sampled_addmm": use("sampled_matrix_product", GEMM),
    "sspaddmm": use("scaled_matrix_product", GEMM),
    "to_sparse": SAME,
    "to_sparse_bsc": SAME,
    "to_sparse_bsr": SAME,
    "to_sparse_csc": SAME,
    "to_sparse_csr": SAME,
}
