"""Inputs of PyTorch's enlargements and reductions of images by further methods: antialiased ones,
and the nearest pixel by the centres of pixels."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.torch.layouts import CHANNELS_LAST
from opperf.rules.torch.operations.transforms import spatial_axes
from opperf.rules.values import Arguments, below, tensor

FAMILIES = Families()

SMOOTH = tuple(f"_upsample_{method}2d_aa" for method in ("bicubic", "bilinear", "lanczos"))
EXACT = tuple(f"_upsample_nearest_exact{axes}d" for axes in (1, 2, 3))


def images(size: Preset) -> Iterable[tuple[str, Shape, Shape]]:
    """Why images are resized, their shape, and their new extents."""
    side, less = size.side(512), size.side(224)
    yield (
        "photographs made smaller for a classifier of 224 x 224",
        (size.samples(4), 3, side, side),
        (less, less),
    )
    few = size.side(64)
    yield (
        "masks of a segmentation, four times as large",
        (size.samples(4), 21, few, few),
        (4 * few, 4 * few),
    )


def signals(size: Preset, axes: int) -> Iterable[tuple[str, Shape, Shape]]:
    """Maps of one, two or three axes, made twice as large in each."""
    side = {1: size.extent(4096, least=64), 2: size.side(64), 3: size.side(16)}[axes]
    channels = {1: 64, 2: 128, 3: 32}[axes]
    what = {1: "a signal", 2: "feature maps", 3: "a volume"}[axes]
    yield (
        f"{what} of a decoder, twice as long in each axis",
        (size.samples(4), channels, *(side,) * axes),
        (2 * side,) * axes,
    )


@FAMILIES.add(*SMOOTH, *EXACT, *(f"{name}_backward" for name in (*SMOOTH, *EXACT)))
def resize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Pictures to other extents, or the gradient of that."""
    smooth = "_aa" in operator.name
    made = images(size) if smooth else signals(size, spatial_axes(operator))
    for why, before, after in made:
        corners: dict[str, Argument] = {"align_corners": False} if smooth else {}
        if operator.name.endswith("_backward"):
            given: dict[str, Argument] = {
                "grad_output": tensor(*before[:2], *after),
                "output_size": after,
                "input_size": before,
            }
        elif operator.parameter("scale_factors") is None:
            given = {"self": tensor(*before), "output_size": after}
        else:
            given = {"input": tensor(*before), "output_size": after}
        yield {**given, **corners, WHY: why}


@FAMILIES.also(*SMOOTH)
def bytes_of_photographs(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Photographs as they are decoded, for which there are kernels of their own."""
    _, before, after = next(iter(images(size)))
    decoded = TensorSpec(before, "uint8", below(256), memory_format=CHANNELS_LAST)
    yield {
        "input" if operator.parameter("input") else "self": decoded,
        "output_size": after,
        "align_corners": False,
        WHY: "photographs in bytes and with channels last, as they are decoded",
    }
