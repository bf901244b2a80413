"""Further inputs of `jax.lax`'s convolutions: channels last, borders by word, each pixel's own
kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.jax.operations.lax_convolutions import channels_last
from opperf.rules.pictures import (
    Window,
    coarse_maps,
    feature_maps,
    network_maps,
    photographs,
    video,
)
from opperf.rules.pictures import channels_last as last
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, tensor
from opperf.rules.variants import Variants, own

FAMILIES = Families()


def channels_last_layer(window: Window) -> Arguments:
    """A layer of maps and a kernel with their channels last, and a border by word, or by its width
    where the window has one."""
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
    speech = network_maps(size, 512, 3000, samples=1)
    halved = network_maps(size, 128, 56, 56, samples=4, multiple=2)
    for why, window in (
        (
            "ResNet-50 in Flax, the first layer, channels last",
            Window(photographs(size), kernel=7, stride=2, pad=3),
        ),
        ("ResNet-50 in Flax, stage 1, 3 x 3, channels last", Window(feature_maps(size))),
        (
            "MobileNet in Keras, depthwise, channels last",
            Window(maps, 512, groups=512),
        ),
        ("ResNet-50 in Haiku, stage 2, halving the map", Window(halved, 128, stride=2)),
        ("Whisper, the second layer, steps of two frames", Window(speech, 512, stride=2, pad=1)),
        ("TCN, a dilated layer of sound", Window(frames, 128, dilate=8)),
        ("C3D, the first layer, of pictures half as wide, channels last", Window(video(size))),
    ):
        yield {**channels_last_layer(window), WHY: why}


def enlarging(size: Preset) -> Iterable[Arguments]:
    """Flax's transposed layers, whose kernel is not flipped."""
    for why, window in (
        (
            "DCGAN in Flax, the generator's second layer, channels last",
            Window(network_maps(size, 512, 8, 8), 256, kernel=4, stride=2),
        ),
        (
            "an enlargement of sound by four, channels last",
            Window(network_maps(size, 256, 256), 128, kernel=24, stride=4),
        ),
    ):
        made = channels_last_layer(window)
        steps = made.pop("window_strides")
        yield {**made, "strides": steps, WHY: why}


def by_word(size: Preset) -> Iterable[Arguments]:
    """Layers of one and of three dimensions."""
    for why, window, padding in (
        (
            "wav2vec 2.0, a middle layer, of a second of sound",
            Window(network_maps(size, 512, 799), 512, stride=2),
            "VALID",
        ),
        (
            "maps of video, half as wide as C3D's, that keep their extents",
            Window(video(size)),
            "SAME",
        ),
    ):
        channels = window.shape[1]
        yield {
            "lhs": tensor(*window.shape),
            "rhs": tensor(window.filters, channels, *window.along(window.kernel)),
            "window_strides": window.along(window.stride),
            "padding": padding,
            WHY: why,
        }


FURTHER: Mapping[str, Variants] = {
    "lax.conv": by_word,
    "lax.conv_general_dilated": of_flax,
    "lax.conv_transpose": enlarging,
}
"""Other orders of axes and borders by word, beside the layers of all frameworks."""


@FAMILIES.also(*FURTHER)
def other_layers(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers as Flax, Haiku and Keras call them."""
    return own(FURTHER, operator, size)


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
