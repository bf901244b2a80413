"""Restores the arguments that a call writes to."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from opperf.frameworks.torch import private, registry, schemas
from opperf.frameworks.torch.tensors import layout_of, stored_parts, tensors
from opperf.model import CallableTarget, OperatorTarget, Target


class Saved(NamedTuple):
    """A tensor, and a copy of its contents."""

    tensor: torch.Tensor
    copy: torch.Tensor
    storage: Any
    """None for a tensor that is not dense, and keeps its layout."""
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    @classmethod
    def of(cls, tensor: torch.Tensor, copy: torch.Tensor | None = None) -> Saved:
        kept = tensor.detach().clone() if copy is None else copy
        if layout_of(tensor) != "dense":
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
        self._version = private.version_of(tensor)
        self._reads_contents = reads_contents
        self._checksum = self._sum()

    def _sum(self) -> int:
        """Returns a checksum of the contents; zero where they are not read."""
        checksum = 0
        if self._reads_contents:
            for part in stored_parts(self._saved.tensor):
                held = part.contiguous().view(torch.uint8).numpy()
                checksum = zlib.crc32(held.data, checksum)
        return checksum

    def is_changed(self) -> bool:
        return (
            private.version_of(self._saved.tensor) != self._version
            or self._saved.is_moved()
            or self._sum() != self._checksum
        )

    def restore(self, contents: torch.Tensor) -> None:
        with torch.no_grad():
            self._saved._replace(copy=contents).restore()


def write_numbers(tensor: torch.Tensor, numbers: Any) -> torch.Tensor:
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


def restore(target: Target, arguments: Mapping[str, Any]) -> Callable[[], object] | None:
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
