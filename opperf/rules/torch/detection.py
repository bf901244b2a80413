"""Families of torchvision's operators, which detectors of objects are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opperf.model import Argument, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.detectors import (
    ALIGNED,
    CORNERS,
    DETECTIONS,
    LABELS,
    LEVEL,
    POSITIONS,
    SAMPLES,
    WHOLE,
    Level,
    Pooling,
    corners,
    last_stage,
)
from opperf.rules.image_shapes import KERNEL
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
from opperf.rules.variants import Row, Variants, add_rows

FAMILIES = Families()

SCORES = between(0.05, 1.0)
"""Scores of boxes, of which torchvision's detectors drop those below."""


def detected(size: Preset, count: int) -> Arguments:
    """A detector's boxes, many of which overlap, and their scores."""
    found = size.extent(count)
    return {"dets": fixed(found, CORNERS, fill=DETECTIONS), "scores": fixed(found, fill=SCORES)}


def pooled(pooling: Pooling, size: Preset, **others: Argument) -> Arguments:
    """The arguments of a pooling to a grid of cells, and others."""
    return {
        **others,
        "input": pooling.maps(size),
        "rois": pooling.level.rois(size),
        "spatial_scale": 1 / pooling.level.stride,
        "pooled_height": pooling.cells,
        "pooled_width": pooling.cells,
        WHY: pooling.why,
    }


COARSE = 8
"""Pixels for each unit of the coordinates of regions in 8 bits."""
QUANTISED = "uint8"


def coarse(level: Level, size: Preset) -> list[tuple[int, ...]]:
    """The corners of the level's regions in 8 bits."""
    return [tuple(round(side / COARSE) for side in box) for box in corners(*level.places(size))]


def in_bytes(rows: Sequence[tuple[int, ...]]) -> TensorSpec:
    """Boxes or regions in 8 bits."""
    return fixed(len(rows), len(rows[0]), fill=literal(rows), dtype=QUANTISED)


R_FCN = Pooling(POSITIONS, f"R-FCN: 300 regions of {LABELS} classes, channels by cell", True)


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


ROWS: dict[str, Row | Variants] = {
    "torchvision::box_iou_rotated": lambda size: {
        "512 proposals of an image with each other": call(
            boxes1=LEVEL.rotated_boxes(size), boxes2=LEVEL.rotated_boxes(size)
        )
    },
    "torchvision::roi_align": lambda size: [
        pooled(each, size, sampling_ratio=each.samples, aligned=each.aligned) for each in ALIGNED
    ],
    "torchvision::roi_pool": lambda size: [pooled(each, size) for each in WHOLE],
    "torchvision::ps_roi_align": lambda size: pooled(R_FCN, size, sampling_ratio=SAMPLES),
    "torchvision::ps_roi_pool": lambda size: pooled(R_FCN, size),
    "torchvision::qnms": lambda size: {
        "Faster R-CNN in 8 bits: 512 proposals of an image": call(
            dets=in_bytes(coarse(LEVEL, size)),
            scores=fixed(LEVEL.regions(size), fill=below(256), dtype=QUANTISED),
            iou_threshold=0.5,
        )
    },
    "torchvision::qroi_align": lambda size: {
        **pooled(ALIGNED[1], size),
        "input": fixed(*LEVEL.maps(size).shape, fill=below(256), dtype=QUANTISED),
        "rois": in_bytes([(0, *box) for box in coarse(LEVEL, size)]),
        **{"input_scale": 0.02, "input_zero_point": 128, "rois_scale": float(COARSE)},
        **{"rois_zero_point": 0, "sampling_ratio": SAMPLES, "aligned": False},
        WHY: "Faster R-CNN in 8 bits: 512 proposals on a level of a feature pyramid",
    },
    "torchvision::nms": lambda size: {
        "Faster R-CNN: proposals of five levels": call(**detected(size, 4500), iou_threshold=0.7),
        "RetinaNet: the best 1000 of a level": call(**detected(size, 1000), iou_threshold=0.5),
    },
}
add_rows(FAMILIES.add, ROWS)
