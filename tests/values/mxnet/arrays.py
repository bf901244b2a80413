"""MXNet's arrays, as references take them."""

from __future__ import annotations

from typing import Any

import mxnet as mx


def array(value: Any) -> Any:
    """A tensor as NumPy has it, in memory of its own; a plain value as it is."""
    return value.asnumpy().copy() if isinstance(value, mx.nd.NDArray) else value
