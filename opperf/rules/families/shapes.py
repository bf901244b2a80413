"""Operations that rearrange, repeat, join or split elements, with little or no arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opperf.model import Argument
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import few_sentences, heads
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import channels_last, feature_maps, network_maps, photographs
from opperf.rules.registering import Families
from opperf.rules.shapes import LIST_LENGTH, Shape, column, cube, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, call, fixed, tensor, tensors
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

PARTS = 4
"""Number of parts that a tensor is split into. It divides the extents of `square` and `cube`."""
TIMES = 2

PLAIN: dict[str, tuple[Roles, ...]] = {
    "expand_dims": ({"axis": 0, WHY: "a new first axis: a single sample as a batch"},),
    "flip": (
        {WHY: "a matrix reversed along the operation's own axes, as images are flipped"},
        {"axis": 0, WHY: "rows in reverse order, as time for a backward RNN"},
        {"axis": 1, WHY: "columns in reverse order, as powers in the coefficients of polynomials"},
    ),
    "repeat": (
        {"times": TIMES, WHY: "each element twice, to one vector: the default without an axis"},
        {"times": TIMES, "axis": 0, WHY: "each row twice, as samples for the beams of a search"},
        {"times": TIMES, "axis": 1, WHY: "each element of a row twice, as a signal is upsampled"},
    ),
    "roll": (
        {"shift": (3,), WHY: "all elements shifted as one vector, as a periodic signal is delayed"},
        {"shift": (3,), "axis": (0,), WHY: "rows shifted, as neighbours above: two large copies"},
        {"shift": (3,), "axis": (1,), WHY: "columns shifted, as left neighbours: two copies a row"},
    ),
    "rot90": (
        {"times": 1, WHY: "a quarter turn, a transposition and a flip, to augment images"},
        {"times": 2, WHY: "half a turn, two flips, as a kernel before it is correlated"},
    ),
    "tril": ({"offset": 0, WHY: "the lower triangle, for a mask of causal attention"},),
    "triu": ({"offset": 0, WHY: "the upper triangle, as R of a QR decomposition"},),
}
"""Plain values beside a square matrix, and why it is measured with them."""

OF_MORE_AXES: dict[str, tuple[Callable[[Preset], Shape], Roles]] = {
    "flip": (feature_maps, {"axis": 3, WHY: "feature maps mirrored, as images are for more"}),
    "repeat": (feature_maps, {"times": TIMES, "axis": 2, WHY: "rows of maps doubled, to upsample"}),
    "rot90": (photographs, {"times": 1, "axes": (2, 3), WHY: "a quarter turn of each photo"}),
    "tril": (cube, {"offset": -1, WHY: "each of a stack below its diagonal, as LU's L"}),
    "triu": (cube, {"offset": 1, WHY: "each of a stack above its diagonal, as pairs once"}),
}
"""Shapes of images, feature maps or a stack of matrices, and plain values beside them."""


@FAMILIES.operation(*PLAIN)
def rearrange(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square matrix with each of the values in `PLAIN`."""
    for values in PLAIN[operation.name]:
        yield {"x": tensor(*square(size)), **values}
    if operation.name in OF_MORE_AXES:
        shape, values = OF_MORE_AXES[operation.name]
        yield {"x": tensor(*shape(size)), **values}


PADDING = {
    "constant": "zeros around feature maps, as before a convolution",
    "edge": "outermost pixels repeated, as replication padding does",
    "reflect": "pixels mirrored at the outermost ones, for style transfer",
    "symmetric": "pixels mirrored at the border, as filters of images do",
    "wrap": "pixels of the other side, for panoramas and periodic simulations",
    "maximum": "the maximum of each row and column, so that no minimum is at the border",
    "mean": "the mean of each row and column, so that the border is even",
    "median": "the median of each row and column: even, and safe from outliers",
    "linear_ramp": "a ramp down to zero, as a taper before a Fourier transform",
}


@FAMILIES.operation("pad")
def pad(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Feature maps with a border, fewer where some frameworks pad number by number; sentences."""
    border = ((0, 0), (0, 0), (1, 1), (1, 1))
    maps, fewer = feature_maps(size), network_maps(size, 64, 56, 56, samples=2)
    for mode, why in PADDING.items():
        padded = maps if mode == "constant" else fewer
        yield {"x": tensor(*padded), "widths": border, "mode": mode, WHY: why}
    longer = ((0, 0), (0, PARTS), (0, 0))
    why = "sentences with zeros behind them, to the length of the longest of a batch"
    yield {"x": tensor(*few_sentences(size)), "widths": longer, "mode": "constant", WHY: why}


ATTENTION = "BERT-base's heads before its tokens, as products of attention take them"

AXES: dict[str, tuple[Roles, ...]] = {
    "swapaxes": (
        {"axis1": 0, "axis2": 1, WHY: "samples and time steps, as recurrent layers take them"},
        {"axis1": 0, "axis2": 2, WHY: "all axes reversed: from the order of C to that of Fortran"},
    ),
    "moveaxis": (
        {"source": (0,), "destination": (2,), WHY: "channels of one sample from first to last"},
        {"source": (0, 1), "destination": (1, 2), WHY: "channels of one sample from last to first"},
    ),
    "rollaxis": ({"axis": 2, WHY: "channels of one sample from last to first"},),
}
"""Plain values beside a tensor of three axes, and why it is measured with them."""


@FAMILIES.operation(*AXES)
def move_axes(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A stack of matrices with each of the values in `AXES`, and heads of attention."""
    for values in AXES[operation.name]:
        yield {"x": tensor(*cube(size)), **values}
    if operation.name == "swapaxes":
        yield {"x": tensor(*heads(size)), "axis1": 1, "axis2": 2, WHY: ATTENTION}


POOLED = 2048
"""Channels of ResNet-50's last stage."""
PER_SAMPLE = "a number per row to a matrix, as each sample's maximum or norm"
PER_UNIT = "a row to all rows of a matrix, as the bias of a dense layer"
PER_CHANNEL = "a number per channel to feature maps, as the scale of a normalisation"
TO_HEADS = "BERT-base's tokens divided among its heads"
DIAGONAL = "the diagonal of a matrix, as the variances in a covariance matrix"
SAMPLES = 32
"""Images of a batch, or time steps of a sequence."""
MANY = 128
"""Vectors of a long list. XLA compiles the joining of a thousand for a minute."""


def alike(shape: Shape, length: int = LIST_LENGTH, **values: Argument) -> Arguments:
    """A list of tensors of one shape, and plain values."""
    return call(tensors=tensors([tensor(*shape)] * length), **values)


def broadcast(size: Preset) -> dict[str, tuple[Shape, Shape]]:
    """Shapes to broadcast, and those to broadcast to, by why."""
    channels = feature_maps(size)[1]
    return {
        PER_SAMPLE: (column(size), tall(size)),
        PER_UNIT: ((1, square(size)[1]), square(size)),
        PER_CHANNEL: ((1, channels, 1, 1), feature_maps(size)),
    }


def joined(why: str) -> Variants:
    """Tensors to join along the second axis, and vectors, with why."""
    return lambda size: {
        "long rows, as the outputs of wide dense layers": alike(square(size)),
        "many short rows, as tables of samples and features": alike(tall(size)),
        why: alike(vector(size)),
    }


ROWS: dict[str, Variants] = {
    "reshape": lambda size: {
        # BERT-large's vectors are as long as the rows at the default size.
        "rows to BERT-large heads": call(x=tensor(*square(size)), shape=(square(size)[0], 16, -1))
    },
    "reshape_like": lambda size: {
        "weights to the vector of all, as a second-order optimizer has them": call(
            x=tensor(*square(size)), like=fixed(*vector(size))
        )
    },
    "transpose": lambda size: {
        why: call(x=tensor(*shape), **({"axes": axes} if axes else {}))
        for why, shape, axes in (
            ("a square matrix, as a dense layer's weights for its backward pass", square(size), ()),
            ("short rows to long ones: a table of samples by feature", tall(size), ()),
            ("each matrix of a stack, as the keys of attention", cube(size), (0, 2, 1)),
            ("maps from NCHW to NHWC, for channels last", feature_maps(size), (0, 2, 3, 1)),
            ("from NHWC to NCHW, channels first", channels_last(feature_maps(size)), (0, 3, 1, 2)),
            (ATTENTION, heads(size), (0, 2, 1, 3)),
        )
    },
    "squeeze": lambda size: {
        "all axes of extent 1, which it finds": call(x=tensor(1, tall(size)[0], 1, tall(size)[1])),
        "ResNet-50's features after pooling": call(x=tensor(size.batch, POOLED, 1, 1), axis=(2, 3)),
    },
    "tile": lambda size: {
        why: call(x=tensor(*shape), times=times)
        for why, shape, times in (
            ("rows twice, for classifier-free guidance: large copies", square(size), (TIMES, 1)),
            ("a pattern along both axes, as a texture: short copies", square(size), (TIMES, TIMES)),
            ("a column to a matrix, in place of broadcasting", column(size), (1, tall(size)[1])),
            ("feature maps side by side: short rows", feature_maps(size), (1, 1, TIMES, TIMES)),
        )
    },
    "broadcast": lambda size: {
        why: call(x=tensor(*shape), shape=whole) for why, (shape, whole) in broadcast(size).items()
    },
    "broadcast_like": lambda size: {
        why: call(x=tensor(*shape), like=fixed(*whole))
        for why, (shape, whole) in broadcast(size).items()
    },
    "diag": lambda size: {
        DIAGONAL: call(x=tensor(*square(size))),
        "a vector to a diagonal matrix, as singular values are": call(x=tensor(*square(size)[:1])),
    },
    "diagflat": lambda size: {"a vector of weights to a matrix": call(x=tensor(*square(size)[:1]))},
    "diagonal": lambda size: {
        DIAGONAL: call(x=tensor(*square(size))),
        "diagonals above the main ones of a stack, as covariances with the next step": call(
            x=tensor(*cube(size)), offset=1, axis1=1, axis2=2
        ),
    },
    "atleast_1d atleast_2d atleast_3d": lambda size: {"long vectors, to join": alike(vector(size))},
    "concatenate": lambda size: {
        "rows, from several workers: each tensor copied as a whole": alike(square(size), axis=0),
        "columns, as embeddings of features: a copy for each row": alike(square(size), axis=1),
        "channels of feature maps, as a block joins branches": alike(feature_maps(size), axis=1),
        "many vectors to one, as chunks that are read": alike(square(size)[1:], MANY, axis=0),
    },
    "stack": lambda size: {
        "a new first axis, as samples to a batch: whole copies": alike(square(size), axis=0),
        "time steps from a recurrent cell": alike((size.images, square(size)[1]), SAMPLES, axis=1),
        "a new last axis, as coordinates: tensors in turn": alike(square(size), axis=-1),
        "images to a batch, as a data loader does": alike(photographs(size)[1:], SAMPLES, axis=0),
    },
    "column_stack": joined("three vectors to a table, as coordinates to points: all in turn"),
    "hstack": joined("three vectors to one, as recordings after each other: three large copies"),
    "dstack": lambda size: {
        "three matrices to pixels, as colours: elements in turn": alike(square(size)),
        "feature maps below each other: a copy for each map": alike(feature_maps(size)),
    },
    "vstack": lambda size: {
        "tables to a longer one: each is copied as a whole": alike(square(size)),
        "many vectors to the rows of a matrix: short copies": alike(square(size)[1:], MANY),
    },
    # Some functions split along the third axis.
    "split": lambda size: {
        "equal parts by their number, as the gates of an LSTM": call(
            x=tensor(*cube(size)), parts=PARTS
        ),
        "one, three and the rest, as bands of spherical harmonics": call(
            x=tensor(*cube(size)), starts=(1, PARTS)
        ),
    },
}
add_rows(FAMILIES.operation, ROWS)
