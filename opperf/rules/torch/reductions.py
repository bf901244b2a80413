"""Families of PyTorch's reductions, cumulative operators and statistics."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.model import Argument, Fill, TensorSpec
from opperf.rules.bert import scores, tokens
from opperf.rules.detectors import LABELS
from opperf.rules.domains import NEAR_ONE
from opperf.rules.families.reductions import runs
from opperf.rules.image_shapes import feature_maps
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import MOSTLY_DISPATCH, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.convolutions import channels_last
from opperf.rules.values import PADDED, Arguments, below, call, fixed, literal, tensor, tensors
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()


def selected(*shape: int) -> Arguments:
    """The gradient of a reduction's result, along the last axis, and the sizes of its input."""
    *outer, extent = shape
    index = fixed(*outer, fill=below(extent), dtype="int64")
    return call(grad=tensor(*outer), dim=-1, indices=index, sizes=shape, keepdim=False)


def of_running_maxima(size: Preset, dim: int) -> Arguments:
    """The gradient of running maxima, of which each row or column has eight."""
    rows, columns = square(size)
    steps = columns if dim else rows * columns
    runs = Fill("sequence", float(max(1, steps // 8)), float(min(8, square(size)[dim])))
    data, index = tensor(rows, columns), fixed(rows, columns, fill=runs, dtype="int64")
    return call(grad=data, input=data, indices=index, dim=dim)


def accumulated(size: Preset, dim: int) -> Arguments:
    """A matrix and the results of `cumprod` along an axis, near one, with their gradient."""
    near_one = tensor(*square(size), fill=NEAR_ONE)
    return call(grad=tensor(*square(size)), input=near_one, dim=dim, output=near_one)


IMAGE = 256
"""Side of an image whose gradient is taken."""


def _image(size: Preset) -> TensorSpec:
    return tensor(size.images, size.side(IMAGE), size.side(IMAGE))


def coordinates(extent: int) -> TensorSpec:
    """Coordinates along an axis, at distances that are not even."""
    return fixed(extent, fill=literal([i * i / extent for i in range(1, extent + 1)]))


EDGES = "each image's derivatives by row and column, as an edge-aware loss takes them"
SLOPES = "slopes of maps of heights by row and column, whose pixels are a distance apart"
ALONG_ROWS = "slopes of maps of heights along their rows, whose pixels are a distance apart"


def gradients(**how: Argument) -> Variants:
    """Images for their derivatives, with the same further arguments at every size."""
    why = (SLOPES if "spacing" in how else EDGES) if isinstance(how["dim"], tuple) else ALONG_ROWS
    return lambda size: {why: call(self=_image(size), **how)}


VARIANTS: Mapping[str, Variants] = {
    "cummaxmin_backward": lambda size: {
        "the gradient of running maxima in each row: few indices": of_running_maxima(size, dim=1),
        "the gradient of running maxima down columns: a row apart": of_running_maxima(size, dim=0),
    },
    "cumprod_backward": lambda size: {
        "the gradient of running products along rows, like light on rays": accumulated(size, dim=1),
        "the gradient of running products down columns: a row apart": accumulated(size, dim=0),
    },
    "value_selecting_reduction_backward": lambda size: {
        "each row's gradient to its maximum, like that of a max pooling": selected(*square(size)),
        "many short rows, the gradient of each to one of its scores": selected(*tall(size)),
        "tokens' gradients to one feature each": selected(*tokens(size), 64),
    },
    "gradient.array": gradients(dim=(1, 2)),
    "gradient.scalararray": gradients(spacing=0.5, dim=(1, 2)),
    "gradient.scalarint": gradients(spacing=0.5, dim=2),
    "gradient.scalarrayarray": gradients(spacing=(0.5, 0.25), dim=(1, 2)),
    "gradient.scalarrayint": gradients(spacing=(0.5,), dim=2),
    "gradient.tensorarray": lambda size: {
        "derivatives on an uneven grid, for a flow near a wall": call(
            self=_image(size), spacing=tensors([coordinates(size.side(IMAGE))] * 2), dim=(1, 2)
        )
    },
    "gradient.tensorarrayint": lambda size: {
        "derivatives along rows at uneven coordinates, such as wavelengths": call(
            self=_image(size), spacing=tensors([coordinates(size.side(IMAGE))]), dim=2
        )
    },
    "hash_tensor": lambda size: {
        "a matrix to one number, as to compare checkpoints": call(self=fixed(*square(size))),
        "a number for each row, as to find copies": call(self=fixed(*square(size)), dim=1),
        "a number for each column: a row apart": call(self=fixed(*square(size)), dim=0),
    },
    "is_same_size": lambda size: {
        f"two feature maps before they are added, by their shapes alone: {MOSTLY_DISPATCH}": call(
            self=fixed(*feature_maps(size)), other=fixed(*feature_maps(size))
        )
    },
    "sum_to_size": lambda size: {
        "a bias's gradient, over rows": call(self=tensor(*square(size)), size=(1, square(size)[1])),
        "the gradient of a number per channel that was broadcast to feature maps": call(
            self=tensor(*feature_maps(size)), size=(1, feature_maps(size)[1], 1, 1)
        ),
    },
}
"""Operators that are no canonical operation, or whose overloads take other arguments each."""


add_rows(FAMILIES.add, VARIANTS)


def _by_offsets(size: Preset) -> Rows:
    lengths = runs(2 * size.extent(128), 16)
    begins = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    offsets = fixed(len(begins), fill=literal(begins), dtype="int64")
    why = "the vectors of each bag's words summed, by where bags begin"
    return {why: call(data=tensor(begins[-1], 64), reduce="sum", offsets=offsets)}


FURTHER: dict[str, Variants] = {
    # Reductions of several axes, each a kernel of its own.
    "amax.default amin.default logsumexp.default mean.dim nansum.default std.correction "
    "sum.dim_IntList var.correction var_mean.correction": lambda size: {
        f"channels last: {what}": call(self=channels_last(tensor(*feature_maps(size))), dim=axes)
        for axes, what in (((2, 3), "pixels of each image"), ((0, 2, 3), "pixels of all images"))
    },
    "segment_reduce.default": _by_offsets,
    "frobenius_norm.dim": lambda size: {
        "a layer's weights as one vector, as to clip a gradient": call(
            self=tensor(*square(size)), dim=(0, 1)
        ),
        "columns, as to prune units: a row apart": call(self=tensor(*square(size)), dim=(0,)),
    },
    "mean.default": lambda size: {
        f"a batch's losses: {MOSTLY_DISPATCH}": call(self=tensor(size.extent(128)))
    },
    "sum.default": lambda size: {
        "the keys that queries of BERT-base see, as booleans to be counted": call(
            self=fixed(*scores(size), fill=PADDED, dtype="bool")
        )
    },
    "max.dim argmax.default": lambda size: {
        "channels last: the class of each pixel, whose scores are adjacent in memory": call(
            self=channels_last(tensor(*feature_maps(size, LABELS))), dim=1
        )
    },
}
add_rows(FAMILIES.also, FURTHER)
