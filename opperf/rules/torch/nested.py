"""Inputs of nested tensors: batches of sequences of different lengths without padding."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from opperf.model import Argument, Operator, TensorSpec
from opperf.rules.bert import FEED_FORWARD, layer_width
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.torch.tables import Variants, configurations_of
from opperf.rules.values import Arguments, fixed, literal, same, tensor

FAMILIES = Families()

NESTED = "nested"
"""Layout of strided nested tensors."""


def sentences(size: Preset) -> TensorSpec:
    """The vectors of the tokens of sentences of different lengths."""
    longest = size.extent(128, least=8)
    return TensorSpec(
        (size.samples(8), longest, layer_width(size)), "", layout=NESTED, gradient=True
    )


def lengths(size: Preset) -> list[int]:
    """Tokens of each sentence of a batch: from half of the longest to the whole."""
    count, longest = size.samples(8), size.extent(128, least=8)
    return [max(1, longest * (count + i) // (2 * count)) for i in range(1, count + 1)]


def limits(size: Preset) -> TensorSpec:
    """Where each of these sentences begins, and where the last one ends."""
    ends = [0, *itertools.accumulate(lengths(size))]
    return fixed(len(ends), fill=literal(ends), dtype="int64")


def one_matrix(rows: int, columns: int) -> TensorSpec:
    """A nested tensor of one matrix, whose rows are not fewer."""
    return TensorSpec((1, rows, columns), "", layout=NESTED)


def both(size: Preset) -> Arguments:
    """One nested tensor twice, as two would have sentences of different lengths."""
    first = sentences(size)
    return {"self": first, "other": same(first, "self"), WHY: WORDS}


WORDS = "BERT-base, tokens of sentences of different lengths without padding"

PADDED: dict[str, Argument] = {"padding": 0.0, WHY: f"{WORDS}, before a layer that needs it"}

VARIANTS: dict[str, Variants] = {
    "nested_to_padded_tensor": lambda size: [{"self": sentences(size), **PADDED}],
    "to_padded_tensor": lambda size: [{"self": sentences(size), **PADDED}],
    "_jagged_to_padded_dense_forward": lambda size: [
        {
            "values": tensor(sum(lengths(size)), layer_width(size)),
            "offsets": (limits(size),),
            "max_lengths": (max(lengths(size)),),
            WHY: f"{WORDS}, before a layer that needs it",
        }
    ],
    "_padded_dense_to_jagged_forward": lambda size: [
        {
            "dense": tensor(len(lengths(size)), max(lengths(size)), layer_width(size)),
            "offsets": (limits(size),),
            "total_L": sum(lengths(size)),
            WHY: f"{WORDS}, from a padded batch",
        }
    ],
    **dict.fromkeys(
        ("_nested_tensor_size", "_nested_tensor_strides", "_nested_tensor_storage_offsets"),
        lambda size: [{"self": sentences(size), WHY: WORDS}],
    ),
    "matmul_backward": lambda size: [
        {
            "grad": one_matrix(size.extent(128, least=8), layer_width(size, FEED_FORWARD)),
            "self": one_matrix(size.extent(128, least=8), layer_width(size)),
            "other": one_matrix(layer_width(size), layer_width(size, FEED_FORWARD)),
            "mask": (True, True),
            WHY: "BERT-base, the gradients of a sentence and of weights, both in nested tensors",
        }
    ],
}
"""Configurations by operator."""

ONE: dict[str, Callable[[Preset], Arguments]] = {
    "linear.default": lambda size: {
        "input": sentences(size),
        "weight": tensor(layer_width(size, FEED_FORWARD), layer_width(size)),
        "bias": tensor(layer_width(size, FEED_FORWARD)),
        WHY: f"{WORDS}, widening",
    },
    "softmax.int": lambda size: {"self": sentences(size), "dim": -1, WHY: WORDS},
    "relu.default": lambda size: {"self": sentences(size), WHY: WORDS},
    "gelu.default": lambda size: {"self": sentences(size), WHY: WORDS},
    "add.Tensor": both,
    "mul.Tensor": both,
    "sum.dim_IntList": lambda size: {
        "self": sentences(size),
        "dim": (-1,),
        "keepdim": True,
        WHY: WORDS,
    },
    "layer_norm.default": lambda size: {
        "input": sentences(size),
        "normalized_shape": (layer_width(size),),
        "weight": tensor(layer_width(size)),
        "bias": tensor(layer_width(size)),
        WHY: WORDS,
    },
    "clone.default": lambda size: {"self": sentences(size), WHY: WORDS},
}
"""The configuration of each operator that takes nested tensors too."""


@FAMILIES.add(*VARIANTS)
def variants(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The configurations of an operator in `VARIANTS`."""
    return configurations_of(VARIANTS, operator, size)


@FAMILIES.also(*ONE)
def nested(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Sentences of different lengths."""
    yield next(ONE[name] for name in operator.names if name in ONE)(size)
