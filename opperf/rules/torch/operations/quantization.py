"""PyTorch's quantised tensors, read as the numbers that they stand for."""

from __future__ import annotations

from typing import Any

from opperf.operations.uses import ANYTHING, Array, Table, use

ENDS = {"qint8": (-128, 127), "quint8": (0, 255)}
"""Ranges of quantised dtypes."""

ONE_SCALE = "x=self scale zero_point low=quant_min high=quant_max"


def to_dtype(
    self: Array, dtype: str, scale: Any = None, zero_point: Any = None, **several: Any
) -> dict[str, Any]:
    """A tensor, and the range of the dtype that it is quantised to, with one scale or with one of
    each channel."""
    low, high = ENDS[dtype]
    made = {"x": self, "low": low, "high": high}
    if scale is not None:
        return {**made, "scale": scale, "zero_point": zero_point}
    scales, zeros = several["scales"], several["zero_points"]
    return {**made, "scale": scales, "zero_point": zeros, "axis": several["axis"]}


ROUNDED = use("fake_quantize", ONE_SCALE)
BY_CHANNEL = use("fake_quantize", f"{ONE_SCALE} axis")
MASKED = use("multiply", "x=grad y=mask")
QUANTISED = use("fake_quantize", to_dtype)


def and_mask(made: Array, arguments: Any) -> tuple[Array, object]:
    """The rounded numbers, and which of them are in the range, which is not compared."""
    return made, ANYTHING


TABLE: Table = {
    "fake_quantize_per_channel_affine": BY_CHANNEL,
    "fake_quantize_per_channel_affine_cachemask": use(
        "fake_quantize", f"{ONE_SCALE} axis", and_mask
    ),
    "fake_quantize_per_channel_affine_cachemask_backward": MASKED,
    "fake_quantize_per_tensor_affine": ROUNDED,
    "fake_quantize_per_tensor_affine_cachemask": use("fake_quantize", ONE_SCALE, and_mask),
    "fake_quantize_per_tensor_affine_cachemask_backward": MASKED,
    "quantize_per_channel": QUANTISED,
    "quantize_per_tensor.default": QUANTISED,
    "quantize_per_tensor.tensor_qparams": QUANTISED,
}
