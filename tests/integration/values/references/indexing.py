"""Operators that pick elements, and operators that put some in their places."""

from __future__ import annotations

from typing import Any

import numpy as np

from references import Array, Reference, Written

Bounds = tuple[int, ...]


def cut(data: Array, begin: Bounds, end: Bounds, step: Bounds = ()) -> Array:
    """A part of each axis."""
    return data[window(begin, end, step)]


def window(begin: Bounds, end: Bounds, step: Bounds = ()) -> tuple[slice, ...]:
    """The slices of a part of each axis."""
    return tuple(map(slice, begin, end, step or (1,) * len(begin)))


def cut_axis(data: Array, axis: int, begin: int, end: int) -> Array:
    """A part of one axis."""
    return np.take(data, range(begin, end), axis)


def cut_like(data: Array, shape_like: Array, axes: Any = ()) -> Array:
    """The beginning of each axis, as long as another tensor's."""
    chosen = axes or range(data.ndim)
    return data[
        tuple(slice(shape_like.shape[i] if i in chosen else None) for i in range(data.ndim))
    ]


def picked(data: Array, index: Array, axis: int = -1) -> Array:
    """One element of each row, or of each column."""
    where = np.expand_dims(index.astype(int), axis)
    return np.take_along_axis(data, where, axis).squeeze(axis)


def looked_up(data: Array, weight: Array, input_dim: int, output_dim: int) -> Array:
    """A row of the weights for each number."""
    assert weight.shape == (input_dim, output_dim)
    return weight[data.astype(int)]


def gathered(data: Array, indices: Array) -> Array:
    """The elements, or rows, at indices that are columns of a matrix."""
    return data[tuple(indices.astype(int))]


def scattered(indices: Array, shape: Bounds, data: Array) -> Array:
    """Elements, or rows, put into zeros at indices that are columns of a matrix."""
    return replaced(np.zeros(shape), indices, data)


def overwritten(lhs: Array, rhs: Array, indices: Array, shape: Bounds, out: Array) -> Written:
    """Elements, or rows, of a tensor replaced in place."""
    assert lhs.shape == shape
    made = replaced(lhs, indices, rhs)
    return Written(made, {"lhs": made})


def hot(indices: Array, depth: int) -> Array:
    """A one in each row."""
    return np.eye(depth)[indices.astype(int)]


def filled(lhs: Array, mhs: Array, rhs: Array) -> Array:
    """An element of each row replaced."""
    made = lhs.copy()
    made[np.arange(len(made)), rhs.astype(int)] = mhs
    return made


def copied_rows(old_tensor: Array, index_vector: Array, new_tensor: Array) -> Array:
    """Rows replaced."""
    made = old_tensor.copy()
    made[index_vector] = new_tensor
    return made


def assigned(lhs: Array, rhs: Any, begin: Bounds, end: Bounds) -> Array:
    """A part of each axis replaced."""
    made = lhs.copy()
    made[window(begin, end)] = rhs
    return made


def masked_in(data: Array, mask: Array, value: Any, start_axis: int, out: Array) -> Written:
    """Elements replaced in place where a mask says so."""
    assert start_axis == 0
    made = np.where(mask, value, data)
    return Written(made, {"data": made})


def diagonal_filled(a: Array, val: tuple[float, ...], out: Array) -> Written:
    """One number along the diagonal, in place."""
    made = a.copy()
    np.fill_diagonal(made, val)
    return Written(made, {"a": made})


def deleted(arr: Array, axis: int, int_ind: Any = None, **bounds: int) -> Array:
    """Without a row, or without some."""
    return np.delete(arr, slice(*bounds.values()) if int_ind is None else int_ind, axis)


def inserted(
    arr: Array, values: Array, axis: int, obj: Any = None, int_ind: Any = None, **bounds: int
) -> Array:
    """With rows put in before others."""
    where = obj if obj is not None else slice(*bounds.values()) if int_ind is None else int_ind
    return np.insert(arr, where, values, axis)


def chosen(condition: Array, x: Any, y: Any) -> Array:
    """Elements of one or the other; a condition with one axis chooses rows."""
    wide = (
        condition.reshape(-1, *[1] * (np.ndim(x) - 1)) if condition.ndim < np.ndim(x) else condition
    )
    return np.where(wide != 0, x, y)


def replaced(a: Array, ind: Array, val: Array) -> Array:
    """Elements, or rows, replaced at indices that are columns of a matrix."""
    made = a.copy()
    made[tuple(ind)] = val
    return made


def increased(a: Array, ind: Array, val: Array) -> Array:
    """Rows added to at indices that are columns of a matrix, as often as they are named."""
    made = a.copy()
    np.add.at(made, tuple(ind), val)
    return made


def kept(data: Array, indices: Array) -> Array:
    """Zeros but for some rows."""
    made = np.zeros_like(data)
    made[indices] = data[indices]
    return made


REFERENCES: dict[str, Reference] = {
    "Embedding": looked_up,
    "_contrib_SparseEmbedding": looked_up,
    "_contrib_boolean_mask": lambda data, index: data[index != 0],
    "_contrib_index_copy": copied_rows,
    "_npi_advanced_indexing": lambda data, indices: data[indices],
    "_npi_advanced_indexing_multiple": gathered,
    "_npi_boolean_mask_assign_scalar": masked_in,
    "_npi_boolean_mask_assign_tensor": masked_in,
    "_npi_delete": deleted,
    "_npi_insert_scalar": inserted,
    "_npi_insert_slice": inserted,
    "_npi_insert_tensor": inserted,
    "_npi_where": chosen,
    # The number is on the left or right; the tensor is named for the operand that it is not.
    "_npi_where_lscalar": lambda condition, x, scalar: np.where(condition, scalar, x),
    "_npi_where_rscalar": lambda condition, y, scalar: np.where(condition, y, scalar),
    "_npi_where_scalar2": lambda condition, x, y: np.where(condition, x, y),
    "_npi_fill_diagonal": diagonal_filled,
    "_npx_index_add": increased,
    "_npx_index_update": replaced,
    "_npx_nonzero": lambda x: np.argwhere(x),
    "_onehot_encode": lambda lhs, rhs: hot(lhs, rhs.shape[1]),
    "_scatter_set_nd": overwritten,
    "_slice_assign": assigned,
    "_slice_assign_scalar": lambda data, scalar, begin, end: assigned(data, scalar, begin, end),
    "_sparse_retain": kept,
    "batch_take": lambda a, indices: picked(a, indices),
    "fill_element_0index": filled,
    "gather_nd": gathered,
    "one_hot": hot,
    "pick": picked,
    "ravel_multi_index": lambda data, shape: np.ravel_multi_index(tuple(data), shape),
    "scatter_nd": scattered,
    "slice": cut,
    "slice_axis": cut_axis,
    "slice_like": cut_like,
    "take": lambda a, indices, axis=0: np.take(a, indices, axis),
    "unravel_index": lambda data, shape: np.stack(np.unravel_index(data, shape)),
    "where": chosen,
}
