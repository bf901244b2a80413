"""NumPy arrays from specs, specs from NumPy arrays, and arrays that a call writes to."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opperf.errors import UnsupportedError
from opperf.frameworks import fill, numpy_arrays
from opperf.frameworks.base import Extent
from opperf.frameworks.user_inputs import FUNCTION
from opperf.model import Fill, OperatorTarget, Target, TensorSpec

ADDED = 2
"""`isbuiltin` of a dtype that another package has added, as JAX's does bfloat16."""


def code(spec: TensorSpec, seed: int) -> fill.Code:
    """Returns the code of an array. Raises `UnsupportedError` if NumPy has no such array."""
    if spec.layout != "dense":
        raise UnsupportedError(f"NumPy has no {spec.layout} arrays")
    try:
        is_own = np.dtype(spec.dtype).isbuiltin != ADDED
    except TypeError as error:
        raise UnsupportedError(f"NumPy has no dtype {spec.dtype}") from error
    if not is_own:
        raise UnsupportedError(f"NumPy has no dtype {spec.dtype} of its own")
    if spec.fill.distribution == FUNCTION:
        made = fill.returned(spec)
        return made.within("{made}.astype({dtype})") if spec.fill.dtype else made
    return fill.code(spec, seed)


def tensor(spec: TensorSpec, device: str, seed: int) -> Any:
    """Returns an array as specified. Raises `UnsupportedError` if NumPy has no such array."""
    # A case may write to its arrays, and none other has this one's memory.
    return np.require(code(spec, seed).run(), requirements=["C", "W"])


def view_expression(storage: str, spec: TensorSpec) -> str:
    """Returns `view` as an expression; `storage` is the variable of the other array."""
    strides = tuple(step * np.dtype(spec.dtype).itemsize for step in spec.steps)
    return f"np.lib.stride_tricks.as_strided({storage}[{spec.offset}:], {spec.shape}, {strides})"


def view(storage: Any, spec: TensorSpec) -> Any:
    """Returns an array in the elements of another, one-dimensional one."""
    strides = [step * storage.itemsize for step in spec.steps]
    first = storage[spec.offset :]
    return np.lib.stride_tricks.as_strided(first, spec.shape, strides)


def describe(value: Any) -> TensorSpec | None:
    """Returns the spec of an array of a user's, or None. Raises as `Arrays.describe`."""
    if not isinstance(value, np.ndarray):
        return None
    strides, offset, _ = numpy_arrays.layout(value)
    data = np.ascontiguousarray(value)
    digest = hashlib.sha256(data.tobytes()).hexdigest()[:16]
    return TensorSpec(
        shape=tuple(value.shape),
        dtype=value.dtype.name,
        fill=Fill("given", digest=digest),
        strides=strides,
        offset=offset,
        read_only=not value.flags.writeable,
    )


def memory_of(value: Any) -> int | None:
    """Returns the address of the memory of which an array is a view; None for an empty one."""
    return numpy_arrays.layout(value).memory if value.size else None


def copy_to_device(value: Any, spec: TensorSpec, device: str) -> Any:
    """Returns a contiguous copy of an array that a user passed."""
    made = value.astype(spec.dtype if spec.fill.dtype else value.dtype, order="C")
    return protected(made, spec)


def shared(array: Any, dtype: str) -> Any:
    """Returns an array over an array's memory."""
    return array.view(dtype)


def address(value: Any) -> int | None:
    """Returns the address of a contiguous array."""
    if type(value) is not np.ndarray or not value.flags.c_contiguous:
        return None
    return int(value.__array_interface__["data"][0])


def write(view: Any, value: Any, spec: TensorSpec) -> Any:
    """Returns a view with the contents of an array that a user passed."""
    # Equal elements of an overlapping view are at one place.
    view[...] = value
    return protected(view, spec)


def protected(value: Any, spec: TensorSpec) -> Any:
    """Returns the array, read-only if the spec is."""
    if spec.read_only:
        value.flags.writeable = False
    return value


def arrays(outputs: Any) -> Iterator[Any]:
    """Yields every array and number among a call's results, tuples and lists of them opened."""
    if isinstance(outputs, (tuple, list)):
        for output in outputs:
            yield from arrays(output)
    elif isinstance(outputs, (np.ndarray, np.generic)):
        yield outputs


def has_nan(outputs: Any) -> bool:
    """Whether any array among a call's results has a NaN."""
    return any(bool(np.isnan(array).any()) for array in arrays(outputs) if array.dtype.kind in "fc")


def extent(value: Any) -> Extent:
    """Returns an array's or number's extent in memory; what a stride of zero repeats counts
    once."""
    if not isinstance(value, np.ndarray) or not value.size:
        return Extent(int(value.nbytes), elements=int(value.size))
    begin = value.__array_interface__["data"][0]
    end = begin + value.itemsize
    for count, stride in zip(value.shape, value.strides, strict=True):
        reach = (count - 1) * stride
        begin, end = begin + min(0, reach), end + max(0, reach)
    return Extent(min(int(value.nbytes), end - begin), begin, end, int(value.size))


def extents(values: Any) -> list[Extent]:
    """Returns the places in memory of the arrays among values."""
    return [extent(array) for array in arrays(values)]


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


def write_numbers(call: Callable[[], Any], tensor: Any, numbers: Any) -> Any:
    """Gives an array other contents, and returns it. Raises `ValueError` for memory that cannot be
    written to."""
    is_writeable = tensor.flags.writeable
    tensor.flags.writeable = True
    # Dates and spans of time have their numbers.
    np.copyto(
        tensor, numbers.view(tensor.dtype) if tensor.dtype.kind in numpy_arrays.SPANS else numbers
    )
    tensor.flags.writeable = is_writeable
    return tensor


def checksum(array: Any) -> int:
    """Returns a checksum of an array's contents."""
    data = np.ascontiguousarray(array)
    # Arrays of objects have no bytes to look at.
    if data.dtype.hasobject:
        return zlib.crc32(data.tobytes())
    return zlib.crc32(data.reshape(-1).view(np.uint8).data)


def watch(target: Target, value: Any, call: Callable[[], Any]) -> Watched | None:
    """Returns an array among a function's arguments; None for any other, and for an operator's."""
    if not isinstance(value, np.ndarray) or isinstance(target, OperatorTarget):
        return None
    return Watched(value)
