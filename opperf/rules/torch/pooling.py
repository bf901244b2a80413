"""Families of PyTorch's pooling, and of the operators that are its gradients or its reverse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import Window, feature_maps, network_maps
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.torch.maxima import with_indices
from opperf.rules.torch.operations.convolutions import OPERATIONS, channels_last
from opperf.rules.torch.roles import by_role
from opperf.rules.values import Arguments, between, call, fixed, taken, tensor

FAMILIES = Families()

NOT_BENCHMARKED = dict.fromkeys(
    ("mkldnn_max_pool2d_backward", "mkldnn_max_pool3d_backward"),
    "it reads the workspace that oneDNN attaches to the output of its own forward pass",
)
"""Operators that cannot be called on their own, each with the reason."""


class Pool(NamedTuple):
    """A layer of pooling."""

    why: str
    window: Window

    def why_of(self, averages: bool) -> str:
        """The layer that it stands for: these have maxima."""
        return f"{self.why}, means in place of maxima" if averages else self.why

    @property
    def output(self) -> Shape:
        """Shape of the pooled maps."""
        return (*self.window.shape[:2], *self.window.positions)

    @property
    def sizes(self) -> Arguments:
        """The window's extents, and how it moves."""
        window = self.window
        return {
            "kernel_size": window.along(window.kernel),
            "stride": window.along(window.stride),
            "padding": window.along(window.pad),
        }


def pools(size: Preset) -> dict[int, list[Pool]]:
    """Layers by their number of spatial axes."""
    return {
        1: [
            Pool(
                "M5, on sound",
                Window(network_maps(size, 128, 2000, multiple=4), kernel=4, stride=4),
            ),
            Pool("a TCN, between blocks", Window(network_maps(size, 64, 400), kernel=2, stride=2)),
        ],
        2: [
            Pool(
                "ResNet, after the first layer",
                Window(network_maps(size, 64, 112, 112), kernel=3, stride=2, pad=1),
            ),
            Pool(
                "VGG-16, after the second block",
                Window(network_maps(size, 128, 112, 112, multiple=2), kernel=2, stride=2),
            ),
        ],
        3: [
            Pool(
                "C3D, after the second layer",
                Window(
                    network_maps(size, 128, 16, 56, 56, samples=1, multiple=2), kernel=2, stride=2
                ),
            ),
            Pool(
                "I3D's inception blocks, in fewer channels: windows that overlap",
                Window(network_maps(size, 64, 16, 28, 28, samples=1), kernel=3, pad=1),
            ),
        ],
    }


def axes_of(operator: Operator) -> int:
    """The number of spatial axes that an operator's name has: that in front of its `d`."""
    return next(axes for axes in (1, 2, 3) if f"{axes}d" in operator.name)


def pools_of(operator: Operator, size: Preset) -> list[Pool]:
    """Layers of the operator's number of spatial axes."""
    return pools(size)[axes_of(operator)]


@FAMILIES.also("avg_pool1d", "avg_pool3d", "max_pool1d", "max_pool3d", "max_pool1d_with_indices")
@FAMILIES.also("max_pool3d_with_indices")
@by_role(OPERATIONS)
def other_axes(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Layers of networks for sound and for volumes, beside those of networks for images."""
    by_axes = pools(size)
    averages = operation.name == "pooling"
    for pool in [*(by_axes[1] if averages else by_axes[1][1:]), *by_axes[3][1 - averages :]]:
        window = pool.window
        yield {
            WHY: pool.why_of(averages),
            "data": tensor(*window.shape),
            "kernel": window.along(window.kernel),
            "stride": window.along(window.stride),
            "padding": window.along(window.pad),
            **({"kind": "avg"} if averages else {}),
        }


@FAMILIES.also("avg_pool2d.default", "avg_pool3d")
@by_role(OPERATIONS)
def without_border(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Means of the elements of a map alone, those of the border left uncounted."""
    why = "branch of means, each of as many elements as the map has there"
    for model, shape in (
        ("Inception v3's", network_maps(size, 192, 35, 35)),
        ("a video network's", network_maps(size, 64, 16, 28, 28, samples=1)),
    ):
        window = Window(shape, kernel=3, pad=1)
        yield {
            WHY: f"{model} {why}",
            "data": tensor(*shape),
            "kernel": window.along(3),
            "stride": window.along(1),
            "padding": window.along(1),
            "kind": "avg",
            "counts_border": False,
        }


@FAMILIES.also("adaptive_avg_pool1d", "adaptive_avg_pool3d", "adaptive_max_pool1d")
@FAMILIES.also("adaptive_max_pool3d")
@by_role(OPERATIONS)
def cells(operation: CanonicalOperation, size: Preset) -> Rows:
    """Sequences and videos, pooled to one number and to a few cells."""
    return {
        why: call(data=tensor(*shape), output_size=output)
        for why, shape, output in (
            ("M5's last features, each to one number", network_maps(size, 512, 30), (1,)),
            ("frames of speech, pooled to cells that overlap", network_maps(size, 256, 250), (7,)),
            (
                "3D ResNet-18's last features, each to one number",
                network_maps(size, 512, 2, 7, 7, multiple=1),
                (1, 1, 1),
            ),
            (
                "C3D's features in cells of 2 x 4 x 4, for videos of any extent",
                network_maps(size, 256, 4, 14, 14, samples=2),
                (2, 4, 4),
            ),
        )
    }


@FAMILIES.add(
    *(f"quantized_max_pool{axes}d" for axes in (1, 2, 3)), replaces="its tensors are quantised"
)
def quantized(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of quantised networks."""
    for pool in pools_of(operator, size):
        data = fixed(*pool.window.shape, dtype="quint8")
        if len(data.shape) == 4:
            data = channels_last(data)
        yield {WHY: f"{pool.why}, quantised", "self": data, **pool.sizes}


@FAMILIES.add(
    "mkldnn_max_pool2d",
    "mkldnn_max_pool3d",
    "mkldnn_adaptive_avg_pool2d",
    replaces="its tensors are in oneDNN's layout",
)
def of_onednn(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of tensors in oneDNN's own layout, which only its operators take."""
    if "adaptive" in operator.name:
        # The kernel takes cells of one extent, which divides that of the map.
        sides = [network_maps(size, 512, 14, 14), network_maps(size, 512, 7, 7)]
        for side in sides:
            why = f"before a classifier, of {size.samples(8)} maps of {side[2]} x {side[3]}"
            yield {WHY: why, "self": in_onednn(side), "output_size": (1, 1)}
        return
    for pool in pools_of(operator, size):
        yield {WHY: pool.why, "self": in_onednn(pool.window.shape), **pool.sizes}


def in_onednn(shape: Shape) -> TensorSpec:
    """A tensor in oneDNN's own layout."""
    return msgspec.structs.replace(fixed(*shape), layout="mkldnn")


@FAMILIES.add("mkldnn_adaptive_avg_pool2d_backward")
def adaptive_gradient_of_onednn(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The backward pass of the means of whole maps, in oneDNN's own layout."""
    data = network_maps(size, 512, 14, 14)
    yield {"grad_output": in_onednn((*data[:2], 1, 1)), "self": in_onednn(data)}


def gradient(pool: Pool) -> dict[str, Argument]:
    """Arguments of any backward pass of a layer of pooling."""
    return {
        "grad_output": tensor(*pool.output),
        "self": tensor(*pool.window.shape),
        **pool.sizes,
        "dilation": pool.window.along(1),
        "ceil_mode": False,
        "count_include_pad": True,
    }


@FAMILIES.also("avg_pool2d_backward.default", "max_pool2d_with_indices_backward.default")
@FAMILIES.add("avg_pool3d_backward", "max_pool3d_with_indices_backward", "max_pool2d_backward")
def gradients(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Backward passes of layers."""
    for pool in pools_of(operator, size):
        has_indices = operator.parameter("indices") is not None
        why = pool.why_of(operator.name.startswith("avg"))
        made = {WHY: why, **taken(operator, gradient(pool))}
        yield with_indices(operator, made, pool.output) if has_indices else made


def grids(operator: Operator, size: Preset) -> Iterable[tuple[str, Shape, Shape]]:
    """Maps with the extents that they are pooled to, each with why."""
    if axes_of(operator) == 2:
        yield "CBAM, attention to channels: whole maps", feature_maps(size, 256), (1, 1)
        yield "a region's map in 7 x 7 cells, as Fast R-CNN", feature_maps(size), (7, 7)
    else:
        clip = network_maps(size, 256, 8, 28, 28, samples=1)
        yield "whole volumes, before a classifier", clip, (1, 1, 1)
        yield "videos in cells of 2 x 4 x 4", clip, (2, 4, 4)


@FAMILIES.add("adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward")
def adaptive_gradients(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Backward passes of maps that are pooled to a grid."""
    for why, shape, cells in grids(operator, size):
        output = (*shape[:2], *cells)
        made: Arguments = {WHY: why, "grad_output": tensor(*output), "self": tensor(*shape)}
        yield with_indices(operator, made, output)


def fractional(operator: Operator, size: Preset) -> Iterable[tuple[str, Shape, Shape, Shape]]:
    """Maps that are pooled by a factor that is not an integer, with the extents of the window and
    of the output."""
    two = axes_of(operator) == 2
    shape = network_maps(size, 96, 48, 48) if two else network_maps(size, 16, 32, 48, 48, samples=1)
    kernel = (2,) * axes_of(operator)
    for why, share in (
        ("fractions of a map: by the root of two, two layers to a half", 2**-0.5),
        ("fractions of a map: by the cube root of two, three layers to a half", 2 ** (-1 / 3)),
    ):
        yield why, shape, kernel, tuple(min(int(side * share), side - 2) for side in shape[2:])


@FAMILIES.add("fractional_max_pool2d", "fractional_max_pool3d")
def fractional_pooling(operator: Operator, size: Preset) -> Rows:
    """Maps that are pooled by a factor that is not an integer."""
    return {
        why: call(
            self=tensor(*shape),
            kernel_size=kernel,
            output_size=output,
            random_samples=fixed(*shape[:2], len(kernel), fill=between(0, 1)),
        )
        for why, shape, kernel, output in fractional(operator, size)
    }


@FAMILIES.add("fractional_max_pool2d_backward", "fractional_max_pool3d_backward")
def fractional_gradients(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Backward passes of such layers."""
    for why, shape, kernel, output in fractional(operator, size):
        pooled = (*shape[:2], *output)
        made: Arguments = {
            WHY: why,
            "grad_output": tensor(*pooled),
            "self": tensor(*shape),
            "kernel_size": kernel,
            "output_size": output,
        }
        yield with_indices(operator, made, pooled)


UNPOOLED = (
    ("SegNet, the last enlargement", (64, 112, 112)),
    ("SegNet, the first enlargement: many channels of few pixels", (512, 7, 7)),
    ("an autoencoder of volumes", (64, 8, 16, 16)),
)
"""Why maxima are put back, and the extents of a sample of them."""


@FAMILIES.add("max_unpool2d", "max_unpool3d")
def unpooling(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Maxima at their indices in maps of twice the extents."""
    for why, (channels, *sides) in UNPOOLED:
        axes = len(sides)
        if axes != axes_of(operator):
            continue
        shape = network_maps(size, channels, *sides, samples=4)
        larger = tuple(2 * side for side in shape[2:])
        moves = {"stride": (2,) * axes, "padding": (0,) * axes} if axes == 3 else {}
        made: Arguments = {WHY: why, "self": tensor(*shape), "output_size": larger, **moves}
        yield with_indices(operator, made, shape)
