"""Families of PyTorch's operators that read at indices, and of their derivatives."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from opperf.model import Fill, TensorSpec
from opperf.rules.bert import UNITS, few_sentences, scores, tokens
from opperf.rules.families.indexing import (
    FEATURES,
    INDEX,
    ONE_INDEX,
    PATCHES,
    indices,
    mask,
    nodes,
    shuffled,
    top_tokens,
)
from opperf.rules.image_shapes import CLASSES
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import in_cache, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    BOOLEAN,
    SEQUENCE,
    Arguments,
    below,
    call,
    fixed,
    odds,
    tensor,
    tensors,
)
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()


NEIGHBOURS = 8
"""Edges for each node."""


def edges(size: Preset) -> int:
    """Edges of a graph."""
    return NEIGHBOURS * nodes(size)


def expanded_index(rows: int, columns: int, limit: int) -> TensorSpec:
    """Indices of rows, each the same for all columns, without a copy: `index[:, None].expand`."""
    index = fixed(rows, columns, fill=below(limit), dtype=INDEX)
    return msgspec.structs.replace(index, strides=(1, 0))


EXPERTS, CHOSEN = 8, 2
"""Experts of a layer of Mixtral, and how many of them a token is sent to."""


def kept_patches(size: Preset) -> TensorSpec:
    """Indices of the patches of an image that a masked autoencoder sees, a quarter of them: each
    image's begin one later than those of the one before it, and all features have the same."""
    every = Fill("sequence", 1.0, float(PATCHES))
    index = fixed(size.images, PATCHES // 4, UNITS, fill=every, dtype=INDEX)
    return msgspec.structs.replace(index, strides=(1, 4, 0))


def to_classes(size: Preset) -> Arguments:
    """A row of scores for each sample, and the class of each."""
    count = size.extent(1024)
    return {
        "self": tensor(count, CLASSES),
        "dim": 1,
        "index": fixed(count, 1, fill=below(CLASSES), dtype=INDEX),
    }


def picked_by_one_index(size: Preset) -> Rows:
    """Tensors to read along an axis, at an index that is expanded along another."""
    _, heads, length, _ = scores(size)
    shape = stacked, *_ = (size.images * heads, length, length)
    index = fixed(*shape, fill=below(2 * length), dtype=INDEX)
    return {
        "DeBERTa's scores by relative position: one index for all heads, without a copy": call(
            self=tensor(stacked, length, 2 * length),
            dim=-1,
            index=msgspec.structs.replace(index, strides=(0, length, 1)),
        ),
        "the features of the node at each edge: one index for all features, without a copy": call(
            self=tensor(nodes(size), FEATURES),
            dim=0,
            index=expanded_index(edges(size), FEATURES, nodes(size)),
        ),
    }


VARIANTS: Mapping[str, Variants] = {
    "gather": lambda size: {
        "a quarter of each image's patches, as a masked autoencoder keeps them": call(
            self=tensor(size.images, PATCHES, UNITS), dim=1, index=kept_patches(size)
        ),
        "the score of each sample's class, for cross-entropy": to_classes(size),
    },
    "gather_backward": lambda size: {
        "the gradient of the score of each sample's class: one in each row is not zero": call(
            grad=tensor(size.extent(1024), 1), **to_classes(size), sparse_grad=False
        ),
        "the gradient of a quarter of each image's patches, in a masked autoencoder": call(
            grad=tensor(size.images, PATCHES // 4, UNITS),
            self=tensor(size.images, PATCHES, UNITS),
            dim=1,
            index=kept_patches(size),
            sparse_grad=False,
        ),
    },
    "index": lambda size: {
        "x[order], short rows": call(self=tensor(*tall(size)), indices=(shuffled(tall(size)[0]),)),
        "x[sample, last], as GPT-2's classifier reads the last token: two indices": call(
            self=tensor(*tokens(size), UNITS),
            indices=tensors(
                (
                    fixed(tokens(size)[0], fill=SEQUENCE, dtype=INDEX),
                    indices(tokens(size)[:1], tokens(size)[1]),
                )
            ),
        ),
    },
    "index_select": lambda size: {
        "the features of the node at each edge of a graph network: short rows": call(
            self=tensor(nodes(size), FEATURES), dim=0, index=indices((edges(size),), nodes(size))
        ),
        "samples in another order, as manifold mixup pairs them: long rows": call(
            self=tensor(*few_sentences(size)), dim=0, index=shuffled(size.images)
        ),
        "columns by index, as features of a random tree: single elements": call(
            self=tensor(*square(size)), dim=1, index=indices(square(size)[1:], square(size)[1])
        ),
    },
    "index_select_backward": lambda size: {
        "the gradient of the features at each edge, summed at their nodes": call(
            grad=tensor(edges(size), FEATURES),
            self_sizes=(nodes(size), FEATURES),
            dim=0,
            index=indices((edges(size),), nodes(size)),
        ),
        "the gradient of columns by index: single elements": call(
            grad=tensor(*square(size)),
            self_sizes=square(size),
            dim=1,
            index=indices(square(size)[1:], square(size)[1]),
        ),
    },
    "masked_scatter_backward": lambda size: {
        "the gradient of a list that filled half of a matrix": call(
            grad_output=tensor(*square(size)), mask=mask(square(size)), sizes=vector(size)
        )
    },
    "masked_select_backward": lambda size: {
        "the gradient of half of a matrix, back at its places": call(
            grad=tensor(*vector(size)), input=tensor(*square(size)), mask=mask(square(size))
        )
    },
    "nonzero_static": lambda size: {
        why: call(self=fixed(*square(size), fill=BOOLEAN), size=vector(size)[0] * room // 8)
        for room, why in (
            (6, "half of a matrix, in a table with room for more, as `torch.export` needs"),
            (2, "half of a matrix, in a table with room for a quarter: the rest is cut off"),
        )
    },
    "where.Scalar": lambda size: {
        why: call(condition=mask(shape), self=1.0, other=0.0)
        for shape, why in (
            (square(size), "one of two numbers by a mask, as weights of elements in a loss"),
            (in_cache(size), "one of two numbers by a mask of few rows, which stays in cache"),
        )
    },
    "where.ScalarOther": lambda size: {
        "elements where a mask is set, else zero, as a ReLU by hand": call(
            condition=mask(square(size)), self=tensor(*square(size)), other=0.0
        )
    },
    "where.ScalarSelf": lambda size: {
        "zero where a mask is set, else elements, as outliers are removed": call(
            condition=mask(square(size)), self=0.0, other=tensor(*square(size))
        )
    },
    "where.default": lambda size: {
        why: call(condition=fixed(*square(size), fill=fill, dtype="bool"))
        for fill, why in (
            (BOOLEAN, "indices where a mask of long rows is set: an object in an image"),
            (odds(99, 1), "few indices, as the edges of a graph by its matrix"),
        )
    },
}

add_rows(FAMILIES.add, VARIANTS, replaces="its indices are such as each overload takes")

FURTHER: Mapping[str, Variants] = {
    "gather.default": picked_by_one_index,
    "index.Tensor": lambda size: {
        "x[mask], counted first": call(self=tensor(*square(size)), indices=(mask(square(size)),)),
        "x[:, columns], as features by index: elements a row apart": call(
            self=tensor(*square(size)), indices=(None, indices(square(size)[1:], square(size)[1]))
        ),
    },
    "take_along_dim": lambda size: {ONE_INDEX: call(**top_tokens(size, "self"), dim=1)},
}
"""Other kinds of indices, beside the inputs of recorded runs."""

add_rows(FAMILIES.also, FURTHER)

ROWS: dict[str, Variants] = {
    "one_hot": lambda size: {
        "labels: their maximum is found first": call(self=indices((size.extent(4096),), CLASSES))
    }
}
add_rows(FAMILIES.add, ROWS)
