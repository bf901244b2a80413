"""PyTorch's operators that read and write at indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opperf.model import Argument, Kind, Operator
from opperf.operations.uses import Array, Roles, Table, Values, merge, use
from opperf.rules.values import tensor

REDUCTIONS: dict[str | None, str] = {
    None: "none",
    **{"add": "add", "multiply": "multiply", "sum": "add", "prod": "multiply", "mean": "mean"},
    **{"amax": "max", "amin": "min"},
}
"""Reductions of `scatter_elements` by PyTorch's names of them."""


def _scatter_roles(
    self: Array,
    dim: int,
    index: Array,
    src: Any = None,
    value: Any = None,
    reduce: str | None = None,
    include_self: bool = True,
) -> dict[str, Any]:
    return {
        "data": self,
        "indices": index,
        "values": value if src is None else src,
        "axis": dim,
        "reduction": REDUCTIONS[reduce],
        "include_data": include_self,
    }


def _slices_roles(
    self: Array, dim: int, index: Array, source: Any, reduce: str | None = None, **more: Any
) -> dict[str, Any]:
    along = [1] * self.ndim
    along[dim] = -1
    shape = [*self.shape]
    shape[dim] = index.size
    places = np.broadcast_to(index.reshape(along), shape)
    return _scatter_roles(self, dim, places, source, reduce=reduce, **more)


def _put_roles(
    self: Array, index: Array, source: Array, accumulate: bool = False
) -> dict[str, Any]:
    reduction = "add" if accumulate else None
    return _slices_roles(self.ravel(), 0, index.ravel(), source.ravel(), reduction)


def _zeros_roles(grad: Array, shape: Any, dim: int, index: Array) -> dict[str, Any]:
    return _scatter_roles(np.zeros(shape), dim, index, grad, reduce="add")


def _unfold_backward_roles(
    grad_in: Array, input_sizes: Any, dim: int, size: int, step: int
) -> dict[str, Any]:
    starts = step * np.arange(grad_in.shape[dim])
    places = starts[:, None] + np.arange(size)
    index: list[Any] = [None] * len(input_sizes)
    index[dim] = places
    values = np.moveaxis(grad_in, -1, dim + 1)
    zeros = np.zeros(tuple(input_sizes))
    return {"data": zeros, "indices": index, "values": values, "accumulate": True}


def _shape_of_data(made: Array, arguments: Values) -> Array:
    return made.reshape(arguments["self"].shape)


def _selecting_backward_roles(
    grad: Array, dim: int, indices: Array, sizes: Any, keepdim: bool
) -> dict[str, Any]:
    assert not keepdim
    return _zeros_roles(np.expand_dims(grad, dim), sizes, dim, np.expand_dims(indices, dim))


def _gather_roles(
    self: Array, dim: int | None, sparse_grad: bool = False, **index: Array
) -> dict[str, Any]:
    (positions,) = index.values()
    if dim is None:
        return {"data": self.ravel(), "indices": positions.ravel()}
    moved = np.moveaxis(self, dim, -1)
    own = np.moveaxis(positions, dim, -1)
    if "indices" in index:
        # `take_along_dim` broadcasts both.
        shape = np.broadcast_shapes(moved.shape[:-1], own.shape[:-1])
        moved = np.broadcast_to(moved, (*shape, moved.shape[-1]))
        own = np.broadcast_to(own, (*shape, own.shape[-1]))
    return {"data": moved, "indices": own}


def _axis_back(made: Array, arguments: Values) -> Array:
    dim = arguments.get("dim")
    return made if dim is None else np.moveaxis(made, -1, dim)


def _scatter_slice_roles(
    self: Array,
    src: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> dict[str, Any]:
    places = np.arange(self.shape[dim])[start:end:step]
    return _slices_roles(self, dim, places, src)


def _diagonal_roles(
    self: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> dict[str, Any]:
    steps = np.arange(src.shape[-1])
    index: list[Any] = [None] * self.ndim
    index[dim1], index[dim2] = steps + max(-offset, 0), steps + max(offset, 0)
    # Indices along axes that are not adjacent come first.
    adjacent = abs(dim1 - dim2) == 1 and max(dim1, dim2) == self.ndim - 1
    return {"data": self, "indices": index, "values": src if adjacent else np.moveaxis(src, -1, 0)}


def _strided_roles(
    self: Array, src: Array, size: Any, stride: Any, storage_offset: int | None = None
) -> dict[str, Any]:
    steps = np.tensordot(np.array(stride), np.indices(tuple(size)), 1)
    return _put_roles(self, steps + (storage_offset or 0), src)


def _chosen_only(made: Array, arguments: Values) -> Array:
    padded = np.zeros(int(np.prod(arguments["sizes"])))
    padded[: made.size] = made
    return padded.reshape(arguments["sizes"])


def _static(made: Array, arguments: Values) -> Array:
    fill = arguments.get("fill_value", -1)
    padded = np.full((arguments["size"], made.shape[1]), fill)
    kept = made[: arguments["size"]]
    padded[: len(kept)] = kept
    return padded


def broadcast_mask(made: Mapping[str, Any]) -> dict[str, Any]:
    """Data and a mask in one shape."""
    data, mask = np.broadcast_arrays(made["data"], made["mask"])
    return {**made, "data": data.copy(), "mask": mask}


def _fill_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    value = operator.parameter("value")
    is_tensor = value is not None and value.kind is Kind.TENSOR
    filled = tensor() if is_tensor else roles["values"]
    return {"self": roles["data"], "mask": roles["mask"], "value": filled}


def _as_vectors(made: Array, arguments: Values) -> tuple[Array, ...]:
    return tuple(made.T)


READ: Table = {
    "gather": use("take_along_last", _gather_roles, _axis_back),
    "index": use("advanced_indexing", "data=self indices"),
    "index_select": use("take", "data=self indices=index axis=dim"),
    "masked_select": use(
        "boolean_mask",
        lambda self, mask: broadcast_mask({"data": self, "mask": mask}),
        to_arguments="data=self mask",
    ),
    "masked_scatter_backward": use(
        "boolean_mask",
        lambda grad_output, mask, sizes: {"data": grad_output, "mask": mask},
        _chosen_only,
    ),
    "argwhere": use("nonzero", "x=self"),
    "nonzero": use("nonzero", "x=self"),
    "nonzero_numpy": use("nonzero", "x=self", _as_vectors),
    "nonzero_static": use("nonzero", "x=self -size -fill_value", _static),
    "take": use("take", "data=self indices=index"),
    "take_along_dim": use(
        "take_along_last", _gather_roles, _axis_back, "data=self indices", {"dim": -1}
    ),
    "where.default": use("nonzero", "x=condition", _as_vectors),
    "where": use("where", "condition x=self y=other"),
}

SCATTERED: dict[str, Callable[..., dict[str, Any]]] = {
    "cummaxmin_backward": lambda grad, input, indices, dim: _zeros_roles(
        grad, input.shape, dim, indices
    ),
    "gather_backward": lambda grad, self, dim, index, sparse_grad: _zeros_roles(
        grad, self.shape, dim, index
    ),
    "index_add": lambda self, dim, index, source, alpha=1: _slices_roles(
        self, dim, index, alpha * source, "add"
    ),
    "index_copy": _slices_roles,
    "index_fill": lambda self, dim, index, value: _slices_roles(
        self, dim, index, np.asarray(value)
    ),
    "index_reduce": _slices_roles,
    "index_select_backward": lambda grad, self_sizes, dim, index: _slices_roles(
        np.zeros(self_sizes), dim, index, grad, "add"
    ),
    "scatter": _scatter_roles,
    "scatter_add": lambda self, dim, index, src: _scatter_roles(
        self, dim, index, src, reduce="add"
    ),
    "scatter_reduce": _scatter_roles,
    "select_scatter": lambda self, src, dim, index: _slices_roles(
        self, dim, np.array([index]), np.expand_dims(src, dim)
    ),
    "slice_scatter": _scatter_slice_roles,
    "value_selecting_reduction_backward": _selecting_backward_roles,
}
"""The inputs of `scatter_elements` of what writes at the indices of one axis."""

WRITTEN: Table = {
    **{name: use("scatter_elements", roles) for name, roles in SCATTERED.items()},
    "as_strided_scatter": use("scatter_elements", _strided_roles, _shape_of_data),
    "diagonal_scatter": use("advanced_assignment", _diagonal_roles),
    "fill": use("full_like", "x=self value"),
    "index_put": use("advanced_assignment", "data=self indices values accumulate"),
    "masked_fill": use(
        "masked_fill",
        lambda self, mask, value: broadcast_mask({"data": self, "mask": mask, "values": value}),
        to_arguments=_fill_arguments,
    ),
    "masked_scatter": use(
        "place",
        lambda self, mask, source: broadcast_mask({"data": self, "mask": mask, "values": source}),
    ),
    "masked_select_backward": use(
        "place",
        lambda grad, input, mask: {"data": np.zeros(input.shape), "mask": mask, "values": grad},
    ),
    "one_hot": use(
        "one_hot",
        lambda self, num_classes=-1: {
            "indices": self,
            "depth": int(self.max()) + 1 if num_classes < 0 else num_classes,
        },
        to_arguments="indices=self depth=num_classes",
    ),
    "put": use("scatter_elements", _put_roles, _shape_of_data),
    "unfold_backward": use("advanced_assignment", _unfold_backward_roles),
}

TRIANGLES: Table = {
    name: use(
        name,
        "rows=row columns=col offset -dtype",
        lambda made, arguments: np.stack(made),
        lambda operator, roles: {"row": roles["rows"], "col": roles["rows"]},
        also={"dtype": "int64"},
    )
    for name in ("tril_indices", "triu_indices")
}

OPERATIONS: Table = merge(READ, WRITTEN, TRIANGLES)
