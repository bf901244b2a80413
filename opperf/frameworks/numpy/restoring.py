"""Restores the arrays that a call writes to."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from opperf.model import OperatorTarget, Target


class Watched:
    """An array, as it was when it was watched, by a checksum of its contents."""

    def __init__(self, array: Any) -> None:
        self._array, self._shape = array, array.shape
        self._checksum = checksum(array)

    def is_changed(self) -> bool:
        return self._array.shape != self._shape or checksum(self._array) != self._checksum

    def restore(self, contents: Any) -> None:
        if self._array.shape != self._shape:
            self._array.shape = self._shape
        # One that cannot be written to is a view of what was.
        if self._array.flags.writeable:
            np.copyto(self._array, contents)


def checksum(array: Any) -> int:
    """Returns a checksum of an array's contents."""
    data = np.ascontiguousarray(array)
    # Arrays of objects have no bytes to look at.
    if data.dtype.hasobject:
        return zlib.crc32(data.tobytes())
    return zlib.crc32(data.reshape(-1).view(np.uint8).data)


def watch(target: Target, value: Any, call: Callable[[], Any]) -> Watched | None:
    """Returns an array among a function's arguments; None for any other value, and for arguments of
    an operator."""
    if not isinstance(value, np.ndarray) or isinstance(target, OperatorTarget):
        return None
    return Watched(value)
