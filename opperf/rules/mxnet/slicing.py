"""Reading and writing parts of tensors by begin and end."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.bert import few_sentences
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import feature_maps, network_maps
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, call, fixed, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()


def middle(shape: Shape) -> tuple[Shape, Shape]:
    """Begin and end of the middle half along every axis."""
    return tuple(n // 4 for n in shape), tuple(n // 4 + max(1, n // 2) for n in shape)


@FAMILIES.add("slice")
def slice_of(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The middle of matrices, every other element of it, and the middle of feature maps."""
    every_other: Arguments = {"step": (2, 2)}
    for shape, step, why in (
        (square(size), {}, "the middle of a matrix, half of each long row, as an image's crop"),
        (tall(size), {}, "the middle of short rows, as some features of a part of the samples"),
        (square(size), every_other, "every other element of the middle, as images at half size"),
    ):
        begin, end = middle(shape)
        yield {"data": tensor(*shape), "begin": begin, "end": end, **step, WHY: why}
    batch, channels, *extent = feature_maps(size)
    top, bottom = middle(tuple(extent))
    data, begin, end = tensor(*feature_maps(size)), (0, 0, *top), (batch, channels, *bottom)
    yield {"data": data, "begin": begin, "end": end, WHY: "the middle of maps, as U-Net crops them"}


@FAMILIES.add("slice_axis")
def slice_axis(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Half of a matrix's rows, of its columns, sentences' first token, and half of the channels."""
    shape = square(size)
    for axis, why in (
        (0, "the first half of the rows, in one copy, as one of two devices' share of a batch"),
        (1, "the first half of each row, as the values of a gated linear unit"),
    ):
        yield {"data": tensor(*shape), "axis": axis, "begin": 0, "end": shape[axis] // 2, WHY: why}
    first = "the first token of BERT-base's sentences, which its classifier reads"
    yield {"data": tensor(*few_sentences(size)), "axis": 1, "begin": 0, "end": 1, WHY: first}
    maps = tensor(*network_maps(size, 116, 28, 28))
    half = "ShuffleNet v2, stage 2: half of the channels, for a block's first branch"
    yield {"data": maps, "axis": 1, "begin": 0, "end": 58, WHY: half}


@FAMILIES.add("slice_like")
def slice_like(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A corner of another's shape, along both axes and one; feature maps along height and width."""
    rows, columns = square(size)
    matrix, like = tensor(rows, columns), fixed(rows // 2, columns // 2)
    mask = "the corner of a matrix, as a causal mask for sentences of another's length"
    yield {"data": matrix, "shape_like": like, WHY: mask}
    positions = "as many rows as another has, as positions' embeddings for its length"
    yield {"data": matrix, "shape_like": like, "axes": (0,), WHY: positions}
    batch, channels, height, width = feature_maps(size)
    like = fixed(batch, channels, height // 2, width // 2)
    why = "feature maps to another's height and width, for fully convolutional networks"
    yield {"data": tensor(*feature_maps(size)), "shape_like": like, "axes": (2, 3), WHY: why}


VARIANTS: dict[str, Variants] = {
    "_slice_assign": lambda size: {
        "the middle of a matrix from a smaller one, as a patch that is pasted": call(
            lhs=tensor(*square(size)),
            rhs=tensor(*(max(1, n // 2) for n in square(size))),
            **dict(zip(("begin", "end"), middle(square(size)), strict=True)),
        )
    },
    "_slice_assign_scalar": lambda size: {
        "the middle of a matrix set to a number, as a patch that random erasing removes": call(
            data=tensor(*square(size)),
            scalar=FACTOR,
            **dict(zip(("begin", "end"), middle(square(size)), strict=True)),
        )
    },
}
add_rows(FAMILIES.add, VARIANTS)
