"""Inputs of nested tensors: batches of sequences of different lengths without padding."""

from __future__ import annotations

import itertools

from opperf.model import Argument, TensorSpec
from opperf.rules.bert import FEED_FORWARD, HEADS, WIDTH, layer_width
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families, Rows
from opperf.rules.sizes import Preset
from opperf.rules.values import call, fixed, literal, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

NESTED = "nested"
"""Layout of strided nested tensors."""


def sentences(size: Preset) -> TensorSpec:
    """The vectors of the tokens of sentences of different lengths."""
    longest = size.extent(128, least=8)
    return TensorSpec(
        (size.samples(8), longest, layer_width(size)), "", layout=NESTED, gradient=True
    )


def heads(size: Preset) -> TensorSpec:
    """The vectors of each head of such sentences."""
    longest = size.extent(128, least=8)
    return TensorSpec((size.samples(8), HEADS, longest, WIDTH), "", layout=NESTED, gradient=True)


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


def both(size: Preset) -> Rows:
    """Two nested tensors, of sentences of the same lengths."""
    return {WORDS: call(self=sentences(size), other=sentences(size))}


WORDS = "BERT-base, tokens of sentences of different lengths without padding"

PADDED: dict[str, Argument] = {"padding": 0.0, WHY: f"{WORDS}, before a layer that needs it"}

VARIANTS: dict[str, Variants] = {
    "nested_to_padded_tensor": lambda size: [{"self": sentences(size), **PADDED}],
    "to_padded_tensor": lambda size: [{"self": sentences(size), **PADDED}],
    "_jagged_to_padded_dense_forward": lambda size: {
        f"{WORDS}, before a layer that needs it": call(
            values=tensor(sum(lengths(size)), layer_width(size)),
            offsets=(limits(size),),
            max_lengths=(max(lengths(size)),),
        )
    },
    "_padded_dense_to_jagged_forward": lambda size: {
        f"{WORDS}, from a padded batch": call(
            dense=tensor(len(lengths(size)), max(lengths(size)), layer_width(size)),
            offsets=(limits(size),),
            total_L=sum(lengths(size)),
        )
    },
    "_nested_tensor_size _nested_tensor_strides _nested_tensor_storage_offsets": lambda size: {
        WORDS: call(self=sentences(size))
    },
    "matmul_backward": lambda size: {
        "BERT-base, the gradients of a sentence and of weights, both in nested tensors": call(
            grad=one_matrix(size.extent(128, least=8), layer_width(size, FEED_FORWARD)),
            self=one_matrix(size.extent(128, least=8), layer_width(size)),
            other=one_matrix(layer_width(size), layer_width(size, FEED_FORWARD)),
            mask=(True, True),
        )
    },
}
FURTHER: dict[str, Variants] = {
    "linear.default": lambda size: {
        f"{WORDS}, widening": call(
            input=sentences(size),
            weight=tensor(layer_width(size, FEED_FORWARD), layer_width(size)),
            bias=tensor(layer_width(size, FEED_FORWARD)),
        )
    },
    "scaled_dot_product_attention": lambda size: {
        f"{WORDS}, each to those of its own": call(
            query=heads(size), key=heads(size), value=heads(size)
        )
    },
    "softmax.int": lambda size: {WORDS: call(self=sentences(size), dim=-1)},
    "relu.default": lambda size: {WORDS: call(self=sentences(size))},
    "gelu.default": lambda size: {WORDS: call(self=sentences(size))},
    "add.Tensor": both,
    "mul.Tensor": both,
    "sum.dim_IntList": lambda size: {WORDS: call(self=sentences(size), dim=(-1,), keepdim=True)},
    "layer_norm.default": lambda size: {
        WORDS: call(
            input=sentences(size),
            normalized_shape=(layer_width(size),),
            weight=tensor(layer_width(size)),
            bias=tensor(layer_width(size)),
        )
    },
    "clone.default": lambda size: {WORDS: call(self=sentences(size))},
}
"""The configuration of each operator that takes nested tensors too."""


add_rows(FAMILIES.add, VARIANTS)


add_rows(FAMILIES.also, FURTHER)
