"""Families of PyTorch's reading of images and volumes at the points of a grid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import Fill, Operator
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import network_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.layers import MODES, PADDINGS
from opperf.rules.values import WARPED, Arguments, between, call, taken, tensor

FAMILIES = Families()

SCATTERED = between(-1.1, 1.1)
"""Places in no order: most are within the image, a few beyond."""


class Reading(NamedTuple):
    """A network's reading of maps at places that it computes."""

    why: str
    maps: Shape
    places: Shape
    """Extents of the places of each sample."""
    mode: str = "linear"
    padding: str = "zeros"
    align: bool = False
    fill: Fill = WARPED

    @property
    def output(self) -> Shape:
        """Shape of what is read."""
        return (*self.maps[:2], *self.places)

    @property
    def arguments(self) -> Arguments:
        """Maps, places, and how to read between and beyond the elements."""
        return {
            "input": tensor(*self.maps),
            "grid": tensor(self.maps[0], *self.places, len(self.places), fill=self.fill),
            "interpolation_mode": MODES.index(self.mode),
            "padding_mode": PADDINGS.index(self.padding),
            "align_corners": self.align,
        }


def images(size: Preset) -> tuple[Reading, ...]:
    """Readings of images and of feature maps."""
    maps = network_maps(size, 64, 64, 64, samples=4)
    photographs = network_maps(size, 3, 256, 256, samples=4)
    crops = network_maps(size, 3, 128, 128, samples=2)
    heads = network_maps(size, 32, 64, 64, samples=16)
    points = (size.extent(300, least=16), 4)
    to_border = ("linear", "border", True)
    return (
        Reading("spatial transformer, images straightened", photographs, photographs[2:]),
        Reading(
            "Deformable DETR, four points of each query and head, of one level",
            *(heads, points),
            fill=SCATTERED,
        ),
        Reading("feature maps warped by a flow, to their border", maps, maps[2:], *to_border),
        Reading("labels moved with their images, which are not mixed", crops, crops[2:], "nearest"),
        Reading("images warped, cubic and mirrored", crops, crops[2:], "cubic", "reflection"),
    )


def volumes(size: Preset) -> tuple[Reading, ...]:
    """Readings of volumes."""
    volume = network_maps(size, 1, 56, 56, 56, samples=1)
    planes = network_maps(size, 16, 32, 32, 32, samples=1)
    view = size.side(24), size.side(24)
    return (
        Reading("a scan warped to another, of three axes", volume, volume[2:], align=True),
        Reading("a radiance field's grid, at 64 points of each ray", planes, (*view, 64)),
        Reading("a scan's labels, which are not mixed", volume, volume[2:], "nearest", "border"),
        Reading("a scan mirrored at its border", volume, volume[2:], padding="reflection"),
    )


def readings(operator: Operator, size: Preset) -> tuple[Reading, ...]:
    """Returns an operator's readings: of any number of axes, one of each."""
    if "2d" in operator.name:
        return images(size)
    if "3d" in operator.name:
        return volumes(size)
    return (images(size)[0], images(size)[2], volumes(size)[0])


@FAMILIES.add("grid_sampler", "grid_sampler_3d", "grid_sampler_3d_backward")
@FAMILIES.also("grid_sampler_2d.default", "grid_sampler_2d_backward.default")
def grid_sampler(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Images and volumes, read in each way between and beyond their elements, and backward."""
    for reading in readings(operator, size):
        passed = call(grad_output=tensor(*reading.output), output_mask=(True, True))
        yield {**taken(operator, passed), **reading.arguments, WHY: reading.why}


@FAMILIES.add("cudnn_grid_sampler", "cudnn_grid_sampler_backward")
def of_cudnn(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Linear readings of images with zeros beyond, the only ones that cuDNN has."""
    for reading in images(size)[:2]:
        made = reading.arguments
        passed = {"self": made["input"], **made, "grad_output": tensor(*reading.output)}
        yield {WHY: reading.why, **taken(operator, passed)}


@FAMILIES.add(
    *("affine_grid_generator", "affine_grid_generator_backward"),
    *("cudnn_affine_grid_generator", "cudnn_affine_grid_generator_backward"),
)
def affine(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Affine maps of images and of volumes, a matrix for each sample."""
    for_cudnn = operator.name.startswith("cudnn")
    for why, samples, *sample in (
        ("spatial transformer, images of 224 x 224", 8, 3, 224, 224),
        ("spatial transformer, digits of 28 x 28, a matrix for each of many", 32, 1, 28, 28),
        ("a scan turned and scaled, to train with", 1, 1, 64, 64, 64),
    ):
        shape = count, _, *sides = network_maps(size, *sample, samples=samples)
        axes = len(sides)
        if for_cudnn and axes == 3:
            continue
        first: Arguments = {"theta": tensor(count, axes, axes + 1)}
        if operator.name.endswith("backward"):
            first = {"grad": tensor(count, *sides, axes)}
        extents: Arguments = dict(zip("NCHW", shape, strict=False))
        last: Arguments = extents if for_cudnn else {"size": shape, "align_corners": False}
        yield {WHY: why, **first, **last}
