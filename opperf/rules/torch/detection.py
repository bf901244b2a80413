"""Families of torchvision's operators, which detectors of objects are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.detectors import CORNERS, DETECTIONS, corners, last_stage
from opperf.rules.image_shapes import KERNEL
from opperf.rules.regions import ALIGNED, LABELS, LEVEL, POSITIONS, SAMPLES, WHOLE, Level, Pooling
from opperf.rules.registering import Families, Rows
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    PROBABILITY,
    ZEROS,
    Arguments,
    below,
    between,
    call,
    fixed,
    literal,
    tensor,
)
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

SCORES = between(0.05, 1.0)
"""Scores of boxes, of which torchvision's detectors drop those below."""


def detected(size: Preset, count: int) -> Arguments:
    """A detector's boxes, many of which overlap, and their scores."""
    found = size.extent(count)
    return {"dets": fixed(found, CORNERS, fill=DETECTIONS), "scores": fixed(found, fill=SCORES)}


def pooled(pooling: Pooling, size: Preset) -> Arguments:
    """The arguments of a pooling to a grid of cells."""
    return {
        "input": pooling.maps(size),
        "rois": pooling.level.rois(size),
        "spatial_scale": 1 / pooling.level.stride,
        "pooled_height": pooling.cells,
        "pooled_width": pooling.cells,
        WHY: pooling.why,
    }


@FAMILIES.add("torchvision::roi_align")
def roi_align(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions of interest of a pyramid's levels."""
    for pooling in ALIGNED:
        yield {
            **pooled(pooling, size),
            "sampling_ratio": pooling.samples,
            "aligned": pooling.aligned,
        }


COARSE = 8
"""Pixels for each unit of the coordinates of regions in 8 bits."""
QUANTISED = "uint8"


def coarse(level: Level, size: Preset) -> list[tuple[int, ...]]:
    """The corners of the level's regions in 8 bits."""
    return [tuple(round(side / COARSE) for side in box) for box in corners(*level.places(size))]


@FAMILIES.add("torchvision::qnms")
def quantised_suppression(operator: Operator, size: Preset) -> Rows:
    """Boxes and their scores in 8 bits."""
    boxes = tuple(coarse(LEVEL, size))
    return {
        "Faster R-CNN in 8 bits: 512 proposals of an image": call(
            dets=fixed(len(boxes), CORNERS, fill=literal(boxes), dtype=QUANTISED),
            scores=fixed(len(boxes), fill=below(256), dtype=QUANTISED),
            iou_threshold=0.5,
        )
    }


@FAMILIES.add("torchvision::qroi_align")
def quantised_roi_align(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions of interest of a level, in 8 bits."""
    rows = tuple((0, *box) for box in coarse(LEVEL, size))
    yield {
        **pooled(ALIGNED[1], size),
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
    return (pooled(pooling, size) for pooling in WHOLE)


@FAMILIES.add("torchvision::ps_roi_align", "torchvision::ps_roi_pool")
def position_sensitive(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions: each cell of a region has its own channels."""
    is_sampled = any(parameter.name == "sampling_ratio" for parameter in operator.parameters)
    why = f"R-FCN: 300 regions of {LABELS} classes, each cell of which has its own channels"
    sampled: Arguments = {"sampling_ratio": SAMPLES} if is_sampled else {}
    yield {**pooled(Pooling(POSITIONS, why, True), size), **sampled}


@FAMILIES.add("torchvision::deform_conv2d")
def deformable(operator: Operator, size: Preset) -> Rows:
    """A 3 x 3 layer of the last stage of a detector's ResNet, where offsets are learned."""
    window = last_stage(size)
    images, taps = window.shape[0], math.prod(window.along(KERNEL))
    along = {"stride": window.stride, "pad": window.pad, "dilation": window.dilate}
    plain: Arguments = {
        "input": tensor(*window.shape),
        "weight": tensor(window.filters, window.shape[1], *window.along(KERNEL)),
        "offset": tensor(images, 2 * taps, *window.positions),
        # What `torchvision.ops` passes where there is none.
        "mask": fixed(images, 1, fill=ZEROS),
        "bias": tensor(window.filters),
        **{f"{name}_{axis}": extent for name, extent in along.items() for axis in "hw"},
        "groups": 1,
        "offset_groups": 1,
        "use_mask": False,
    }
    return {
        "Deformable ConvNets, the last stage of a detector, 3 x 3 with learned offsets": plain,
        "Deformable ConvNets v2, as the first, with a weight for each offset": {
            **plain,
            "mask": tensor(images, taps, *window.positions, fill=PROBABILITY),
            "use_mask": True,
        },
    }


@FAMILIES.add("torchvision::box_iou_rotated")
def rotated_overlaps(operator: Operator, size: Preset) -> Rows:
    """Rotated boxes, for the detection of text and for aerial images."""
    boxes = LEVEL.rotated_boxes(size)
    return {"512 proposals of an image with each other": call(boxes1=boxes, boxes2=boxes)}


ROWS: dict[str, Variants] = {
    "torchvision::nms": lambda size: {
        "Faster R-CNN: the proposals of an image's five levels, at most 1000 of each": call(
            **detected(size, 4500), iou_threshold=0.7
        ),
        "RetinaNet: the best 1000 boxes of a level": call(
            **detected(size, 1000), iou_threshold=0.5
        ),
    }
}
add_rows(FAMILIES.add, ROWS)
