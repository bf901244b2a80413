"""Object detection: boxes, anchors, proposals; and pooling of regions, upright and rotated."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.detectors import (
    ALIGNED,
    CLASSES,
    CORNERS,
    DETECTIONS,
    LABELS,
    LEVEL,
    OBJECTS,
    OFFSETS,
    PASCAL,
    PLANE,
    POOLED,
    POSITIONS,
    SAMPLES,
    WHOLE,
    Pooling,
    corners,
    few_images,
    image_extents,
    maps,
)
from opperf.rules.image_shapes import feature_maps
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    PROBABILITY,
    UNIT_BOXES,
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

STRIDE = 16
"""Pixels of the image for each cell of the feature map."""
VARIANCES = (0.1, 0.1, 0.2, 0.2)
"""Scales of a box's four offsets in SSD."""
NEAR = Fill("normal", 0.0, 0.1)
"""Offsets from anchors: small, as an anchor is near the object that it is matched with."""


def anchors(size: Preset) -> int:
    """Number of anchors of an image: SSD-300's."""
    return size.extent(8732)


def candidates(size: Preset) -> int:
    """Number of boxes that are compared pairwise."""
    return size.extent(1000)


@FAMILIES.add("_contrib_box_nms")
def box_nms(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scored boxes by their corners, many of which overlap."""
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
        "data": tensor(few_images(size), size.extent(12000), 1 + CORNERS, fill=DETECTIONS),
        "overlap_thresh": 0.7,
        "topk": size.extent(6000),
        "coord_start": 1,
        "score_index": 0,
        "force_suppress": True,
        WHY: "a region proposal network: 6000 of 12000 boxes, of no class",
    }


def anchor_boxes(size: Preset) -> TensorSpec:
    """An image's anchors, which all images of a batch share."""
    return fixed(1, anchors(size), CORNERS, fill=UNIT_BOXES)


@FAMILIES.add("_contrib_MultiBoxTarget")
def multibox_target(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Anchors and labelled objects, with three negative anchors for each positive (SSD's ratio)."""
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


def proposals(batch: int, size: Preset, why: str) -> Iterable[Arguments]:
    """Scores and offsets of Faster R-CNN's anchors: four sizes and three shapes in each cell."""
    scales, ratios = (4.0, 8.0, 16.0, 32.0), (0.5, 1.0, 2.0)
    shapes = len(scales) * len(ratios)
    extents = maps(size, STRIDE, extents=PASCAL)[2:]
    height, width = image_extents(size, PASCAL)
    images = ((float(height), float(width), 1.0),) * batch
    yield {
        "cls_prob": fixed(batch, 2 * shapes, *extents, fill=PROBABILITY),
        "bbox_pred": fixed(batch, CORNERS * shapes, *extents, fill=NEAR),
        "im_info": fixed(batch, len(images[0]), fill=literal(images)),
        "rpn_pre_nms_top_n": 6000,
        "rpn_post_nms_top_n": 300,
        "scales": scales,
        "ratios": ratios,
        "feature_stride": STRIDE,
        WHY: why,
    }


def pooled(pooling: Pooling, size: Preset) -> Arguments:
    """The arguments of a pooling to a grid of cells."""
    return {
        "data": pooling.maps(size),
        "rois": pooling.level.rois(size),
        "pooled_size": (pooling.cells, pooling.cells),
        "spatial_scale": 1 / pooling.level.stride,
        WHY: pooling.why,
    }


@FAMILIES.add("_contrib_DeformablePSROIPooling")
def deformable_position_sensitive(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `position_sensitive`, with learned offsets of the cells, those of Deformable R-FCN."""
    grid = dict.fromkeys(("group_size", "pooled_size", "part_size"), POOLED)
    shared: Arguments = {**grid, "spatial_scale": 1 / POSITIONS.stride, "sample_per_part": 4}
    yield {
        "data": POSITIONS.maps(size),
        "rois": POSITIONS.rois(size),
        "trans": tensor(POSITIONS.regions(size), 2, POOLED, POOLED),
        **shared,
        "output_dim": LABELS,
        "trans_std": 0.1,
        WHY: "Deformable R-FCN: 300 regions, whose cells are moved by learned offsets",
    }
    yield {
        "data": OFFSETS.maps(size),
        "rois": OFFSETS.rois(size),
        **shared,
        "output_dim": PLANE,
        "no_trans": True,
        WHY: "Deformable R-FCN: the offsets themselves, pooled from cells that are not moved",
    }


ROWS: dict[str, Row] = {
    "_contrib_RROIAlign": lambda size: {
        "data": fixed(*LEVEL.maps(size).shape),
        "rois": LEVEL.rotated_rois(size),
        "pooled_size": (POOLED, POOLED),
        "spatial_scale": 1 / LEVEL.stride,
        "sampling_ratio": SAMPLES,
        WHY: "rotated regions, for the detection of text",
    },
    "_contrib_PSROIPooling": lambda size: {
        "data": POSITIONS.maps(size),
        "rois": POSITIONS.rois(size),
        "spatial_scale": 1 / POSITIONS.stride,
        "output_dim": LABELS,
        "pooled_size": POOLED,
        "group_size": POOLED,
        WHY: "R-FCN: 300 regions, each cell of which has channels of its own",
    },
    "_contrib_box_encode": lambda size: {
        "samples": fixed(size.batch, anchors(size), fill=below(2, start=-1)),
        "matches": fixed(size.batch, anchors(size), fill=below(OBJECTS)),
        "anchors": fixed(size.batch, anchors(size), CORNERS, fill=UNIT_BOXES),
        "refs": fixed(size.batch, OBJECTS, CORNERS, fill=UNIT_BOXES),
        "means": fixed(CORNERS, fill=ZEROS),
        "stds": fixed(CORNERS, fill=literal(VARIANCES)),
        WHY: "SSD-300: what its anchors are to predict, some of them negative or ignored",
    },
    "_contrib_bipartite_matching": lambda size: {
        "data": fixed(size.images, anchors(size), OBJECTS, fill=between(-0.8, 0.2)),
        "threshold": 0.1,
        "is_ascend": False,
        WHY: "SSD-300: anchors by objects, one of ten near; the largest overlap is matched first",
    },
    "_contrib_MultiBoxDetection": lambda size: {
        "cls_prob": fixed(size.batch, CLASSES + 1, anchors(size), fill=PROBABILITY),
        "loc_pred": fixed(size.batch, CORNERS * anchors(size), fill=NEAR),
        "anchor": anchor_boxes(size),
        "nms_threshold": 0.45,
        "variances": VARIANCES,
        "nms_topk": 400,
        WHY: "SSD-300 in use: the best 400 boxes are compared with each other",
    },
}
add_rows(FAMILIES.add, ROWS)


VARIANTS: dict[str, Variants] = {
    "_contrib_MultiBoxPrior": lambda size: {
        "SSD's anchors for a feature map, of which only the extents are read": call(
            sizes=(0.1, 0.14), ratios=(1.0, 2.0, 0.5), data=fixed(*feature_maps(size))
        )
    },
    "_contrib_ROIAlign": lambda size: [
        {
            **pooled(pooling, size),
            "sample_ratio": pooling.samples,
            **({"aligned": True} if pooling.aligned else {}),
        }
        for pooling in ALIGNED
    ],
    "_contrib_box_iou": lambda size: {
        "SSD-300: its anchors and the objects of a batch": call(
            lhs=fixed(anchors(size), CORNERS, fill=UNIT_BOXES),
            rhs=fixed(size.batch * OBJECTS, CORNERS, fill=UNIT_BOXES),
            format="corner",
        ),
        "a thousand proposals with each other, by centre and size": call(
            lhs=fixed(candidates(size), CORNERS, fill=PROBABILITY),
            rhs=fixed(candidates(size), CORNERS, fill=PROBABILITY),
            format="center",
        ),
    },
    "_contrib_box_decode": lambda size: {
        why: call(
            data=fixed(size.batch, anchors(size), CORNERS, fill=NEAR),
            anchors=fixed(1, anchors(size), CORNERS, fill=fill),
            **{f"std{i}": scale for i, scale in enumerate(VARIANCES)},
            format=layout,
        )
        for layout, fill, why in (
            ("corner", UNIT_BOXES, "SSD-300's anchors by corners, from which centres are made"),
            ("center", PROBABILITY, "SSD-300's anchors, by centre and size"),
        )
    },
    # Inputs for one image: the operator takes no more.
    "_contrib_Proposal": lambda size: proposals(1, size, "Faster R-CNN: proposals of one image"),
    "_contrib_MultiProposal": lambda size: proposals(2, size, "Faster R-CNN: those of two images"),
    "ROIPooling": lambda size: (pooled(pooling, size) for pooling in WHOLE),
}
add_rows(FAMILIES.add, VARIANTS)
