"""NumPy arrays, which all frameworks take or return: their layout and their contents."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from opperf.errors import UsageError
from opperf.frameworks.base import LARGE_BYTES, Contents, Kept


class Layout(NamedTuple):
    """Places of an array's elements in the memory that it shares with other arrays."""

    strides: tuple[int, ...]
    """In elements; empty for a contiguous array."""
    offset: int
    """Elements of the memory before the array's first."""
    memory: int
    """Address of the memory's beginning."""


def check(value: Any) -> None:
    """Raises `UsageError` for an array whose kind no case can have."""
    dtype = value.dtype
    if type(value) not in (np.ndarray, np.memmap):
        raise UsageError(
            f"an array of the class {type(value).__name__} is not measured as it is; return a "
            "plain array, and make the other in the measured function"
        )
    if dtype.names is not None or dtype.subdtype is not None:
        raise UsageError(f"an array has the structured dtype {dtype}; return its fields as arrays")
    if dtype.hasobject:
        raise UsageError("an array holds Python objects; return one of numbers")
    if not dtype.isnative:
        raise UsageError(
            f"an array has the byte order of {dtype.str!r}, which is not this machine's; convert "
            "it with .astype(array.dtype.newbyteorder('='))"
        )


def layout(value: Any) -> Layout:
    """Returns the layout of an array. Raises `UsageError` if it is none of whole elements."""
    check(value)
    address = value.__array_interface__["data"][0]
    begin = _begin(value, address)
    size = value.itemsize
    if not value.size or not size:
        return Layout((), 0, begin)
    if not value.flags.aligned or any(step % size for step in value.strides):
        raise UsageError(
            f"an array's elements of {size} bytes are {value.strides} bytes apart, or at odd "
            "addresses, like those of a packed structure; return a copy of it"
        )
    if (address - begin) % size:
        # As in a file behind a header: the memory before it holds no elements.
        begin = address
    strides = () if value.flags.c_contiguous else tuple(stride // size for stride in value.strides)
    return Layout(strides, (address - begin) // size, begin)


def _begin(value: Any, address: int) -> int:
    owner = value
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    if owner is value:
        return address
    try:
        owned = owner if isinstance(owner, np.ndarray) else np.frombuffer(owner, np.uint8)
    except (TypeError, ValueError, AttributeError):
        # Memory of another library, of which only the array's own part is known.
        extents = zip(value.shape, value.strides, strict=True)
        return int(address + sum((extent - 1) * min(0, step) for extent, step in extents))
    return int(owned.__array_interface__["data"][0])


NUMERIC = "biufc"
"""Kinds of dtypes of numbers."""

SPANS = "mM"
"""Kinds of dtypes of dates and spans of time, which are integers in a unit."""


def array_contents(value: Any) -> Contents | None:
    """Returns what an array of numbers, or a number, holds; None for any other value."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return None
    if value.dtype.kind not in (*NUMERIC, *SPANS):
        return None

    def numbers(step: int) -> Any:
        flat = np.asarray(value).reshape(-1)[::step]
        return flat.view("int64") if flat.dtype.kind in SPANS else flat

    return Contents(tuple(value.shape), value.dtype.name, "dense", int(value.nbytes), numbers)


class KeptArray(Kept):
    """An array, with a copy of its contents."""

    def __init__(self, array: Any) -> None:
        self._array, self._copy, self._shape = array, array.copy(), array.shape

    def is_changed(self) -> bool:
        # By their bytes: NaN differs from itself.
        now = np.ascontiguousarray(self._array).tobytes()
        return bool(self._array.shape != self._shape or now != self._copy.tobytes())

    def restore(self) -> None:
        if self._array.shape != self._shape:
            self._array.shape = self._shape
        np.copyto(self._array, self._copy)

    def is_touched(self) -> bool:
        return bool(self._array.nbytes < LARGE_BYTES) and self.is_changed()

    def forget(self) -> bool:
        is_small = bool(self._array.nbytes < LARGE_BYTES)
        if not is_small:
            self._copy = self._copy[:0]
        return is_small


class KeptGenerator(Kept):
    """A generator of random numbers, with a copy of its state."""

    def __init__(self, generator: Any, access: Access) -> None:
        self._generator, self._access = generator, access
        self._state = self._pickled()

    def _pickled(self) -> bytes:
        return pickle.dumps(self._access.state(self._generator))

    def is_changed(self) -> bool:
        return self._pickled() != self._state

    def restore(self) -> None:
        self._access.put(self._generator, pickle.loads(self._state))


class Access(NamedTuple):
    """How the state of a generator of random numbers is read and written."""

    state: Callable[[Any], Any]
    put: Callable[[Any, Any], object]


GENERATORS: Mapping[type, Access] = {
    random.Random: Access(random.Random.getstate, random.Random.setstate),
    np.random.RandomState: Access(np.random.RandomState.get_state, np.random.RandomState.set_state),
    np.random.Generator: Access(
        lambda one: one.bit_generator.state,
        lambda one, state: setattr(one.bit_generator, "state", state),
    ),
}


def keep(value: Any) -> Kept | None:
    """Returns an array that can be written to, or a generator of random numbers of Python or NumPy,
    with a copy of what it holds; None for any other value."""
    if isinstance(value, np.ndarray):
        return KeptArray(value) if value.flags.writeable and not value.dtype.hasobject else None
    kinds = [kind for kind in GENERATORS if isinstance(value, kind)]
    return KeptGenerator(value, GENERATORS[kinds[0]]) if kinds else None
