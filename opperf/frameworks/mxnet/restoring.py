"""Restores the arrays that a user's function writes to."""

from __future__ import annotations

import zlib
from typing import Any

import mxnet as mx

from opperf.frameworks.mxnet.tensors import BFLOAT16, stored_parts


class Watched:
    """An array, as it was when it was watched, by a checksum of what it stores."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self._checksum = checksum(array)

    def is_changed(self) -> bool:
        return checksum(self._array) != self._checksum

    def restore(self, contents: Any) -> None:
        contents.copyto(self._array)


def checksum(array: Any) -> int:
    """Returns a checksum of what an array stores, once it is written."""
    found = 0
    for part in stored_parts(array):
        # NumPy cannot show the bytes of MXNet's bfloat16.
        wide = part.astype("float32") if part.dtype == BFLOAT16 else part
        found = zlib.crc32(wide.asnumpy().tobytes(), found)
    return found


def watch(value: Any) -> Watched | None:
    """Returns an array among a function's arguments; None for any other value."""
    return Watched(value) if isinstance(value, mx.nd.NDArray) else None
