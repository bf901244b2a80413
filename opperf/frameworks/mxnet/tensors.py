"""MXNet arrays from specs, specs from MXNet arrays, and arrays that a user's function writes to."""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import weakref
import zlib
from collections.abc import Callable, Collection
from typing import Any

import msgspec
import mxnet as mx
import numpy as np

from opperf.dtypes import element_bytes, is_floating
from opperf.errors import UnsupportedError, UsageError
from opperf.frameworks import fill, numpy_arrays
from opperf.frameworks.base import LARGE_BYTES, Contents, Extent, Kept
from opperf.frameworks.drawings import DRAWINGS
from opperf.frameworks.fill import Code
from opperf.frameworks.mxnet import private
from opperf.frameworks.mxnet.device import context
from opperf.frameworks.user_inputs import FUNCTION
from opperf.model import Fill, Settings, TensorSpec

DTYPES = (
    *("float16", "float32", "float64", "bfloat16"),
    *("int8", "uint8", "int32", "int64", "bool"),
)
"""Dtypes that MXNet has."""

BFLOAT16 = np.dtype([("bfloat16", np.uint16)])
"""MXNet's dtype of bfloat16, which NumPy does not have."""


def dtype_of(name: str) -> Any:
    """Returns the dtype in the form MXNet takes."""
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def dtype_name(dtype: Any) -> str:
    """Returns the name of a dtype as MXNet gives it."""
    return "bfloat16" if np.dtype(dtype) == BFLOAT16 else np.dtype(dtype).name


def storage_type(layout: str) -> str | None:
    """Returns MXNet's name of a layout; None for none."""
    return "default" if layout == "dense" else layout or None


def has_nan(array: Any) -> bool:
    """Whether an array has a NaN; False for bfloat16, which NumPy cannot check."""
    if not dtype_name(array.dtype).startswith("float"):
        return False
    return bool(np.isnan(array.asnumpy()).any())


def stored_parts(array: Any) -> list[Any]:
    """Returns what an array stores, as dense arrays: values, and where they are."""
    places = {"csr": ("indices", "indptr"), "row_sparse": ("indices",)}.get(array.stype)
    return [array] if places is None else [array.data, *(getattr(array, name) for name in places)]


def contents(value: Any) -> Contents | None:
    """Returns what an array holds, of a sparse one the zeros included; None for any other value."""
    if not isinstance(value, mx.nd.NDArray):
        return None
    dtype = dtype_name(value.dtype)

    def numbers(step: int) -> Any:
        if dtype != "bfloat16":
            return value.asnumpy().reshape(-1)[::step]
        # By the function of the older interface, which takes arrays of either.
        single = mx.nd.amp_cast(value.as_nd_ndarray(), dtype="float32")
        return single.asnumpy().reshape(-1)[::step]

    size = int(np.prod(value.shape)) * max(LEAST_BYTES, element_bytes(dtype))
    return Contents(tuple(value.shape), dtype, storage_layout(value), size, numbers)


LEAST_BYTES = 4
"""Of an element whose numbers NumPy has: bfloat16 becomes float32."""


def storage_layout(value: Any) -> str:
    """Returns opperf's name of an array's layout."""
    return "dense" if value.stype == "default" else str(value.stype)


def extents(values: Any) -> list[Extent]:
    """Returns the extents of arrays and files in memory, nested lists included."""
    if isinstance(values, (list, tuple)):
        return [extent for value in values for extent in extents(value)]
    if isinstance(values, Path):
        return [Extent(values.size)]
    return [_extent(values)] if isinstance(values, mx.nd.NDArray) else []


def _extent(array: Any) -> Extent:
    if array.stype != "default":
        # MXNet returns copies of the parts only, so the array's handle represents them all.
        handle = int(array.handle.value)
        return Extent(
            sum(map(_bytes_of, stored_parts(array))), handle, handle + 1, math.prod(array.shape)
        )
    size = _bytes_of(array)
    begin = ctypes.c_void_p()
    private.check_call(private.library.MXNDArrayGetData(array.handle, ctypes.byref(begin)))
    address = begin.value or 0
    end = address + size if address else 0
    return Extent(size, address, end, int(array.size))


def _bytes_of(array: Any) -> int:
    return int(array.size) * element_bytes(dtype_name(array.dtype))


def code(spec: TensorSpec, device: str, seed: int) -> Code:
    """Returns the code that makes an array, or the bytes of a file."""
    is_returned = spec.fill.distribution == FUNCTION
    if spec.layout in SPARSE:
        if is_returned:
            return fill.returned(spec).within(f"{{made}}.copyto({context_expression(device)})")
        return sparse_code(spec, device, seed)
    contents = fill.returned(spec) if is_returned else fill.code(spec, seed)
    if spec.layout == "file":
        return contents.within("{made}.tobytes()")
    ctx = f"ctx={context_expression(device)}"
    if spec.dtype == "bfloat16":
        array = f"mx.nd.array({{made}}, {ctx})"
        made = contents.within(f"mx.nd.amp_cast({array}, dtype=np.dtype({BFLOAT16.descr!r}))")
        return made.within("{made}.as_np_ndarray()") if spec.array_type == "np" else made
    module = "mx.np" if spec.array_type == "np" else "mx.nd"
    return contents.within(f"{module}.array({{made}}, dtype={{dtype}}, {ctx})")


SPARSE = {
    "csr": "mx.nd.sparse.csr_matrix(({made}, places % {columns}, "
    "np.searchsorted(places, np.arange({rows} + 1) * {columns})), shape={extents}, ",
    "row_sparse": "mx.nd.sparse.row_sparse_array(({made}, places), shape={extents}, ",
}
"""The beginning of the call that makes an array of a sparse layout from stored values and their
indices, which are sorted: those of elements, or of rows."""

PLACES = (
    "gaps = np.random.default_rng({seed}).standard_exponential({kept} + 1)",
    "places = np.cumsum(gaps[:-1]) / gaps.sum() * ({entries} - {kept})",
    'places = places.astype("int64") + np.arange({kept})',
)
"""Statements that draw `kept` of so many places, sorted, without drawing one twice."""


def sparse_code(spec: TensorSpec, device: str, seed: int) -> Code:
    """Returns the code of a sparse array. Raises `UnsupportedError` for bfloat16."""
    if spec.dtype == "bfloat16":
        raise UnsupportedError("MXNet has no sparse arrays of bfloat16")
    kept = spec.stored
    is_csr = spec.layout == "csr"
    per_entry = () if is_csr else spec.shape[1:]
    if spec.fill.distribution in DRAWINGS:
        values = fill.code(msgspec.structs.replace(spec, shape=(kept, *per_entry)), seed)
    else:
        # The fill is that of the whole tensor, of which some entries are stored.
        drawn_from = spec.block or spec.shape
        whole = fill.code(msgspec.structs.replace(spec, shape=drawn_from), seed)
        values = whole.within("{made}.ravel()[places]" if is_csr else "{made}[places]")
    rows = spec.shape[0]
    return values.within(
        SPARSE[spec.layout] + f"dtype={{dtype}}, ctx={context_expression(device)})",
        *PLACES,
        seed=seed,
        kept=kept,
        entries=math.prod(spec.block or spec.shape) if is_csr else rows,
        rows=rows,
        columns=(spec.block or spec.shape)[1] if is_csr else 1,
        extents=spec.shape,
    )


def context_expression(device: str) -> str:
    """Returns MXNet's object for a device, as an expression."""
    kind, _, index = device.rstrip(")").partition("(")
    return f"mx.{kind}({index})"


def tensor(spec: TensorSpec, device: str, seed: int) -> Any:
    """Returns an array as specified, or a file's path. Raises `UnsupportedError`."""
    try:
        made = code(spec, device, seed).run(mx=mx)
    except (TypeError, mx.base.MXNetError) as error:
        raise UnsupportedError(f"MXNet makes no {spec.dtype} array: {error}") from error
    return file_of(made) if spec.layout == "file" else made


class Path(str):
    """The path of a file in memory, which lives as long as this object."""

    size: int
    """Bytes of the file."""


def file_of(data: bytes) -> Path:
    """Returns a file of these bytes in memory. Raises `UnsupportedError` where there are none."""
    if not hasattr(os, "memfd_create"):
        raise UnsupportedError("files in memory need Linux")
    handle = os.memfd_create("opperf")
    os.write(handle, data)
    path = Path(f"/proc/self/fd/{handle}")
    path.size = len(data)
    weakref.finalize(path, os.close, handle)
    return path


def copy_to_device(value: Any, spec: TensorSpec, device: str) -> Any:
    """Returns a copy of a user's array, in the spec's dtype; the user's own gets no gradient."""
    if isinstance(value, mx.nd.NDArray):
        copied = value.copyto(context(device))
        return copied.astype(dtype_of(spec.dtype)) if spec.fill.dtype else copied
    if spec.dtype == "bfloat16":
        made = mx.nd.amp_cast(mx.nd.array(value, ctx=context(device)), dtype=BFLOAT16)
        return made.as_np_ndarray() if spec.array_type == "np" else made
    make = mx.np.array if spec.array_type == "np" else mx.nd.array
    return make(value, dtype=spec.dtype, ctx=context(device))


def describe(value: Any) -> TensorSpec | None:
    """Returns the spec of an array of a user's, or None. Raises as `Arrays.describe`."""
    if isinstance(value, mx.nd.NDArray):
        data = np.ascontiguousarray(value.asnumpy())
        return TensorSpec(
            shape=tuple(value.shape),
            dtype=dtype_name(value.dtype),
            fill=Fill("given", digest=_digest(data)),
            layout=storage_layout(value),
            gradient=is_floating(dtype_name(value.dtype)),
            array_type="np" if isinstance(value, mx.np.ndarray) else "",
            density=density_of(value),
        )
    if isinstance(value, np.ndarray):
        numpy_arrays.check(value)
        if value.dtype.name not in DTYPES:
            raise UsageError(f"MXNet has no dtype {value.dtype.name}; return an array of another")
        return TensorSpec(
            shape=tuple(value.shape),
            dtype=value.dtype.name,
            fill=Fill("given", digest=_digest(np.ascontiguousarray(value))),
            gradient=is_floating(value.dtype.name),
        )
    return None


def narrowed(dtype: str, beside: Collection[str], settings: Settings) -> str:
    """Returns the dtype of an array of NumPy beside others. MXNet's operators take one floating
    dtype only, and `mx.nd.array` makes float32 of NumPy's default."""
    others = {other for other in beside if is_floating(other)} - {NUMPY_DEFAULT}
    return min(others) if dtype == NUMPY_DEFAULT and others else dtype


NUMPY_DEFAULT = "float64"
"""NumPy's floating dtype, unless another is requested."""


def density_of(array: Any) -> float:
    """Returns the share of elements (csr) or rows (row_sparse) that an array stores, else 1."""
    if array.stype == "default":
        return 1.0
    entries: int = math.prod(array.shape) if array.stype == "csr" else array.shape[0]
    return int(array.indices.size) / max(1, entries)


def _digest(data: Any) -> str:
    return hashlib.sha256(data.tobytes()).hexdigest()[:16]


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


class KeptArray(Kept):
    """An array, with a copy of what it stores."""

    def __init__(self, array: Any) -> None:
        self._array, self._copy = array, array.copy()
        self._checksum = checksum(array)

    def is_changed(self) -> bool:
        return checksum(self._array) != self._checksum

    def restore(self) -> None:
        self._copy.copyto(self._array)

    def is_touched(self) -> bool:
        return self._is_small() and self.is_changed()

    def forget(self) -> bool:
        if not self._is_small():
            self._copy = None
        return self._is_small()

    def _is_small(self) -> bool:
        return int(self._array.size) * np.dtype(self._array.dtype).itemsize < LARGE_BYTES


def keep(value: Any) -> Kept | None:
    """Returns an array of MXNet or NumPy, or a generator of random numbers, with a copy of what it
    holds; None for any other value."""
    return KeptArray(value) if isinstance(value, mx.nd.NDArray) else numpy_arrays.keep(value)


def write_numbers(call: Callable[[], Any], tensor: Any, numbers: Any) -> Any:
    """Gives a dense array the contents of one of NumPy, and returns it."""
    made = mx.nd.array(numbers, ctx=tensor.ctx, dtype=numbers.dtype)
    if tensor.dtype == BFLOAT16:
        made = mx.nd.amp_cast(made, dtype="bfloat16")
    made.copyto(tensor.as_nd_ndarray())
    return tensor


def watch(value: Any) -> Watched | None:
    """Returns an array among a function's arguments; None for any other value."""
    return Watched(value) if isinstance(value, mx.nd.NDArray) else None
