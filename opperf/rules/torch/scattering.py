"""Families of PyTorch's operators that write, add or combine values at indices."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.model import Fill, TensorSpec
from opperf.rules.bert import FEED_FORWARD, WIDTH
from opperf.rules.families.indexing import FEATURES, INDEX, indices, mask, nodes
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import line, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.torch.indexing import CHOSEN, EXPERTS, edges, expanded_index, shuffled, to_classes
from opperf.rules.torch.replacing import cache
from opperf.rules.values import NORMAL, Arguments, call, fixed, named, tensor, tensors
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()


SOURCE = named("self dim index source")
SENT_BY = named("self dim index src")


def messages(size: Preset, fill: Fill = NORMAL) -> Arguments:
    """Features of nodes, the node that each edge leads to, and the message along it."""
    count = edges(size)
    data, sent = tensor(nodes(size), FEATURES), tensor(count, FEATURES, fill=fill)
    return SOURCE(data, 0, indices((count,), nodes(size)), sent)


def sent(size: Preset) -> Arguments:
    """As `messages`, with the index expanded to all features."""
    data, source = tensor(nodes(size), FEATURES), tensor(edges(size), FEATURES)
    return SENT_BY(data, 0, expanded_index(edges(size), FEATURES, nodes(size)), source)


SENT = "messages summed at their nodes, as PyTorch Geometric does: one index for all features"


def to_own_places(size: Preset) -> Arguments:
    """A matrix, and as many numbers with an index along each row."""
    shape = square(size)
    return SENT_BY(tensor(*shape), 1, shuffled(*shape), tensor(*shape))


def reduced(size: Preset) -> Rows:
    """Messages that are combined at their nodes in each way."""
    return {
        SENT: call(**sent(size), reduce="sum"),
        "messages averaged at their nodes, as GraphSAGE's aggregator": call(
            **sent(size), reduce="mean"
        ),
        "the maximum of the messages at each node (PointNet++, EdgeConv)": call(
            **sent(size), reduce="amax"
        ),
        "the maximum message without the node's own: the output is reset first": call(
            **sent(size), reduce="amax", include_self=False
        ),
        "numbers added in their rows, each with an index of its own: not one for all": call(
            **to_own_places(size), reduce="sum"
        ),
    }


def chosen(count: int, limit: int) -> TensorSpec:
    """Different indices below a limit."""
    return fixed(count, fill=Fill("permutation", 0.0, float(limit)), dtype=INDEX)


def write(size: Preset) -> Rows:
    """Rows that are replaced, by one index, and an element of each of many vectors."""
    rows, columns = square(size)
    half, keys = max(1, rows // 2), cache(size)
    return {
        "x[chosen] = rows, as results put back at the places of their samples": call(
            self=tensor(rows, columns),
            indices=tensors([chosen(half, rows)]),
            values=tensor(half, columns),
        ),
        "one token's keys to a static cache, as gpt-fast's generation: a copy of all": call(
            self=keys,
            indices=(None, None, indices((1,), keys.shape[2])),
            values=tensor(*keys.shape[:2], 1, WIDTH),
        ),
    }


VARIANTS: Mapping[str, Variants] = {
    "index_add": lambda size: {
        "messages summed at their nodes: whole rows at one index": messages(size),
        "messages times a number, summed, as a step of label propagation": call(
            **messages(size), alpha=0.5
        ),
        "features before nodes: single elements at one index": SOURCE(
            tensor(FEATURES, nodes(size)),
            1,
            indices((edges(size),), nodes(size)),
            tensor(FEATURES, edges(size)),
        ),
    },
    "index_put": write,
    "index_reduce": lambda size: {
        why: call(**messages(size, fill=Fill("uniform", 0.5, 1.5)), reduce=reduce)
        for reduce, why in (
            ("mean", "messages averaged at their nodes: whole rows at one index"),
            ("amax", "the maximum message at each node: whole rows at one index"),
            ("prod", "messages multiplied, as probabilities of independent events"),
        )
    },
    "put": lambda size: {
        "few elements at positions in memory, as a sparse update: a copy of all": call(
            self=tensor(*square(size)),
            index=chosen(line(size)[0] // 4, vector(size)[0]),
            source=tensor(line(size)[0] // 4),
        ),
        "few elements added at positions in memory, as the gradient of `take`: a copy of all": call(
            self=tensor(*square(size)),
            index=indices(line(size), vector(size)[0]),
            source=tensor(*line(size)),
            accumulate=True,
        ),
    },
    "scatter.reduce": lambda size: {
        f"{verb} in their rows at indices of their own": call(**to_own_places(size), reduce=reduce)
        for reduce, verb in (("add", "numbers added"), ("multiply", "numbers multiplied"))
    },
    "scatter": lambda size: {
        "each number to a place of its own in its row, as unsorted scores": to_own_places(size),
        # Two of its places for each token, in either order: none recurs in a row.
        "weights of two experts for each token, as Mixtral's router: short rows": SENT_BY(
            tensor(count := size.extent(16384), EXPERTS),
            *(1, shuffled(count, CHOSEN), tensor(count, CHOSEN)),
        ),
    },
    "scatter.value": lambda size: {
        "a number at each sample's class, as smoothed labels of ImageNet's classes": call(
            **to_classes(size), value=0.9
        ),
        "a number at many places of each row, as a mask of the words that were used": call(
            self=tensor(*square(size)),
            dim=1,
            index=indices(square(size), square(size)[1]),
            value=-1.0,
        ),
    },
    "scatter.value_reduce": lambda size: {
        f"a number {verb} each sample's class, as to change its margin": call(
            **to_classes(size), value=0.5, reduce=reduce
        )
        for reduce, verb in (("add", "added at"), ("multiply", "multiplied with"))
    },
    "scatter_add": lambda size: {
        "numbers added in their rows, each at an index of its own": to_own_places(size),
        "votes added in bins of each row, as a pointer network copies words": SENT_BY(
            tensor(size.batch, FEED_FORWARD),
            1,
            indices((size.batch, FEED_FORWARD * 4), FEED_FORWARD),
            tensor(size.batch, FEED_FORWARD * 4),
        ),
    },
    "scatter_reduce": reduced,
}

add_rows(FAMILIES.add, VARIANTS)


FURTHER: Mapping[str, Variants] = {
    "index_put.default": lambda size: {
        "numbers added at rows and columns, as a confusion matrix or a gradient of x[i, j]": call(
            self=tensor(side := size.extent(1024), side),
            indices=tensors([indices(line(size), side)] * 2),
            values=tensor(*line(size)),
            accumulate=True,
        ),
        "x[mask] = number, as gaps that are filled": call(
            self=tensor(*square(size)), indices=tensors([mask(square(size))]), values=tensor()
        ),
    },
    "scatter_add.default": lambda size: {SENT: sent(size)},
}
"""Other kinds of indices, beside the inputs of recorded runs."""


add_rows(FAMILIES.also, FURTHER)
