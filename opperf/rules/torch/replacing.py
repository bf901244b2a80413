"""Families of PyTorch's operators that replace a part of a tensor, or write values at indices."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.model import Argument, Fill, TensorSpec
from opperf.rules.bert import FEED_FORWARD, UNITS, WIDTH, few_sentences, layer_width, scores, tokens
from opperf.rules.configurations import DTYPE
from opperf.rules.families.indexing import FEATURES, indices, mask, nodes, shuffled
from opperf.rules.image_shapes import feature_maps
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import cube, line, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.torch.indexing import CHOSEN, EXPERTS, edges, expanded_index, to_classes
from opperf.rules.torch.operations.convolutions import channels_last
from opperf.rules.values import NORMAL, ZEROS, Arguments, call, fixed, named, tensor, tensors
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()


CACHED = 1024
"""Tokens that a cache of keys has room for."""


def cache(size: Preset) -> TensorSpec:
    """Keys of earlier tokens, by sample and head."""
    return tensor(size.batch // 2, 12, size.extent(CACHED, least=64), WIDTH)


MASKED = "GPT-2's scores of texts padded on the left, one number where a mask excludes a token"

LEFT = Fill("padded", 0.0, 0.5)
"""Of a mask of padding in front of texts."""


def _masked(value: Argument) -> Variants:
    def variants(size: Preset) -> Rows:
        _, *other = scores(size)
        padding = fixed(size.images, 1, 1, other[-1], fill=LEFT, dtype="bool")
        return {MASKED: call(self=tensor(size.images, *other), mask=padding, value=value)}

    return variants


def filled(value: Argument) -> Variants:
    """Spectrograms, of which some slices are set to a number."""

    def variants(size: Preset) -> Rows:
        batch, length = tokens(size)
        spectra = tensor(batch, length, 80)
        return {
            f"{what}, as SpecAugment: {how}": call(
                self=spectra, dim=dim, index=shuffled(max(2, spectra.shape[dim] // 8)), value=value
            )
            for dim, what, how in (
                (1, "time steps of spectrograms masked", "whole rows"),
                (2, "frequencies of spectrograms masked", "single elements"),
            )
        }

    return variants


def whole(value: Argument, zero: Argument) -> Variants:
    """A tensor that is set to a number, and one to zero."""
    return lambda size: {
        "a matrix set to one number": call(self=tensor(*square(size)), value=value),
        "a layer's gradient set to zero, in bfloat16": call(
            self=tensor(width := layer_width(size), 4 * width), value=zero, **{DTYPE: "bfloat16"}
        ),
    }


COPIED = named("self dim index source")
PART = named("self src dim index")
SLICE = named("self src dim start end step")
OVERLAPPING = named("grad_in input_sizes dim size step")


def _slices(size: Preset) -> Rows:
    keys, matrix = cache(size), tensor(*square(size))
    rows, width = square(size)
    return {
        "a block of keys in a cache replaced, as a compiled graph does it": call(
            self=keys, src=tensor(*keys.shape[:2], 16, WIDTH), dim=2, start=16, end=32
        ),
        "rotary embeddings' even columns": SLICE(matrix, tensor(rows, width // 2), 1, 0, width, 2),
        "half of the rows": call(self=matrix, src=tensor(rows // 2, width), start=0, end=rows // 2),
    }


VARIANTS: Mapping[str, Variants] = {
    "index_copy": lambda size: {
        "one token's keys to a static cache, as Transformers' generation: a copy of all": COPIED(
            keys := cache(size), 2, shuffled(1), tensor(*keys.shape[:2], 1, WIDTH)
        ),
        "all rows in another order, as results put back: whole rows": COPIED(
            matrix := tensor(*square(size)), 0, shuffled(square(size)[0]), matrix
        ),
        "columns shuffled: single elements": COPIED(matrix, 1, shuffled(square(size)[1]), matrix),
    },
    "index_fill.int_Scalar": filled(0.0),
    "index_fill.int_Tensor": filled(tensor()),
    "masked_scatter": lambda size: {
        "vectors of an image's patches in place of tokens: rows by a mask": call(
            self=(words := tensor(*few_sentences(size))),
            mask=mask((*words.shape[:2], 1)),
            source=words,
        ),
        "half of a matrix from a list, as measurements put back in their places": call(
            self=tensor(*square(size)), mask=mask(square(size)), source=tensor(*vector(size))
        ),
    },
    "as_strided_scatter": lambda size: {
        "every other column replaced, by strides, as a functional graph's view": call(
            self=tensor(rows := square(size)[0], columns := square(size)[1]),
            src=tensor(rows, columns // 2),
            size=(rows, columns // 2),
            stride=(columns, 2),
        ),
        "a diagonal replaced, by one stride: mostly a copy of the matrix": call(
            self=tensor(rows, columns),
            src=tensor(shorter := min(rows, columns)),
            size=(shorter,),
            stride=(columns + 1,),
        ),
    },
    "diagonal_scatter": lambda size: {
        "a diagonal with a ridge": call(self=tensor(*square(size)), src=tensor(min(square(size)))),
        "a diagonal of each matrix of a stack replaced, as transitions of states": call(
            self=(stack := tensor(*cube(size))),
            src=tensor(stack.shape[0], stack.shape[1] - 1),
            offset=1,
            dim1=1,
            dim2=2,
        ),
    },
    "select_scatter": lambda size: {
        "new class tokens": PART(tensor(*few_sentences(size)), tensor(size.images, UNITS), 1, 0),
        "a column: mostly a copy": PART(tensor(*square(size)), tensor(square(size)[0]), 1, 3),
    },
    "slice_scatter": _slices,
    "unfold_backward": lambda size: {
        "the gradient of a signal's overlapping frames, as before a Fourier transform": OVERLAPPING(
            tensor(size.batch, (count := size.extent(16384)) // 128 - 3, 512),
            *((size.batch, count), 1, 512, 128),
        ),
        "the gradient of an image's rows of patches: nothing overlaps": OVERLAPPING(
            tensor(size.batch, 3, (side := size.side(224)) // 16, side, 16),
            *((size.batch, 3, side, side), 2, 16, 16),
        ),
    },
    "fill.Scalar": whole(2.0, 0.0),
    "fill.Tensor": whole(fixed(), fixed(fill=ZEROS)),
}

add_rows(FAMILIES.add, VARIANTS, replaces="it writes to a tensor that is there")


SENT_BY = named("self dim index src")


def messages(size: Preset, fill: Fill = NORMAL) -> Arguments:
    """Features of nodes, the node that each edge leads to, and the message along it."""
    count = edges(size)
    data, source = tensor(nodes(size), FEATURES), tensor(count, FEATURES, fill=fill)
    return COPIED(data, 0, indices((count,), nodes(size)), source)


def _sent(size: Preset) -> Arguments:
    data, source = tensor(nodes(size), FEATURES), tensor(edges(size), FEATURES)
    return SENT_BY(data, 0, expanded_index(edges(size), FEATURES, nodes(size)), source)


SENT = "messages summed at their nodes, as PyTorch Geometric does: one index for all features"


def to_own_places(size: Preset) -> Arguments:
    """A matrix, and as many numbers with an index along each row."""
    shape = square(size)
    return SENT_BY(tensor(*shape), 1, shuffled(*shape), tensor(*shape))


def _reduced(size: Preset) -> Rows:
    return {
        SENT: call(**_sent(size), reduce="sum"),
        "messages averaged at nodes, as GraphSAGE's aggregator": call(**_sent(size), reduce="mean"),
        "each node's largest message (PointNet++, EdgeConv)": call(**_sent(size), reduce="amax"),
        "the largest message without the node's own": call(
            **_sent(size), reduce="amax", include_self=False
        ),
        "numbers added in rows, each at its own index": call(**to_own_places(size), reduce="sum"),
    }


def _write(size: Preset) -> Rows:
    rows, columns = square(size)
    half, keys = max(1, rows // 2), cache(size)
    return {
        "x[chosen] = rows, as results put back at the places of their samples": call(
            self=tensor(rows, columns),
            indices=tensors([shuffled(half, limit=rows)]),
            values=tensor(half, columns),
        ),
        "one token's keys to a static cache, as gpt-fast's generation: a copy of all": call(
            self=keys,
            indices=(None, None, indices((1,), keys.shape[2])),
            values=tensor(*keys.shape[:2], 1, WIDTH),
        ),
    }


AT_INDICES: Mapping[str, Variants] = {
    "masked_fill": _masked(-10000.0),
    "masked_fill.Tensor": _masked(tensor()),
    "index_add": lambda size: {
        "messages summed at their nodes: whole rows at one index": messages(size),
        "features before nodes: single elements at one index": COPIED(
            tensor(FEATURES, nodes(size)),
            1,
            indices((edges(size),), nodes(size)),
            tensor(FEATURES, edges(size)),
        ),
    },
    "index_put": _write,
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
            index=shuffled(line(size)[0] // 4, limit=vector(size)[0]),
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
        "numbers added in their rows at indices of their own": call(
            **to_own_places(size), reduce="add"
        ),
        "the score of each sample's class, multiplied with its weight": call(
            **to_classes(size), src=tensor(size.extent(1024), 1), reduce="multiply"
        ),
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
        "a number at each sample's class, as smoothed labels": call(**to_classes(size), value=0.9),
        "a number at many places of each row, as a mask of the words that were used": call(
            self=tensor(*square(size)),
            dim=1,
            index=indices(square(size), square(size)[1]),
            value=-1.0,
        ),
    },
    "scatter.value_reduce": lambda size: {
        "a margin added at each sample's class": call(**to_classes(size), value=0.5, reduce="add"),
        "scores halved for each time that a word was used, at many places of each row": call(
            self=tensor(*square(size)),
            dim=1,
            index=indices(square(size), square(size)[1]),
            value=0.5,
            reduce="multiply",
        ),
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
    "scatter_reduce": _reduced,
}

add_rows(FAMILIES.add, AT_INDICES)


def masked_channels(value: Argument) -> Variants:
    """Feature maps with channels last, and a mask of channels."""
    return lambda size: {
        "channels last: half of the channels set to a number, as they are pruned": call(
            self=channels_last(tensor(*(maps := feature_maps(size)))),
            mask=mask((1, maps[1], 1, 1)),
            value=value,
        )
    }


OTHER_INDICES: Mapping[str, Variants] = {
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
    "masked_fill.Scalar": masked_channels(0.0),
    "masked_fill.Tensor": masked_channels(tensor()),
    "scatter_add.default": lambda size: {SENT: _sent(size)},
}
"""Other kinds of indices and order, beside the inputs of recorded runs."""
add_rows(FAMILIES.also, OTHER_INDICES)
