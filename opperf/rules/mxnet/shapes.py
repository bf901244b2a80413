"""Operators that rearrange, repeat, join or split elements, without arithmetic."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Operator
from opperf.rules.bert import UNITS, few_sentences
from opperf.rules.configurations import WHY
from opperf.rules.families.shapes import PADDING, PER_CHANNEL, PER_SAMPLE, PER_UNIT
from opperf.rules.pictures import feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import MOSTLY_DISPATCH, Shape, column, cube, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, literal, tensor, tensors

FAMILIES = Families()

PARTS = 4
"""Number of parts that a tensor is split into. It divides the extents of `square` and `cube`."""
TIMES = 2
"""Repetitions of elements, and the side of an image's blocks."""


def pictures(size: Preset) -> Shape:
    """Shape of a batch of feature maps."""
    return (size.batch, 16, size.side(64), size.side(64))


def first(operator: Operator) -> str:
    """Name of an operator's first tensor: `data` in `mx.nd`, `a` in some of `mx.np`."""
    return operator.tensors[0].name


Variants = tuple[tuple[Shape, dict[str, Argument]], ...]


def one_tensor(operator: Operator, variants: Variants) -> Iterable[Arguments]:
    """A tensor of each shape, with the plain values beside the shape."""
    for shape, values in variants:
        yield {first(operator): tensor(*shape), **values}


@FAMILIES.add("Reshape")
def reshape(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors to reshape to a vector, to a matrix, and with the first axis kept."""
    rows, columns = square(size)
    return one_tensor(
        operator,
        (
            (square(size), {"shape": (-1,), WHY: "a matrix to one vector, as gradients laid flat"}),
            (
                square(size),
                {
                    "shape": (columns, rows),
                    WHY: "a matrix to another, as time steps are merged into the batch",
                },
            ),
            (
                cube(size),
                {"shape": (0, -1), WHY: "samples of any shape to rows, for a dense layer"},
            ),
        ),
    )


@FAMILIES.add("reshape_like")
def reshape_like(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor, and another of the shape to reshape to."""
    rows, columns = square(size)
    flat = "a matrix to another's vector, as predictions are paired with labels"
    yield {"lhs": tensor(rows, columns), "rhs": fixed(*vector(size)), WHY: flat}
    loss = "a vector to another's matrix, as Gluon's losses give labels the predictions' shape"
    yield {"lhs": tensor(*vector(size)), "rhs": fixed(rows, columns), WHY: loss}


@FAMILIES.add("_contrib_dynamic_reshape")
def dynamic_reshape(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the shape to reshape to as a tensor."""
    rows, columns = square(size)
    shape = (rows * PARTS, columns // PARTS)
    yield {
        "data": fixed(rows, columns),
        "shape": fixed(2, fill=literal(shape), dtype="int64"),
        WHY: "a matrix to a shape that is a tensor, as one that a model computes",
    }


@FAMILIES.add("shape_array", "size_array")
def extents(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps, of which only the extents are read."""
    why = f"feature maps' extents, as an exported graph reads them: {MOSTLY_DISPATCH}"
    yield {"data": tensor(*feature_maps(size)), WHY: why}


@FAMILIES.add("Flatten")
def flatten(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors of which all axes but the first are merged."""
    return one_tensor(
        operator,
        (
            (
                cube(size),
                {WHY: "sequences to rows, before a dense layer that reads all time steps"},
            ),
            (pictures(size), {WHY: "feature maps to rows, before a classifier's dense layer"}),
        ),
    )


@FAMILIES.add("depth_to_space")
def depth_to_space(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps, whose channels become blocks of pixels."""
    why = "channels to blocks of pixels, as the sub-pixel upsampling of super-resolution"
    return one_tensor(operator, ((pictures(size), {"block_size": TIMES, WHY: why}),))


@FAMILIES.add("space_to_depth")
def space_to_depth(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps, whose blocks of pixels become channels."""
    why = "blocks of pixels to channels, as detectors halve the extents without a loss"
    return one_tensor(operator, ((pictures(size), {"block_size": TIMES, WHY: why}),))


@FAMILIES.add("_npi_diag_indices_from")
def diag_indices(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A square matrix, for the indices of its diagonal."""
    why = "the indices of a matrix's diagonal, as to add a constant there"
    yield {"data": fixed(*square(size)), WHY: why}


PHONEMES = 128
"""In a long sentence."""
LONGEST = 8
"""Frames of a phoneme, at most: a tenth of a second."""


@FAMILIES.add("_npi_repeats")
def repeats(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the number of repetitions of each row."""
    rows, columns = size.extent(PHONEMES), square(size)[1]
    times = tuple(1 + row % LONGEST for row in range(rows))
    why = "rows a number of times each, as speech synthesis repeats phonemes by their duration"
    yield {"data": tensor(rows, columns), "repeats": times, "axis": 0, WHY: why}


@FAMILIES.add("Pad")
def pad(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps to pad, in each mode."""
    border = (0, 0, 0, 0, TIMES, TIMES, TIMES, TIMES)
    for mode in ("constant", "edge", "reflect"):
        maps = tensor(*pictures(size))
        yield {"data": maps, "mode": mode, "pad_width": border, WHY: PADDING[mode]}


@FAMILIES.add("broadcast_axis")
def broadcast_axis(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A column, a row, and a number per channel, each with the extents to broadcast to."""
    rows, columns = square(size)
    batch, channels, height, width = feature_maps(size)
    to_maps: Arguments = {"axis": (0, 2, 3), "size": (batch, height, width), WHY: PER_CHANNEL}
    return one_tensor(
        operator,
        (
            (column(size), {"axis": (1,), "size": (tall(size)[1],), WHY: PER_SAMPLE}),
            ((1, columns), {"axis": (0,), "size": (rows,), WHY: PER_UNIT}),
            ((1, channels, 1, 1), to_maps),
        ),
    )


@FAMILIES.add("broadcast_like")
def broadcast_like(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A column, a row, and a number per channel, each with a tensor of the shape to broadcast
    to."""
    rows, columns = square(size)
    yield {"lhs": tensor(*column(size)), "rhs": fixed(*tall(size)), WHY: PER_SAMPLE}
    yield {"lhs": tensor(1, columns), "rhs": fixed(rows, columns), WHY: PER_UNIT}
    maps = feature_maps(size)
    yield {"lhs": tensor(1, maps[1], 1, 1), "rhs": fixed(*maps), WHY: PER_CHANNEL}


PROJECTED = 3
"""Queries, keys and values."""


def projections(size: Preset) -> Shape:
    """Shape of BERT-base's queries, keys and values in one tensor, side by side."""
    return few_sentences(size, PROJECTED * UNITS)


GATES = "columns in four parts, as the gates of an LSTM: a copy for each row"
DEVICES = "rows in equal parts, as a batch for several devices: each part is one copy"
QUERIES_KEYS_VALUES = "queries, keys and values of BERT-base, from one dense layer"
SHUFFLED = "channels of feature maps in two halves, as in ShuffleNet's blocks"


@FAMILIES.add("SliceChannel")
def split(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix to split into equal parts along each axis, tokens' vectors, and channels."""
    tokens_apart: Arguments = {"num_outputs": PROJECTED, "axis": 2, WHY: QUERIES_KEYS_VALUES}
    return one_tensor(
        operator,
        (
            (square(size), {"num_outputs": PARTS, "axis": 1, WHY: GATES}),
            (square(size), {"num_outputs": PARTS, "axis": 0, WHY: DEVICES}),
            (projections(size), tokens_apart),
            (feature_maps(size), {"num_outputs": 2, "axis": 1, WHY: SHUFFLED}),
        ),
    )


@FAMILIES.add("_split_v2")
def split_v2(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix to split into equal parts along each axis, and at some rows, and tokens' vectors."""
    rows, _ = square(size)
    tokens_apart: Arguments = {"indices": (), "axis": 2, "sections": PROJECTED}
    unequal = "rows at given places, as data for training, validation and testing"
    return one_tensor(
        operator,
        (
            (square(size), {"indices": (), "axis": 1, "sections": PARTS, WHY: GATES}),
            (square(size), {"indices": (), "axis": 0, "sections": PARTS, WHY: DEVICES}),
            (square(size), {"indices": (0, rows // 4, rows // 2), "axis": 0, WHY: unequal}),
            (projections(size), {**tokens_apart, WHY: QUERIES_KEYS_VALUES}),
        ),
    )


@FAMILIES.add("Crop")
def crop(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps to crop to a size at an offset, and in the middle to another tensor's size."""
    batch, channels, height, width = pictures(size)
    cut = (height // 2, width // 2)
    data = tensor(batch, channels, height, width)
    given = "feature maps to a size at an offset, as after padding more than was needed"
    yield {"data": tensors([data]), "h_w": cut, "offset": (1, 1), WHY: given}
    like = tensors([data, fixed(batch, channels, *cut)])
    joined = "the middle of feature maps, of another's extents, as U-Net crops those that it joins"
    yield {"data": like, "center_crop": True, WHY: joined}
