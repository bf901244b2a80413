"""Pooling of regions of interest, upright and rotated, by their cells or by their position."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.mxnet.boxes import CORNERS, corners, sides
from opperf.rules.pyramid import COCO, LEVEL_CHANNELS, PASCAL, few_pictures, maps, picture_extents
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, literal, tensor

FAMILIES = Families()

POOLED = 7
"""Cells along each side of a region that is classified."""
MASK_POOLED = 14
"""Cells along each side of a region that gets a mask."""
PROPOSALS = 512
"""Regions that a detector pools from one level of a pyramid."""
POSITIVES = 128
"""Those that contain an object."""
TRAINED_ON = 64
"""Regions that a step of Fast R-CNN takes of each picture."""
POSITION_SENSITIVE = 300
"""Regions that R-FCN classifies in a picture."""
PLANE = 2
"""Numbers of an offset."""
LABELS = 21
"""Classes of the Pascal VOC data, and the background."""
SAMPLES = 2
"""Samples along each side of a cell, as Mask R-CNN takes."""

MOST = 4096
"""Regions of all pictures, at most: a case has their numbers in it."""


class Level(NamedTuple):
    """Feature maps, and the regions that are pooled from them."""

    number: int
    """Regions of a picture at the default size."""
    stride: int
    least: int
    """The shortest side of a region in pixels."""
    most: int
    channels: int = LEVEL_CHANNELS
    picture: tuple[int, int] = COCO

    def maps(self, size: Preset) -> TensorSpec:
        """The feature maps."""
        return tensor(*maps(size, self.stride, self.channels, self.picture))

    def regions(self, size: Preset) -> int:
        """Number of regions of all pictures."""
        return min(few_pictures(size) * min(self.number, size.extent(self.number)), MOST)

    def places(self, size: Preset) -> tuple[int, tuple[int, int], float, float]:
        """Number of the regions, the picture's extents, and bounds of the regions' sides."""
        extents = picture_extents(size, self.picture)
        least, most = (side * size.image for side in (self.least, self.most))
        return self.regions(size), extents, least, most

    def rois(self, size: Preset) -> TensorSpec:
        """Regions by their corners, each after the number of its picture."""
        rows = tuple(
            (float(i % few_pictures(size)), *box)
            for i, box in enumerate(corners(*self.places(size)))
        )
        return fixed(len(rows), 1 + CORNERS, fill=literal(rows))

    def rotated_rois(self, size: Preset) -> TensorSpec:
        """Regions by centre, sides and angle in degrees, each after the number of its picture."""
        rows = tuple(
            (
                float(i % few_pictures(size)),
                round(left + width / 2, 2),
                round(top + height / 2, 2),
                width,
                height,
                float(i * 17 % 90),
            )
            for i, (left, top, width, height) in enumerate(sides(*self.places(size)))
        )
        return fixed(len(rows), 2 + CORNERS, fill=literal(rows))

    def pooled(self, size: Preset, cells: int = POOLED) -> Arguments:
        """The arguments of a pooling to a grid of cells."""
        return {
            "data": self.maps(size),
            "rois": self.rois(size),
            "pooled_size": (cells, cells),
            "spatial_scale": 1 / self.stride,
        }


LEVEL = Level(PROPOSALS, 8, 112, 224)
"""A pyramid's level: regions of 224 pixels are pooled at stride 16, of half the side at half the
stride."""
TRAINED = Level(PROPOSALS // 4, 8, 112, 224)
"""One of four levels, among which the proposals are shared."""
FEW = Level(POSITIVES // 2, 16, 224, 448)
SINGLE = Level(PROPOSALS, 16, 32, 224)
VGG = Level(TRAINED_ON, 16, 64, 448, 512, PASCAL)
"""The last feature maps of VGG-16, from which regions of all sizes are pooled."""
POSITIONS = Level(POSITION_SENSITIVE, 16, 64, 448, LABELS * POOLED**2, PASCAL)
"""R-FCN's feature maps: each cell of a region has channels of its own, one for each class."""
OFFSETS = POSITIONS._replace(channels=PLANE * POOLED**2)
"""The maps that each cell's offset is pooled from."""


def in_use(arguments: Arguments) -> Arguments:
    """The arguments without a gradient, which takes several times as long as the pooling."""
    data = arguments["data"]
    assert isinstance(data, TensorSpec)
    return {**arguments, "data": fixed(*data.shape)}


@FAMILIES.add("ROIPooling")
def roi_pooling(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions of interest."""
    yield {**VGG.pooled(size), WHY: "Fast R-CNN with VGG-16: a picture's regions in a step"}
    yield {**in_use(SINGLE.pooled(size)), WHY: "512 proposals on maps of 256 channels, in use"}


@FAMILIES.add("_contrib_ROIAlign")
def roi_align(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions of interest of a pyramid's levels."""
    yield {
        **TRAINED.pooled(size),
        "sample_ratio": SAMPLES,
        WHY: "Faster R-CNN: a level's share of a picture's proposals, trained",
    }
    yield {
        **in_use(LEVEL.pooled(size)),
        "sample_ratio": SAMPLES,
        WHY: "Faster R-CNN: 512 proposals on a level of a feature pyramid, in use",
    }
    yield {
        **in_use(FEW.pooled(size)),
        "sample_ratio": -1,
        "aligned": True,
        WHY: "Detectron2: as many samples in a cell as its size asks for, in use",
    }
    yield {
        **in_use(FEW.pooled(size, MASK_POOLED)),
        "sample_ratio": SAMPLES,
        WHY: "Mask R-CNN: regions that get a mask, in use",
    }


@FAMILIES.add("_contrib_RROIAlign")
def rotated_roi_align(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and rotated regions of interest, as in the detection of text."""
    level = LEVEL
    yield {
        "data": fixed(*level.maps(size).shape),
        "rois": level.rotated_rois(size),
        "pooled_size": (POOLED, POOLED),
        "spatial_scale": 1 / level.stride,
        "sampling_ratio": SAMPLES,
        WHY: "rotated regions, as in the detection of text",
    }


@FAMILIES.add("_contrib_PSROIPooling")
def position_sensitive(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions of an R-FCN: each cell of a region has its own channels."""
    yield {
        "data": POSITIONS.maps(size),
        "rois": POSITIONS.rois(size),
        "spatial_scale": 1 / POSITIONS.stride,
        "output_dim": LABELS,
        "pooled_size": POOLED,
        "group_size": POOLED,
        WHY: "R-FCN: 300 regions, each cell of which has channels of its own",
    }


@FAMILIES.add("_contrib_DeformablePSROIPooling")
def deformable_position_sensitive(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `position_sensitive`, with learned offsets of the cells, as in Deformable R-FCN."""
    regions = POSITIONS.regions(size)
    yield {
        "data": POSITIONS.maps(size),
        "rois": POSITIONS.rois(size),
        "trans": tensor(regions, 2, POOLED, POOLED),
        "spatial_scale": 1 / POSITIONS.stride,
        "output_dim": LABELS,
        "group_size": POOLED,
        "pooled_size": POOLED,
        "part_size": POOLED,
        "sample_per_part": 4,
        "trans_std": 0.1,
        WHY: "Deformable R-FCN: 300 regions, whose cells are moved by learned offsets",
    }
    yield {
        "data": OFFSETS.maps(size),
        "rois": OFFSETS.rois(size),
        "spatial_scale": 1 / OFFSETS.stride,
        "output_dim": PLANE,
        "group_size": POOLED,
        "pooled_size": POOLED,
        "part_size": POOLED,
        "sample_per_part": 4,
        "no_trans": True,
        WHY: "Deformable R-FCN: the offsets themselves, pooled from cells that are not moved",
    }
