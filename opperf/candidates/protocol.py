"""Messages between the judge and a process that runs a candidate, and the memory that both see."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opperf.dtypes import element_bytes
from opperf.model import Struct
from opperf.processes.channel import Request

Bytes = NDArray[np.uint8]

ALIGNMENT = 64
"""Bytes, to which frameworks align tensors."""

HEAD_BYTES = 1 << 20
"""Of the shared memory: integers of 64 bits, first the number of the call that is made, then the
addresses of results, those of a call as it returns."""

STORED = {"bfloat16": "uint16"}
"""NumPy's dtype of the bytes of a dtype that it lacks."""


CODES = "?" + np.typecodes["AllInteger"] + np.typecodes["AllFloat"]
DTYPES = frozenset(np.dtype(code).name for code in CODES)
"""NumPy's dtypes of results."""


class Place(Struct, frozen=True):
    """A tensor among the inputs: contiguous, at an offset of each slot."""

    shape: tuple[int, ...]
    dtype: str
    offset: int

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * element_bytes(self.dtype)


class Layout(Struct, frozen=True):
    """The inputs of one call: where tensors are in a slot, and the arguments, in which `["t", n]`
    is the n-th tensor, `["l", ...]` a list, `["u", ...]` a tuple, and `["v", value]` any other."""

    tensors: tuple[Place, ...]
    arguments: tuple[Any, ...]

    @property
    def bytes(self) -> int:
        """Bytes of a slot."""
        last = max((place.offset + place.bytes for place in self.tensors), default=0)
        return max(ALIGNMENT, -(-last // ALIGNMENT) * ALIGNMENT)


class Load(Request[None], frozen=True):
    """Has a user's file imported."""

    file: str
    function: str


class Make(Request[Layout], frozen=True):
    """Has inputs made by a function, those of each seed in a slot."""

    file: str
    function: str
    trial: dict[str, Any]
    seeds: tuple[int, ...]


class Bind(Request[None], frozen=True):
    """Has the arguments of calls made over the slots. What a call returned is freed."""

    layout: Layout
    slots: int
    gradients: bool = False
    """Whether a call is the function and its backward pass, whose gradients are results, too."""


class Run(Request[int], frozen=True):
    """Has the function called with the inputs of slots, in this order. Is answered with the number
    of results of all calls."""

    slots: tuple[int, ...]
    wide: bool = False
    """Whether floating-point inputs are converted to float64."""


class Output(Struct, frozen=True):
    """A result, as its process describes it."""

    shape: tuple[int, ...]
    dtype: str
    stored: str
    """NumPy's dtype of the bytes at its address."""
    problem: str = ""
    """The reason for which it is no result; empty if it is one."""
    is_lazy: bool = False
    """Whether it may compute its numbers when it is read."""

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.stored).itemsize


class Look(Request[tuple[tuple[Output, ...], ...]], frozen=True):
    """Asks for the results of calls of the latest run, by their positions."""

    calls: tuple[int, ...]


class Called(Request[tuple[str, ...]], frozen=True):
    """Asks for the framework's operators that a call with the inputs of the first slot calls."""


class Changed(Request[tuple[str, ...]], frozen=True):
    """Asks for what is not as it was before the file was loaded: modes, threads, functions."""


def decoded(data: Bytes, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Returns the numbers of a tensor's bytes, those of bfloat16 in float32."""
    stored = data.view(STORED.get(dtype, dtype))
    if dtype in STORED:
        stored = (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.reshape(shape)


def encoded(numbers: NDArray[Any], dtype: str) -> Bytes:
    """Returns the bytes of a tensor with these numbers, rounded."""
    if dtype in STORED:
        bits = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
        # To nearest: NaN stays NaN as its top bits are all set.
        rounded = np.where(np.isnan(numbers), bits, bits + 0x7FFF + ((bits >> 16) & 1))
        return (rounded >> 16).astype(np.uint16).reshape(-1).view(np.uint8)
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(numbers, dtype).reshape(-1).view(np.uint8)
