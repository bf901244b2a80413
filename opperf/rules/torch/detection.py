"""Families of torchvision's operators, which detectors of objects are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.boxes import CORNERS, DETECTIONS, corners
from opperf.rules.configurations import WHY
from opperf.rules.pictures import KERNEL
from opperf.rules.pyramid import last_stage
from opperf.rules.regions import (
    FEW,
    LABELS,
    LEVEL,
    MASK_POOLED,
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
from opperf.rules.values import (
    PROBABILITY,
    ZEROS,
    Arguments,
    below,
    between,
    fixed,
    literal,
    tensor,
)

FAMILIES = Families()

SCORES = between(0.05, 1.0)
"""Scores of boxes, of which torchvision's detectors drop those below."""


def detected(size: Preset, count: int) -> Arguments:
    """A detector's boxes, many of which overlap, and their scores."""
    found = size.extent(count)
    return {
        "dets": fixed(found, CORNERS, fill=DETECTIONS),
        "scores": fixed(found, fill=SCORES),
    }


@FAMILIES.add("torchvision::nms")
def suppression(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Boxes and their scores."""
    yield {
        **detected(size, 4500),
        "iou_threshold": 0.7,
        WHY: "Faster R-CNN: the proposals of a picture's five levels, at most 1000 of each",
    }
    yield {
        **detected(size, 1000),
        "iou_threshold": 0.5,
        WHY: "RetinaNet: the best 1000 boxes of a level",
    }


def pooled(level: Level, size: Preset, cells: int = POOLED) -> Arguments:
    """The arguments of a pooling to a grid of cells."""
    return {
        "input": level.maps(size),
        "rois": level.rois(size),
        "spatial_scale": 1 / level.stride,
        "pooled_height": cells,
        "pooled_width": cells,
    }


@FAMILIES.add("torchvision::roi_align")
def roi_align(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions of interest of a pyramid's levels."""
    yield {
        **pooled(TRAINED, size),
        "sampling_ratio": SAMPLES,
        "aligned": False,
        WHY: "Faster R-CNN: a level's share of a picture's proposals, trained",
    }
    yield {
        **in_use(pooled(LEVEL, size), "input"),
        "sampling_ratio": SAMPLES,
        "aligned": False,
        WHY: "Faster R-CNN: 512 proposals on a level of a feature pyramid, in use",
    }
    yield {
        **in_use(pooled(FEW, size), "input"),
        "sampling_ratio": -1,
        "aligned": True,
        WHY: "Detectron2: as many samples in a cell as its size asks for, in use",
    }
    yield {
        **in_use(pooled(FEW, size, MASK_POOLED), "input"),
        "sampling_ratio": SAMPLES,
        "aligned": False,
        WHY: "Mask R-CNN: regions that get a mask, in use",
    }


COARSE = 8
"""Pixels for each unit of the coordinates of regions in 8 bits."""
QUANTISED = "uint8"


def coarse(level: Level, size: Preset) -> list[tuple[int, ...]]:
    """The corners of the level's regions in 8 bits."""
    return [tuple(round(side / COARSE) for side in box) for box in corners(*level.places(size))]


@FAMILIES.add("torchvision::qnms")
def quantised_suppression(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Boxes and their scores in 8 bits."""
    boxes = tuple(coarse(LEVEL, size))
    yield {
        "dets": fixed(len(boxes), CORNERS, fill=literal(boxes), dtype=QUANTISED),
        "scores": fixed(len(boxes), fill=below(256), dtype=QUANTISED),
        "iou_threshold": 0.5,
        WHY: "Faster R-CNN in 8 bits: 512 proposals of a picture",
    }


@FAMILIES.add("torchvision::qroi_align")
def quantised_roi_align(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions of interest of a level, in 8 bits."""
    rows = tuple((0, *box) for box in coarse(LEVEL, size))
    yield {
        **pooled(LEVEL, size),
        "input": fixed(*LEVEL.maps(size).shape, fill=below(256), dtype=QUANTISED),
        "rois": fixed(len(rows), 1 + CORNERS, fill=literal(rows), dtype=QUANTISED),
        "input_scale": 0.02,
        "input_zero_point": 128,
        "rois_scale": float(COARSE),
        "rois_zero_point": 0,
        "sampling_ratio": SAMPLES,
        "aligned": False,
        WHY: "Faster R-CNN in 8 bits: 512 proposals on a level of a feature pyramid",
    }


@FAMILIES.add("torchvision::roi_pool")
def roi_pooling(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions of interest."""
    yield {
        **pooled(VGG, size),
        WHY: "Fast R-CNN with VGG-16: a picture's regions in a step",
    }
    yield {
        **in_use(pooled(SINGLE, size), "input"),
        WHY: "512 proposals on maps of 256 channels, in use",
    }


@FAMILIES.add("torchvision::ps_roi_align", "torchvision::ps_roi_pool")
def position_sensitive(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions: each cell of a region has its own channels."""
    is_sampled = any(one.name == "sampling_ratio" for one in operator.parameters)
    yield {
        **pooled(POSITIONS, size),
        **({"sampling_ratio": SAMPLES} if is_sampled else {}),
        WHY: f"R-FCN: 300 regions of {LABELS} classes, each cell of which has its own channels",
    }


@FAMILIES.add("torchvision::deform_conv2d")
def deformable(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A 3 x 3 layer of the last stage of a detector's ResNet, where offsets are learned."""
    window = last_stage(size)
    pictures, taps = window.shape[0], math.prod(window.along(KERNEL))
    along = {"stride": window.stride, "pad": window.pad, "dilation": window.dilate}
    plain: Arguments = {
        "input": tensor(*window.shape),
        "weight": tensor(window.filters, window.shape[1], *window.along(KERNEL)),
        "offset": tensor(pictures, 2 * taps, *window.positions),
        # What `torchvision.ops` passes where there is none.
        "mask": fixed(pictures, 1, fill=ZEROS),
        "bias": tensor(window.filters),
        **{f"{name}_{axis}": extent for name, extent in along.items() for axis in "hw"},
        "groups": 1,
        "offset_groups": 1,
        "use_mask": False,
    }
    yield {
        **plain,
        WHY: "Deformable ConvNets, the last stage of a detector, 3 x 3 with learned offsets",
    }
    yield {
        **plain,
        "mask": tensor(pictures, taps, *window.positions, fill=PROBABILITY),
        "use_mask": True,
        WHY: "Deformable ConvNets v2, as the first, with a weight for each offset",
    }


@FAMILIES.add("torchvision::box_iou_rotated")
def rotated_overlaps(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Rotated boxes, as in the detection of text and in pictures from the air."""
    boxes = LEVEL.rotated_boxes(size)
    yield {
        "boxes1": boxes,
        "boxes2": boxes,
        WHY: "512 proposals of a picture with each other",
    }
