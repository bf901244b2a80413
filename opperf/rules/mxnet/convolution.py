"""MXNet's own convolution and pooling, older or deformable, and other samplers of images."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from opperf.model import Argument, Fill, Operator, TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import PAPER, PHASE, TAGS, WHY
from opperf.rules.detectors import few_images, last_stage, maps, spread
from opperf.rules.engine import arguments_by_role
from opperf.rules.families import convolution
from opperf.rules.families.convolution import layer
from opperf.rules.image_shapes import (
    FILTERS,
    KERNEL,
    Window,
    channels_last,
    coarse_maps,
    feature_maps,
    images,
    network_maps,
)
from opperf.rules.mxnet.operations.convolutions import OPERATIONS
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    OPEN_UNIT,
    PROBABILITY,
    Arguments,
    call,
    fixed,
    literal,
    tensor,
    tensors,
    without_gradients,
)
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

SCALE = 2

TRAIN_PHASE = frozenset({"Pooling"})
"""oneDNN keeps the positions of maxima in the train phase alone: after the predict phase the
gradient reads uninitialised memory."""

AFFINE = 6
"""Numbers in an affine transformation of the plane."""


def later_stage(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A 3 x 3 and a narrowing layer of a later stage."""
    for why, window in (
        ("a 3 x 3 layer of coarse maps, copied nine times", Window(coarse_maps(size), pad=1)),
        ("a 1 x 1 layer that narrows maps", Window(coarse_maps(size, 4 * FILTERS), kernel=1)),
    ):
        yield {WHY: why, **layer(window)}


@FAMILIES.add("Convolution_v1", replaces="it takes many times as long as `Convolution`")
def convolution_v1(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Small layers: the older operator loops around a matrix product, many times as long."""
    return arguments_by_role(operator, OPERATIONS, later_stage, size)


def plain(window: Window) -> Arguments:
    """The plain arguments of a deformable convolution."""
    return {
        "kernel": window.along(window.kernel),
        "stride": window.along(window.stride),
        "dilate": window.along(window.dilate),
        "pad": window.along(window.pad),
        "num_filter": window.filters,
    }


@FAMILIES.add("_contrib_DeformableConvolution", "_npx_deformable_convolution")
def deformable(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A 3 x 3 layer of the last stage of a detector's ResNet, where offsets are learned."""
    window = last_stage(size)
    yield {
        WHY: "Deformable ConvNets, the last stage of a detector, 3 x 3 with learned offsets",
        "data": tensor(*window.shape),
        "offset": tensor(window.shape[0], 2 * math.prod(window.along(KERNEL)), *window.positions),
        "weight": tensor(window.filters, window.shape[1], *window.along(KERNEL)),
        "bias": tensor(window.filters),
        **plain(window),
    }


@FAMILIES.add("_contrib_ModulatedDeformableConvolution", "_npx_modulated_deformable_convolution")
def modulated(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `deformable`, with a weight for each offset."""
    for arguments in deformable(operator, size):
        data, offset, *others = arguments.items()
        window = last_stage(size)
        cells = math.prod(window.along(KERNEL))
        mask = tensor(window.shape[0], cells, *window.positions, fill=PROBABILITY)
        made = dict((data, offset, ("mask", mask), *others))
        yield {**made, WHY: "Deformable ConvNets v2, as the first, with a weight for each offset"}


def shared(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The poolings of every framework, by a window or of whole maps."""
    return convolution.FAMILIES.by_operation[operation.name](operation, size)


@FAMILIES.add("Pooling")
def pooling_in_both_phases(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A maximum that predicts, without a gradient; channels last, which oneDNN does not take."""
    first = next(iter(arguments_by_role(operator, OPERATIONS, shared, size)))
    notes = {WHY: "ResNet predicting, after the first layer", PHASE: "predict"}
    yield {**without_gradients(first), **notes}
    for layout, shape, why in (
        ("NHWC", network_maps(size, 64, 112, 112, samples=1), "images"),
        ("NWC", network_maps(size, 128, 2000, samples=2, multiple=4), "sound"),
        ("NDHWC", network_maps(size, 64, 16, 28, 28, samples=1, multiple=2), "video"),
    ):
        window = Window(shape, kernel=2, stride=2)
        yield {
            WHY: f"with channels last: the maxima of {why}",
            "data": tensor(*channels_last(shape)),
            "kernel": window.along(window.kernel),
            "stride": window.along(window.stride),
            "pad": window.along(window.pad),
            "pool_type": "max",
            "global_pool": False,
            "layout": layout,
        }


def of_images(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The poolings of two spatial axes, a quarter of the maps each, as the older operator is many
    times slower. Its maximum counts the border as zeros, so that it is no other operator's."""
    for roles in shared(operation, size):
        data = roles["data"]
        bordered = roles["kind"] == "max" and roles.get("padding", (0, 0)) != (0, 0)
        if isinstance(data, TensorSpec) and len(data.shape) == 4 and not bordered:
            batch, *others = data.shape
            fewer = (max(1, batch // 4), *others)
            yield {**roles, "data": msgspec.structs.replace(data, shape=fewer)}


@FAMILIES.add("Pooling_v1", replaces="it takes no signals")
def pooling_v1(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps: the older operator takes no signals."""
    return arguments_by_role(operator, OPERATIONS, of_images, size)


@FAMILIES.add("Correlation")
def correlation(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps of two frames, compared at displacements by networks for optical flow."""
    # The features that the network has at a quarter of an image of 128 x 128.
    flow = coarse_maps(size, 32)
    frames = (few_images(size), 256, size.side(48), size.side(64))
    for data, reach, step, product, why in (
        (tensor(*flow), 4, 1, True, "PWC-Net: all displacements of up to 4 pixels"),
        # Without a gradient, which takes some seconds.
        (fixed(*frames), 20, 2, True, "FlowNet in use: every second of up to 20 pixels"),
        (tensor(*flow), 4, 1, False, "by differences, for matching of stereo pairs"),
    ):
        yield {
            "data1": data,
            "data2": data,
            "kernel_size": 1,
            "max_displacement": reach,
            "stride1": 1,
            "stride2": step,
            "pad_size": reach,
            "is_multiply": product,
            WHY: why,
        }


SEGMENTED = 21
"""Classes of a segmentation of the Pascal VOC data, background included."""


@FAMILIES.add("UpSampling")
def upsampling(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps to enlarge twofold: by repeated pixels, and by a learned filter."""
    level, skipped = tensor(*maps(size, 32)), tensor(*maps(size, 16))
    scores = tensor(*coarse_maps(size, SEGMENTED))
    kernel = 2 * SCALE - SCALE % 2
    learned = tensor(SEGMENTED, 1, kernel, kernel)
    added: dict[str, Argument] = {"multi_input_mode": "sum"}
    # Long et al., "Fully Convolutional Networks for Semantic Segmentation", 2015.
    by_filter: dict[str, Argument] = {"num_filter": SEGMENTED, TAGS: (PAPER,)}
    for kind, data, options, why in (
        ("nearest", [level], {}, "a feature pyramid: a level, enlarged to the next finer one"),
        ("nearest", [level, skipped], {}, "two levels of a pyramid, enlarged and joined"),
        ("nearest", [level, skipped], added, "two levels of a pyramid, enlarged and added"),
        ("bilinear", [scores, learned], by_filter, "FCN, as its paper: a filter for each class"),
    ):
        made: Arguments = {"data": tensors(data), "scale": SCALE, **options, "sample_type": kind}
        yield {**made, "num_args": len(data), WHY: why}


INSIDE = Fill("grid", 0.95, 0.01)
"""Places that follow the image's own grid, almost all inside it."""


def transformations(size: Preset) -> TensorSpec:
    """An affine transformation for each image, which turns and shifts it a little."""
    turns = [0.1 * spread(i, 2) - 0.05 for i in range(size.images)]
    rows = tuple((0.9, turn, turn / 2, -turn, 0.9, turn / 3) for turn in turns)
    return tensor(size.images, AFFINE, fill=literal(rows))


@FAMILIES.add("_contrib_BilinearResize2D")
def bilinear_resize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A segmentation's feature maps, to enlarge to a size and to another tensor's, to halve, and to
    crop or widen by a pixel."""
    crop, eighth = size.side(513, 1), size.side(65, 1)
    scores = tensor(few_images(size), SEGMENTED, eighth, eighth)
    yield {"data": scores, "height": crop, "width": crop, WHY: "DeepLabv3: scores to pixels"}
    level, finer = tensor(*maps(size, 32)), tensor(*maps(size, 16))
    yield {"data": level, "like": finer, "mode": "like", WHY: "a pyramid's level to the next finer"}
    scales = dict.fromkeys(("scale_height", "scale_width"), 1 / SCALE)
    why = "feature maps at half size, as ICNet takes them"
    yield {"data": tensor(*coarse_maps(size)), **scales, "mode": "odd_scale", WHY: why}
    odd = "sides made odd by a pixel more, so that corners stay corners in halving"
    yield {"data": tensor(*coarse_maps(size)), "mode": "to_odd_up", WHY: odd}


VARIANTS: dict[str, Variants] = {
    "BilinearSampler": lambda size: [
        {"data": tensor(*shape), "grid": tensor(shape[0], 2, *shape[2:], fill=fill), WHY: why}
        for shape, fill, why in (
            (images(size), INSIDE, "a frame, warped by a smooth flow"),
            (feature_maps(size), INSIDE, "feature maps, warped by a smooth flow"),
            (images(size), OPEN_UNIT, "places in no order, like points in a scene"),
        )
    ],
    "GridGenerator": lambda size: {
        "a spatial transformer's grid": call(
            data=transformations(size), transform_type="affine", target_shape=images(size)[2:]
        ),
        "the grid of a flow field, to warp a frame": call(
            data=tensor(images(size)[0], 2, *images(size)[2:], fill=Fill("normal", 0.0, 4.0)),
            transform_type="warp",
        ),
    },
    "SpatialTransformer": lambda size: {
        why: call(
            data=tensor(*shape),
            loc=transformations(size),
            target_shape=shape[2:],
            transform_type="affine",
            sampler_type="bilinear",
        )
        for shape, why in (
            (images(size), "a spatial transformer of images"),
            (feature_maps(size), "a spatial transformer inside a network"),
        )
    },
}
add_rows(FAMILIES.add, VARIANTS)
