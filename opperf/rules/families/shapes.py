"""Operations that rearrange, repeat, join or split elements, with little or no arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import few_sentences, heads
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import feature_maps, network_maps, photographs
from opperf.rules.registering import Families
from opperf.rules.shapes import LIST_LENGTH, Shape, column, cube, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import tensor, tensors

FAMILIES = Families()

PARTS = 4
"""Number of parts that a tensor is split into. It divides the extents of `square` and `cube`."""
TIMES = 2
"""Repetitions of elements."""

PLAIN: dict[str, tuple[Roles, ...]] = {
    "expand_dims": (
        {"axis": 0, WHY: "a new first axis: a single sample for a network that takes batches"},
        {"axis": 1, WHY: "a new middle axis, to broadcast rows against those of another matrix"},
        {"axis": -1, WHY: "a new last axis, as the one channel of a grey image"},
    ),
    "flip": (
        {WHY: "a matrix reversed along the operation's own axes, as images are flipped"},
        {"axis": 0, WHY: "rows in reverse order, as time for a backward RNN"},
        {"axis": 1, WHY: "columns in reverse order, as powers in the coefficients of polynomials"},
    ),
    "repeat": (
        {"times": TIMES, WHY: "each element twice, to one vector: the default without an axis"},
        {"times": TIMES, "axis": 0, WHY: "each row twice, as samples for the beams of a search"},
        {
            "times": TIMES,
            "axis": 1,
            WHY: "each element of a row twice, as signals upsampled by the nearest neighbour",
        },
    ),
    "roll": (
        {"shift": (3,), WHY: "all elements shifted as one vector, as a periodic signal is delayed"},
        {
            "shift": (3,),
            "axis": (0,),
            WHY: "rows shifted, two large copies, as neighbours above in a periodic grid",
        },
        {
            "shift": (3,),
            "axis": (1,),
            WHY: "columns shifted, two copies a row, as neighbours to the left in a periodic grid",
        },
    ),
    "rot90": (
        {"times": 1, WHY: "a quarter turn, a transposition and a flip, to augment images"},
        {
            "times": 2,
            WHY: "half a turn, two flips: a kernel to convolve with by a function that correlates",
        },
    ),
    "tril": ({"offset": 0, WHY: "the lower triangle, for a mask of causal attention"},),
    "triu": ({"offset": 0, WHY: "the upper triangle, as R of a QR decomposition"},),
}
"""Plain values beside a square matrix, and why it is measured with them."""

OF_MORE_AXES: dict[str, tuple[Callable[[Preset], Shape], Roles]] = {
    "flip": (
        feature_maps,
        {"axis": 3, WHY: "feature maps mirrored, as images are to have more of them"},
    ),
    "repeat": (
        feature_maps,
        {
            "times": TIMES,
            "axis": 2,
            WHY: "rows of feature maps doubled, for upsampling by the nearest neighbour",
        },
    ),
    "rot90": (
        photographs,
        {"times": 1, "axes": (2, 3), WHY: "a quarter turn of each of a batch of photographs"},
    ),
    "tril": (
        cube,
        {"offset": -1, WHY: "each matrix of a stack below its diagonal, as L of LU decompositions"},
    ),
    "triu": (
        cube,
        {"offset": 1, WHY: "each matrix of a stack above its diagonal, as correlations once each"},
    ),
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


LARGE_HEADS = 16
"""Heads of BERT-large, whose vectors are as long as the rows of `square` at the default size."""


@FAMILIES.operation("reshape")
def reshape(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square matrix to a vector and to three axes."""
    rows, columns = square(size)
    for shape, why in (
        ((-1,), "a matrix to one vector, as weights or gradients are laid out flat"),
        ((rows, LARGE_HEADS, -1), "each row to a matrix, as BERT-large's units to their heads"),
    ):
        yield {"x": tensor(rows, columns), "shape": shape, WHY: why}


PADDING = {
    "constant": "zeros around feature maps, as before a convolution",
    "edge": "outermost pixels repeated, as replication padding does",
    "reflect": "pixels mirrored at the outermost ones, for style transfer",
    "symmetric": "pixels mirrored at the border, as filters of images do",
    "wrap": "pixels of the other side, for panoramas and periodic simulations",
    "maximum": "the maximum of each row and column, so that no minimum is at the border",
    "minimum": "the minimum of each row and column, so that no maximum is at the border",
    "mean": "the mean of each row and column, so that the border is even",
    "median": "the median of each row and column: even, and safe from outliers",
    "linear_ramp": "a ramp down to zero, as a taper before a Fourier transform",
}
"""Why feature maps are padded in each mode."""


@FAMILIES.operation("pad")
def pad(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Feature maps with a border of one pixel in each mode, and sentences of another length. There
    are fewer maps in modes other than zeros, which some frameworks pad number by number."""
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
        {
            "axis1": 0,
            "axis2": 1,
            WHY: "samples and time steps, as a recurrent layer takes time first",
        },
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


@FAMILIES.operation("transpose")
def transpose(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Matrices, a stack of them, feature maps to channels last and back, heads of attention."""
    batch, channels, height, width = feature_maps(size)
    last = (batch, height, width, channels)
    weights = "a square matrix, as a dense layer's weights for its backward pass"
    yield {"x": tensor(*square(size)), WHY: weights}
    yield {"x": tensor(*tall(size)), WHY: "short rows to long ones: a table of samples by feature"}
    keys = "each matrix of a stack, as the keys of attention"
    yield {"x": tensor(*cube(size)), "axes": (0, 2, 1), WHY: keys}
    for shape, axes, why in (
        (
            feature_maps(size),
            (0, 2, 3, 1),
            "feature maps from NCHW to NHWC, as before a layer with channels last",
        ),
        (
            last,
            (0, 3, 1, 2),
            "feature maps from NHWC to NCHW, as before a layer with channels first",
        ),
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
    yield {"x": tensor(1, rows, 1, columns), WHY: "all axes of extent 1, found by the call"}
    yield {
        "x": tensor(1, rows, 1, columns),
        "axis": (0, 2),
        WHY: "two named axes of four, as the batch of a single sample",
    }
    pooled = "ResNet-50's last features after global pooling, before its dense layer"
    yield {"x": tensor(size.batch, POOLED, 1, 1), "axis": (2, 3), WHY: pooled}


@FAMILIES.operation("tile")
def tile(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix to repeat along the first axis and along both, a column along the second, and
    feature maps along height and width."""
    for shape, times, why in (
        (
            square(size),
            (TIMES, 1),
            "rows twice over, two large copies, as a batch doubled for classifier-free guidance",
        ),
        (
            square(size),
            (TIMES, TIMES),
            "a pattern along both axes, as a texture: copies by the row",
        ),
        (column(size), (1, tall(size)[1]), "a column to a matrix, in code that does not broadcast"),
        (
            feature_maps(size),
            (1, 1, TIMES, TIMES),
            "feature maps repeated side by side: short rows of four axes",
        ),
    ):
        yield {"x": tensor(*shape), "times": times, WHY: why}


PER_SAMPLE = "a number per row to a matrix, as each sample's maximum or norm"
PER_UNIT = "a row to all rows of a matrix, as the bias of a dense layer"
PER_CHANNEL = "a number per channel to feature maps, as the scale of a normalisation"


@FAMILIES.operation("broadcast")
def broadcast(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A column, a row, and a number per channel, each with the shape to broadcast to."""
    yield {"x": tensor(*column(size)), "shape": tall(size), WHY: PER_SAMPLE}
    rows, columns = square(size)
    yield {"x": tensor(1, columns), "shape": (rows, columns), WHY: PER_UNIT}
    maps = feature_maps(size)
    yield {"x": tensor(1, maps[1], 1, 1), "shape": maps, WHY: PER_CHANNEL}


DIAGONAL = "the diagonal of a matrix, as the variances in a covariance matrix"


@FAMILIES.operation("diag")
def diag(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Matrices, for their diagonal and one below it, and a vector, for a diagonal matrix."""
    below = "the diagonal below the main one of a matrix of many rows, such as a Hessenberg matrix"
    made = "a vector to a diagonal matrix, as the singular values of a decomposition"
    yield {"x": tensor(*square(size)), WHY: DIAGONAL}
    yield {"x": tensor(*tall(size)), "offset": -1, WHY: below}
    yield {"x": tensor(*square(size)[:1]), WHY: made}


@FAMILIES.operation("diagflat")
def diagflat(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A vector, for a diagonal matrix."""
    why = "a vector to a diagonal matrix, as the weights of weighted least squares"
    yield {"x": tensor(*square(size)[:1]), WHY: why}


@FAMILIES.operation("diagonal")
def diagonal(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, for its diagonal, and a stack of matrices, for their diagonals above it."""
    above = "a diagonal of each matrix of a stack, as covariances of one time step and the next"
    yield {"x": tensor(*square(size)), WHY: DIAGONAL}
    yield {"x": tensor(*cube(size)), "offset": 1, "axis1": 1, "axis2": 2, WHY: above}


def alike(shape: Shape, length: int = LIST_LENGTH) -> Roles:
    """A list of tensors of one shape."""
    return {"tensors": tensors([tensor(*shape)] * length)}


@FAMILIES.operation("atleast_1d", "atleast_2d", "atleast_3d")
def atleast(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Vectors, to which axes are added."""
    yield {**alike(vector(size)), WHY: "long vectors, as before they are joined"}


@FAMILIES.operation("concatenate")
def concatenate(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors to join along each axis that models join along."""
    for shape, axis, why in (
        (
            square(size),
            0,
            "rows, as the outputs of several devices: each tensor is copied as a whole",
        ),
        (square(size), 1, "columns, as embeddings of several features: a copy for each row"),
        (feature_maps(size), 1, "channels of feature maps, as a block joins its branches"),
        (few_sentences(size), 2, "tokens' vectors side by side, as features from several layers"),
    ):
        yield {**alike(shape), "axis": axis, WHY: why}


@FAMILIES.operation("stack")
def stack(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors to join along a new first, middle and last axis."""
    steps = (size.images, square(size)[1])
    for shape, length, axis, why in (
        (
            square(size),
            LIST_LENGTH,
            0,
            "a new first axis, as samples to a batch: each tensor is copied as a whole",
        ),
        (steps, SAMPLES, 1, "a new axis of time steps, as the outputs of a recurrent cell"),
        (
            square(size),
            LIST_LENGTH,
            -1,
            "a new last axis, as coordinates: elements of all tensors in turn",
        ),
        (photographs(size)[1:], SAMPLES, 0, "images to a batch, as a data loader does"),
    ):
        yield {**alike(shape, length), "axis": axis, WHY: why}


SAMPLES = 32
"""Images of a batch, or time steps of a sequence."""

MANY = 128
"""Vectors of a long list. XLA compiles the joining of a thousand for a minute."""

PIXELS = "three matrices to pixels, as the colours of an image: elements of all in turn"

OF_VECTORS = {
    "column_stack": "three vectors to a table, as coordinates to points: elements of all in turn",
    "hstack": "three vectors to one, as recordings after each other: three large copies",
}
"""Why vectors are joined, by the operation."""


@FAMILIES.operation("column_stack", "hstack")
def join(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors to join along the second axis, and vectors."""
    for shape, why in (
        (square(size), "long rows, as the outputs of wide dense layers"),
        (tall(size), "many short rows, as tables of samples and features"),
        (feature_maps(size), "feature maps of four axes, as the outputs of a network's branches"),
        (vector(size), OF_VECTORS[operation.name]),
    ):
        yield {**alike(shape), WHY: why}


@FAMILIES.operation("dstack")
def dstack(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Matrices to join along a new third axis, and feature maps along that of their height."""
    yield {**alike(square(size)), WHY: PIXELS}
    yield {**alike(feature_maps(size)), WHY: "feature maps below each other: a copy for each map"}


@FAMILIES.operation("vstack")
def vstack(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Matrices to join along the first axis, and many vectors, as its rows."""
    yield {**alike(square(size)), WHY: "tables to a longer one: each is copied as a whole"}
    vectors = alike(square(size)[1:], MANY)
    yield {**vectors, WHY: "many vectors to the rows of a matrix: short copies"}


@FAMILIES.operation("split")
def split(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors to split into equal parts, and at indices. They have three axes, as some functions
    split along the third."""
    equal = "equal parts of an axis, by their number"
    unequal = "parts of extents one, three and the rest"
    yield {"x": tensor(*cube(size)), "parts": PARTS, WHY: equal}
    yield {"x": tensor(*cube(size)), "starts": (1, PARTS), WHY: unequal}
