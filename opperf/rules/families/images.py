"""Scaling of images, and of signals and volumes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import COLOURS
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import tensor

FAMILIES = Families()


class Scaling(NamedTuple):
    """A tensor's shape, its new spatial extents, why, and whether corners are aligned."""

    shape: Shape
    output_size: Shape
    why: str
    align_corners: bool = False


def times(shape: Shape, factor: int) -> Shape:
    """The spatial extents of a tensor, multiplied."""
    return tuple(extent * factor for extent in shape[2:])


def of_all(size: Preset) -> tuple[Scaling, ...]:
    """Signals and volumes, which every method but the cubic scales."""
    mel = (size.samples(8), 256, size.extent(1024))
    volume = (1, 16, *(size.side(side, 4) for side in (16, 64, 64)))
    return (
        Scaling(mel, times(mel, 2), "a vocoder's features to twice as many frames"),
        Scaling(volume, times(volume, 2), "a volume's maps in the decoder of a 3D U-Net"),
    )


def nearest(size: Preset) -> tuple[Scaling, ...]:
    """Feature maps to copy pixels of."""
    decoder = (size.samples(2), 640, size.side(32), size.side(32))
    pyramid = (size.samples(8), 256, size.side(20, 4), size.side(20, 4))
    mask = (size.samples(2), 1, size.side(512), size.side(512))
    return (
        Scaling(decoder, times(decoder, 2), "Stable Diffusion's maps, before a convolution"),
        Scaling(pyramid, times(pyramid, 2), "a pyramid's maps to the next finer level's, as YOLO"),
        Scaling(mask, (size.side(512) // 8,) * 2, "a mask to an eighth, for Stable Diffusion"),
    )


def linear(size: Preset) -> tuple[Scaling, ...]:
    """Feature maps and images to interpolate."""
    logits = (size.samples(2), 21, size.side(65, 1), size.side(65, 1))
    images = (size.samples(8), COLOURS, size.side(480), size.side(640))
    deepest = (size.samples(2), 512, size.side(16), size.side(16))
    maps = (size.samples(2), 256, size.side(64), size.side(64))
    return (
        Scaling(logits, (size.side(513, 1),) * 2, "DeepLabv3's class scores to the image's size"),
        Scaling(images, (size.side(224),) * 2, "camera images to a classifier's size"),
        Scaling(maps, times(maps, 2), "maps of a segmentation's decoder, edges aligned"),
        Scaling(deepest, times(deepest, 2), "a U-Net's deepest maps, corners aligned", True),
    )


def cubic(size: Preset) -> tuple[Scaling, ...]:
    """Position embeddings and images to interpolate."""
    positions = (1, 768, size.side(14, 2), size.side(14, 2))
    images = (size.samples(2), COLOURS, size.side(192), size.side(192))
    return (
        Scaling(positions, (size.side(24, 4),) * 2, "a transformer's positions, larger images"),
        Scaling(images, times(images, 2), "small images doubled, as a baseline in EDSR"),
    )


def scalings(name: str, size: Preset) -> tuple[Scaling, ...]:
    """The tensors of a method, by the name of its operation."""
    if "cubic" in name:
        return cubic(size)
    return (*of_all(size), *(linear if "linear" in name else nearest)(size))


def corners(operation: CanonicalOperation, one: Scaling) -> Roles:
    """The alignment of corners, where the operation has one, and why."""
    aligned: Roles = {"align_corners": one.align_corners}
    return {**(aligned if "align_corners" in operation.inputs else {}), WHY: one.why}


@FAMILIES.operation("upsample_cubic", "upsample_linear", "upsample_nearest")
def upsample(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors, and their new spatial extents."""
    for scaling in scalings(operation.name, size):
        made = corners(operation, scaling)
        yield {"data": tensor(*scaling.shape), "output_size": scaling.output_size, **made}


@FAMILIES.operation(
    "upsample_cubic_gradient", "upsample_linear_gradient", "upsample_nearest_gradient"
)
def upsample_gradient(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Gradients at the scaled tensors, and the spatial extents of those before."""
    for scaling in scalings(operation.name, size):
        made = tensor(*scaling.shape[:2], *scaling.output_size)
        yield {"gradient": made, "input_size": scaling.shape[2:], **corners(operation, scaling)}
