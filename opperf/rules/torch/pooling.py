"""Families of PyTorch's pooling, and of the operators that are its gradients or its reverse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from opperf.model import Operator, TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import Window, feature_maps, network_maps
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import Shape
from opperf.rules.sizes import IMAGES, Preset
from opperf.rules.torch.maxima import with_indices
from opperf.rules.torch.operations.convolutions import OPERATIONS, channels_last
from opperf.rules.torch.roles import by_role
from opperf.rules.values import Arguments, between, call, fixed, taken, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

NOT_BENCHMARKED = dict.fromkeys(
    ("mkldnn_max_pool2d_backward", "mkldnn_max_pool3d_backward"),
    "it reads the workspace that oneDNN attaches to the output of its own forward pass",
)
"""Operators that cannot be called on their own, each with the reason."""


class Pool(NamedTuple):
    """A layer of pooling: maps of a sample at the default size, and a window."""

    why: str
    maps: Shape
    kernel: int
    stride: int = 1
    pad: int = 0
    samples: int = 8

    def window(self, size: Preset) -> Window:
        """The window and its data at a size, whose sides windows side by side divide."""
        multiple = self.stride if self.stride == self.kernel else 1
        shape = network_maps(size, *self.maps, samples=self.samples, multiple=multiple)
        return Window(shape, kernel=self.kernel, stride=self.stride, pad=self.pad)


MAXIMA = {
    1: (Pool("M5, on sound", (128, 2000), 4, 4), Pool("ED-TCN, first layer", (64, 400), 2, 2)),
    2: (
        Pool("ResNet, after the first layer", (64, 112, 112), 3, 2, pad=1),
        Pool("VGG-16, after the second block", (128, 112, 112), 2, 2),
    ),
    3: (
        Pool("C3D, after the second layer", (128, 16, 56, 56), 2, 2, samples=1),
        Pool("I3D's inception blocks, in fewer channels", (64, 16, 28, 28), 3, pad=1, samples=1),
    ),
}
"""Layers of maxima by their number of spatial axes."""

MEANS = {
    1: (
        Pool("Autoformer's moving average of 25 steps", (512, 120), 25, samples=32),
        Pool("an xResNet for heart beats, a shortcut to half the steps", (256, 256), 2, 2),
    ),
    2: (
        Pool("DenseNet-121, the first transition", (128, 56, 56), 2, 2),
        Pool("Inception v3, in the blocks of 35 x 35 pixels", (192, 35, 35), 3, pad=1),
    ),
    3: (
        Pool("dense blocks for videos, the first transition", (128, 8, 28, 28), 2, 2),
        Pool(
            "an inception block's branch of means, for videos",
            (64, 16, 28, 28),
            3,
            pad=1,
            samples=1,
        ),
    ),
}
"""Layers of means by their number of spatial axes."""


def sizes(window: Window) -> Arguments:
    """A window's extents, and how it moves."""
    return {
        "kernel_size": window.along(window.kernel),
        "stride": window.along(window.stride),
        "padding": window.along(window.pad),
    }


def axes_of(operator: Operator) -> int:
    """The number of spatial axes that an operator's name has: that in front of its `d`."""
    return next(axes for axes in (1, 2, 3) if f"{axes}d" in operator.name)


@FAMILIES.also("avg_pool1d", "avg_pool3d", "max_pool1d", "max_pool3d", "max_pool1d_with_indices")
@FAMILIES.also("max_pool3d_with_indices")
@by_role(OPERATIONS)
def other_axes(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Layers of networks for sound and for volumes, beside those of networks for images."""
    averages = operation.name == "pooling"
    for pool in (*MEANS[1], *MEANS[3]) if averages else (MAXIMA[1][1], MAXIMA[3][1]):
        window = pool.window(size)
        yield {
            **{WHY: pool.why, "data": tensor(*window.shape), "kernel": window.along(window.kernel)},
            **{"stride": window.along(window.stride), "padding": window.along(window.pad)},
            **({"kind": "avg"} if averages else {}),
        }


@FAMILIES.also("adaptive_avg_pool1d", "adaptive_avg_pool3d", "adaptive_max_pool1d")
@FAMILIES.also("adaptive_max_pool3d")
@by_role(OPERATIONS)
def cells(operation: CanonicalOperation, size: Preset) -> Rows:
    """Sequences and videos, pooled to one number and to a few cells."""
    return {
        why: call(data=tensor(*network_maps(size, *maps, samples=count)), output_size=output)
        for why, maps, count, output in (
            ("M5's last features, each to one number", (512, 30), 8, (1,)),
            ("frames of speech, pooled to cells that overlap", (256, 250), 8, (7,)),
            ("3D ResNet-18's last features, each to one number", (512, 2, 7, 7), 8, (1, 1, 1)),
            ("C3D's features in cells, for videos of any extent", (256, 4, 14, 14), 2, (2, 4, 4)),
        )
    }


@FAMILIES.add(*(f"quantized_max_pool{axes}d" for axes in (1, 2, 3)), replaces="quantised tensors")
def quantized(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of quantised networks."""
    for pool in MAXIMA[axes_of(operator)]:
        window = pool.window(size)
        data = fixed(*window.shape, dtype="quint8")
        if len(data.shape) == 4:
            data = channels_last(data)
        yield {WHY: f"{pool.why}, quantised", "self": data, **sizes(window)}


def _in_onednn(*shape: int) -> TensorSpec:
    return msgspec.structs.replace(fixed(*shape), layout="mkldnn")


def maxima_of_onednn(axes: int) -> Variants:
    """Layers of so many axes, whose tensors are in oneDNN's layout."""
    return lambda size: {
        pool.why: call(self=_in_onednn(*(window := pool.window(size)).shape), **sizes(window))
        for pool in MAXIMA[axes]
    }


def without_indices(size: Preset) -> Rows:
    """Sound, without a gradient: with one it is the kernel that returns indices too."""
    window = MAXIMA[1][0].window(size)
    moves = {name: value for name, value in sizes(window).items() if name != "padding"}
    return {"M5 predicting: maxima without their indices": call(self=fixed(*window.shape), **moves)}


add_rows(FAMILIES.also, {"max_pool1d": without_indices})

ONEDNN: dict[str, Variants] = {
    "mkldnn_max_pool2d": maxima_of_onednn(2),
    "mkldnn_max_pool3d": maxima_of_onednn(3),
    # The kernel takes cells of one extent, which divides that of the map.
    "mkldnn_adaptive_avg_pool2d": lambda size: {
        why: call(self=_in_onednn(*network_maps(size, 512, side, side)), output_size=(1, 1))
        for why, side in (
            ("ResNet-18, before the classifier, of photographs twice as wide", 14),
            ("ResNet-18, before the classifier", 7),
        )
    },
    "mkldnn_adaptive_avg_pool2d_backward": lambda size: {
        "ResNet-18, before the classifier, of photographs twice as wide": call(
            grad_output=_in_onednn(*(data := network_maps(size, 512, 14, 14))[:2], 1, 1),
            self=_in_onednn(*data),
        )
    },
}
add_rows(FAMILIES.add, ONEDNN, replaces="its tensors are in oneDNN's layout")


@FAMILIES.also("avg_pool2d_backward.default", "max_pool2d_with_indices_backward.default")
@FAMILIES.add("avg_pool3d_backward", "max_pool3d_with_indices_backward", "max_pool2d_backward")
def gradients(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Backward passes of layers."""
    table = MEANS if operator.name.startswith("avg") else MAXIMA
    for pool in table[axes_of(operator)]:
        window = pool.window(size)
        pooled = (*window.shape[:2], *window.positions)
        offered: Arguments = {
            **{WHY: pool.why, "grad_output": tensor(*pooled), "self": tensor(*window.shape)},
            **sizes(window),
            **{"dilation": window.along(1), "ceil_mode": False, "count_include_pad": True},
        }
        made = taken(operator, offered)
        has_indices = operator.parameter("indices") is not None
        yield with_indices(operator, made, pooled) if has_indices else made


@FAMILIES.add("adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward")
def adaptive_gradients(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Backward passes of maps that are pooled to a grid."""
    maps = feature_maps(size)
    clip = network_maps(size, 256, 8, 28, 28, samples=1)
    for why, shape, cells in (
        ("CBAM, attention to channels: whole maps", feature_maps(size, 256), (1, 1)),
        ("a region's map in 7 x 7 cells, as Fast R-CNN", maps, (7, 7)),
        ("whole volumes, before a classifier", clip, (1, 1, 1)),
        ("videos in cells of 2 x 4 x 4", clip, (2, 4, 4)),
    ):
        if len(cells) == axes_of(operator):
            output = (*shape[:2], *cells)
            made: Arguments = {WHY: why, "grad_output": tensor(*output), "self": tensor(*shape)}
            yield with_indices(operator, made, output)


FRACTIONED = {2: (IMAGES, (96, 48, 48), (480, 24, 24)), 3: (1, (16, 32, 48, 48), (160, 16, 24, 24))}
"""By the number of axes: samples, and early and late maps of one."""


@FAMILIES.add(*(f"fractional_max_pool{axes}d{end}" for axes in (2, 3) for end in ("", "_backward")))
def fractional(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Maps that are pooled by a factor that is not an integer, and the gradients of that."""
    axes = axes_of(operator)
    samples, *stages = FRACTIONED[axes]
    for maps, degree, why in (
        (stages[0], 2, "fractions of a map: by the root of two, two layers to a half"),
        (stages[1], 3, "many channels of few pixels, by the cube root of two: three to a half"),
    ):
        shape = network_maps(size, *maps, samples=samples)
        output = tuple(min(int(side * 2 ** (-1 / degree)), side - 2) for side in shape[2:])
        made: Arguments = {
            WHY: why,
            **{"self": tensor(*shape), "kernel_size": (2,) * axes, "output_size": output},
        }
        if operator.name.endswith("_backward"):
            made["grad_output"] = tensor(*shape[:2], *output)
            yield with_indices(operator, made, (*shape[:2], *output))
        else:
            yield {**made, "random_samples": fixed(*shape[:2], axes, fill=between(0, 1))}


@FAMILIES.add("max_unpool2d", "max_unpool3d")
def unpooling(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Maxima at their indices in maps of twice the extents."""
    axes = axes_of(operator)
    for why, maps in (
        ("SegNet, the last enlargement", (64, 112, 112)),
        ("SegNet, the first enlargement: many channels of few pixels", (512, 7, 7)),
        ("an autoencoder of volumes", (64, 8, 16, 16)),
    ):
        if len(maps) == axes + 1:
            shape = network_maps(size, *maps, samples=4)
            larger = tuple(2 * side for side in shape[2:])
            moves = {"stride": (2,) * axes, "padding": (0,) * axes} if axes == 3 else {}
            made: Arguments = {WHY: why, "self": tensor(*shape), "output_size": larger, **moves}
            yield with_indices(operator, made, shape)
