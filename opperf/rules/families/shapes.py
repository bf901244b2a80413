"""Operations that rearrange, repeat, join or split elements, with little or no arithmetic."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import HEADS, WIDTH, few_sentences
from opperf.rules.configurations import WHY
from opperf.rules.engine import Families
from opperf.rules.pictures import feature_maps, photographs
from opperf.rules.shapes import LIST_LENGTH, Shape, column, cube, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import tensor, tensors

FAMILIES = Families()

PARTS = 4
"""Number of parts that a tensor is split into. It divides the extents of `square` and `cube`."""
TIMES = 2
"""Repetitions of elements."""

PLAIN: dict[str, tuple[Roles, ...]] = {
    "expand_dims": ({"axis": 0}, {"axis": 1}, {"axis": -1}),
    "flip": ({}, {"axis": 0}, {"axis": 1}),
    "repeat": ({"times": TIMES}, {"times": TIMES, "axis": 0}, {"times": TIMES, "axis": 1}),
    "reshape": ({"shape": (-1,)}, {"shape": (PARTS, -1, PARTS)}),
    "roll": ({"shift": (3,)}, {"shift": (3,), "axis": (0,)}, {"shift": (3,), "axis": (1,)}),
    "rot90": ({"times": 1}, {"times": 2}),
    "tril": ({"offset": 0}, {"offset": 1}),
    "triu": ({"offset": 0}, {"offset": 1}),
}
"""Plain values beside a square matrix."""

OF_MAPS: dict[str, Roles] = {
    "flip": {"axis": 3, WHY: "Feature maps mirrored, as pictures are to have more of them"},
    "repeat": {
        "times": TIMES,
        "axis": 2,
        WHY: "Rows of feature maps doubled, as in upsampling by the nearest neighbour",
    },
}
"""Plain values beside feature maps."""


@FAMILIES.operation(*PLAIN)
def rearrange(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square matrix with each of the values in `PLAIN`."""
    for values in PLAIN[operation.name]:
        yield {"x": tensor(*square(size)), **values}
    if operation.name in OF_MAPS:
        yield {"x": tensor(*feature_maps(size)), **OF_MAPS[operation.name]}


PADDING = {
    "constant": "Zeros around feature maps, as before a convolution of 3 x 3",
    "edge": "Outermost pixels repeated, as replication padding does",
    "reflect": "Pixels mirrored at the outermost ones, as in style transfer",
    "symmetric": "Pixels mirrored at the border, as filters of pictures do",
    "wrap": "Pixels of the other side, as for panoramas and periodic simulations",
}
"""Why feature maps are padded in each mode."""


@FAMILIES.operation("pad")
def pad(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Feature maps with a border of one pixel in each mode, and sentences of another length."""
    for mode, why in PADDING.items():
        border = ((0, 0), (0, 0), (1, 1), (1, 1))
        yield {"x": tensor(*feature_maps(size)), "widths": border, "mode": mode, WHY: why}
    longer = ((0, 0), (0, PARTS), (0, 0))
    why = "Sentences with zeros behind them, to the length of the longest of a batch"
    yield {"x": tensor(*few_sentences(size)), "widths": longer, "mode": "constant", WHY: why}


def heads(size: Preset) -> Shape:
    """Shape of a batch of sentences, a vector for each token and head of attention."""
    return (*few_sentences(size)[:2], HEADS, WIDTH)


ATTENTION = "BERT-base's heads before its tokens, as products of attention take them"


AXES: dict[str, tuple[Roles, ...]] = {
    "swapaxes": ({"axis1": 0, "axis2": 1}, {"axis1": 0, "axis2": 2}),
    "moveaxis": (
        {"source": (0,), "destination": (2,)},
        {"source": (0, 1), "destination": (1, 2)},
    ),
    "rollaxis": ({"axis": 2},),
}
"""Plain values beside a tensor of three axes."""


@FAMILIES.operation(*AXES)
def move_axes(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A stack of matrices with each of the values in `AXES`, and heads of attention."""
    for values in AXES[operation.name]:
        yield {"x": tensor(*cube(size)), **values}
    if operation.name == "swapaxes":
        yield {"x": tensor(*heads(size)), "axis1": 1, "axis2": 2, WHY: ATTENTION}


@FAMILIES.operation("transpose")
def transpose(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Matrices, a stack of them, feature maps to channels last and back, heads of attention."""
    batch, channels, height, width = feature_maps(size)
    last = (batch, height, width, channels)
    yield {"x": tensor(*square(size)), WHY: "A square matrix"}
    yield {"x": tensor(*tall(size)), WHY: "A matrix of short rows"}
    keys = "Each matrix of a stack, as the keys of attention"
    yield {"x": tensor(*cube(size)), "axes": (0, 2, 1), WHY: keys}
    for shape, axes, why in (
        (feature_maps(size), (0, 2, 3, 1), "Feature maps from NCHW to NHWC"),
        (last, (0, 3, 1, 2), "Feature maps from NHWC to NCHW"),
        (heads(size), (0, 2, 1, 3), ATTENTION),
    ):
        yield {"x": tensor(*shape), "axes": axes, WHY: why}


POOLED = 2048
"""Channels of ResNet-50's last stage."""


@FAMILIES.operation("squeeze")
def squeeze(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors with axes of extent 1 to remove: all of them, two of four, and those that pooling
    leaves."""
    rows, columns = tall(size)
    yield {"x": tensor(1, rows, 1, columns), WHY: "All axes of one element, found by the call"}
    yield {"x": tensor(1, rows, 1, columns), "axis": (0, 2), WHY: "Two named axes of four"}
    pooled = "A ResNet-50's last features after global pooling, before its dense layer"
    yield {"x": tensor(size.batch, POOLED, 1, 1), "axis": (2, 3), WHY: pooled}


@FAMILIES.operation("tile")
def tile(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix to repeat along the first axis and along both, a column along the second, and
    feature maps along height and width."""
    for times in ((TIMES, 1), (TIMES, TIMES)):
        yield {"x": tensor(*square(size)), "times": times}
    yield {"x": tensor(*column(size)), "times": (1, tall(size)[1])}
    why = "Feature maps repeated side by side: short rows of four axes"
    yield {"x": tensor(*feature_maps(size)), "times": (1, 1, TIMES, TIMES), WHY: why}


PER_CHANNEL = "A number per channel to feature maps, as the scale of a normalisation"


@FAMILIES.operation("broadcast")
def broadcast(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A column, a row, and a number per channel, each with the shape to broadcast to."""
    yield {"x": tensor(*column(size)), "shape": tall(size)}
    rows, columns = square(size)
    yield {"x": tensor(1, columns), "shape": (rows, columns)}
    maps = feature_maps(size)
    yield {"x": tensor(1, maps[1], 1, 1), "shape": maps, WHY: PER_CHANNEL}


@FAMILIES.operation("diag")
def diag(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Matrices, for their diagonal and one below it, and a vector, for a diagonal matrix."""
    yield {"x": tensor(*square(size))}
    yield {"x": tensor(*tall(size)), "offset": -1}
    yield {"x": tensor(*square(size)[:1])}


@FAMILIES.operation("diagflat")
def diagflat(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A vector, for a diagonal matrix."""
    yield {"x": tensor(*square(size)[:1])}


@FAMILIES.operation("diagonal")
def diagonal(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, for its diagonal, and a stack of matrices, for their diagonals above it."""
    yield {"x": tensor(*square(size))}
    yield {"x": tensor(*cube(size)), "offset": 1, "axis1": 1, "axis2": 2}


def alike(shape: Shape) -> Roles:
    """A list of tensors of one shape."""
    return {"tensors": tensors([tensor(*shape)] * LIST_LENGTH)}


@FAMILIES.operation("atleast_1d", "atleast_2d", "atleast_3d")
def atleast(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Vectors, to which axes are added."""
    yield alike(vector(size))


@FAMILIES.operation("concatenate")
def concatenate(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors to join along each axis that models join along."""
    for shape, axis, why in (
        (square(size), 0, "Rows, as batches of two devices: each tensor is copied as a whole"),
        (square(size), 1, "Columns, as embeddings of several features: a copy for each row"),
        (feature_maps(size), 1, "Channels of feature maps, as in Inception, DenseNet and U-Net"),
        (few_sentences(size), 2, "Tokens' vectors, as of both directions of a recurrent layer"),
    ):
        yield {**alike(shape), "axis": axis, WHY: why}


@FAMILIES.operation("stack")
def stack(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors to join along a new first, middle and last axis."""
    for shape, axis, why in (
        (square(size), 0, "A new first axis: each tensor is copied as a whole"),
        (square(size), 1, "A new axis of time steps, as the outputs of a recurrent cell"),
        (square(size), -1, "A new last axis, as coordinates: elements of all tensors in turn"),
        (photographs(size)[1:], 0, "Pictures to a batch, as a data loader does"),
    ):
        yield {**alike(shape), "axis": axis, WHY: why}


@FAMILIES.operation("column_stack", "dstack", "hstack", "vstack")
def join(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors to join along the axis that the operation's name implies."""
    for shape, why in (
        (square(size), "Square matrices"),
        (tall(size), "Matrices of short rows"),
        (feature_maps(size), "Feature maps: four axes"),
    ):
        yield {**alike(shape), WHY: why}


@FAMILIES.operation("split")
def split(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors to split into equal parts, and at indices. They have three axes, as some functions
    split along the third."""
    yield {"x": tensor(*cube(size)), "parts": PARTS}
    yield {"x": tensor(*cube(size)), "starts": (1, PARTS)}
