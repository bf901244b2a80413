"""The surroundings of a replay: tensors from outside, streams and collectives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import torch
import torch.distributed as distributed

from opperf.dtypes import kind_of
from opperf.errors import UnsupportedError
from opperf.frameworks.base import CPU
from opperf.frameworks.fill import seed_at
from opperf.frameworks.replays import NOT_KEPT, Buffer, CallSequence, Collective, Group, Slot, Step
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
        plain = msgspec.structs.replace(slot.spec, strides=(), offset=0, storage="")
        seed = seed_at(self._case.settings.seed, str(slot.buffer))
        try:
            contents: Any = self._framework.tensor(plain, self._device(slot.on_host), seed)
        except UnsupportedError:
            # A dtype of whose contents nothing is drawn keeps those of its storage.
            return
        self._framework.arrays.write(view, contents, slot.spec)


def _view(storage: torch.UntypedStorage, spec: TensorSpec) -> torch.Tensor:
    made = torch.empty(0, dtype=dtype_of(spec.dtype), device=storage.device)
    return made.set_(storage, spec.offset, spec.shape, spec.steps)


class Streams:
    """Has each call of a sequence use the stream that it had in the trace, after those that made
    its tensors."""

    def __init__(self, device: str, sequence: CallSequence) -> None:
        count = 1 + max((step.stream for step in sequence.steps), default=0)
        self._has_several = torch_device(device).type == "cuda" and count > 1
        self._streams: list[Any] = []
        if self._has_several:
            first = torch.cuda.current_stream(torch_device(device))
            others = [torch.cuda.Stream(torch_device(device)) for _ in range(count - 1)]
            self._streams = [first, *others]
        self._current = 0
        self._made_on: dict[int, int] = {}

    def lines(self, step: Step) -> list[str]:
        """Returns the lines before a call. To be asked in the order of the calls."""
        if not self._has_several:
            return []
        before = {
            slot: self._made_on[slot]
            for slot in step.inputs
            if self._made_on.get(slot, step.stream) != step.stream
        }
        lines = [] if step.stream == self._current else [f"s.use({step.stream})"]
        lines += [f"s.wait({step.stream}, {other})" for other in sorted(set(before.values()))]
        # Its memory must not be used again before this call has ended.
        lines += [f"s.keep(v[{slot}], {step.stream})" for slot in before]
        self._current = step.stream
        for slot in step.outputs:
            if slot != NOT_KEPT:
                self._made_on[slot] = step.stream
        return lines

    def use(self, number: int) -> None:
        """Has later calls use a stream."""
        torch.cuda.set_stream(self._streams[number])

    def wait(self, number: int, other: int) -> None:
        """Has a stream wait for what another one has to do."""
        self._streams[number].wait_stream(self._streams[other])

    def keep(self, tensor: torch.Tensor, number: int) -> None:
        """Has a tensor's memory be used again only after what a stream has to do."""
        tensor.record_stream(self._streams[number])

    def finish(self) -> None:
        """Has the first stream, which is used again, wait for the others."""
        if self._has_several:
            self.use(0)
            for other in range(1, len(self._streams)):
                self.wait(0, other)


TIMEOUT = timedelta(minutes=5)
"""Longest wait for the other processes, which read their traces and try their calls meanwhile."""

DTYPE = "float32"
"""Of the elements of an operation whose dtype is unknown."""


class Collectives:
    """The operations of one process of a group."""

    def __init__(self, group: Group) -> None:
        """Waits until all processes are there."""
        if distributed.is_initialized():
            # That of an earlier case of this process.
            distributed.destroy_process_group()
        distributed.init_process_group(
            "gloo",
            init_method=f"tcp://127.0.0.1:{group.port}",
            rank=group.rank,
            world_size=group.size,
            timeout=TIMEOUT,
        )
        self._size = group.size
        self._made: dict[Collective, Callable[[], object]] = {}

    def make(self, collective: Collective) -> Callable[[], object] | None:
        """Returns what makes an operation; None for one of some of the ranks, and for one that has
        no counterpart, such as a wait of the host."""
        name = "".join(character for character in collective.name if character.isalpha()).lower()
        maker = next((made for key, made in MAKERS.items() if name.startswith(key)), None)
        if maker is None or collective.ranks not in (0, self._size):
            return None
        if collective not in self._made:
            dtype = dtype_of(collective.dtype or DTYPE)
            # Zeros stay what they are, however often they are added up.
            sent = torch.zeros(max(1, collective.sent), dtype=dtype)
            self._made[collective] = maker(sent, self._size)
        return self._made[collective]


Maker = Callable[[torch.Tensor, int], Callable[[], object]]


def _all_gather(sent: torch.Tensor, size: int) -> Callable[[], object]:
    return partial(distributed.all_gather, [torch.empty_like(sent) for _ in range(size)], sent)


def _reduce_scatter(sent: torch.Tensor, size: int) -> Callable[[], object]:
    count = max(1, sent.numel() // size)
    parts = [torch.zeros(count, dtype=sent.dtype) for _ in range(size)]
    return partial(distributed.reduce_scatter, torch.empty_like(parts[0]), parts)


def _all_to_all(sent: torch.Tensor, size: int) -> Callable[[], object]:
    count = -(-sent.numel() // size) * size
    whole = torch.zeros(count, dtype=sent.dtype)
    return partial(distributed.all_to_all_single, torch.empty_like(whole), whole)


def _alone(function: Callable[..., Any], *more: int) -> Maker:
    return lambda sent, size: partial(function, sent, *more)


MAKERS: Mapping[str, Maker] = {
    "allreduce": _alone(distributed.all_reduce),
    "broadcast": _alone(distributed.broadcast, 0),
    "allgather": _all_gather,
    "reducescatter": _reduce_scatter,
    "alltoall": _all_to_all,
    "reduce": _alone(distributed.reduce, 0),
    "barrier": lambda sent, size: distributed.barrier,
}
"""By the beginning of an operation's name without underscores, the longer ones first."""
