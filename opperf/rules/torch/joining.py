"""Families of PyTorch's operators that join and split tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Array, Roles, Table, Use, Values, merge, use, uses
from opperf.rules.bert import FEED_FORWARD, UNITS, few_sentences, tokens
from opperf.rules.families.shapes import PARTS
from opperf.rules.registering import Families
from opperf.rules.shapes import LIST_LENGTH, square
from opperf.rules.sizes import Preset
from opperf.rules.values import call, fixed, literal, tensor, transposed
from opperf.rules.variants import Variants, add_rows


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
    **dict.fromkeys(("chunk", "unsafe_chunk"), split("chunks", CHUNKS)),
    **dict.fromkeys(
        ("split.Tensor", "split_copy.Tensor", "unsafe_split.Tensor"), split("split_size", STEPS)
    ),
    "split.sizes": split("split_size", SIZES),
    **dict.fromkeys(
        ("split_with_sizes", "split_with_sizes_copy", "unsafe_split_with_sizes"),
        split("split_sizes", SIZES),
    ),
    "tensor_split.indices": split("indices", INDICES),
    "tensor_split.sections": split("sections", SECTIONS),
    "tensor_split.tensor_indices_or_sections": split("tensor_indices_or_sections", TENSOR),
    **dict.fromkeys(("unbind.int", "unbind_copy.int"), use("unstack", "x=self axis=dim")),
    **{
        f"{name}.{kind}": split(argument, way, axis)
        for axis, name in enumerate(("vsplit", "hsplit", "dsplit"))
        for kind, argument, way in (("array", "indices", INDICES), ("int", "sections", SECTIONS))
    },
}


def _unflat_roles(flat: Array, tensors: list[Array]) -> dict[str, Any]:
    return {"x": flat, "axis": 0, "starts": tuple(after([tensor.size for tensor in tensors]))}


def _sequences_roles(
    sequences: list[Array],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> dict[str, Any]:
    step = 1 if padding_side == "right" else -1
    return {"tensors": [sequence[::step] for sequence in sequences], "value": padding_value}


def _as_batch(made: Array, arguments: Values) -> Array:
    own = made if arguments.get("padding_side", "right") == "right" else made[:, ::-1]
    return own if arguments.get("batch_first") else np.swapaxes(own, 0, 1)


def joined(operation: str) -> Use:
    """The use of an operator that joins tensors along an axis."""
    return use(
        operation,
        lambda tensors, dim=0: {"tensors": tensors, "axis": dim},
        to_arguments="tensors axis=dim",
    )


JOINED: Table = {
    **uses(("hstack", "vstack", "dstack", "column_stack"), "tensors"),
    **dict.fromkeys(("cat", "concat", "concatenate"), joined("concatenate")),
    "block_diag": use("block_diagonal", "tensors"),
    "broadcast_tensors": use("broadcast_together", "tensors"),
    "cartesian_prod": use(
        "meshgrid",
        "tensors",
        lambda made, arguments: np.stack([coordinates.ravel() for coordinates in made], axis=-1),
        indexing="ij",
    ),
    "combinations": use("combinations", "x=self length=r repeated=with_replacement"),
    "flatten_dense_tensors": use(
        "concatenate",
        lambda tensors: {"tensors": [tensor.ravel() for tensor in tensors], "axis": 0},
    ),
    "meshgrid.default": use("meshgrid", "tensors", indexing="ij"),
    "meshgrid.indexing": use("meshgrid", "tensors indexing"),
    "pad_sequence": use(
        "pad_sequences",
        _sequences_roles,
        _as_batch,
        "tensors=sequences value=padding_value",
        {"batch_first": True},
    ),
    "row_stack": use("vstack", "tensors"),
    "stack": joined("stack"),
    "unflatten_dense_tensors": use(
        "split",
        _unflat_roles,
        lambda made, arguments: [
            vector.reshape(like.shape)
            for vector, like in zip(made, arguments["tensors"], strict=True)
        ],
    ),
}

OPERATIONS: Table = merge(SPLIT, JOINED)

FAMILIES = Families()


def parameters(size: Preset) -> tuple[TensorSpec, ...]:
    """The parameters of a feed-forward block of BERT-base, narrower at size small."""
    width, inner = size.extent(UNITS), size.extent(FEED_FORWARD)
    return (tensor(inner, width), tensor(inner), tensor(width, inner), tensor(width))


def small_parameters(size: Preset) -> tuple[TensorSpec, ...]:
    """The scales and shifts of many layers."""
    return (tensor(size.extent(UNITS)),) * 64


VARIANTS: Mapping[str, Variants] = {
    "flatten_dense_tensors": lambda size: {
        "a few large gradients to a bucket, for a sum over devices": call(tensors=parameters(size)),
        "many small gradients to a bucket: short copies": call(tensors=small_parameters(size)),
    },
    "unflatten_dense_tensors": lambda size: {
        why: call(flat=tensor(sum(part.size for part in parts)), tensors=parts)
        for parts, why in (
            (parameters(size), "a bucket back to a few large gradients: views"),
            (small_parameters(size), "a bucket back to many small gradients: views"),
        )
    },
}
add_rows(FAMILIES.add, VARIANTS)


def prompts(size: Preset) -> tuple[TensorSpec, ...]:
    """Sequences of different lengths, the shortest half as long as the longest."""
    batch, longest = tokens(size)
    return tuple(tensor(longest - i * longest // (2 * batch), UNITS) for i in range(batch))


FURTHER: dict[str, Variants] = {
    "cat.default": lambda size: {
        "transposed matrices, which are read across their rows": call(
            tensors=(transposed(tensor(*square(size))),) * LIST_LENGTH, dim=0
        )
    },
    "pad_sequence.default": lambda size: {
        "prompts padded in front, for decoders": call(sequences=prompts(size), padding_side="left")
    },
    "unsafe_split.Tensor split_copy.Tensor": lambda size: {
        "queries, keys and values of GPT-2's one projection, side by side": call(
            self=tensor(*few_sentences(size, LIST_LENGTH * UNITS)), split_size=UNITS, dim=-1
        )
    },
    "chunk.default unsafe_chunk.default": lambda size: {
        "an LSTM's four gates": call(self=tensor(size.batch, PARTS * UNITS), chunks=PARTS, dim=1)
    },
}
add_rows(FAMILIES.also, FURTHER)
