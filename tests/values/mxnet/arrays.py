"""MXNet's arrays, as references take them."""

from __future__ import annotations

from typing import Any

import mxnet as mx


def array(value: Any) -> Any:
    """Returns a tensor as a NumPy array in its own memory; a plain value unchanged."""
    return value.asnumpy().copy() if isinstance(value, mx.nd.NDArray) else value
