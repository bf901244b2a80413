"""Tensors and arrays that a user passes to PyTorch: their specs, and copies as they are."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import numpy as np
import torch

from opperf.errors import UsageError
from opperf.frameworks import numpy_arrays
from opperf.frameworks.torch import devices
from opperf.frameworks.torch.devices import dtype_of, name_of
from opperf.frameworks.torch.tensors import META, layout_of, memory_format, stored_parts
from opperf.model import Fill, TensorSpec


def describe(value: Any) -> TensorSpec | None:
    """Returns the spec of a tensor or array of a user's, or None. Raises as `Arrays.describe`."""
    if isinstance(value, np.ndarray):
        strides, offset, _ = numpy_arrays.layout(value)
        if min(strides, default=0) < 0:
            raise UsageError("PyTorch has no negative strides; return a copy of the array")
        tensor, order = _of_array(np.ascontiguousarray(value)), ""
    elif isinstance(value, torch.Tensor):
        _check(value)
        tensor = value
        strides, offset, order = place(value)
    else:
        return None
    layout = layout_of(tensor)
    shape = () if layout in ("nested", "jagged") else tuple(tensor.shape)
    digest = hashlib.sha256(repr((shape, layout, str(tensor.dtype))).encode())
    if tensor.is_nested:
        digest.update(repr([tuple(part.shape) for part in tensor.unbind()]).encode())
    if layout == "dense" and tensor.is_quantized:
        digest.update(repr((tensor.q_scale(), tensor.q_zero_point())).encode())
    for part in stored_parts(tensor):
        digest.update(part.contiguous().view(torch.uint8).numpy().tobytes())
    return TensorSpec(
        shape=shape,
        dtype=name_of(tensor.dtype),
        layout=layout,
        fill=Fill("given", digest=digest.hexdigest()[:16]),
        gradient=tensor.requires_grad or tensor.is_floating_point(),
        strides=strides,
        offset=offset,
        memory_format=order,
    )


def _of_array(value: Any) -> torch.Tensor:
    try:
        return torch.from_numpy(value)
    except TypeError as error:
        raise UsageError(f"PyTorch has no arrays of {value.dtype}") from error


PLAIN = (torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.nn.Parameter))
"""Classes of the tensors that a copy can replace; a nested tensor may have one of its own."""


def _check(value: torch.Tensor) -> None:
    """Raises `UsageError` for a tensor of which a copy would be another."""
    if value.device.type == META:
        raise UsageError("a tensor on the device meta has no data; return one with data")
    if not value.is_nested and type(value) not in PLAIN:
        raise UsageError(
            f"a tensor of the class {type(value).__name__} is not measured as it is; return a "
            "plain tensor, and make the other in the measured function"
        )
    if value.is_conj() or value.is_neg():
        raise UsageError(
            "a tensor is conjugated or negated only when it is read; return "
            "tensor.resolve_conj().resolve_neg()"
        )
    if value.is_quantized and not value.is_contiguous():
        raise UsageError("a quantised tensor is not contiguous; return tensor.contiguous()")


def place(value: torch.Tensor) -> tuple[tuple[int, ...], int, str]:
    """Returns the strides, offset and memory format of a tensor, as a spec has them."""
    if layout_of(value) != "dense" or value.is_quantized or not value.numel():
        return (), 0, ""
    steps, offset = value.stride(), int(value.storage_offset())
    plain = TensorSpec(tuple(value.shape))
    for order, axes in AXES.items():
        # Of one channel, or one pixel, the order is in the strides alone.
        if value.dim() == axes and steps != plain.steps:
            ordered = msgspec.structs.replace(plain, memory_format=order)
            if steps == ordered.steps:
                return (), offset, order
    return () if value.is_contiguous() else steps, offset, ""


AXES = {"channels_last": 4, "channels_last_3d": 5}
"""Numbers of axes of the tensors that have a memory format."""


def memory_of(value: Any) -> int | None:
    """Returns the address of the memory of a tensor or array; None if it is not dense."""
    if isinstance(value, np.ndarray):
        return numpy_arrays.layout(value).memory if value.size else None
    if layout_of(value) != "dense" or value.is_quantized or not value.numel():
        return None
    return int(value.untyped_storage().data_ptr())


def copy_to_device(value: Any, spec: TensorSpec, device: str) -> torch.Tensor:
    """Returns a copy, on the device, of a tensor or array, in its dtype and memory format."""
    made = value.detach() if isinstance(value, torch.Tensor) else _of_array(np.array(value))
    if spec.layout == "mkldnn":
        # This layout has no kernel that copies or converts it otherwise.
        return made.to_dense(dtype_of(spec.dtype)).to_mkldnn() if spec.fill.dtype else made.clone()
    dtype = dtype_of(spec.dtype) if spec.fill.dtype else None
    copied: torch.Tensor = made.to(devices.torch_device(device), dtype, copy=True)
    return copied.contiguous(memory_format=memory_format(spec)) if spec.memory_format else copied


def write(view: torch.Tensor, value: Any, spec: TensorSpec) -> torch.Tensor:
    """Returns a view with the contents of a tensor or array that a user passed."""
    contents = value.detach() if isinstance(value, torch.Tensor) else _of_array(np.array(value))
    # PyTorch does not write to elements that a stride of zero repeats.
    once = tuple(slice(None, 1 if step == 0 else None) for step in view.stride())
    view[once].copy_(contents[once])
    return view
