"""Arguments with tensors of a framework's array type."""

from __future__ import annotations

import msgspec

from opperf.model import Argument, map_tensors


def with_array_type(argument: Argument, array_type: str) -> Argument:
    """Returns the argument with its tensors of this array type."""
    if not array_type:
        return argument
    return map_tensors(argument, lambda spec: msgspec.structs.replace(spec, array_type=array_type))
