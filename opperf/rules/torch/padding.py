"""Families of PyTorch's operators that pad tensors, and of their derivatives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.pictures import COLOURS, FILTERS, feature_maps, network_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.padding import FIXED, widths
from opperf.rules.values import Arguments, tensor

FAMILIES = Families()


class Border(NamedTuple):
    """A tensor to pad, the border's width along each spatial axis, and why."""

    shape: Shape
    width: int
    why: str
    memory_format: str = ""


def borders(size: Preset, axes: int) -> tuple[Border, ...]:
    """Tensors of a number of spatial axes."""
    if axes == 1:
        sound, inside = (size.pictures, 1, size.extent(160_000)), size.extent(8192)
        return (
            Border(sound, size.extent(200), "ten seconds of sound, before centred spectra"),
            Border((size.pictures, FILTERS, inside), 3, "a vocoder's signals before a wide kernel"),
        )
    if axes == 3:
        clips = network_maps(size, FILTERS, 16, 56, 56, samples=1)
        return (
            Border(clips, 1, "a clip's maps before a kernel of 3 x 3 x 3"),
            Border(clips, 1, "a clip's maps with channels last", memory_format="channels_last_3d"),
        )
    pictures = (size.samples(4), COLOURS, size.side(256), size.side(256))
    maps = network_maps(size, 256, 64, 64, samples=2)
    return (
        Border(pictures, 3, "pictures before CycleGAN's first kernel of 7 x 7"),
        Border(maps, 1, "maps of CycleGAN's residual blocks, before a kernel of 3 x 3"),
        Border(maps, 1, "maps with channels last", memory_format="channels_last"),
    )


def padded(operator: Operator, size: Preset) -> Iterable[tuple[Border, Shape]]:
    """The tensors of an operator, with PyTorch's list of the border's widths."""
    axes = int(operator.name.partition("_pad")[2][0])
    for one in borders(size, axes):
        yield one, (one.width, one.width) * axes


NAMES = tuple(f"{mode}_pad{axes}d" for mode in FIXED for axes in (1, 2, 3))


@FAMILIES.add(*NAMES)
def pad(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors with a border that mirrors or repeats their own elements."""
    for one, padding in padded(operator, size):
        own = msgspec.structs.replace(tensor(*one.shape), memory_format=one.memory_format)
        yield {"self": own, "padding": padding, WHY: one.why}


@FAMILIES.add(*(f"{name}_backward" for name in NAMES))
def pad_backward(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The gradient of the padded tensor."""
    for one, padding in padded(operator, size):
        pairs = widths(len(one.shape), padding)
        wide = [extent + sum(pair) for extent, pair in zip(one.shape, pairs, strict=True)]
        own, gradient = (
            msgspec.structs.replace(tensor(*shape), memory_format=one.memory_format)
            for shape in (one.shape, wide)
        )
        yield {"grad_output": gradient, "self": own, "padding": padding, WHY: one.why}


@FAMILIES.also("constant_pad_nd", "pad")
def pad_channels_last(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps with channels last."""
    maps = tensor(*feature_maps(size))
    yield {
        "self": msgspec.structs.replace(maps, memory_format="channels_last"),
        "pad": (1, 1, 1, 1),
        WHY: "zeros around feature maps with channels last, as before a convolution",
    }
