"""Inputs of nested tensors: batches of sequences of different lengths without padding."""

from __future__ import annotations

import itertools

from opperf.model import Argument, TensorSpec
from opperf.rules.bert import FEED_FORWARD, HEADS, UNITS, WIDTH, layer_width
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import call, fixed, literal, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()


def longest(size: Preset) -> int:
    """Tokens of the longest sentence."""
    return size.extent(128, least=8)


def nested(*shape: int, gradient: bool = True) -> TensorSpec:
    """A nested tensor whose longest parts have this shape."""
    return TensorSpec(shape, "", layout="nested", gradient=gradient)


def sentences(size: Preset, width: int = UNITS) -> TensorSpec:
    """So many numbers of each token of sentences of different lengths."""
    return nested(size.samples(8), longest(size), layer_width(size, width))


def lengths(size: Preset) -> list[int]:
    """Tokens of each sentence of a batch: from half of the longest to the whole."""
    count = size.samples(8)
    return [max(1, longest(size) * (count + i) // (2 * count)) for i in range(1, count + 1)]


def limits(size: Preset) -> TensorSpec:
    """Where each of these sentences begins, and where the last one ends."""
    ends = [0, *itertools.accumulate(lengths(size))]
    return fixed(len(ends), fill=literal(ends), dtype="int64")


def of_each(*names: str, **options: Argument) -> Variants:
    """Sentences under these names."""
    return lambda size: {WORDS: call(**dict.fromkeys(names, sentences(size)), **options)}


UNPADDED = "tokens of sentences of different lengths without padding"
WORDS = f"BERT-base, {UNPADDED}"

PADDED = f"{WORDS}, before a layer that needs it"

VARIANTS: dict[str, Variants] = {
    "nested_to_padded_tensor to_padded_tensor": lambda size: {
        PADDED: call(self=sentences(size), padding=0.0)
    },
    "_jagged_to_padded_dense_forward": lambda size: {
        PADDED: call(
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
    "_nested_tensor_size _nested_tensor_strides _nested_tensor_storage_offsets": of_each("self"),
    "matmul_backward": lambda size: {
        "BERT-base, the gradients of a sentence and of weights, both in nested tensors": call(
            grad=nested(1, longest(size), layer_width(size, FEED_FORWARD), gradient=False),
            self=nested(1, longest(size), layer_width(size), gradient=False),
            other=nested(1, layer_width(size), layer_width(size, FEED_FORWARD), gradient=False),
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
            **dict.fromkeys(
                ("query", "key", "value"), nested(size.samples(8), HEADS, longest(size), WIDTH)
            )
        )
    },
    "softmax.int": lambda size: {
        f"{WORDS}, each among 30522 words": call(self=sentences(size, 30_522), dim=-1)
    },
    "relu.default": lambda size: {
        f"nn.TransformerEncoder's feed-forward block, {UNPADDED}": call(self=sentences(size, 2048))
    },
    "gelu.default": lambda size: {f"{WORDS}, widened": call(self=sentences(size, FEED_FORWARD))},
    "clone.default": of_each("self"),
    "add.Tensor mul.Tensor": of_each("self", "other"),
    "sum.dim_IntList": lambda size: {
        f"{WORDS}, each summed up, which is the only axis": call(
            self=sentences(size), dim=(-1,), keepdim=True
        )
    },
    "layer_norm.default": lambda size: {
        WORDS: call(
            input=sentences(size),
            normalized_shape=(layer_width(size),),
            **dict.fromkeys(("weight", "bias"), tensor(layer_width(size))),
        )
    },
}
"""The configuration of each operator that takes nested tensors too."""

add_rows(FAMILIES.add, VARIANTS)
add_rows(FAMILIES.also, FURTHER)
