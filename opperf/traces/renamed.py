"""Operators that one kind of device has, and what stands for each of them elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from opperf.model import Argument, TensorSpec

Arguments = Mapping[str, Argument]


class Renamed(NamedTuple):
    """Another operator that stands for one."""

    path: str
    overload: str
    names: Mapping[str, str]
    """Its name of each argument that it takes, by the operator's own name."""
    values: Mapping[str, Argument]
    """Arguments that it takes besides."""
    derived: Callable[[Arguments], Arguments] = lambda arguments: {}
    """Returns those among these that depend on the operator's own arguments."""


CONVOLUTION = {
    name: name for name in ("weight", "bias", "stride", "padding", "dilation", "groups")
} | {"self": "input"}

PLAIN: Arguments = {"bias": None, "transposed": False, "output_padding": (0,)}

NORMALISATION = {
    name: name for name in ("input", "weight", "bias", "running_mean", "running_var", "training")
} | {"exponential_average_factor": "momentum", "epsilon": "eps"}

NORMALISATION_BACKWARD = {
    name: name for name in ("input", "weight", "running_mean", "running_var")
} | {
    "grad_output": "grad_out",
    "save_mean": "save_mean",
    "save_var": "save_invstd",
    "epsilon": "eps",
}

ALL_GRADIENTS: Arguments = {"train": True, "output_mask": (True, True, True)}

ATTENTION = {
    name: name for name in ("query", "key", "value", "dropout_p", "is_causal", "scale")
} | {"attn_bias": "attn_mask"}


def _convolution(transposed: bool = False) -> Renamed:
    names = dict(CONVOLUTION) | ({"output_padding": "output_padding"} if transposed else {})
    return Renamed("aten.convolution", "default", names, {**PLAIN, "transposed": transposed})


def _depthwise() -> Renamed:
    return _convolution()._replace(derived=_groups_of_channels)


def _groups_of_channels(arguments: Arguments) -> Arguments:
    """Returns the groups of a depthwise convolution, which declares none: one for each channel."""
    data = arguments.get("self")
    return {"groups": data.shape[1]} if isinstance(data, TensorSpec) and data.shape[1:] else {}


def _attention() -> Renamed:
    return Renamed("aten.scaled_dot_product_attention", "default", ATTENTION, {})


BATCH_NORM = Renamed("aten.native_batch_norm", "default", NORMALISATION, {})
BATCH_NORM_BACKWARD = Renamed(
    "aten.native_batch_norm_backward", "default", NORMALISATION_BACKWARD, ALL_GRADIENTS
)

RENAMED: Mapping[str, Renamed] = {
    "aten.cudnn_convolution": _convolution(),
    "aten.miopen_convolution": _convolution(),
    "aten.miopen_depthwise_convolution": _convolution(),
    "aten._mps_convolution": _convolution(),
    "aten.mkldnn_convolution": _convolution(),
    "aten.conv_depthwise3d": _depthwise(),
    "aten._conv_depthwise2d": _depthwise(),
    "aten.cudnn_convolution_transpose": _convolution(transposed=True),
    "aten.miopen_convolution_transpose": _convolution(transposed=True),
    "aten.cudnn_batch_norm": BATCH_NORM,
    "aten.miopen_batch_norm": BATCH_NORM,
    "aten.cudnn_batch_norm_backward": BATCH_NORM_BACKWARD,
    "aten.miopen_batch_norm_backward": BATCH_NORM_BACKWARD,
    "aten._scaled_dot_product_flash_attention": _attention(),
    "aten._scaled_dot_product_efficient_attention": _attention(),
    "aten._scaled_dot_product_cudnn_attention": _attention(),
}
"""By the operator's path. Those whose arguments have no counterpart elsewhere (those of recurrent
layers, whose weights cuDNN keeps in one piece) are measured where they are."""


def elsewhere(
    path: str, overload: str, arguments: Arguments
) -> tuple[str, str, dict[str, Argument], str]:
    """Returns what stands for an operator on any device, with its arguments, and a note on it;
    the operator itself, and no note, if it is on all."""
    found = RENAMED.get(path)
    if found is None or not arguments.keys() & found.names.keys():
        return path, overload, dict(arguments), ""
    renamed = {found.names[name]: value for name, value in arguments.items() if name in found.names}
    values = {**found.values, **found.derived(arguments), **renamed}
    return found.path, found.overload, values, f"it was {path}"
