"""PyTorch's operators that read and write at indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opperf.model import Argument, Operator
from opperf.operations.uses import Array, Roles, Table, Values, merge, use

REDUCTIONS: dict[str | None, str] = {
    None: "none",
    **{"add": "add", "multiply": "multiply", "sum": "add", "prod": "multiply", "mean": "mean"},
    **{"amax": "max", "amin": "min"},
}
"""Reductions of `scatter_elements` by PyTorch's names of them."""


def scatter_roles(
    self: Array,
    dim: int,
    index: Array,
    src: Any = None,
    value: Any = None,
    reduce: str | None = None,
    include_self: bool = True,
) -> dict[str, Any]:
    """Data, and an index along an axis for each value."""
    return {
        "data": self,
        "indices": index,
        "values": value if src is None else src,
        "axis": dim,
        "reduction": REDUCTIONS[reduce],
        "include_data": include_self,
    }


def scatter_add_roles(self: Array, dim: int, index: Array, src: Array) -> dict[str, Any]:
    """As `scatter_roles`, of values that are added."""
    return scatter_roles(self, dim, index, src, reduce="add")


def slices_roles(
    self: Array, dim: int, index: Array, source: Any, reduce: str | None = None, **more: Any
) -> dict[str, Any]:
    """Data, and an index along an axis for each slice, which is that of all its elements."""
    along = [1] * self.ndim
    along[dim] = -1
    shape = [*self.shape]
    shape[dim] = index.size
    places = np.broadcast_to(index.reshape(along), shape)
    return scatter_roles(self, dim, places, source, reduce=reduce, **more)


def index_add_roles(
    self: Array, dim: int, index: Array, source: Array, alpha: float = 1
) -> dict[str, Any]:
    """Slices that are added, times a number."""
    return slices_roles(self, dim, index, alpha * source, "add")


def index_fill_roles(self: Array, dim: int, index: Array, value: Any) -> dict[str, Any]:
    """Slices that are set to a number."""
    return slices_roles(self, dim, index, np.asarray(value))


def put_roles(self: Array, index: Array, source: Array, accumulate: bool = False) -> dict[str, Any]:
    """All elements as one vector, and those that are written or added."""
    reduction = "add" if accumulate else None
    return slices_roles(self.ravel(), 0, index.ravel(), source.ravel(), reduction)


def zeros_roles(grad: Array, shape: Any, dim: int, index: Array) -> dict[str, Any]:
    """Gradients that are added to zeros, where their elements were read."""
    return scatter_roles(np.zeros(shape), dim, index, grad, reduce="add")


def unfold_backward_roles(
    grad_in: Array, input_sizes: Any, dim: int, size: int, step: int
) -> dict[str, Any]:
    """Gradients of overlapping windows, each added at the place that its element was read from."""
    starts = step * np.arange(grad_in.shape[dim])
    places = starts[:, None] + np.arange(size)
    index: list[Any] = [None] * len(input_sizes)
    index[dim] = places
    values = np.moveaxis(grad_in, -1, dim + 1)
    zeros = np.zeros(tuple(input_sizes))
    return {"data": zeros, "indices": index, "values": values, "accumulate": True}


def shape_of_data(made: Array, arguments: Values) -> Array:
    """The result in the shape of the data."""
    return made.reshape(arguments["self"].shape)


def gather_backward_roles(
    grad: Array, self: Array, dim: int, index: Array, sparse_grad: bool
) -> dict[str, Any]:
    """The gradient of `gather`."""
    return zeros_roles(grad, self.shape, dim, index)


def select_backward_roles(grad: Array, self_sizes: Any, dim: int, index: Array) -> dict[str, Any]:
    """The gradient of `index_select`."""
    return slices_roles(np.zeros(self_sizes), dim, index, grad, "add")


def selecting_backward_roles(
    grad: Array, dim: int, indices: Array, sizes: Any, keepdim: bool
) -> dict[str, Any]:
    """The gradient of a reduction that picks elements."""
    assert not keepdim
    kept = (np.expand_dims(one, dim) for one in (grad, indices))
    values, index = kept
    return zeros_roles(values, sizes, dim, index)


def running_backward_roles(grad: Array, input: Array, indices: Array, dim: int) -> dict[str, Any]:
    """The gradient of the greatest or least elements so far."""
    return zeros_roles(grad, input.shape, dim, indices)


def gather_roles(
    self: Array, dim: int | None, sparse_grad: bool = False, **index: Array
) -> dict[str, Any]:
    """Data and indices with the axis last. Data is as long as the indices along other axes."""
    (places,) = index.values()
    if dim is None:
        return {"data": self.ravel(), "indices": places.ravel()}
    moved = np.moveaxis(self, dim, -1)
    own = np.moveaxis(places, dim, -1)
    if "indices" in index:
        # `take_along_dim` broadcasts both.
        shape = np.broadcast_shapes(moved.shape[:-1], own.shape[:-1])
        moved = np.broadcast_to(moved, (*shape, moved.shape[-1]))
        own = np.broadcast_to(own, (*shape, own.shape[-1]))
    return {"data": moved, "indices": own}


def axis_back(made: Array, arguments: Values) -> Array:
    """The result with its last axis where the call's axis is."""
    dim = arguments.get("dim")
    return made if dim is None else np.moveaxis(made, -1, dim)


def along_last(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor, and indices along its last axis."""
    return {"self": roles["data"], "indices": roles["indices"], "dim": -1}


def scatter_slice_roles(
    self: Array,
    src: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> dict[str, Any]:
    """Data, and the slices along an axis that are replaced."""
    places = np.arange(self.shape[dim])[start:end:step]
    return slices_roles(self, dim, places, src)


def diagonal_roles(
    self: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> dict[str, Any]:
    """Data, and the indices of a diagonal along two axes."""
    steps = np.arange(src.shape[-1])
    index: list[Any] = [None] * self.ndim
    index[dim1], index[dim2] = steps + max(-offset, 0), steps + max(offset, 0)
    # Indices along axes that are not adjacent come first.
    adjacent = abs(dim1 - dim2) == 1 and max(dim1, dim2) == self.ndim - 1
    return {"data": self, "indices": index, "values": src if adjacent else np.moveaxis(src, -1, 0)}


def strided_roles(
    self: Array, src: Array, size: Any, stride: Any, storage_offset: int | None = None
) -> dict[str, Any]:
    """All elements as one vector, and those that the strides lead to."""
    steps = np.tensordot(np.array(stride), np.indices(tuple(size)), 1)
    return put_roles(self, steps + (storage_offset or 0), src)


def masked_backward_roles(grad: Array, input: Array, mask: Array) -> dict[str, Any]:
    """Gradients, back at the places of a mask."""
    return {"data": np.zeros(input.shape), "mask": mask, "values": grad}


def chosen_only(made: Array, arguments: Values) -> Array:
    """The elements that a mask chooses, and zeros in place of the others, in a shape."""
    padded = np.zeros(int(np.prod(arguments["sizes"])))
    padded[: made.size] = made
    return padded.reshape(arguments["sizes"])


def static(made: Array, arguments: Values) -> Array:
    """As many indices as a call asks for, with a number in place of those that there are not."""
    fill = arguments.get("fill_value", -1)
    padded = np.full((arguments["size"], made.shape[1]), fill)
    kept = made[: arguments["size"]]
    padded[: len(kept)] = kept
    return padded


def one_hot_roles(self: Array, num_classes: int = -1) -> dict[str, Any]:
    """Labels, and the number of classes: one more than the greatest label by default."""
    return {"indices": self, "depth": int(self.max()) + 1 if num_classes < 0 else num_classes}


def broadcast_mask(made: Mapping[str, Any]) -> dict[str, Any]:
    """Data and a mask in one shape."""
    data, mask = np.broadcast_arrays(made["data"], made["mask"])
    return {**made, "data": data.copy(), "mask": mask}


def scattered_mask(self: Array, mask: Array, source: Array) -> dict[str, Any]:
    """Data, a mask, and the values that are used up where it is set."""
    return broadcast_mask({"data": self, "mask": mask, "values": source})


def triangle_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Rows and columns of a square matrix."""
    return {"row": roles["rows"], "col": roles["rows"]}


def rows_of_indices(made: Any, arguments: Values) -> Array:
    """The rows and the columns, as one matrix of two rows."""
    return np.stack(made)


def as_vectors(made: Array, arguments: Values) -> tuple[Array, ...]:
    """Indices as a vector for each axis."""
    return tuple(made.T)


READ: Table = {
    "gather": use("take_along_last", gather_roles, axis_back),
    "index": use("advanced_indexing", "data=self indices"),
    "index_select": use("take", "data=self indices=index axis=dim"),
    "masked_select": use(
        "boolean_mask",
        lambda self, mask: broadcast_mask({"data": self, "mask": mask}),
        to_arguments=lambda operator, roles: {"self": roles["data"], "mask": roles["mask"]},
    ),
    "masked_scatter_backward": use(
        "boolean_mask",
        lambda grad_output, mask, sizes: {"data": grad_output, "mask": mask},
        chosen_only,
    ),
    "argwhere": use("nonzero", "x=self"),
    "nonzero": use("nonzero", "x=self"),
    "nonzero_numpy": use("nonzero", "x=self", as_vectors),
    "nonzero_static": use("nonzero", "x=self -size -fill_value", static),
    "take": use("take", "data=self indices=index"),
    "take_along_dim": use("take_along_last", gather_roles, axis_back, along_last),
    "where.default": use("nonzero", "x=condition", as_vectors),
    "where": use("where", "condition x=self y=other"),
}

WRITTEN: Table = {
    "as_strided_scatter": use("scatter_elements", strided_roles, shape_of_data),
    "cummaxmin_backward": use("scatter_elements", running_backward_roles),
    "diagonal_scatter": use("advanced_assignment", diagonal_roles),
    "fill": use("full_like", "x=self value"),
    "gather_backward": use("scatter_elements", gather_backward_roles),
    "index_add": use("scatter_elements", index_add_roles),
    "index_copy": use("scatter_elements", slices_roles),
    "index_fill": use("scatter_elements", index_fill_roles),
    "index_put": use("advanced_assignment", "data=self indices values accumulate"),
    "index_reduce": use("scatter_elements", slices_roles),
    "index_select_backward": use("scatter_elements", select_backward_roles),
    "masked_fill": use(
        "masked_fill",
        lambda self, mask, value: broadcast_mask({"data": self, "mask": mask, "values": value}),
    ),
    "masked_scatter": use("place", scattered_mask),
    "masked_select_backward": use("place", masked_backward_roles),
    "one_hot": use("one_hot", one_hot_roles),
    "put": use("scatter_elements", put_roles, shape_of_data),
    "scatter": use("scatter_elements", scatter_roles),
    "scatter_add": use("scatter_elements", scatter_add_roles),
    "scatter_reduce": use("scatter_elements", scatter_roles),
    "select_scatter": use(
        "scatter_elements",
        lambda self, src, dim, index: slices_roles(
            self, dim, np.array([index]), np.expand_dims(src, dim)
        ),
    ),
    "slice_scatter": use("scatter_elements", scatter_slice_roles),
    "unfold_backward": use("advanced_assignment", unfold_backward_roles),
    "value_selecting_reduction_backward": use("scatter_elements", selecting_backward_roles),
}

TRIANGLES: Table = {
    name: use(
        name,
        "rows=row columns=col offset -dtype",
        rows_of_indices,
        triangle_arguments,
        also={"dtype": "int64"},
    )
    for name in ("tril_indices", "triu_indices")
}

TABLE: Table = merge(READ, WRITTEN, TRIANGLES)
