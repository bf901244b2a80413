"""Families of PyTorch's operators that join and split tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Operator
from opperf.rules.bert import FEED_FORWARD, UNITS, few_sentences, tokens
from opperf.rules.configurations import WHY
from opperf.rules.families.shapes import PARTS
from opperf.rules.pictures import feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import LIST_LENGTH, square
from opperf.rules.sizes import Preset
from opperf.rules.torch.layouts import in_channels_last, transposed
from opperf.rules.values import Arguments, tensor, tensors
from opperf.rules.variants import Variants, own

FAMILIES = Families()


def parameters(size: Preset) -> tuple[tuple[int, ...], ...]:
    """Shapes of the parameters of a feed-forward block of BERT-base, narrower at size small."""
    width, inner = size.extent(UNITS), size.extent(FEED_FORWARD)
    return ((inner, width), (inner,), (width, inner), (width,))


def small_parameters(size: Preset) -> tuple[tuple[int, ...], ...]:
    """Shapes of the scales and shifts of many layers."""
    return ((size.extent(UNITS),),) * 64


VARIANTS: Mapping[str, Variants] = {
    "cartesian_prod": lambda size: [
        {
            "tensors": tensors([tensor(extent)] * count),
            WHY: why,
        }
        for extent, count, why in (
            (size.extent(1024), 2, "each pair of two lists, as the points of a grid search"),
            (size.extent(96), 3, "each triple of three lists, as the points of a volume"),
        )
    ],
    "flatten_dense_tensors": lambda size: [
        {"tensors": tensors(tensor(*shape) for shape in shapes), WHY: why}
        for shapes, why in (
            (parameters(size), "a few large gradients to a bucket, as for a sum over devices"),
            (small_parameters(size), "many small gradients to a bucket: short copies"),
        )
    ],
    "unflatten_dense_tensors": lambda size: [
        {
            "flat": tensor(sum(tensor(*shape).size for shape in shapes)),
            "tensors": tensors(tensor(*shape) for shape in shapes),
            WHY: why,
        }
        for shapes, why in (
            (parameters(size), "a bucket back to a few large gradients: views"),
            (small_parameters(size), "a bucket back to many small gradients: views"),
        )
    ],
}


@FAMILIES.add(*VARIANTS)
def lists(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Lists of tensors."""
    return own(VARIANTS, operator, size)


@FAMILIES.also("cat.default")
def in_memory(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors whose elements are not in the order of their axes, and ones of unlike extents."""
    maps = feature_maps(size)
    yield {
        "tensors": tensors([in_channels_last(maps)] * LIST_LENGTH),
        "dim": 1,
        WHY: "channels last: channels of feature maps, as in DenseNet: short copies",
    }
    yield {
        "tensors": tensors([transposed(square(size))] * LIST_LENGTH),
        "dim": 0,
        WHY: "x.T of several matrices, rows one after another: copied element by element",
    }
    batch, _, width = few_sentences(size)
    _, length = tokens(size)
    yield {
        "tensors": tensors([tensor(batch, length, width), tensor(batch, 1, width)]),
        "dim": 1,
        WHY: "one token behind those before it, as the keys of a cache grow",
    }


@FAMILIES.also("stack.default")
def pieces(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Many small tensors."""
    yield {
        "tensors": tensors([tensor(size.batch, UNITS)] * size.extent(128)),
        "dim": 1,
        WHY: "the time steps of a recurrent layer, which a loop collected",
    }


@FAMILIES.also("split.Tensor", "unsafe_split.Tensor", "split_copy.Tensor")
def heads(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A projection that is taken apart along the last axis."""
    yield {
        "self": tensor(*few_sentences(size, LIST_LENGTH * UNITS)),
        "split_size": UNITS,
        "dim": -1,
        WHY: "queries, keys and values of GPT-2's one projection, side by side",
    }


@FAMILIES.also("chunk.default", "unsafe_chunk.default")
def gates(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A projection that is taken apart along the last axis."""
    yield {
        "self": tensor(size.batch, PARTS * UNITS),
        "chunks": PARTS,
        "dim": 1,
        WHY: "the four gates of an LSTM's cell, side by side",
    }


@FAMILIES.also("pad_sequence.default")
def in_front(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Sequences of different lengths, with the padding in front and time first."""
    batch, longest = tokens(size)
    lengths = [longest - i * longest // (2 * batch) for i in range(batch)]
    yield {
        "sequences": tensors(tensor(length, UNITS) for length in lengths),
        "padding_side": "left",
        WHY: "prompts of different lengths, padded in front, as decoders need them",
    }
