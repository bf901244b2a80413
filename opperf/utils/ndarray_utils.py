"""MXNet arrays for benchmarks, and calls of an operator on them."""

from __future__ import annotations

from opperf.mxnet_api.arrays import (
    get_mx_ndarray,
    get_mx_np_ndarray,
    nd_forward_and_profile,
    nd_forward_backward_and_profile,
)

__all__ = [
    "get_mx_ndarray",
    "get_mx_np_ndarray",
    "nd_forward_and_profile",
    "nd_forward_backward_and_profile",
]
