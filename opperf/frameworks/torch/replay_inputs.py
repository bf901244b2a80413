"""The tensors of a replay that come from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import torch

from opperf.dtypes import kind_of
from opperf.errors import UnsupportedError
from opperf.frameworks.base import CPU
from opperf.frameworks.fill import seed_at
from opperf.frameworks.replays import Buffer, CallSequence, Slot
from opperf.frameworks.torch.devices import dtype_of, torch_device
from opperf.model import Case, Fill, TensorSpec

if TYPE_CHECKING:
    from opperf.frameworks import Framework

DEVIATION = 0.02
"""Standard deviation of floating-point contents, as models initialise their weights: through many
layers, numbers become neither infinite nor so small that a CPU takes longer for them."""


class OutsideTensors:
    """Makes one buffer for each storage, and views of it."""

    def __init__(self, framework: Framework, case: Case, sequence: CallSequence) -> None:
        self._framework, self._case, self._sequence = framework, case, sequence
        self._generators: dict[str, torch.Generator] = {}

    def made(self) -> Iterator[tuple[int, torch.Tensor]]:
        """Yields the slots from outside, each with its tensor."""
        slots = self._sequence.slots
        outside = [index for index, slot in enumerate(slots) if slot.is_outside]
        storages: dict[int, torch.UntypedStorage] = {}
        made: dict[int, torch.Tensor] = {}
        for index in outside:
            slot = slots[index]
            if slot.buffer not in storages:
                storages[slot.buffer] = self._storage(self._sequence.buffers[slot.buffer], slot)
            made[index] = _view(storages[slot.buffer], slot.spec)
        # The narrowest bounds last, which hold in all calls.
        own = [index for index in outside if slots[index].spec.fill != Fill()]
        for index in sorted(own, key=lambda index: -slots[index].spec.fill.high):
            self._fill(made[index], slots[index])
        yield from made.items()

    def alone(self, index: int) -> torch.Tensor:
        """Returns the tensor of a slot in a storage of its own."""
        slot = self._sequence.slots[index]
        spec = msgspec.structs.replace(slot.spec, offset=0)
        size = spec.reach * dtype_of(spec.dtype).itemsize
        made = _view(self._storage(Buffer(size, slot.on_host), slot), spec)
        if spec.fill != Fill():
            self._fill(made, slot)
        return made

    def _device(self, on_host: bool) -> str:
        return CPU if on_host else self._case.settings.device

    def _storage(self, buffer: Buffer, slot: Slot) -> torch.UntypedStorage:
        """Returns a storage with contents of the slot's dtype."""
        device = torch_device(self._device(buffer.on_host))
        dtype = dtype_of(slot.spec.dtype)
        count = -(-buffer.size // dtype.itemsize)
        made = torch.empty(count, dtype=dtype, device=device)
        if kind_of(slot.spec.dtype) in ("float", "complex") and dtype.itemsize > 1:
            made.normal_(0.0, DEVIATION, generator=self._generator(device))
        else:
            # Also an index that no rule and no recorded range bounds.
            made.fill_(1)
        return made.untyped_storage()

    def _generator(self, device: torch.device) -> torch.Generator:
        if str(device) not in self._generators:
            made = torch.Generator(device).manual_seed(self._case.settings.seed)
            self._generators[str(device)] = made
        return self._generators[str(device)]

    def _fill(self, view: torch.Tensor, slot: Slot) -> None:
        """Fills a tensor as its specification says."""
        plain = msgspec.structs.replace(slot.spec, strides=(), offset=0, storage="")
        seed = seed_at(self._case.settings.seed, str(slot.buffer))
        try:
            contents: Any = self._framework.tensor(plain, self._device(slot.on_host), seed)
        except UnsupportedError:
            # A dtype of whose contents nothing is drawn keeps those of its storage.
            return
        self._framework.write(view, contents, slot.spec)


def _view(storage: torch.UntypedStorage, spec: TensorSpec) -> torch.Tensor:
    made = torch.empty(0, dtype=dtype_of(spec.dtype), device=storage.device)
    return made.set_(storage, spec.offset, spec.shape, spec.steps)
