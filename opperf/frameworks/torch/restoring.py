"""Restores the arguments that a call writes to."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.parameter import is_lazy

from opperf.frameworks import numpy_arrays
from opperf.frameworks.base import LARGE_BYTES, CallArguments, Kept
from opperf.frameworks.torch import private, registry, schemas
from opperf.frameworks.torch.tensors import layout_of, stored_parts, tensors
from opperf.model import CallableTarget, OperatorTarget, Target

INSIDE = "__tensor_flatten__"
"""The method of a subclass whose tensors consist of others."""

WITHOUT_MEMORY = ("meta", "xla")
"""Types of devices on which a tensor has no memory of its own."""


class Saved(NamedTuple):
    """A tensor, and a copy of its contents."""

    tensor: torch.Tensor
    copy: torch.Tensor
    storage: Any
    """None for a tensor that is not dense, or has no memory of its own, and keeps its layout."""
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    @classmethod
    def of(cls, tensor: torch.Tensor, copy: torch.Tensor | None = None) -> Saved:
        kept = tensor.detach().clone() if copy is None else copy
        has_memory = tensor.device.type not in WITHOUT_MEMORY
        if layout_of(tensor) != "dense" or not has_memory or hasattr(type(tensor), INSIDE):
            return cls(tensor, kept, None, (), (), 0)
        return cls(
            tensor,
            kept,
            tensor.untyped_storage(),
            tuple(tensor.shape),
            tensor.stride(),
            int(tensor.storage_offset()),
        )

    def is_moved(self) -> bool:
        tensor = self.tensor
        return self.storage is not None and (
            tuple(tensor.shape) != self.size
            or tensor.stride() != self.stride
            or tensor.storage_offset() != self.offset
            or tensor.untyped_storage().data_ptr() != self.storage.data_ptr()
        )

    def restore(self) -> None:
        tensor = self.tensor
        if self.is_moved():
            tensor.set_(self.storage, self.offset, self.size, self.stride)
        _distinct(tensor, self.stride).copy_(_distinct(self.copy, self.stride))


def _distinct(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """Returns a tensor without repeated elements: PyTorch writes to none twice."""
    for axis, stride in enumerate(strides):
        if stride == 0 and tensor.shape[axis] > 1:
            tensor = tensor.narrow(axis, 0, 1)
    return tensor


class Watched:
    """A tensor, as it was when it was watched. Its version counts what is written to it and to its
    views. Writes by other means, as NumPy's, show in its contents alone, which are read where a
    user's code is called."""

    def __init__(self, tensor: torch.Tensor, reads_contents: bool) -> None:
        self._saved = Saved.of(tensor, tensor)
        self._version = _version_of(tensor)
        self._reads_contents = reads_contents
        self._checksum = self._sum()

    def _sum(self) -> int:
        checksum = 0
        if self._reads_contents:
            for part in stored_parts(self._saved.tensor):
                held = part.contiguous().view(torch.uint8).numpy()
                checksum = zlib.crc32(held.data, checksum)
        return checksum

    def is_changed(self) -> bool:
        return (
            _version_of(self._saved.tensor) != self._version
            or self._saved.is_moved()
            or self._sum() != self._checksum
        )

    def restore(self, contents: torch.Tensor) -> None:
        with torch.no_grad():
            self._saved._replace(copy=contents).restore()


class KeptTensor(Kept):
    """A tensor, with a copy of its contents."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._saved = Saved.of(tensor, _copied(tensor))
        self._version = _version_of(tensor)

    def is_changed(self) -> bool:
        saved = self._saved
        if hasattr(type(saved.tensor), INSIDE):
            # It has tensors inside, and no bytes of its own.
            return _version_of(saved.tensor) != self._version
        # Not by the version, which neither counts what writes to the memory by other means, nor
        # says whether something was restored together with a view.
        return saved.is_moved() or not _equal(saved.tensor, saved.copy)

    def restore(self) -> None:
        tensor = self._saved.tensor
        # One that was made in inference mode can be written to in that alone.
        with torch.inference_mode() if tensor.is_inference() else torch.no_grad():
            self._saved.restore()
        self._version = _version_of(tensor)

    def is_touched(self) -> bool:
        return self._saved.is_moved() or _version_of(self._saved.tensor) != self._version

    def forget(self) -> bool:
        tensor = self._saved.tensor
        if tensor.nbytes < LARGE_BYTES:
            return True
        self._saved = self._saved._replace(copy=tensor)
        return False


def _version_of(tensor: torch.Tensor) -> int:
    """Returns how often a tensor was written to; zero for one of inference mode, which has no
    count."""
    return 0 if tensor.is_inference() else private.version_of(tensor)


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy, in the memory of the device if there is plenty."""
    plain = tensor.detach()
    if plain.is_cuda:
        free, total = torch.cuda.mem_get_info(plain.device)
        if free < total / 2:
            return plain.to("cpu", copy=True)
    return plain.clone()


WHOLE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Integers of as many bytes: as numbers, NaN would differ from itself."""


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    pairs = zip(stored_parts(one), stored_parts(other), strict=True)
    return all(torch.equal(_bits(part), _bits(copy)) for part, copy in pairs)


def _bits(part: torch.Tensor) -> torch.Tensor:
    plain = torch.view_as_real(part) if part.dtype == torch.complex128 else part
    return plain.view(WHOLE[plain.element_size()])


class KeptGenerator(Kept):
    """A generator of random numbers, with a copy of its state."""

    def __init__(self, generator: torch.Generator) -> None:
        self._generator, self._state = generator, generator.get_state()

    def is_changed(self) -> bool:
        return not torch.equal(self._generator.get_state(), self._state)

    def restore(self) -> None:
        self._generator.set_state(self._state)


def keep(value: Any) -> Kept | None:
    """Returns a tensor or array of a user's code, or a generator of random numbers, with a copy of
    what it holds; None for any other value, and for what has no contents yet."""
    if isinstance(value, torch.Generator):
        return KeptGenerator(value)
    if not isinstance(value, torch.Tensor):
        return numpy_arrays.keep(value)
    if value.is_meta or is_lazy(value):
        return None
    return KeptTensor(value)


def write_numbers(call: Callable[[], Any], tensor: torch.Tensor, numbers: Any) -> torch.Tensor:
    """Gives a dense tensor the contents of an array of NumPy, and returns it."""
    with torch.no_grad():
        made = torch.from_numpy(np.ascontiguousarray(numbers).reshape(tensor.shape))
        Saved.of(tensor, made).restore()
    return tensor


def watch(target: Target, value: Any, is_own: bool) -> Watched | None:
    """Returns a tensor among a call's arguments; None for any other value, and for an operator's.
    Of functions of PyTorch's own, the versions tell what they write to."""
    if not isinstance(value, torch.Tensor) or _operator(target) is not None:
        return None
    return Watched(value, reads_contents=not is_own)


def _operator(target: Target) -> registry.Registered | None:
    if isinstance(target, OperatorTarget):
        return registry.at(target)
    return registry.find(target.path) if isinstance(target, CallableTarget) else None


def restore(target: Target, arguments: CallArguments) -> Callable[[], object] | None:
    """Returns a function that restores what an operator writes to beside results; else None."""
    found = _operator(target)
    if found is None:
        return None
    schema = found.schema
    # Arguments by position are those of a function.
    places = {one.name: str(place) for place, one in enumerate(schema.arguments)}
    only_written = {argument.name for argument in schema.arguments if argument.is_out}
    names = [name for name in schemas.written_to(schema) if name not in only_written]
    written = [arguments.get(name, arguments.get(places[name])) for name in names]
    saved = [Saved.of(part) for value in written for part in tensors(value)]
    if not saved:
        return None

    def restore_all() -> None:
        with torch.no_grad():
            for tensor in saved:
                tensor.restore()

    return restore_all
