"""Object detection: boxes, anchors, proposals."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.boxes import CLASSES, CORNERS, DETECTIONS, OBJECTS, corners
from opperf.rules.configurations import WHY
from opperf.rules.pictures import feature_maps
from opperf.rules.pyramid import PASCAL, few_pictures, maps, picture_extents
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import (
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

STRIDE = 16
"""Pixels of the image for each cell of the feature map."""
VARIANCES = (0.1, 0.1, 0.2, 0.2)
"""Scales of a box's four offsets, as in SSD."""
OFFSETS = Fill("normal", 0.0, 0.1)
"""Offsets from anchors: small, as an anchor is near the object that it is matched with."""


def anchors(size: Preset) -> int:
    """Number of anchors of an image: SSD-300's."""
    return size.extent(8732)


def candidates(size: Preset) -> int:
    """Number of boxes that are compared pairwise."""
    return size.extent(1000)


@FAMILIES.add("_contrib_box_nms")
def box_nms(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scored boxes by their corners, many of which overlap, and by their centres."""
    detected: Arguments = {
        "data": tensor(size.batch, anchors(size), 2 + CORNERS, fill=DETECTIONS),
        "overlap_thresh": 0.45,
        "valid_thresh": 0.01,
        "topk": 400,
        "coord_start": 2,
        "score_index": 1,
        "id_index": 0,
    }
    yield {**detected, WHY: "SSD-300: the best 400 boxes, class by class"}
    yield {
        **detected,
        "in_format": "center",
        WHY: "as many boxes by centre and size, which are converted first, as YOLO predicts them",
    }
    yield {
        "data": tensor(few_pictures(size), size.extent(12000), 1 + CORNERS, fill=DETECTIONS),
        "overlap_thresh": 0.7,
        "topk": size.extent(6000),
        "coord_start": 1,
        "score_index": 0,
        "force_suppress": True,
        WHY: "a region proposal network: 6000 of 12000 boxes, of no class",
    }


@FAMILIES.add("_contrib_box_iou")
def box_iou(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two sets of boxes, by corners and by centre, whose boxes are compared pairwise."""
    count = candidates(size)
    yield {
        "lhs": fixed(anchors(size), CORNERS, fill=UNIT_BOXES),
        "rhs": fixed(size.batch * OBJECTS, CORNERS, fill=UNIT_BOXES),
        "format": "corner",
        WHY: "SSD-300: its anchors and the objects of a batch",
    }
    yield {
        "lhs": fixed(count, CORNERS, fill=PROBABILITY),
        "rhs": fixed(count, CORNERS, fill=PROBABILITY),
        "format": "center",
        WHY: "a thousand proposals with each other, by centre and size",
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
        WHY: "SSD-300: what its anchors are to predict, some of them negative or ignored",
    }


@FAMILIES.add("_contrib_box_decode")
def box_decode(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Offsets from anchors, which are by corners or by centre."""
    count = anchors(size)
    scales: Arguments = {f"std{i}": scale for i, scale in enumerate(VARIANCES)}
    for layout, fill, why in (
        ("corner", UNIT_BOXES, "Faster R-CNN's anchors, by corners"),
        ("center", PROBABILITY, "SSD's anchors, by centre and size"),
    ):
        yield {
            "data": fixed(size.batch, count, CORNERS, fill=OFFSETS),
            "anchors": fixed(1, count, CORNERS, fill=fill),
            **scales,
            "format": layout,
            WHY: why,
        }


@FAMILIES.add("_contrib_bipartite_matching")
def bipartite_matching(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The overlap of each of SSD's anchors with each object; the largest is matched first."""
    yield {
        "data": fixed(size.pictures, anchors(size), OBJECTS, fill=PROBABILITY),
        "threshold": 0.1,
        "is_ascend": False,
        WHY: "SSD-300: anchors by objects, of which the largest overlap is matched first",
    }


@FAMILIES.add("_contrib_MultiBoxPrior")
def multibox_prior(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """SSD's largest feature map, of which the operator reads only the extents."""
    yield {
        "data": fixed(*feature_maps(size)),
        "sizes": (0.1, 0.14),
        "ratios": (1.0, 2.0, 0.5),
        WHY: "SSD's anchors for its largest feature map, of which only the extents are read",
    }
    yield {
        "data": fixed(*feature_maps(size)),
        "sizes": (0.1, 0.14),
        "ratios": (1.0, 2.0, 0.5),
        "clip": True,
        WHY: "the same, clipped to the picture, so that none reaches beyond it",
    }


def anchor_boxes(size: Preset) -> TensorSpec:
    """An image's anchors, which all images of a batch share."""
    return fixed(1, anchors(size), CORNERS, fill=UNIT_BOXES)


@FAMILIES.add("_contrib_MultiBoxTarget")
def multibox_target(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Anchors and labelled objects, with three negative anchors for each positive, as in SSD."""
    boxes = corners(size.batch * OBJECTS, (1.0, 1.0), least=0.1, most=0.5)
    labels = tuple((float(i % CLASSES), *box) for i, box in enumerate(boxes))
    yield {
        "anchor": anchor_boxes(size),
        "label": fixed(size.batch, OBJECTS, 1 + CORNERS, fill=literal(labels)),
        "cls_pred": fixed(size.batch, CLASSES + 1, anchors(size)),
        "overlap_threshold": 0.5,
        "negative_mining_ratio": 3.0,
        "variances": VARIANCES,
        WHY: "SSD-300 in training: three negative anchors for each positive",
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
        WHY: "SSD-300 in use: the best 400 boxes are compared with each other",
    }


@FAMILIES.add("_contrib_Proposal")
def proposal(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Inputs for one image: the operator takes no more."""
    return proposals(1, size, "Faster R-CNN: proposals of one picture")


@FAMILIES.add("_contrib_MultiProposal")
def multi_proposal(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Inputs for two images, as many as such a detector is usually trained with on a device."""
    return proposals(2, size, "Faster R-CNN: proposals of two pictures, as in training")


def proposals(batch: int, size: Preset, why: str) -> Iterable[Arguments]:
    """Scores and offsets of anchors of four sizes and three shapes in every cell of Faster
    R-CNN's maps."""
    scales, ratios = (4.0, 8.0, 16.0, 32.0), (0.5, 1.0, 2.0)
    shapes = len(scales) * len(ratios)
    extents = maps(size, STRIDE, extents=PASCAL)[2:]
    height, width = picture_extents(size, PASCAL)
    images = ((float(height), float(width), 1.0),) * batch
    yield {
        "cls_prob": fixed(batch, 2 * shapes, *extents, fill=PROBABILITY),
        "bbox_pred": fixed(batch, CORNERS * shapes, *extents, fill=OFFSETS),
        "im_info": fixed(batch, len(images[0]), fill=literal(images)),
        "rpn_pre_nms_top_n": 6000,
        "rpn_post_nms_top_n": 300,
        "scales": scales,
        "ratios": ratios,
        "feature_stride": STRIDE,
        WHY: why,
    }
