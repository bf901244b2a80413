"""Families of PyTorch's operators that read at indices, and of their derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.bert import UNITS, few_sentences, scores, tokens
from opperf.rules.configurations import WHY
from opperf.rules.families.indexing import INDEX, indices, mask
from opperf.rules.registering import Families
from opperf.rules.shapes import square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.torch.layouts import expanded_index
from opperf.rules.values import BOOLEAN, Arguments, below, fixed, tensor, tensors
from opperf.rules.variants import Variants, own

FAMILIES = Families()


def shuffled(*shape: int) -> TensorSpec:
    """Indices of which none recurs along the last axis."""
    return fixed(*shape, fill=Fill("permutation"), dtype=INDEX)


FEATURES = 64
"""Width of a node's features in a small graph network."""


NEIGHBOURS = 8
"""Edges for each node."""


def nodes(size: Preset) -> int:
    """Nodes of a graph: Cora has 2708, PubMed 19717."""
    return size.extent(10000)


def edges(size: Preset) -> int:
    """Edges of a graph."""
    return NEIGHBOURS * nodes(size)


CLASSES = 1000
"""Of ImageNet."""


EXPERTS, CHOSEN = 8, 2
"""Experts of a layer of Mixtral, and how many of them a token is sent to."""


PATCHES = 196
"""Patches of 16 x 16 pixels in a picture of 224 x 224."""


def kept_patches(size: Preset) -> TensorSpec:
    """Indices of the patches of a picture that a masked autoencoder sees, a quarter of them."""
    return fixed(size.pictures, PATCHES // 4, UNITS, fill=below(PATCHES), dtype=INDEX)


def to_classes(size: Preset) -> Arguments:
    """A row of scores for each sample, and the class of each."""
    count = size.extent(1024)
    return {
        "self": tensor(count, CLASSES),
        "dim": 1,
        "index": fixed(count, 1, fill=below(CLASSES), dtype=INDEX),
    }


def picked(size: Preset) -> Iterable[Arguments]:
    """Tensors to read along an axis, at an index for each element."""
    yield {
        "self": tensor(size.pictures, PATCHES, UNITS),
        "dim": 1,
        "index": kept_patches(size),
        WHY: "a quarter of a picture's patches, as a masked autoencoder keeps them",
    }
    yield {**to_classes(size), WHY: "the score of each sample's class, as in cross-entropy"}


def picked_by_one_index(size: Preset) -> Iterable[Arguments]:
    """Tensors to read along an axis, at an index that is expanded along another."""
    batch, heads, length, _ = scores(size)
    stacked = size.pictures * heads
    index = fixed(stacked, length, length, fill=below(2 * length), dtype=INDEX)
    yield {
        "self": tensor(stacked, length, 2 * length),
        "dim": -1,
        "index": msgspec.structs.replace(index, strides=(0, length, 1)),
        WHY: "DeBERTa's scores by relative position: one index for all heads, without a copy",
    }
    yield {
        "self": tensor(nodes(size), FEATURES),
        "dim": 0,
        "index": expanded_index(edges(size), FEATURES, nodes(size)),
        WHY: "the features of the node at each edge: one index for all features, without a copy",
    }


def read(size: Preset) -> Iterable[Arguments]:
    """Indexing by arrays as programs write it."""
    batch, length = tokens(size)
    rows = tall(size)
    yield {
        "self": tensor(*rows),
        "indices": tensors([shuffled(rows[0])]),
        WHY: "x[order], as samples shuffled before an epoch: short rows",
    }
    yield {
        "self": tensor(batch, length, UNITS),
        "indices": tensors([indices((batch,), batch), indices((batch,), length)]),
        WHY: "x[sample, last], as GPT-2's classifier reads the last token: two indices",
    }


def read_otherwise(size: Preset) -> Iterable[Arguments]:
    """Indexing by a mask, and along the second axis."""
    yield {
        "self": tensor(*square(size)),
        "indices": tensors([mask(square(size))]),
        WHY: "x[mask], as losses of tokens that are no padding: the mask is counted first",
    }
    shape = square(size)
    yield {
        "self": tensor(*shape),
        "indices": (None, indices((shape[1],), shape[1])),
        WHY: "x[:, columns], as features by index: elements a row apart",
    }


VARIANTS: Mapping[str, Variants] = {
    "gather": picked,
    "gather_backward": lambda size: [
        {
            "grad": tensor(count := size.extent(1024), 1),
            "self": tensor(count, CLASSES),
            "dim": 1,
            "index": fixed(count, 1, fill=below(CLASSES), dtype=INDEX),
            "sparse_grad": False,
            WHY: "the gradient of the score of each sample's class: zeros but for one in a row",
        },
        {
            "grad": tensor(size.pictures, PATCHES // 4, UNITS),
            "self": tensor(size.pictures, PATCHES, UNITS),
            "dim": 1,
            "index": kept_patches(size),
            "sparse_grad": False,
            WHY: "the gradient of a quarter of a picture's patches, in a masked autoencoder",
        },
    ],
    "index": read,
    "index_select": lambda size: [
        {
            "self": tensor(nodes(size), FEATURES),
            "dim": 0,
            "index": indices((edges(size),), nodes(size)),
            WHY: "the features of the node at each edge, as in a graph network: short rows",
        },
        {
            "self": tensor(*few_sentences(size)),
            "dim": 0,
            "index": shuffled(size.pictures),
            WHY: "a beam search's hypotheses in a new order: long rows",
        },
        {
            "self": tensor(*square(size)),
            "dim": 1,
            "index": indices(square(size)[1:], square(size)[1]),
            WHY: "columns by index, as features in another order: single elements",
        },
    ],
    "index_select_backward": lambda size: [
        {
            "grad": tensor(edges(size), FEATURES),
            "self_sizes": (nodes(size), FEATURES),
            "dim": 0,
            "index": indices((edges(size),), nodes(size)),
            WHY: "the gradient of the features at each edge, summed at their nodes",
        },
        {
            "grad": tensor(*square(size)),
            "self_sizes": square(size),
            "dim": 1,
            "index": indices(square(size)[1:], square(size)[1]),
            WHY: "the gradient of columns by index: single elements",
        },
    ],
    "masked_scatter_backward": lambda size: [
        {
            "grad_output": tensor(*square(size)),
            "mask": mask(square(size)),
            "sizes": vector(size),
            WHY: "the gradient of a list that filled half of a matrix",
        }
    ],
    "masked_select_backward": lambda size: [
        {
            "grad": tensor(*vector(size)),
            "input": tensor(*square(size)),
            "mask": mask(square(size)),
            WHY: "the gradient of half of a matrix, back at its places",
        }
    ],
    "nonzero_static": lambda size: [
        {
            "self": fixed(*square(size), fill=BOOLEAN),
            "size": vector(size)[0] * room // 8,
            WHY: why,
        }
        for room, why in (
            (6, "half of a matrix, in a table with room for more, as `torch.export` needs"),
            (2, "half of a matrix, in a table with room for a quarter: the rest is cut off"),
        )
    ],
    "one_hot": lambda size: [
        {
            "self": indices((size.extent(4096),), CLASSES),
            "num_classes": CLASSES,
            WHY: "labels of ImageNet's classes, as for a loss with smoothed labels",
        },
        {
            "self": indices(tokens(size), EXPERTS),
            "num_classes": EXPERTS,
            WHY: "the expert of each token, as a mask of Mixtral's router",
        },
        {
            "self": indices((size.extent(4096),), CLASSES),
            WHY: "labels without a number of classes: the greatest is looked for first",
        },
    ],
    "where.Scalar": lambda size: [
        {"condition": mask(shape), "self": 1.0, "other": 0.0, WHY: why}
        for shape, why in (
            (square(size), "one of two numbers by a mask, as a bias of attention is made"),
            (tall(size), "one of two numbers by a mask of many short rows, as labels"),
        )
    ],
    "where.ScalarOther": lambda size: [
        {
            "condition": mask(square(size)),
            "self": tensor(*square(size)),
            "other": 0.0,
            WHY: "elements where a mask is set, else zero, as a ReLU by hand",
        }
    ],
    "where.ScalarSelf": lambda size: [
        {
            "condition": mask(square(size)),
            "self": 0.0,
            "other": tensor(*square(size)),
            WHY: "zero where a mask is set, else elements, as outliers are removed",
        }
    ],
    "where.default": lambda size: [
        {"condition": mask(shape), WHY: why}
        for shape, why in (
            (square(size), "indices where a mask of long rows is set, as a picture's object"),
            (tall(size), "indices where a mask of short rows is set, as labels of each sample"),
        )
    ],
}
"""Operators by name, or by overload where those take other arguments."""


@FAMILIES.add(*VARIANTS)
def at_indices(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors, and indices within their extents or masks that are set at half of the elements."""
    return own(VARIANTS, operator, size)


FURTHER: Mapping[str, Variants] = {
    "gather.default": picked_by_one_index,
    "index.Tensor": read_otherwise,
}
"""Other kinds of indices, beside the inputs of recorded runs."""


@FAMILIES.also(*FURTHER)
def otherwise(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Indices that are expanded, masks, and indices along other axes."""
    return own(FURTHER, operator, size)
