"""`CustomAddOne`, for programs that import it to register it with MXNet."""

from __future__ import annotations

from opperf.frameworks.mxnet.user_operators import NAME, CustomAddOne, CustomAddOneProp

__all__ = ["NAME", "CustomAddOne", "CustomAddOneProp"]
