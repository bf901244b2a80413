"""Families of PyTorch's layers: linear, embedding, dropout, and those that move pixels."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.bert import FEED_FORWARD, UNITS, WORDS, few_sentences, tokens
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import feature_maps, network_maps
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import in_cache, square
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.layers import INDEX, KINDS
from opperf.rules.values import (
    ONES,
    PROBABILITY,
    Arguments,
    below,
    call,
    fixed,
    literal,
    odds,
    repeated,
    taken,
    tensor,
    zipf,
)
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()


@FAMILIES.add(
    *("mkldnn_linear", "mkldnn_linear_backward", "mkldnn_linear_backward_input"),
    *("mkldnn_linear_backward_weights", "linear_backward"),
    replaces="its tensors are in oneDNN's layout",
)
def linear_passes(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Passes of layers of BERT-base: for oneDNN, of tensors in its own layout."""
    own = operator.name.startswith("mkldnn")
    sentences, words, _ = few_sentences(size)
    rows = sentences * words
    for why, inputs, units in (
        ("BERT-base, a projection of each token", UNITS, UNITS),
        ("BERT-base, feed-forward block, widening", UNITS, FEED_FORWARD),
    ):
        data, made = tensor(rows, inputs), tensor(rows, units)
        if own:
            data, made = (
                msgspec.structs.replace(spec, layout="mkldnn", gradient=False)
                for spec in (data, made)
            )
        offered: Arguments = {
            WHY: why,
            "input_size": (rows, inputs),
            **dict.fromkeys(("self", "input"), data),
            "grad_output": made,
            "weight": fixed(units, inputs) if own else tensor(units, inputs),
            "bias": fixed(units),
            "bias_defined": True,
            "output_mask": (True, True, True),
        }
        yield taken(operator, offered)


@FAMILIES.add("alpha_dropout", "feature_dropout", "feature_alpha_dropout")
def dropout(operator: Operator, size: Preset) -> Rows:
    """Maps of which whole channels are dropped, and activations of self-normalising networks."""
    whole = (
        ("half of the channels of feature maps", feature_maps(size), 0.5),
        ("sequences of vectors, a tenth of their channels", network_maps(size, 512, 200), 0.1),
    )
    alone = (
        ("a self-normalising network, as its authors drop", square(size), 0.05),
        ("a few samples of such a network, which stay in cache", in_cache(size), 0.1),
    )
    return {
        why: call(**{operator.parameters[0].name: tensor(*shape)}, p=rate, train=True)
        for why, shape, rate in (whole if operator.name.startswith("feature") else alone)
    }


@FAMILIES.add("embedding_backward", "embedding_sparse_backward")
@FAMILIES.also("embedding_dense_backward.default")
def embedding_gradient(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Gradients of the rows that were looked up, added or listed."""
    words = size.extent(WORDS)
    shape = tokens(size)
    for why, width, by_frequency, drawn in (
        ("BERT-base, word pieces of a batch of sentences", UNITS, False, below),
        ("word vectors, each row's gradient divided by how often it occurs", 300, True, below),
        ("BERT-base, word pieces as in text: many gradients of few rows", UNITS, False, zipf),
    ):
        # A sparse gradient lists the rows, however often each occurs.
        if (by_frequency or drawn is zipf) and "sparse" in operator.name:
            continue
        offered: Arguments = {
            **dict.fromkeys(("grad_output", "grad"), tensor(*shape, width)),
            "indices": fixed(*shape, fill=drawn(words), dtype=INDEX),
            **{"num_weights": words, "padding_idx": -1, "scale_grad_by_freq": by_frequency},
            **{"sparse": False, WHY: why},
        }
        yield taken(operator, offered)


def offsets(bags: int, each: int, last: bool = False) -> TensorSpec:
    """Where bags of so many indices each begin, and where the last one ends if `last`. Begins are
    at even distances: their steps in memory are those of the numbers."""
    in_order = msgspec.structs.replace(ONES, distribution="sequence")
    return msgspec.structs.replace(fixed(bags + last, fill=in_order, dtype=INDEX), strides=(each,))


BAGS = (
    ("DLRM on Criteo, single rows of a table, summed: bags of one", "sum", 2048, 1, 64, below),
    ("fastText, the mean of a text's words", "mean", 512, 50, 100, below),
    ("a recommender, the maximum over each user's last items", "max", 256, 20, 64, below),
    ("fastText, the mean of words as often as in text", "mean", 512, 50, 100, zipf),
)
"""Why, what is computed of a bag, how many bags, indices in each, the width, how rows are drawn."""


@FAMILIES.add("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Bags of rows of a table."""
    padded = operator.overload != "default"
    words = size.extent(100_000)
    further: Arguments = {}
    if padded:
        further = {"scale_grad_by_freq": False, "sparse": False}
        further |= {"include_last_offset": True, "padding_idx": 0}
    weighted = ("a factorisation machine: weighted features, summed", "sum", 512, 20, 64, below)
    for bag in BAGS[2:] if padded else (*BAGS, weighted):
        why, kind, count, each, width, drawn = bag
        if padded:
            # The padding is the most frequent index of batches with padding.
            why, drawn = f"{why}, but for padding", zipf
        bags = size.extent(count)
        if bag is weighted:
            further = {"per_sample_weights": tensor(bags * each, fill=PROBABILITY)}
        yield {
            WHY: why,
            "weight": tensor(words, width),
            "indices": fixed(bags * each, fill=drawn(words), dtype=INDEX),
            "offsets": offsets(bags, each, last=padded),
            "mode": KINDS.index(kind),
            **further,
        }


@FAMILIES.add(
    "_embedding_bag_backward", "_embedding_bag_dense_backward", "_embedding_bag_sparse_backward"
)
@FAMILIES.also("_embedding_bag_per_sample_weights_backward")
def embedding_bag_gradient(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Gradients of a table's rows, or of their weights, with what the forward pass keeps."""
    words = size.extent(100_000)
    for why, kind, count, each, width, drawn in (BAGS[0], BAGS[3], BAGS[2]):
        bags = size.extent(count)
        indices = bags * each
        made: Arguments = {
            WHY: why,
            "grad": tensor(bags, width),
            "weight": tensor(words, width),
            "indices": fixed(indices, fill=drawn(words), dtype=INDEX),
            # Contiguous, as the kernels ask for.
            "offsets": fixed(bags, fill=literal(tuple(range(0, indices, each))), dtype=INDEX),
            "offset2bag": fixed(indices, fill=repeated(each), dtype=INDEX),
            "bag_size": fixed(bags, fill=Fill("constant", float(each)), dtype=INDEX),
            "maximum_indices": fixed(bags, width, fill=below(words), dtype=INDEX),
            **{"num_weights": words, "mode": KINDS.index(kind)},
            **{"scale_grad_by_freq": False, "sparse": False},
        }
        if operator.parameter("weight") is not None:
            # Weights are of sums alone, in which bags of one need none.
            if kind != "mean":
                continue
            made["mode"] = KINDS.index("sum")
            made[WHY] = "a text's words, summed by weights of their own"
        elif kind != "sum" and "sparse" in operator.name:
            continue
        yield taken(operator, made)


@FAMILIES.add("pixel_shuffle", "pixel_unshuffle")
def pixels(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Maps and images, at a factor of two and more."""
    shuffles = operator.name == "pixel_shuffle"
    for why, channels, side, by in (
        ("between ESPCN's last maps and its images, three times as large", 3, 72, 3),
        ("between EDSR's 64 channels and maps twice as large", 64, 48, 2),
        ("between Swin-T's 96 channels and the 384 of its merged patches", 96, 28, 2),
    ):
        small = batch, _, high, wide = network_maps(size, channels * by**2, side, side, samples=4)
        shape = small if shuffles else (batch, channels, high * by, wide * by)
        factor = "upscale_factor" if shuffles else "downscale_factor"
        yield {WHY: why, "self": tensor(*shape), factor: by}


ROWS: dict[str, Variants] = {
    "channel_shuffle native_channel_shuffle": lambda size: {
        why: call(self=tensor(*shape), groups=groups)
        for why, shape, groups in (
            ("ShuffleNet v2, stage 2", network_maps(size, 116, 28, 28), 2),
            ("ShuffleNet v1, stage 2, three groups", network_maps(size, 60, 28, 28), 3),
        )
    },
    "embedding_renorm": lambda size: {
        why: call(
            self=tensor(size.extent(WORDS), 300),
            indices=fixed(1, size.extent(2048), fill=below(size.extent(WORDS)), dtype=INDEX),
            max_norm=limit,
            norm_type=order,
        )
        # Half of the rows of normal numbers are longer.
        for why, order, limit in (
            ("word vectors of a translator, of at most a length", 2.0, 300**0.5),
            ("word vectors of a translator, of at most a sum of absolute values", 1.0, 0.8 * 300),
        )
    },
    "bilinear": lambda size: {
        why: call(
            input1=tensor(rows, left), input2=tensor(rows, right), weight=tensor(units, left, right)
        )
        for why, rows, left, right, units in (
            ("a biaffine parser, labels of pairs of words", size.extent(256), 100, 100, 50),
            ("neural tensor network, relations of entities", size.extent(512), 100, 100, 4),
            ("Deep Graph Infomax on Cora, a score of each node", size.extent(2708), 512, 512, 1),
        )
    },
    "native_dropout_backward": lambda size: {
        why: call(
            grad_output=tensor(*shape),
            mask=fixed(*shape, fill=kept, dtype="bool"),
            scale=(kept.low + kept.high) / kept.high,
        )
        for why, shape, kept in (
            ("half of a dense layer's outputs", square(size), odds(1, 1)),
            ("BERT-base, nine tenths of the vectors of tokens", few_sentences(size), odds(1, 9)),
        )
    },
}
add_rows(FAMILIES.add, ROWS)

FURTHER: dict[str, Variants] = {
    "linear": lambda size: {
        why: call(input=tensor(1, rows, UNITS), weight=tensor(FEED_FORWARD, UNITS))
        for why, rows in (
            ("T5-base, feed-forward block without a bias, of a text", size.extent(512, least=16)),
            ("T5-base, feed-forward block, generating one word: a matrix by a vector", 1),
        )
    },
    "embedding.default": lambda size: {
        "word vectors of skip-gram, with a sparse gradient": call(
            weight=tensor(size.extent(WORDS), 300),
            indices=fixed(*tokens(size), fill=below(size.extent(WORDS)), dtype=INDEX),
            sparse=True,
        )
    },
}
add_rows(FAMILIES.also, FURTHER)
