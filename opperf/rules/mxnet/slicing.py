"""Reading and writing parts of tensors by begin and end."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import feature_maps
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, square
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, call, fixed, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()


def middle(shape: Shape) -> tuple[Shape, Shape]:
    """Begin and end of the middle half along every axis."""
    return tuple(n // 4 for n in shape), tuple(n // 4 + max(1, n // 2) for n in shape)


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
