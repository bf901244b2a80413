"""Operations that combine several tensors without arithmetic, or take one apart."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import WORDS, tokens
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import LIST_LENGTH, column, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import below, fixed, tensor, tensors

FAMILIES = Families()


@FAMILIES.operation("block_diagonal")
def block_diagonal(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A few large matrices, and many small ones."""
    large = tensor(size.extent(512), size.extent(512))
    small = tensor(16, 16)
    for matrices, why in (
        ([large] * LIST_LENGTH, "a few large matrices, as the covariances of independent groups"),
        ([small] * size.extent(64), "many small matrices, as a batch of molecules in one graph"),
    ):
        yield {"tensors": tensors(matrices), WHY: why}


@FAMILIES.operation("broadcast_together")
def broadcast_together(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors of which each lacks an axis that another has."""
    rows, columns = tall(size)
    maps = feature_maps(size)
    for shapes, why in (
        ((column(size), (1, columns)), "a column and a row, as each pair of two lists"),
        ((maps, (1, maps[1], 1, 1)), "feature maps and a number per channel, before arithmetic"),
    ):
        yield {"tensors": tensors(tensor(*shape) for shape in shapes), WHY: why}


@FAMILIES.operation("meshgrid")
def meshgrid(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The coordinates of a plane and of a volume."""
    side = size.extent(1024)
    for coordinates, indexing, why in (
        ([tensor(side)] * 2, "ij", "rows and columns of a map, as the anchors of a detector"),
        ([tensor(side)] * 2, "xy", "columns and rows of an image, for the rays of its camera"),
        ([tensor(size.extent(96))] * 3, "ij", "points of a volume, as an occupancy network's"),
    ):
        yield {"tensors": tensors(coordinates), "indexing": indexing, WHY: why}


@FAMILIES.operation("unstack")
def unstack(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors to take apart along the first, a middle and the last axis."""
    batch, length = tokens(size)
    rows, _ = square(size)
    for shape, axis, why in (
        ((3, batch, 12, length, 64), 0, "queries, keys and values of one projection of tokens"),
        ((batch, length, 64), 1, "time steps one by one, for a recurrent cell in a loop"),
        ((rows * 4, 4), -1, "the four coordinates of boxes, as to find their areas"),
    ):
        yield {"x": tensor(*shape), "axis": axis, WHY: why}


@FAMILIES.operation("pad_sequences")
def pad_sequences(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Sequences of different lengths, of vectors and of numbers."""
    batch, longest = tokens(size)
    lengths = [longest - i * longest // (2 * batch) for i in range(batch)]
    yield {
        "tensors": tensors(tensor(length, 80) for length in lengths),
        "value": 0.0,
        WHY: "spectrograms of 80 mel bands to one batch, for speech recognition",
    }
    yield {
        "tensors": tensors(fixed(length, fill=below(WORDS), dtype="int64") for length in lengths),
        "value": 0,
        WHY: "sentences of word numbers to one batch, as a data loader's collate function",
    }


@FAMILIES.operation("combinations")
def combinations(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Vectors, for each pair and each triple of their elements."""
    for count, length, repeated, why in (
        (size.extent(1024, least=8), 2, False, "each pair of elements once, for a metric loss"),
        (size.extent(1024, least=8), 2, True, "each pair and each element with itself"),
        (size.extent(96, least=8), 3, False, "each triple once, as anchors with two samples each"),
    ):
        yield {"x": tensor(count), "length": length, "repeated": repeated, WHY: why}
