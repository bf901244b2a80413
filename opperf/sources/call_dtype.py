"""The dtype of a call that a source has with all its tensors."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.dtypes import DTYPES, is_floating
from opperf.model import Argument, iter_tensors

BASELINE = "float32"
"""Dtype of a case without floating tensors, as everywhere."""


def call_dtype(arguments: Iterable[Argument]) -> str:
    """Returns the dtype of a call: the floating one of fewest bytes, since in mixed precision
    some tensors have more."""
    used = {spec.dtype for value in arguments for spec in iter_tensors(value)}
    floating = [DTYPES[name] for name in used if is_floating(name)]
    return min(floating, key=lambda dtype: (dtype.bytes, dtype.name)).name if floating else BASELINE
