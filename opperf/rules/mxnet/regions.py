"""Pooling of regions of interest, upright and rotated, by their cells or by their position."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.regions import (
    FEW,
    LABELS,
    LEVEL,
    MASK_POOLED,
    OFFSETS,
    PLANE,
    POOLED,
    POSITIONS,
    SAMPLES,
    SINGLE,
    TRAINED,
    VGG,
    Level,
    in_use,
)
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, tensor

FAMILIES = Families()


def pooled(level: Level, size: Preset, cells: int = POOLED) -> Arguments:
    """The arguments of a pooling to a grid of cells."""
    return {
        "data": level.maps(size),
        "rois": level.rois(size),
        "pooled_size": (cells, cells),
        "spatial_scale": 1 / level.stride,
    }


@FAMILIES.add("ROIPooling")
def roi_pooling(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions of interest."""
    yield {**pooled(VGG, size), WHY: "Fast R-CNN with VGG-16: a picture's regions in a step"}
    yield {
        **in_use(pooled(SINGLE, size), "data"),
        WHY: "512 proposals on maps of 256 channels, in use",
    }


@FAMILIES.add("_contrib_ROIAlign")
def roi_align(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions of interest of a pyramid's levels."""
    yield {
        **pooled(TRAINED, size),
        "sample_ratio": SAMPLES,
        WHY: "Faster R-CNN: a level's share of a picture's proposals, trained",
    }
    yield {
        **in_use(pooled(LEVEL, size), "data"),
        "sample_ratio": SAMPLES,
        WHY: "Faster R-CNN: 512 proposals on a level of a feature pyramid, in use",
    }
    yield {
        **in_use(pooled(FEW, size), "data"),
        "sample_ratio": -1,
        "aligned": True,
        WHY: "Detectron2: as many samples in a cell as its size asks for, in use",
    }
    yield {
        **in_use(pooled(FEW, size, MASK_POOLED), "data"),
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
