"""`CustomAddOne`, for programs that import it to register it with MXNet."""

from __future__ import annotations

from opperf.frameworks.mxnet.custom_operator import (
    NAME,
    CustomAddOne,
    CustomAddOneProp,
)

__all__ = [
    "NAME",
    "CustomAddOne",
    "CustomAddOneProp",
]
