"""Times the steps of a program, and writes what it observes to the stream's descriptor."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from typing import Any

WRITE_EVERY_NS = 100_000_000
"""Most time for which observations wait to be written: one write for each step would take a
noticeable part of a step of a millisecond."""

WRITTEN_AT_ONCE = 20
"""Steps that are written one by one: the first ones, for whoever waits for them."""

NS_PER_S, MS_PER_S = 1e9, 1e3

RATE_LINE = (
    '{"task": "train", "rate": %r, "units": "%s", "time": %.6f, "elapsed": %r, "batch_id": %d}\n'
)
PROGRESS_LINE = '{"task": "train", "progress": [%d, %d]}\n'
LOSS_LINE = '{"task": "train", "loss": %s, "batch_id": %d}\n'
"""Lines of events, as `json` writes them, which takes several times as long."""


class Channel:
    """Writes events to the descriptor of `$DATA_FD`. A fork of the program writes nothing: its
    events would be those of another process."""

    def __init__(self, descriptor: int) -> None:
        # One of its own: voir closes the other.
        self._descriptor = os.dup(descriptor)
        self._owner = os.getpid()
        self._pipe = _file(self._descriptor)

    def write(self, **event: Any) -> None:
        self.write_lines([json.dumps(event) + "\n"])

    def write_lines(self, lines: list[str]) -> None:
        """Writes events that are lines of JSON already."""
        if os.getpid() != self._owner or _file(self._descriptor) != self._pipe:
            # Also where the program has closed all descriptors, and this one is a file of its own.
            return
        data = memoryview("".join(lines).encode())
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            # Nobody reads any more: the program is about to be ended, or closed its descriptors.
            return

    def event(self, name: str, data: Any) -> None:
        self.write(**{"$event": name, "$data": data})


def _file(descriptor: int) -> tuple[int, int] | None:
    """None if the descriptor is closed."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Steps:
    """The steps of a program: each ends where the next one begins. Their times are those of events
    of the device where the program uses CUDA, and else of the clock. They are read without waiting
    for the device, until `finish` waits for it once; losses on a device are read after that."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._last: tuple[int, Any] | None = None
        self._pending: deque[tuple[tuple[int, Any], tuple[int, Any], int, int, float]] = deque()
        self._losses: deque[tuple[int, Any]] = deque()
        self._written_ns = 0
        self._count = 0
        self.items = 0
        """Items since the begin of the step."""
        self.counts_items = False
        """Whether a loader says how many items a step has."""
        self.length: int | None = None
        """Number of batches of the loader, if it has one."""

    def begin(self) -> None:
        """Begins a step here: what was since the last one is none."""
        self.items = 0
        self._last = _mark()

    def end(self) -> None:
        """Ends a step, and begins the next one. The first end of a program whose steps have no
        other begin is that."""
        mark, last = _mark(), self._last
        self._last = mark
        items, self.items = self.items, 0
        if last is None or (self.counts_items and not items):
            return
        self._count += 1
        self._pending.append((last, mark, items or 1, self._count, time.time()))
        if self._count <= WRITTEN_AT_ONCE or mark[0] - self._written_ns >= WRITE_EVERY_NS:
            self._written_ns = mark[0]
            self._write(self._ended())

    def keep_loss(self, loss: Any) -> None:
        """Keeps a number, or a tensor of one element, which is not read yet."""
        if isinstance(loss, (int, float)) and not isinstance(loss, bool):
            found = float(loss)
        elif _elements(loss) == 1:
            found = loss.detach() if hasattr(loss, "detach") else loss
        else:
            return
        step = self._count + 1
        if self._losses and self._losses[-1][0] == step:
            # The last of several parts of a step.
            self._losses.pop()
        self._losses.append((step, found))

    def finish(self) -> None:
        """Waits for the device, and writes what is left."""
        if any(end[1] is not None for _, end, *_ in self._pending):
            sys.modules["torch"].cuda.synchronize()
        lines = self._ended()
        lines += [_loss_line(step, loss) for step, loss in self._losses]
        self._losses.clear()
        self._write(lines)

    def _ended(self) -> list[str]:
        lines, units = [], "items/s" if self.counts_items else "steps/s"
        while self._pending:
            begin, end, items, number, at = self._pending[0]
            seconds = _seconds(begin, end)
            if seconds is None:
                break
            self._pending.popleft()
            if seconds <= 0:
                continue
            lines.append(RATE_LINE % (items / seconds, units, at, seconds, number))
            if self.length is not None:
                lines.append(PROGRESS_LINE % (number, self.length))
        while (
            self._losses and _is_on_host(self._losses[0][1]) and self._losses[0][0] <= self._count
        ):
            lines.append(_loss_line(*self._losses.popleft()))
        return lines

    def _write(self, lines: list[str]) -> None:
        if lines:
            self._channel.write_lines(lines)


def _mark() -> tuple[int, Any]:
    """Returns the time, and an event of the device if the program uses CUDA."""
    torch = sys.modules.get("torch")
    # It is there before it is imported to its end.
    cuda = getattr(torch, "cuda", None)
    event = None
    if cuda is not None and getattr(cuda, "is_initialized", bool)():
        event = cuda.Event(enable_timing=True)
        event.record()
    return time.perf_counter_ns(), event


def _seconds(begin: tuple[int, Any], end: tuple[int, Any]) -> float | None:
    """None if the device has not come to the second mark."""
    if begin[1] is None or end[1] is None:
        return (end[0] - begin[0]) / NS_PER_S
    if not end[1].query():
        return None
    return float(begin[1].elapsed_time(end[1])) / MS_PER_S


def _elements(value: Any) -> int | None:
    if not hasattr(value, "item"):
        return None
    count = 1
    for extent in getattr(value, "shape", ()):
        count *= extent
    return count


def _is_on_host(loss: Any) -> bool:
    """Whether it can be read without waiting for a device."""
    if isinstance(loss, float):
        return True
    device = getattr(loss, "device", None)
    return getattr(device, "type", "") == "cpu" or type(loss).__module__ == "numpy"


def _loss_line(step: int, loss: Any) -> str:
    value = loss if isinstance(loss, float) else float(loss.item())
    return LOSS_LINE % (json.dumps(value), step)


def item_count(batch: Any) -> int:
    """Returns the number of items in a batch: the first extent of a tensor, or of the first one of
    a tuple, list or mapping; else its length, or 1."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    if isinstance(batch, (str, bytes)) or not hasattr(batch, "__len__"):
        return 1
    if not len(batch):
        return 0
    first = None
    if isinstance(batch, (list, tuple)):
        first = batch[0]
    elif hasattr(batch, "values"):
        first = next(iter(batch.values()))
    extents = getattr(first, "shape", None)
    if extents is not None:
        return int(extents[0]) if len(extents) else len(batch)
    if isinstance(first, (list, tuple)):
        return len(first)
    return len(batch)
