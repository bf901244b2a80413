"""Restores the arguments that an operator writes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from opperf.frameworks.torch import registry, schemas
from opperf.frameworks.torch.tensors import layout_of, tensors
from opperf.model import CallableTarget, OperatorTarget, Target


class Saved(NamedTuple):
    """A tensor, and a copy of its contents."""

    tensor: torch.Tensor
    copy: torch.Tensor
    storage: Any
    """Its storage; None for a tensor that is not dense, and keeps its layout."""
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Saved:
        """Returns a tensor with a copy of its contents."""
        if layout_of(tensor) != "dense":
            return cls(tensor, tensor.clone(), None, (), (), 0)
        return cls(
            tensor,
            tensor.clone(),
            tensor.untyped_storage(),
            tuple(tensor.shape),
            tensor.stride(),
            int(tensor.storage_offset()),
        )

    def restore(self) -> None:
        """Gives the tensor its contents, and its place in memory if a call changed that."""
        tensor = self.tensor
        if self.storage is not None and (
            tuple(tensor.shape) != self.size
            or tensor.stride() != self.stride
            or tensor.untyped_storage().data_ptr() != self.storage.data_ptr()
        ):
            tensor.set_(self.storage, self.offset, self.size, self.stride)
        tensor.copy_(self.copy)


def _operator(target: Target) -> registry.Registered | None:
    """Returns the operator that a target is, or that a function of PyTorch's calls."""
    if isinstance(target, OperatorTarget):
        return registry.at(target)
    return registry.find(target.path) if isinstance(target, CallableTarget) else None


def restore(target: Target, arguments: Mapping[str, Any]) -> Callable[[], object] | None:
    """Returns a function that restores what an operator writes to, beside the tensors that it only
    writes its results to; None if there is nothing."""
    found = _operator(target)
    if found is None:
        return None
    schema = found.function._schema
    # Arguments by position are those of a function.
    places = {one.name: str(place) for place, one in enumerate(schema.arguments)}
    only_written = {one.name for one in schema.arguments if one.is_out}
    names = [name for name in schemas.written_to(schema) if name not in only_written]
    written = [arguments.get(name, arguments.get(places[name])) for name in names]
    saved = [Saved.of(one) for value in written for one in tensors(value)]
    if not saved:
        return None

    def restore_all() -> None:
        with torch.no_grad():
            for one in saved:
                one.restore()

    return restore_all
