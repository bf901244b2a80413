"""MXNet's own convolution and pooling: older forms, deformable ones, and other operators that
sample images and signals."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Argument, Operator
from opperf.operations import OPERATIONS, CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.engine import Families, arguments_by_role
from opperf.rules.families.convolution import SCALE, layer, pooling, pools
from opperf.rules.mxnet.operations.layers import CONVOLUTIONS
from opperf.rules.pictures import FILTERS, KERNEL, Window, coarse_maps, feature_maps, images
from opperf.rules.sizes import Preset
from opperf.rules.values import OPEN_UNIT, PROBABILITY, Arguments, tensor, tensors

FAMILIES = Families()

AFFINE = 6
"""Numbers in an affine transformation of the plane."""


def later_stage(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A 3 x 3 and a narrowing layer of a later stage."""
    yield layer(Window(coarse_maps(size), pad=1))
    yield layer(Window(coarse_maps(size, 4 * FILTERS), kernel=1))


@FAMILIES.add("Convolution_v1")
def convolution_v1(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A 3 x 3 and a narrowing layer of a later stage, which are small: the older operator loops
    around a matrix product, and takes many times as long as `Convolution`."""
    return arguments_by_role(operator, CONVOLUTIONS, later_stage, size)


def offset_window(size: Preset) -> Window:
    """A 3 x 3 layer of few channels, as reading at learned offsets is slow."""
    return Window(coarse_maps(size, FILTERS // 2), pad=1)


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
    """A 3 x 3 layer of a later stage of a ResNet, where offsets are learned."""
    window = offset_window(size)
    yield {
        "data": tensor(*window.shape),
        "offset": tensor(window.shape[0], 2 * math.prod(window.along(KERNEL)), *window.positions),
        "weight": tensor(FILTERS, window.shape[1], *window.along(KERNEL)),
        "bias": tensor(FILTERS),
        **plain(window),
    }


@FAMILIES.add("_contrib_ModulatedDeformableConvolution", "_npx_modulated_deformable_convolution")
def modulated(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `deformable`, with a weight for each offset."""
    for arguments in deformable(operator, size):
        data, offset, *others = arguments.items()
        window = offset_window(size)
        mask = tensor(
            window.shape[0], math.prod(window.along(KERNEL)), *window.positions, fill=PROBABILITY
        )
        yield dict((data, offset, ("mask", mask), *others))


def with_whole_maps(pooled: Iterable[Roles]) -> Iterable[Arguments]:
    """The arguments of each pooling, by its window and over the whole map."""
    for roles in pooled:
        for whole in (False, True):
            yield {
                "data": roles["data"],
                "kernel": roles["kernel"],
                "pool_type": roles["kind"],
                "global_pool": whole,
                "stride": roles["stride"],
                "pad": roles["padding"],
            }


@FAMILIES.add("Pooling")
def pooling_and_global(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Signals and images, as in MXNet's utility."""
    return with_whole_maps(pooling(OPERATIONS["pooling"], size))


@FAMILIES.add("Pooling_v1")
def pooling_v1(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Images: the older operator takes no signals."""
    return with_whole_maps(pools(Window(images(size))))


@FAMILIES.add("Correlation")
def correlation(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps of two frames, compared by products and by differences at displacements of up to
    four pixels, as in networks for optical flow (PWC-Net)."""
    reach = 4
    shape = coarse_maps(size, 16)
    for product in (True, False):
        yield {
            "data1": tensor(*shape),
            "data2": tensor(*shape),
            "kernel_size": 1,
            "max_displacement": reach,
            "stride1": 1,
            "stride2": 1,
            "pad_size": reach,
            "is_multiply": product,
        }


@FAMILIES.add("UpSampling")
def upsampling(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps to enlarge twofold: by repeated pixels, of one and of two maps, and by a learned
    filter."""
    maps = tensor(*coarse_maps(size))
    kernel = 2 * SCALE - SCALE % 2
    for kind, data in (
        ("nearest", [maps]),
        ("nearest", [maps, maps]),
        ("bilinear", [maps, tensor(FILTERS, 1, kernel, kernel)]),
    ):
        filters: dict[str, Argument] = {"num_filter": FILTERS} if kind == "bilinear" else {}
        yield {
            "data": tensors(data),
            "scale": SCALE,
            **filters,
            "sample_type": kind,
            "num_args": len(data),
        }


@FAMILIES.add("BilinearSampler")
def bilinear_sampler(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Images, and random places inside them to read at."""
    batch, _, *extents = images(size)
    yield {"data": tensor(*images(size)), "grid": tensor(batch, 2, *extents, fill=OPEN_UNIT)}


@FAMILIES.add("GridGenerator")
def grid_generator(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """An affine transformation, and a flow field, from which the grid of each image is computed."""
    batch, _, *extents = images(size)
    yield {
        "data": tensor(batch, AFFINE, fill=OPEN_UNIT),
        "transform_type": "affine",
        "target_shape": tuple(extents),
    }
    yield {"data": tensor(batch, 2, *extents), "transform_type": "warp"}


@FAMILIES.add("SpatialTransformer")
def spatial_transformer(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Images, and an affine transformation of each."""
    batch, _, *extents = images(size)
    yield {
        "data": tensor(*images(size)),
        "loc": tensor(batch, AFFINE, fill=OPEN_UNIT),
        "target_shape": tuple(extents),
        "transform_type": "affine",
        "sampler_type": "bilinear",
    }


@FAMILIES.add("_contrib_BilinearResize2D")
def bilinear_resize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A segmentation's feature maps, to enlarge to a size and to another tensor's, and to halve."""
    data = tensor(*coarse_maps(size))
    _, _, height, width = feature_maps(size)
    yield {"data": data, "height": height, "width": width}
    yield {"data": data, "like": tensor(*feature_maps(size)), "mode": "like"}
    yield {"data": data, "scale_height": 1 / SCALE, "scale_width": 1 / SCALE, "mode": "odd_scale"}
