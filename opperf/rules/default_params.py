"""Default inputs by argument name, where MXNet's users import them."""

from __future__ import annotations

from opperf.rules.mxnet.default_params import (
    DEFAULTS_INPUTS,
    DEFAULTS_INPUTS_LARGE_TENSOR,
    PARAMS_OF_TYPE_NDARRAY,
)

__all__ = [
    "DEFAULTS_INPUTS",
    "DEFAULTS_INPUTS_LARGE_TENSOR",
    "PARAMS_OF_TYPE_NDARRAY",
]
