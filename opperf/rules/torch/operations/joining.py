"""PyTorch's operators that join and split tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Array, Roles, Table, Use, Values, merge, use, uses
from opperf.rules.values import fixed, literal


class Way(NamedTuple):
    """How an argument says where the parts of a tensor begin."""

    starts: Callable[[Any, int], Sequence[int]]
    """Where the parts but the first begin, by the argument and the extent of the axis."""
    of_parts: Callable[[int, int], Any] = lambda parts, extent: None
    """The argument of equal parts, by their number and the extent; None if there is none."""
    of_starts: Callable[[tuple[int, ...], int], Any] = lambda starts, extent: None
    """The argument of parts that begin at indices; None if there is none."""


def every(step: int, extent: int) -> Sequence[int]:
    """The starts of parts of one extent, of which the last may be shorter."""
    return range(step, extent, step)


def after(sizes: Sequence[int]) -> list[int]:
    """The starts of parts of these extents."""
    return [int(end) for end in np.cumsum(sizes)[:-1]]


def nearly_equal(parts: int, extent: int) -> list[int]:
    """The starts of parts whose extents differ by one at most, the longer ones first."""
    least, longer = divmod(extent, parts)
    return after([least + (i < longer) for i in range(parts)])


def sections_or_indices(value: Array, extent: int) -> Sequence[int]:
    """The starts of as many parts as a number says, or at a vector's indices."""
    return value.tolist() if value.ndim else nearly_equal(int(value), extent)


CHUNKS = Way(lambda parts, extent: every(-(-extent // parts), extent), lambda parts, extent: parts)
STEPS = Way(every, lambda parts, extent: extent // parts)
SIZES = Way(
    lambda sizes, extent: after(sizes),
    lambda parts, extent: (extent // parts,) * parts,
    lambda starts, extent: tuple(np.diff((0, *starts, extent)).tolist()),
)
SECTIONS = Way(nearly_equal, lambda parts, extent: parts)
INDICES = Way(lambda indices, extent: indices, of_starts=lambda starts, extent: starts)
TENSOR = Way(
    sections_or_indices,
    of_starts=lambda starts, extent: fixed(len(starts), fill=literal(starts), dtype="int64"),
)


def split(argument: str, way: Way, axis: int | None = None) -> Use:
    """The use of an operator that splits along an axis: a fixed one, or that of its `dim`."""

    def roles_of(self: Array, dim: int = 0, **others: Any) -> dict[str, Any]:
        along = dim if axis is None else axis
        starts = way.starts(others.pop(argument), self.shape[along])
        assert not others
        return {"x": self, "axis": along, "starts": tuple(starts)}

    def arguments_of(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        x = roles["x"]
        assert isinstance(x, TensorSpec)
        extent = x.shape[axis or 0]
        if "parts" in roles:
            value = way.of_parts(roles["parts"], extent)  # type: ignore[arg-type]
        else:
            value = way.of_starts(roles["starts"], extent)  # type: ignore[arg-type]
        return None if value is None else {"self": x, argument: value}

    return use("split", roles_of, to_arguments=arguments_of)


SPLIT: Table = {
    "chunk": split("chunks", CHUNKS),
    "split.Tensor": split("split_size", STEPS),
    "split.sizes": split("split_size", SIZES),
    "split_copy.Tensor": split("split_size", STEPS),
    "split_with_sizes": split("split_sizes", SIZES),
    "split_with_sizes_copy": split("split_sizes", SIZES),
    "tensor_split.indices": split("indices", INDICES),
    "tensor_split.sections": split("sections", SECTIONS),
    "tensor_split.tensor_indices_or_sections": split("tensor_indices_or_sections", TENSOR),
    "unbind.int": use("unstack", "x=self axis=dim"),
    "unbind_copy.int": use("unstack", "x=self axis=dim"),
    "unsafe_chunk": split("chunks", CHUNKS),
    "unsafe_split.Tensor": split("split_size", STEPS),
    "unsafe_split_with_sizes": split("split_sizes", SIZES),
    **{
        f"{name}.{overload}": split(argument, way, axis)
        for axis, name in enumerate(("vsplit", "hsplit", "dsplit"))
        for overload, argument, way in (
            ("array", "indices", INDICES),
            ("int", "sections", SECTIONS),
        )
    },
}


def flat_roles(tensors: list[Array]) -> dict[str, Any]:
    """Tensors as vectors, which are joined."""
    return {"tensors": [one.ravel() for one in tensors], "axis": 0}


def unflat_roles(flat: Array, tensors: list[Array]) -> dict[str, Any]:
    """A vector, and where each tensor's elements begin."""
    starts = after([one.size for one in tensors])
    return {"x": flat, "axis": 0, "starts": tuple(starts)}


def in_their_shapes(made: Any, arguments: Values) -> list[Array]:
    """Vectors in the shapes of a list of tensors."""
    return [one.reshape(like.shape) for one, like in zip(made, arguments["tensors"], strict=True)]


def sequences_roles(
    sequences: list[Array],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> dict[str, Any]:
    """Sequences, each in reverse order if the padding is to be in front, and the padding."""
    step = 1 if padding_side == "right" else -1
    return {"tensors": [one[::step] for one in sequences], "value": padding_value}


def as_batch(made: Array, arguments: Values) -> Array:
    """A batch of sequences, with the padding and the time steps where the call has them."""
    own = made if arguments.get("padding_side", "right") == "right" else made[:, ::-1]
    return own if arguments.get("batch_first") else np.swapaxes(own, 0, 1)


def rows_of_a_product(made: Any, arguments: Values) -> Array:
    """The coordinates of a grid's points, a row for each."""
    return np.stack([one.ravel() for one in made], axis=-1)


def joined_roles(tensors: list[Array], dim: int = 0) -> dict[str, Any]:
    """Tensors and the axis that they are joined along."""
    return {"tensors": tensors, "axis": dim}


def joined(operation: str) -> Use:
    """The use of an operator that joins tensors along an axis."""
    return use(
        operation,
        joined_roles,
        to_arguments=lambda operator, roles: {"tensors": roles["tensors"], "dim": roles["axis"]},
    )


JOINED: Table = {
    **uses(("hstack", "vstack", "dstack", "column_stack"), "tensors"),
    **dict.fromkeys(("cat", "concat", "concatenate"), joined("concatenate")),
    "block_diag": use("block_diagonal", "tensors"),
    "broadcast_tensors": use("broadcast_together", "tensors"),
    "cartesian_prod": use("meshgrid", "tensors", rows_of_a_product, indexing="ij"),
    "combinations": use("combinations", "x=self length=r repeated=with_replacement"),
    "flatten_dense_tensors": use("concatenate", flat_roles),
    "meshgrid.default": use("meshgrid", "tensors", indexing="ij"),
    "meshgrid.indexing": use("meshgrid", "tensors indexing"),
    "pad_sequence": use(
        "pad_sequences",
        sequences_roles,
        as_batch,
        lambda operator, roles: {
            "sequences": roles["tensors"],
            "batch_first": True,
            "padding_value": roles["value"],
        },
    ),
    "row_stack": use("vstack", "tensors"),
    "stack": joined("stack"),
    "unflatten_dense_tensors": use("split", unflat_roles, in_their_shapes),
}

TABLE: Table = merge(SPLIT, JOINED)
