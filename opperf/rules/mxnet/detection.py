"""Object detection: boxes, anchors, proposals, regions of interest."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.engine import Families
from opperf.rules.pictures import coarse_maps
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    POSITIVE,
    PROBABILITY,
    UNIT_BOXES,
    ZEROS,
    Arguments,
    below,
    fixed,
    literal,
    tensor,
)

FAMILIES = Families()

CORNERS = 4
"""Numbers in a box."""
STRIDE = 16
"""Pixels of the image for each cell of the feature map."""
POOLED = 7
"""Cells along each side of a pooled region."""
CLASSES = 20
"""Classes of the Pascal VOC data, background aside."""
OBJECTS = 8
"""Objects in an image, at most."""
VARIANCES = (0.1, 0.1, 0.2, 0.2)
"""Scales of a box's four offsets, as in SSD."""
OFFSETS = Fill("normal", 0.0, 0.1)
"""Offsets from anchors: small, as an anchor is near the object that it is matched with."""


def anchors(size: Preset) -> int:
    """Number of anchors of an image: about SSD-300's."""
    return size.extent(8000)


def candidates(size: Preset) -> int:
    """Number of boxes that are compared pairwise."""
    return size.extent(1000)


def sides(count: int, extent: float) -> list[tuple[float, float, float, float]]:
    """Boxes (left, top, width, height) of many sizes and places inside a square.

    They come from multiples of two irrational numbers, which are spread evenly without a generator.
    """
    made = []
    for i in range(1, count + 1):
        across, down = (i * math.sqrt(2)) % 1, (i * math.sqrt(3)) % 1
        width, height = 0.1 + 0.4 * down, 0.1 + 0.4 * across
        made.append(
            tuple(
                round(extent * part, 2)
                for part in (across * (1 - width), down * (1 - height), width, height)
            )
        )
    return made  # type: ignore[return-value]


def corners(count: int, extent: float) -> list[tuple[float, float, float, float]]:
    """The boxes of `sides` as (left, top, right, bottom)."""
    return [
        (left, top, round(left + width, 2), round(top + height, 2))
        for left, top, width, height in sides(count, extent)
    ]


def regions(size: Preset) -> int:
    """Number of regions of interest in all images together."""
    return size.extent(128)


def image_extent(size: Preset) -> float:
    """Side of the image that `coarse_maps` are computed from."""
    return float(coarse_maps(size)[-1] * STRIDE)


def regions_of_interest(size: Preset) -> TensorSpec:
    """Boxes by their corners, each after the number of its image."""
    count = regions(size)
    rows = tuple(
        (float(i % size.pictures), *box) for i, box in enumerate(corners(count, image_extent(size)))
    )
    return fixed(count, 1 + CORNERS, fill=literal(rows))


@FAMILIES.add("ROIPooling", "_contrib_ROIAlign")
def roi_pooling(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions of interest of a Faster R-CNN."""
    yield {
        "data": tensor(*coarse_maps(size)),
        "rois": regions_of_interest(size),
        "pooled_size": (POOLED, POOLED),
        "spatial_scale": 1 / STRIDE,
    }


@FAMILIES.add("_contrib_RROIAlign")
def rotated_roi_align(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and rotated regions of interest, as in the detection of text."""
    count = regions(size)
    rows = tuple(
        (
            float(i % size.pictures),
            left + width / 2,
            top + height / 2,
            width,
            height,
            float(i * 17 % 90),
        )
        for i, (left, top, width, height) in enumerate(sides(count, image_extent(size)))
    )
    yield {
        "data": fixed(*coarse_maps(size)),
        "rois": fixed(count, 2 + CORNERS, fill=literal(rows)),
        "pooled_size": (POOLED, POOLED),
        "spatial_scale": 1 / STRIDE,
        "sampling_ratio": 2,
    }


@FAMILIES.add("_contrib_PSROIPooling")
def position_sensitive(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and regions of an R-FCN: each cell of a region has its own channels."""
    yield {
        "data": tensor(*coarse_maps(size, OBJECTS * POOLED**2)),
        "rois": regions_of_interest(size),
        "spatial_scale": 1 / STRIDE,
        "output_dim": OBJECTS,
        "pooled_size": POOLED,
        "group_size": POOLED,
    }


@FAMILIES.add("_contrib_DeformablePSROIPooling")
def deformable_position_sensitive(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `position_sensitive`, with learned offsets of the cells."""
    yield {
        "data": tensor(*coarse_maps(size, OBJECTS * POOLED**2)),
        "rois": regions_of_interest(size),
        "trans": tensor(regions(size), 2, POOLED, POOLED),
        "spatial_scale": 1 / STRIDE,
        "output_dim": OBJECTS,
        "group_size": POOLED,
        "pooled_size": POOLED,
        "part_size": POOLED,
        "sample_per_part": 4,
        "trans_std": 0.1,
    }


@FAMILIES.add("_contrib_box_nms")
def box_nms(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scored boxes by centre and size, as which any positive numbers serve. The best 400 are
    compared, as in SSD."""
    yield {
        "data": tensor(size.batch, candidates(size), 2 + CORNERS, fill=PROBABILITY),
        "overlap_thresh": 0.5,
        "topk": 400,
        "coord_start": 2,
        "score_index": 1,
        "id_index": -1,
        "in_format": "center",
        "out_format": "center",
    }


@FAMILIES.add("_contrib_box_iou")
def box_iou(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two sets of boxes, by corners and by centre, whose boxes are compared pairwise."""
    count = candidates(size)
    yield {
        "lhs": fixed(count, CORNERS, fill=UNIT_BOXES),
        "rhs": fixed(count, CORNERS, fill=UNIT_BOXES),
        "format": "corner",
    }
    yield {
        "lhs": fixed(count, CORNERS, fill=PROBABILITY),
        "rhs": fixed(count, CORNERS, fill=PROBABILITY),
        "format": "center",
    }


@FAMILIES.add("_contrib_box_encode")
def box_encode(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Anchors and the objects that they are matched with; some are negative or ignored."""
    count = anchors(size)
    yield {
        "samples": fixed(size.batch, count, fill=below(2, start=-1)),
        "matches": fixed(size.batch, count, fill=below(OBJECTS)),
        "anchors": fixed(size.batch, count, CORNERS, fill=UNIT_BOXES),
        "refs": fixed(size.batch, OBJECTS, CORNERS, fill=UNIT_BOXES),
        "means": fixed(CORNERS, fill=ZEROS),
        "stds": fixed(CORNERS, fill=literal(VARIANCES)),
    }


@FAMILIES.add("_contrib_box_decode")
def box_decode(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Offsets from anchors, which are by corners or by centre."""
    count = anchors(size)
    scales: Arguments = {f"std{i}": scale for i, scale in enumerate(VARIANCES)}
    for layout, fill in (("corner", UNIT_BOXES), ("center", PROBABILITY)):
        yield {
            "data": fixed(size.batch, count, CORNERS, fill=OFFSETS),
            "anchors": fixed(1, count, CORNERS, fill=fill),
            **scales,
            "format": layout,
        }


@FAMILIES.add("_contrib_bipartite_matching")
def bipartite_matching(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The overlap of each anchor with each object; the largest is matched first."""
    yield {
        "data": fixed(size.batch, candidates(size), OBJECTS, fill=PROBABILITY),
        "threshold": 0.1,
        "is_ascend": False,
    }


@FAMILIES.add("_contrib_MultiBoxPrior")
def multibox_prior(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One of SSD's feature maps, of which the operator reads only the extents."""
    yield {"data": fixed(*coarse_maps(size)), "sizes": (0.2, 0.27), "ratios": (1.0, 2.0, 0.5)}


def anchor_boxes(size: Preset) -> TensorSpec:
    """An image's anchors, which all images of a batch share."""
    return fixed(1, anchors(size), CORNERS, fill=UNIT_BOXES)


@FAMILIES.add("_contrib_MultiBoxTarget")
def multibox_target(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Anchors and labelled objects, with three negative anchors for each positive, as in SSD."""
    boxes = corners(size.batch * OBJECTS, 1.0)
    labels = tuple((float(i % CLASSES), *box) for i, box in enumerate(boxes))
    yield {
        "anchor": anchor_boxes(size),
        "label": fixed(size.batch, OBJECTS, 1 + CORNERS, fill=literal(labels)),
        "cls_pred": fixed(size.batch, CLASSES + 1, anchors(size)),
        "overlap_threshold": 0.5,
        "negative_mining_ratio": 3.0,
        "variances": VARIANCES,
    }


@FAMILIES.add("_contrib_MultiBoxDetection")
def multibox_detection(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores, offsets and anchors; the best 400 boxes are compared with each other."""
    count = anchors(size)
    yield {
        "cls_prob": fixed(size.batch, CLASSES + 1, count, fill=PROBABILITY),
        "loc_pred": fixed(size.batch, CORNERS * count, fill=OFFSETS),
        "anchor": anchor_boxes(size),
        "nms_threshold": 0.45,
        "variances": VARIANCES,
        "nms_topk": 400,
    }


@FAMILIES.add("_contrib_Proposal")
def proposal(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Inputs for one image: the operator takes no more."""
    return proposals(1, size)


@FAMILIES.add("_contrib_MultiProposal")
def multi_proposal(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Inputs for two images, as many as such a detector is usually trained with on a device."""
    return proposals(2, size)


def proposals(batch: int, size: Preset) -> Iterable[Arguments]:
    """Scores and offsets of anchors of four sizes and three shapes in every cell."""
    scales, ratios = (4.0, 8.0, 16.0, 32.0), (0.5, 1.0, 2.0)
    shapes = len(scales) * len(ratios)
    extents = coarse_maps(size)[2:]
    extent = image_extent(size)
    images = ((extent, extent, 1.0),) * batch
    yield {
        "cls_prob": fixed(batch, 2 * shapes, *extents, fill=PROBABILITY),
        "bbox_pred": fixed(batch, CORNERS * shapes, *extents, fill=OFFSETS),
        "im_info": fixed(batch, len(images[0]), fill=literal(images)),
        "rpn_pre_nms_top_n": 6000,
        "rpn_post_nms_top_n": 300,
        "scales": scales,
        "ratios": ratios,
        "feature_stride": STRIDE,
    }


@FAMILIES.add("_contrib_hawkesll")
def hawkes(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Sequences of events of four kinds, each of which makes others likelier."""
    marks, steps = 4, size.extent(128, least=8)
    longest = steps * POSITIVE.high
    yield {
        "lda": tensor(size.batch, marks, fill=POSITIVE),
        "alpha": tensor(marks, fill=PROBABILITY),
        "beta": tensor(marks, fill=POSITIVE),
        "state": tensor(size.batch, marks, fill=ZEROS),
        "lags": fixed(size.batch, steps, fill=POSITIVE),
        "marks": fixed(size.batch, steps, fill=below(marks), dtype="int32"),
        "valid_length": fixed(size.batch, fill=Fill("constant", float(steps))),
        "max_time": fixed(size.batch, fill=Fill("constant", longest)),
    }
