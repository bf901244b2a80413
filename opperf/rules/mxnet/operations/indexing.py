"""MXNet's operators that read or write elements by index, slice or mask."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.model import Operator
from opperf.operations.uses import Table, use, written_to
from opperf.rules.engine import OUTPUT
from opperf.rules.values import fixed, same


def mask_roles(data: Any, mask: Any, value: Any, start_axis: int, out: Any) -> dict[str, Any]:
    """Data, a mask of its first axes, and the values written where the mask is set."""
    assert start_axis == 0
    return {"data": data, "mask": mask, "values": value}


def mask_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Data, which the call writes to, a mask, and a number, or a tensor of one."""
    data = msgspec.structs.replace(roles["data"], gradient=False)
    value = fixed(1) if operator.name.endswith("_tensor") else roles["values"]
    made = {"data": data, "mask": roles["mask"], "value": value, "start_axis": 0}
    return {**made, OUTPUT: same(data, "data")}


def delete_roles(arr: Any, axis: int, int_ind: Any = None, **bounds: int) -> dict[str, Any]:
    """Data, and the row or the slice of rows that is deleted."""
    where = slice(*bounds.values()) if int_ind is None else int_ind
    return {"data": arr, "where": where, "axis": axis}


def insert_roles(
    arr: Any, values: Any, axis: int, obj: Any = None, int_ind: Any = None, **bounds: int
) -> dict[str, Any]:
    """Data, new values, and the rows before which they are inserted: one, a slice or a tensor."""
    where = obj if obj is not None else slice(*bounds.values()) if int_ind is None else int_ind
    return {"data": arr, "where": where, "values": values, "axis": axis}


def embedding_roles(
    data: Any, weight: Any, input_dim: int, output_dim: int, sparse_grad: bool = False
) -> dict[str, Any]:
    """Indices and weights; the operator's plain arguments repeat the shape of the weights, or are
    about the gradient."""
    assert weight.shape == (input_dim, output_dim)
    return {"data": data, "weight": weight}


def embedding_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Indices and weights, and the shape of the weights as plain arguments."""
    words, width = roles["weight"].shape
    return {**roles, "input_dim": words, "output_dim": width}


def scatter_roles(lhs: Any, rhs: Any, indices: Any, shape: Any, out: Any) -> dict[str, Any]:
    """The tensor written to, indices and values; a plain argument repeats the tensor's shape."""
    assert lhs.shape == shape
    return {"data": lhs, "indices": indices, "values": rhs}


EMBEDDING = use("embedding", embedding_roles, to_arguments=embedding_arguments)
MASKED = use("masked_fill", mask_roles, written_to("data"), mask_arguments)
INSERT = use("insert", insert_roles)
# The number stands for `x` or for `y`. The tensor's argument has the name of the other operand.
LEFT_NUMBER, RIGHT_NUMBER = "condition y=x x=scalar", "condition x=y y=scalar"

OPERATIONS: Table = {
    "Embedding": EMBEDDING,
    "_contrib_SparseEmbedding": EMBEDDING,
    "_contrib_boolean_mask": use("boolean_mask", "data mask=index"),
    "_contrib_index_copy": use(
        "index_copy", "data=old_tensor indices=index_vector values=new_tensor"
    ),
    "_npi_advanced_indexing": use("take", "data indices", axis=0),
    "_npi_advanced_indexing_multiple": use("gather", "data indices"),
    "_npi_boolean_mask_assign_scalar": MASKED,
    "_npi_boolean_mask_assign_tensor": MASKED,
    "_npi_delete": use("delete", delete_roles),
    "_npi_fill_diagonal": use("fill_diagonal", "data=a value=val -out", written_to("a")),
    "_npi_insert_scalar": INSERT,
    "_npi_insert_slice": INSERT,
    "_npi_insert_tensor": INSERT,
    "_npi_where": use("where", "condition x y"),
    "_npi_where_lscalar": use("where", LEFT_NUMBER),
    "_npi_where_rscalar": use("where", RIGHT_NUMBER),
    "_npi_where_scalar2": use("where", "condition x y"),
    "_npx_index_add": use("index_add", "data=a indices=ind values=val"),
    "_npx_index_update": use("index_update", "data=a indices=ind values=val"),
    "_npx_nonzero": use("nonzero", "x"),
    "_onehot_encode": use("one_hot", lambda lhs, rhs: {"indices": lhs, "depth": rhs.shape[1]}),
    "_scatter_set_nd": use("index_update", scatter_roles, written_to("lhs")),
    "_slice_assign": use("slice_assign", "data=lhs values=rhs begin end"),
    "_slice_assign_scalar": use("slice_assign", "data values=scalar begin end"),
    "_sparse_retain": use("retain_rows", "data rows=indices"),
    "batch_take": use("pick", "data=a indices"),
    "fill_element_0index": use("scatter_rows", "data=lhs columns=rhs values=mhs"),
    "gather_nd": use("gather", "data indices"),
    "one_hot": use("one_hot", "indices depth"),
    "pick": use("pick", "data indices=index axis"),
    "ravel_multi_index": use("ravel_multi_index", "indices=data shape"),
    "scatter_nd": use("scatter", "data indices shape"),
    "slice": use("slice", "data begin end step"),
    "slice_axis": use("slice_axis", "data axis begin end"),
    "slice_like": use("slice_like", "data like=shape_like axes"),
    "take": use("take", lambda a, indices, axis=0: {"data": a, "indices": indices, "axis": axis}),
    "unravel_index": use("unravel_index", "flat=data shape"),
    "where": use("where", "condition x y"),
}
