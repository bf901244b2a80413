"""Arguments with tensors of a framework's array type."""

from __future__ import annotations

import msgspec

from opperf.model import Argument, TensorSpec


def with_array_type(argument: Argument, array_type: str) -> Argument:
    """Returns the argument with its tensors of this array type."""
    if not array_type:
        return argument
    if isinstance(argument, tuple):
        return tuple(with_array_type(element, array_type) for element in argument)  # type: ignore[misc]
    if isinstance(argument, TensorSpec):
        return msgspec.structs.replace(argument, array_type=array_type)
    return argument
