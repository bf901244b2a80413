"""The queues of a device that a replay uses: CUDA's streams."""

from __future__ import annotations

from typing import Any

import torch

from opperf.frameworks.replays import NOT_KEPT, CallSequence, Step
from opperf.frameworks.torch.devices import torch_device


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
