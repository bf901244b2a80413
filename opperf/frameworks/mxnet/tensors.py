"""MXNet arrays from specs, and specs from MXNet arrays."""

from __future__ import annotations

import ctypes
import hashlib
import os
import weakref
from typing import Any

import mxnet as mx
import numpy as np
from mxnet.base import _LIB, check_call

from opperf.dtypes import element_bytes, is_floating
from opperf.errors import UnsupportedError
from opperf.frameworks import fill
from opperf.frameworks.base import Extent
from opperf.frameworks.fill import Code
from opperf.frameworks.mxnet.device import context
from opperf.model import Fill, TensorSpec

BFLOAT16 = np.dtype([("bfloat16", np.uint16)])
"""MXNet's dtype of bfloat16, which NumPy does not have."""

DENSITY = 0.1
"""Share of elements (csr) or rows (row_sparse) that are not zero in a sparse tensor: sparse
enough for a sparse kernel to be worth it, as for a mini-batch of bag-of-words features."""


def dtype_of(name: str) -> Any:
    """The dtype in the form MXNet takes."""
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def dtype_name(dtype: Any) -> str:
    """The name of a dtype as MXNet gives it."""
    return "bfloat16" if np.dtype(dtype) == BFLOAT16 else np.dtype(dtype).name


def has_nan(array: Any) -> bool:
    """Whether an array has a NaN; False for bfloat16, which NumPy cannot check."""
    if not dtype_name(array.dtype).startswith("float"):
        return False
    return bool(np.isnan(array.asnumpy()).any())


def extents(values: Any) -> list[Extent]:
    """The extents of arrays and files in memory, nested lists included."""
    if isinstance(values, (list, tuple)):
        return [extent for value in values for extent in extents(value)]
    if isinstance(values, Path):
        return [Extent(values.size)]
    return [_extent(values)] if isinstance(values, mx.nd.NDArray) else []


def _extent(array: Any) -> Extent:
    """The extent of an array in memory."""
    if array.stype != "default":
        parts = (array.data, array.indices, *([array.indptr] if array.stype == "csr" else []))
        # MXNet returns copies of the parts only, so the array's handle represents them all.
        handle = int(array.handle.value)
        return Extent(sum(_bytes_of(part) for part in parts), handle, handle + 1)
    size = _bytes_of(array)
    begin = ctypes.c_void_p()
    check_call(_LIB.MXNDArrayGetData(array.handle, ctypes.byref(begin)))
    address = begin.value or 0
    return Extent(size, address, address + size) if address else Extent(size)


def _bytes_of(array: Any) -> int:
    """Bytes that a dense array's elements take."""
    return int(array.size) * element_bytes(dtype_name(array.dtype))


def code(spec: TensorSpec, device: str, seed: int) -> Code:
    """The code that makes an array, or the bytes of a file."""
    contents = fill.code(spec, seed)
    if spec.layout == "file":
        return contents.within("{made}.tobytes()")
    if spec.layout != "dense":
        kept = spec.shape if spec.layout == "csr" else (spec.shape[0], *[1] * (len(spec.shape) - 1))
        contents = contents.within(
            "np.where(keep, {made}, 0)",
            "keep = np.random.default_rng({seed}).random({kept}) < {density}",
            "keep.flat[0] = True",
            seed=seed,
            kept=kept,
            density=DENSITY,
        )
    ctx = f"ctx={context_expression(device)}"
    if spec.dtype == "bfloat16":
        array = f"mx.nd.array({{made}}, {ctx})"
        made = contents.within(f"mx.nd.amp_cast({array}, dtype=np.dtype({BFLOAT16.descr!r}))")
        if spec.array_type == "np":
            made = made.within("{made}.as_np_ndarray()")
    else:
        module = "mx.np" if spec.array_type == "np" else "mx.nd"
        made = contents.within(f"{module}.array({{made}}, dtype={{dtype}}, {ctx})")
    return made if spec.layout == "dense" else made.within(f'{{made}}.tostype("{spec.layout}")')


def context_expression(device: str) -> str:
    """MXNet's object for a device, as an expression."""
    kind, _, index = device.rstrip(")").partition("(")
    return f"mx.{kind}({index})"


def tensor(spec: TensorSpec, device: str, seed: int) -> Any:
    """An array as specified, or the path of a file. Raises `UnsupportedError` if MXNet has no
    such array."""
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
    """A file of these bytes in memory, which is gone with the process. Raises `UnsupportedError`
    where there are no such files."""
    if not hasattr(os, "memfd_create"):
        raise UnsupportedError("files in memory need Linux")
    handle = os.memfd_create("opperf")
    os.write(handle, data)
    path = Path(f"/proc/self/fd/{handle}")
    path.size = len(data)
    weakref.finalize(path, os.close, handle)
    return path


def copy_to_device(value: Any, spec: TensorSpec, device: str) -> Any:
    """A copy, on the device, of an array that a user passed, so that the user's own gets no
    gradient and is not written to."""
    if isinstance(value, mx.nd.NDArray):
        return value.copyto(context(device))
    make = mx.np.array if spec.array_type == "np" else mx.nd.array
    return make(value, dtype=value.dtype, ctx=context(device))


def describe(value: Any) -> TensorSpec | None:
    """The spec of an array that a user passed; None for any other value."""
    if isinstance(value, mx.nd.NDArray):
        data = np.ascontiguousarray(value.asnumpy())
        return TensorSpec(
            shape=tuple(value.shape),
            dtype=dtype_name(value.dtype),
            fill=Fill("given", digest=_digest(data)),
            layout="dense" if value.stype == "default" else value.stype,
            gradient=is_floating(dtype_name(value.dtype)),
            array_type="np" if isinstance(value, mx.np.ndarray) else "",
        )
    if isinstance(value, np.ndarray):
        return TensorSpec(
            shape=tuple(value.shape),
            dtype=value.dtype.name,
            fill=Fill("given", digest=_digest(np.ascontiguousarray(value))),
            gradient=is_floating(dtype_name(value.dtype)),
        )
    return None


def _digest(data: Any) -> str:
    return hashlib.sha256(data.tobytes()).hexdigest()[:16]
