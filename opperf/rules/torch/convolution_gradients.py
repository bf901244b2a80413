"""Families of the gradients of PyTorch's convolutions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from opperf.model import Argument, Operator
from opperf.rules.configurations import MAPS, TAGS, WHY, notes_of
from opperf.rules.families.convolution import layer
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.torch.convolution import (
    ENLARGING,
    WINDOWS,
    axes_of,
    layers_of,
    output_of,
    transposed,
)
from opperf.rules.values import Arguments, taken

FAMILIES = Families()

ALL_THREE = (True, True, True)
"""Gradients to compute: of the data, the weights and the bias."""


def _gradient_arguments(roles: Mapping[str, Any], is_transposed: bool) -> dict[str, Argument]:
    made = output_of(roles, is_transposed)
    return {
        "grad_output": made,
        "input": roles["data"],
        "weight": roles["weight"],
        "bias_sizes": (made.shape[1],),
        "stride": roles["stride"],
        "padding": roles["padding"],
        "dilation": roles["dilation"],
        "transposed": is_transposed,
        "output_padding": roles.get("output_padding", (0,) * len(roles["stride"])),
        "groups": roles.get("groups", 1),
        "output_mask": ALL_THREE,
    }


@FAMILIES.also("convolution_backward.default")
def gradients(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Backward passes of a layer that is dilated, of one that enlarges and of one of
    video."""
    (_, plain), _, (_, dilated), _, (_, volume), *_ = WINDOWS
    for why, roles, is_transposed in (
        ("ResNet-50, stage 1, 3 x 3", {TAGS: (MAPS,), **layer(plain(size))}, False),
        ("DeepLab, stage 3, dilated", layer(dilated(size)), False),
        ("DCGAN, the generator's second layer", transposed(ENLARGING[0][1](size)), True),
        ("C3D, the first layer, of images half as wide", layer(volume(size)), False),
    ):
        yield {**notes_of(roles), WHY: why, **_gradient_arguments(roles, is_transposed)}


@FAMILIES.add("mps_convolution_backward", "mps_convolution_transpose_backward")
def gradients_of_mps(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Backward passes of layers, by Apple's kernels."""
    is_transposed = "transpose" in operator.name
    for roles in layers_of(is_transposed, size):
        if axes_of(roles) == 2:
            made = _gradient_arguments(roles, is_transposed)
            few = {"output_mask": (True, True) if is_transposed else ALL_THREE}
            yield {WHY: roles[WHY], "self": roles["data"], **taken(operator, made), **few}
