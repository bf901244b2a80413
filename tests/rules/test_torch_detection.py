"""Inputs of torchvision's operators, which need not be installed."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from opperf.model import Kind, Operator, Parameter, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.detectors import POOLED
from opperf.rules.registering import listed
from opperf.rules.sizes import PRESETS
from opperf.rules.torch.detection import COARSE, FAMILIES

POOLINGS = [
    f"torchvision::{name}"
    for name in ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "qroi_align")
]


def configurations(name: str, size: str) -> list[dict[str, Any]]:
    """The configurations of an operator that takes a sampling ratio unless it pools by maxima."""
    sampled = [] if name.endswith("pool") else [Parameter("sampling_ratio", Kind.INT, True)]
    operator = Operator("torch", "torchvision", name, parameters=tuple(sampled))
    made = [dict(one) for one in listed(FAMILIES.by_name[name](operator, PRESETS[size]))]
    assert made
    return made


def rows_of(spec: TensorSpec) -> Any:
    """The literal numbers of a tensor."""
    data = spec.fill.data
    rows = np.array(ast.literal_eval(data) if isinstance(data, str) else data, "float64")
    return rows.reshape(spec.shape)


@pytest.mark.parametrize("size", PRESETS)
@pytest.mark.parametrize("name", POOLINGS)
def test_regions_are_inside_their_pictures(name: str, size: str) -> None:
    for made in configurations(name, size):
        maps, rows = made["input"].shape, rows_of(made["rois"])
        if name == "torchvision::qroi_align":
            assert made["rois_scale"] == COARSE and 0 <= rows.min() <= rows.max() < 256
            rows = np.concatenate([rows[:, :1], COARSE * rows[:, 1:]], axis=1)
        numbers, (left, top, right, bottom) = rows[:, 0], rows[:, 1:].T
        assert set(numbers) <= set(range(maps[0]))
        assert (right > left).all() and (bottom > top).all()
        assert min(left.min(), top.min()) >= 0
        assert right.max() * made["spatial_scale"] <= maps[3]
        assert bottom.max() * made["spatial_scale"] <= maps[2]


@pytest.mark.parametrize("name", ["torchvision::ps_roi_align", "torchvision::ps_roi_pool"])
def test_each_cell_has_channels_of_its_own(name: str) -> None:
    (made,) = configurations(name, "default")
    assert made["input"].shape[1] % (made["pooled_height"] * made["pooled_width"]) == 0
    assert made["pooled_height"] == POOLED
    assert ("sampling_ratio" in made) == name.endswith("align")


@pytest.mark.parametrize("size", PRESETS)
def test_a_deformable_convolution_has_offsets_of_each_tap_and_position(size: str) -> None:
    plain, modulated = configurations("torchvision::deform_conv2d", size)
    for made in (plain, modulated):
        pictures, channels, *extents = made["input"].shape
        filters, per_group, *kernel = made["weight"].shape
        positions = [
            (extent + 2 * made[f"pad_{axis}"] - made[f"dilation_{axis}"] * (taps - 1) - 1)
            // made[f"stride_{axis}"]
            + 1
            for extent, taps, axis in zip(extents, kernel, "hw", strict=True)
        ]
        assert made["offset"].shape == (pictures, 2 * kernel[0] * kernel[1], *positions)
        assert per_group * made["groups"] == channels and made["bias"].shape == (filters,)
    assert modulated["mask"].shape == (pictures, kernel[0] * kernel[1], *positions)
    assert (plain["use_mask"], modulated["use_mask"]) == (False, True)


@pytest.mark.parametrize("name", ["torchvision::nms", "torchvision::qnms"])
def test_each_box_has_a_score(name: str) -> None:
    for made in configurations(name, "default"):
        assert made["dets"].shape == (*made["scores"].shape, 4)
        assert 0 < made["iou_threshold"] < 1
    assert made["scores"].dtype == made["dets"].dtype


def test_rotated_boxes_have_sides() -> None:
    (made,) = configurations("torchvision::box_iou_rotated", "default")
    rows = rows_of(made["boxes1"])
    assert rows.shape[1] == 5 and (rows[:, 2:4] > 0).all()
    assert made[WHY]
