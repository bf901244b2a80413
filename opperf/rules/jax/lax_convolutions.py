"""Further inputs of `jax.lax`'s convolutions: channels last, borders by word, each pixel's own
kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Array, Roles, Table, Values, use
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import (
    Window,
    coarse_maps,
    feature_maps,
    network_maps,
    photographs,
    video,
)
from opperf.rules.image_shapes import channels_last as last
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, tensor, without_gradients
from opperf.rules.variants import add_rows

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""Letters of the spatial axes by their number."""

Orders = tuple[str, str, str]
"""Orders of the axes of the maps, of the kernel and of the results, as words of letters."""


def channels_first(axes: int) -> Orders:
    """The orders that a convolution has without others: those of the canonical operations."""
    sides = SPATIAL[axes]
    return f"NC{sides}", f"OI{sides}", f"NC{sides}"


def channels_last(axes: int) -> Orders:
    """The orders of Flax and Keras, whose channels are last."""
    sides = SPATIAL[axes]
    return f"N{sides}C", f"{sides}IO", f"N{sides}C"


def _reordered(array: Array, own: str, wanted: str) -> Array:
    return array.transpose([own.index(letter) for letter in wanted])


def _pairs(
    padding: Any, extents: Sequence[int], kernel: Shape, stride: Shape, dilation: Shape
) -> list[tuple[int, int]]:
    """The elements of the border before and behind each axis, which may be a word."""
    if not isinstance(padding, str):
        return [(before, behind) for before, behind in padding]
    if padding == "VALID":
        return [(0, 0)] * len(kernel)
    assert padding == "SAME"
    made = []
    for extent, k, s, d in zip(extents, kernel, stride, dilation, strict=True):
        whole = max(0, (-(-extent // s) - 1) * s + d * (k - 1) + 1 - extent)
        made.append((whole // 2, whole - whole // 2))
    return made


def _with_border(data: Array, pairs: Sequence[tuple[int, int]]) -> Array:
    """The maps with zeros around them. Only tests call it, which have NumPy."""
    import numpy as np

    return np.pad(data, [(0, 0), (0, 0), *pairs])


def convolution_roles(
    lhs: Array,
    rhs: Array,
    window_strides: Shape,
    padding: Any,
    lhs_dilation: None = None,
    rhs_dilation: Shape | None = None,
    dimension_numbers: Orders | None = None,
    feature_group_count: int = 1,
) -> dict[str, Any]:
    """A convolution's inputs, with the border in the maps: it may differ at an axis's ends."""
    axes = len(window_strides)
    maps, filters, _ = dimension_numbers or channels_first(axes)
    usual = channels_first(axes)
    data, weight = _reordered(lhs, maps, usual[0]), _reordered(rhs, filters, usual[1])
    dilation = rhs_dilation or (1,) * axes
    pairs = _pairs(padding, data.shape[2:], weight.shape[2:], window_strides, dilation)
    return {
        "data": _with_border(data, pairs),
        "weight": weight,
        "stride": window_strides,
        "padding": (0,) * axes,
        "dilation": dilation,
        "groups": feature_group_count,
    }


def as_called(made: Array, arguments: Values) -> Array:
    """The results of a convolution in the order of the call's axes."""
    axes = made.ndim - 2
    orders = arguments.get("dimension_numbers")
    return _reordered(made, channels_first(axes)[2], orders[2]) if orders else made


def word_of(roles: Roles) -> str | None:
    """The word for a border: none, or one that keeps the extents; None if it is another."""
    weight, padding, dilation = roles["weight"], roles["padding"], roles["dilation"]
    assert isinstance(weight, TensorSpec)
    assert isinstance(padding, tuple)
    assert isinstance(dilation, tuple)
    if not any(padding):
        return "VALID"
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]  # type: ignore[operator]
    keeps = all(2 * p == r for p, r in zip(padding, reach, strict=True))  # type: ignore[operator]
    return "SAME" if keeps and set(roles["stride"]) == {1} else None  # type: ignore[arg-type]


def convolution_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The arguments of a convolution without a bias; None if the function lacks one."""
    groups, dilation, padding = roles.get("groups", 1), roles["dilation"], roles["padding"]
    assert isinstance(dilation, tuple)
    assert isinstance(padding, tuple)
    takes_pairs = operator.parameter("rhs_dilation") is not None
    border = tuple((width, width) for width in padding) if takes_pairs else word_of(roles)
    if border is None or (groups != 1 and operator.parameter("feature_group_count") is None):
        return None
    made: dict[str, Argument] = {
        "lhs": roles["data"],
        "rhs": roles["weight"],
        "window_strides": roles["stride"],
        "padding": border,  # type: ignore[dict-item]
    }
    if operator.parameter("feature_group_count") is None and takes_pairs:
        # It requires both.
        return {**made, "lhs_dilation": (1,) * len(dilation), "rhs_dilation": dilation}
    if set(dilation) != {1}:
        if not takes_pairs:
            return None
        made["rhs_dilation"] = dilation
    if groups == 1:
        return made
    weight = roles["weight"]
    assert isinstance(weight, TensorSpec)
    made["feature_group_count"] = groups
    # XLA has a gradient of depthwise layers; that of other groups takes half a minute on a CPU.
    return made if weight.shape[1] == 1 else without_gradients(made)


def transposed_roles(
    lhs: Array,
    rhs: Array,
    strides: Shape,
    padding: Any,
    dimension_numbers: Orders,
    transpose_kernel: bool = False,
) -> dict[str, Any]:
    """A transposed convolution's inputs. Without `transpose_kernel` the kernel is one that is not
    flipped, and its input channels are the maps'."""
    axes = len(strides)
    usual = channels_first(axes)
    maps, filters, _ = dimension_numbers
    data, weight = _reordered(lhs, maps, usual[0]), _reordered(rhs, filters, usual[1])
    if not transpose_kernel:
        flipped = (slice(None), slice(None), *(slice(None, None, -1),) * axes)
        weight = weight.swapaxes(0, 1)[flipped]
    kernel = weight.shape[2:]
    if padding == "SAME":
        # The border of the forward convolution that these words stand for.
        cut = [k - s for k, s in zip(kernel, strides, strict=True)]
        assert all(extent >= 0 and extent % 2 == 0 for extent in cut)
        border = tuple(extent // 2 for extent in cut)
    else:
        assert all(before == behind for before, behind in padding)
        border = tuple(k - 1 - pair[0] for k, pair in zip(kernel, padding, strict=True))
    return {
        "data": data,
        "weight": weight,
        "stride": strides,
        "padding": border,
        "dilation": (1,) * axes,
        "groups": 1,
    }


def transposed_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The arguments of a transposed convolution of one group."""
    weight, padding = roles["weight"], roles["padding"]
    assert isinstance(weight, TensorSpec)
    assert isinstance(padding, tuple)
    if roles.get("groups", 1) != 1:
        return None
    kernel = weight.shape[2:]
    border = [k - 1 - p for k, p in zip(kernel, padding, strict=True)]  # type: ignore[operator]
    return {
        "lhs": roles["data"],
        "rhs": weight,
        "strides": roles["stride"],
        "padding": tuple((width, width) for width in border),
        "dimension_numbers": channels_first(len(kernel)),
        "transpose_kernel": True,
    }


def columns_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """The arguments of a window's elements as channels."""
    padding = roles["padding"]
    assert isinstance(padding, tuple)
    return {
        "lhs": roles["data"],
        "filter_shape": roles["kernel"],
        "window_strides": roles["stride"],
        "padding": tuple((width, width) for width in padding),  # type: ignore[misc]
    }


def columns_roles(
    lhs: Array,
    filter_shape: Shape,
    window_strides: Shape,
    padding: Any,
    dimension_numbers: Orders | None = None,
) -> dict[str, Any]:
    """A window's inputs, with the border as a part of the maps."""
    once = (1,) * len(filter_shape)
    usual = channels_first(len(filter_shape))
    maps = _reordered(lhs, (dimension_numbers or usual)[0], usual[0])
    pairs = _pairs(padding, maps.shape[2:], filter_shape, window_strides, once)
    return {
        "data": _with_border(maps, pairs),
        "kernel": filter_shape,
        "stride": window_strides,
        "dilation": once,
        "padding": (0,) * len(filter_shape),
    }


def as_maps(made: Array, arguments: Values) -> Array:
    """Columns as maps of the windows' extents, in the order of the input's axes."""
    roles = columns_roles(**arguments)
    extents = (
        (extent - k) // step + 1
        for extent, k, step in zip(
            roles["data"].shape[2:], roles["kernel"], roles["stride"], strict=True
        )
    )
    maps = made.reshape(*made.shape[:2], *extents)
    usual = channels_first(maps.ndim - 2)
    return _reordered(maps, usual[2], (arguments.get("dimension_numbers") or usual)[2])


CONVOLUTION = use("convolution", convolution_roles, as_called, convolution_arguments)

OPERATIONS: Table = {
    "lax.conv": CONVOLUTION,
    "lax.conv_general_dilated": CONVOLUTION,
    "lax.conv_general_dilated_patches": use("im2col", columns_roles, as_maps, columns_arguments),
    "lax.conv_transpose": use("deconvolution", transposed_roles, as_called, transposed_arguments),
    "lax.conv_with_general_padding": CONVOLUTION,
}


FAMILIES = Families()


def channels_last_layer(window: Window) -> Arguments:
    """A layer with its channels last, and a border by word, or by the window's width."""
    inputs = window.shape[1] // window.groups
    made: Arguments = {
        "lhs": tensor(*last(window.shape)),
        "rhs": tensor(*window.along(window.kernel), inputs, window.filters),
        "window_strides": window.along(window.stride),
        "padding": window.axes * ((window.pad, window.pad),) if window.pad else "SAME",
        "dimension_numbers": channels_last(window.axes),
    }
    if window.dilate > 1:
        made["rhs_dilation"] = window.along(window.dilate)
    if window.groups > 1:
        made["feature_group_count"] = window.groups
    return made


def of_flax(size: Preset) -> Iterable[Arguments]:
    """Layers of Flax's networks, in one, two and three dimensions."""
    maps, frames = network_maps(size, 512, 14, 14), network_maps(size, 512, 200)
    speech, image = network_maps(size, 512, 3000, samples=1), photographs(size)
    halved = network_maps(size, 128, 56, 56, samples=4, multiple=2)
    for why, window in (
        ("ResNet-50 in Flax, first layer, channels last", Window(image, kernel=7, stride=2, pad=3)),
        ("ResNet-50 in Flax, stage 1, 3 x 3, channels last", Window(feature_maps(size))),
        ("MobileNet in Keras, depthwise, channels last", Window(maps, 512, groups=512)),
        ("ResNet-50 in Haiku, stage 2, halving the map", Window(halved, 128, stride=2)),
        ("Whisper, the second layer, steps of two frames", Window(speech, 512, stride=2, pad=1)),
        ("TCN, a dilated layer of sound", Window(frames, 128, dilate=8)),
        ("C3D, the first layer, of images half as wide, channels last", Window(video(size))),
    ):
        yield {**channels_last_layer(window), WHY: why}


def enlarged(size: Preset) -> Iterable[Arguments]:
    """Flax's transposed layers, whose kernel is not flipped."""
    for why, window in (
        (
            "DCGAN in Flax, the generator's second layer, channels last",
            Window(network_maps(size, 512, 8, 8), 256, kernel=4, stride=2),
        ),
        (
            "as WaveGAN's third enlargement, by four, its kernel one shorter",
            Window(network_maps(size, 256, 256), 128, kernel=24, stride=4),
        ),
    ):
        made = channels_last_layer(window)
        steps = made.pop("window_strides")
        yield {**made, "strides": steps, WHY: why}


def patches(size: Preset) -> Iterable[Arguments]:
    """Windows of images and maps, channels last as Flax has them."""
    for why, shape, side, step, padding in (
        ("a vision transformer's patches: none overlap", photographs(size), 16, 16, "VALID"),
        ("each pixel's 3 x 3 neighbours, channels last", feature_maps(size), 3, 1, "SAME"),
    ):
        yield {
            "lhs": tensor(*last(shape)),
            "filter_shape": (side, side),
            "window_strides": (step, step),
            "padding": padding,
            "dimension_numbers": channels_last(2),
            WHY: why,
        }


def by_word(size: Preset) -> Iterable[Arguments]:
    """A layer over sound."""
    yield {
        "lhs": tensor(*network_maps(size, 512, 799)),
        "rhs": tensor(512, 512, 3),
        "window_strides": (2,),
        "padding": "VALID",
        WHY: "wav2vec 2.0, middle layer",
    }


# Beside the layers of all frameworks.
FURTHER = {
    "lax.conv_general_dilated_patches": patches,
    "lax.conv": by_word,
    "lax.conv_general_dilated": of_flax,
    "lax.conv_transpose": enlarged,
}
add_rows(FAMILIES.also, FURTHER)


LOCAL_FILTERS = 16
"""Filters of a layer without shared weights: each pixel has its own."""


@FAMILIES.add("lax.conv_general_dilated_local")
def local(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers whose kernel is another at each place."""
    batch, _, *sides = coarse_maps(size)
    for why, channels, extents in (
        ("a locally connected layer of aligned faces", LOCAL_FILTERS, tuple(sides)),
        ("a locally connected layer of sound, of electrodes at their places", 32, (sides[0] * 8,)),
    ):
        window = Window((batch, channels, *extents), LOCAL_FILTERS)
        kernel = window.along(window.kernel)
        elements = channels * window.kernel**window.axes
        yield {
            "lhs": tensor(*window.shape),
            "rhs": tensor(LOCAL_FILTERS, elements, *window.positions),
            "window_strides": window.along(1),
            "padding": "VALID",
            "filter_shape": kernel,
            WHY: why,
        }
