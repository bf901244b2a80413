"""What an MXNet array holds, to compare two of them bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mxnet as mx

from opperf.frameworks.mxnet.tensors import BFLOAT16


def contents(tensor: Any) -> tuple[Any, ...]:
    """The array's type, shape, dtype and bytes; of a file its bytes."""
    if isinstance(tensor, mx.nd.NDArray):
        parts = (tensor,)
        if tensor.stype != "default":
            # Some kernels allocate more than they fill.
            used = int(tensor.indptr[-1].asscalar()) if tensor.stype == "csr" else None
            parts = (tensor.data[:used], tensor.indices[:used])
        return (type(tensor), tensor.stype, tensor.shape, *map(_bytes, parts))
    return (Path(getattr(tensor, "name", tensor)).read_bytes(),)


def _bytes(array: Any) -> tuple[Any, bytes]:
    # NumPy has no bfloat16; single precision has all of its numbers.
    if array.dtype == BFLOAT16:
        return array.dtype, mx.nd.amp_cast(
            array.as_nd_ndarray(), dtype="float32"
        ).asnumpy().tobytes()
    return array.dtype, array.asnumpy().tobytes()
