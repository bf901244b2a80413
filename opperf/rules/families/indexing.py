"""Reading and writing by index and by mask."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles, as_list
from opperf.rules.bert import UNITS, WORDS, few_sentences, scores, tokens
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import CLASSES, feature_maps, network_maps, photographs
from opperf.rules.registering import Families
from opperf.rules.shapes import LIST_LENGTH, Shape, column, in_cache, line, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, PADDED, Arguments, below, fixed, tensor, tensors, zipf
from opperf.rules.variants import Row, add_rows

FAMILIES = Families()

INDEX = "int64"
"""Dtype of indices: others would be cast to it first."""

FEATURES = 64
"""Width of a node's features in a small graph network."""


def nodes(size: Preset) -> int:
    """Nodes of a graph: Cora has 2708, PubMed 19717."""
    return size.extent(10000)


def mask(shape: Shape) -> TensorSpec:
    """A mask of half of the elements."""
    return fixed(*shape, fill=BOOLEAN, dtype="bool")


def indices(shape: Shape, limit: int) -> TensorSpec:
    """Indices below a limit."""
    return fixed(*shape, fill=below(limit), dtype=INDEX)


def shuffled(*shape: int, limit: int = 1) -> TensorSpec:
    """Indices of which none recurs along the last axis, up to its extent or a larger limit."""
    return fixed(*shape, fill=Fill("permutation", 0.0, float(limit)), dtype=INDEX)


def masked(size: Preset) -> tuple[tuple[Shape, str], ...]:
    """Shapes of which a mask selects half of the elements, and why they are measured."""
    return (
        (square(size), "elements of long rows by a mask, as gaps in measurements are filled"),
        (in_cache(size), "elements of a smaller matrix by a mask, which stay in cache"),
    )


@FAMILIES.operation("where")
def where(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A condition, and two tensors to choose from, which are broadcast in the last."""
    for shape, why in masked(size):
        yield {"condition": mask(shape), "x": tensor(*shape), "y": tensor(*shape), WHY: why}
    _, *other = scores(size)
    yield {
        "condition": fixed(size.images, 1, 1, other[-1], fill=PADDED, dtype="bool"),
        "x": tensor(size.images, *other),
        "y": fixed(1, 1, 1, 1),
        WHY: "BERT-base's attention scores, those of padding replaced by one number",
    }


@FAMILIES.operation("masked_fill")
def masked_fill(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors, of which half is set to a number."""
    for shape, why in masked(size):
        yield {"data": tensor(*shape), "mask": mask(shape), "values": 0.5, WHY: why}


def parts_of(size: Preset) -> dict[str, tuple[Shape, int, int, int]]:
    """Shapes, the axis of a part of each, and both its ends, by why it is taken."""
    batch, length, width = few_sentences(size)
    return {
        "the first tokens, as a prompt's": ((batch, length, width), 1, 0, length // 2),
        "keys of GPT-2's projection": ((batch, length, 3 * width), 2, width, 2 * width),
        "ShuffleNet v2, stage 2: half of the channels, for a block's second branch": (
            network_maps(size, 116, 28, 28),
            *(1, 58, 116),
        ),
    }


@FAMILIES.operation("slice_axis")
def slice_axis(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors, and the part of one axis that is taken."""
    for why, (shape, axis, begin, end) in parts_of(size).items():
        yield {"data": tensor(*shape), "axis": axis, "begin": begin, "end": end, WHY: why}


@FAMILIES.operation("slice")
def slices(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors, and a slice of each axis: of all but one the whole, but for crops."""
    rows, columns = square(size)
    begins: Shape = (rows // 4, columns // 4)
    ends: Shape = (rows * 3 // 4, columns * 3 // 4)
    why = "the middle of a matrix, as an image's crop: half of each long row"
    yield {"data": tensor(rows, columns), "begin": begins, "end": ends, WHY: why}
    for why, (shape, axis, begin, end) in parts_of(size).items():
        begins = tuple(begin if at == axis else 0 for at in range(len(shape)))
        ends = tuple(end if at == axis else extent for at, extent in enumerate(shape))
        yield {"data": tensor(*shape), "begin": begins, "end": ends, WHY: why}
    outer, (height, width) = feature_maps(size)[:2], feature_maps(size)[2:]
    data = tensor(*outer, height, width)
    starts, every_other = (0,) * 4, (1, 1, 1, 2)
    why = "a shortcut of stride 2"
    yield {"data": data, "begin": starts, "end": data.shape, "step": every_other, WHY: why}
    begins, ends = (0, 0, height // 4, width // 4), (*outer, height * 3 // 4, width * 3 // 4)
    yield {"data": data, "begin": begins, "end": ends, WHY: "the middle of maps, as U-Net crops"}


def only_slice(roles: Roles) -> tuple[int, int, int, int] | None:
    """The axis, both ends and the step of the only slice that is not a whole axis, if it is one."""
    data, begins, ends = roles["data"], as_list(roles["begin"]), as_list(roles["end"])
    assert isinstance(data, TensorSpec)
    steps = as_list(roles.get("step", (1,) * len(begins)))
    cuts = enumerate(zip(begins, ends, steps, strict=True))
    parts = [(axis, *cut) for axis, cut in cuts if cut != (0, data.shape[axis], 1)]
    return parts[0] if len(parts) == 1 else None


@FAMILIES.operation("one_hot")
def one_hot(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Classes of samples, of tokens and of pixels."""
    for why, shape, classes in (
        ("labels of ImageNet, as a loss with smoothed labels takes", column(size)[:1], CLASSES),
        ("the expert of each token, of eight, as a mixture of experts", tokens(size), 8),
        ("classes of each pixel, as Dice's loss", (size.samples(2), *photographs(size)[2:]), 21),
    ):
        yield {"indices": indices(shape, classes), "depth": classes, WHY: why}


@FAMILIES.operation("boolean_mask")
def boolean_mask(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and a mask of half of its elements."""
    why = "half of a matrix's elements to a vector, as the measurements that are valid"
    yield {"mask": mask(square(size)), "data": tensor(*square(size)), WHY: why}


@FAMILIES.operation("take")
def take(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Rows of a matrix, and elements of a vector."""
    rows, (count,) = tall(size), vector(size)
    table = "rows of a table at random, like word vectors: short copies"
    yield {"data": tensor(*rows), "indices": indices(line(size), rows[0]), "axis": 0, WHY: table}
    text = "rows of a table by the words of a text: few of them often"
    words = fixed(*line(size), fill=zipf(rows[0]), dtype=INDEX)
    yield {"data": tensor(*rows), "indices": words, "axis": 0, WHY: text}
    few = "single elements of a long vector at random, as parameters by their hash"
    yield {"data": tensor(count), "indices": indices(line(size), count), WHY: few}


@FAMILIES.operation("take_along_last")
def take_along_last(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and the indices of as many elements of each row as it has."""
    shape = square(size)
    why = "each row in an order of its own, as `argsort` returns it"
    yield {"data": tensor(*shape), "indices": shuffled(*shape), WHY: why}
    samples, words = size.extent(128, least=8), size.extent(WORDS)
    why = "BERT-base, the score of each masked word: one element of a long row"
    yield {"data": tensor(samples, words), "indices": indices((samples, 1), words), WHY: why}


PATCHES = 196
"""Patches of 16 x 16 pixels in an image of 224 x 224."""

ONE_INDEX = "some of each image's tokens: one index for all of a token's features"


def top_tokens(size: Preset, data: str) -> Arguments:
    """The tokens of images, by the name of that argument, and the indices of a quarter of them."""
    at = indices((size.images, PATCHES // 4, 1), PATCHES)
    return {data: tensor(size.images, PATCHES, UNITS), "indices": at}


@FAMILIES.operation("delete")
def delete(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and the indices of the rows to delete."""
    rows = tall(size)
    why = "rows deleted by their indices, as samples that a filter found: most of them"
    yield {"data": tensor(*rows), "where": indices(line(size), rows[0]), "axis": 0, WHY: why}


@FAMILIES.operation("fill_diagonal")
def fill_diagonal(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and the number to fill its diagonal with."""
    why = "a diagonal overwritten, as the distance of each point to itself"
    yield {"data": tensor(*square(size)), "value": 1, WHY: why}


ROWS: dict[str, Row] = {
    "choose": lambda size: {
        "indices": indices(square(size), LIST_LENGTH),
        "choices": tensors([tensor(*square(size))] * LIST_LENGTH),
        WHY: "each element from one of several matrices, as a function defined in pieces",
    },
    "put_along_last": lambda size: {
        "data": tensor(rows := square(size)[0], columns := square(size)[1]),
        "indices": shuffled(rows, columns // 2, limit=columns),
        "values": tensor(rows, columns // 2),
        WHY: "values to half of each row, at places of its own, as the best ones put back",
    },
    "put": lambda size: {
        "data": tensor(*vector(size)),
        "indices": indices(line(size), *vector(size)),
        "values": tensor(*line(size)),
        WHY: "a few elements of a long vector at random, as a sparse vector made dense",
    },
    "ravel_multi_index": lambda size: {
        "indices": tensors([indices(vector(size), extent) for extent in square(size)]),
        "shape": square(size),
        WHY: "rows and columns to positions in memory, as coordinates of a sparse matrix",
    },
    "unravel_index": lambda size: {
        "flat": indices(vector(size), *vector(size)),
        "shape": square(size),
        WHY: "positions in memory to rows and columns: the best scores of a whole matrix",
    },
}
add_rows(FAMILIES.operation, ROWS)
