"""SIGTERM, by which schedulers and `timeout` end a process, acts as Ctrl-C does."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

RECEIVED: list[int] = []
"""The signals that this process received, while a command of the command line ran."""


def interrupt(number: int, frame: FrameType | None) -> None:
    """Ends what runs as Ctrl-C does: workers end, and nothing remains in the temporary folder."""
    RECEIVED.append(number)
    raise KeyboardInterrupt


def ends_at_once() -> bool:
    """Whether nobody but the command line would handle the signal."""
    return signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, interrupt)


@contextmanager
def interrupted_by_termination() -> Iterator[list[int]]:
    """Yields the signals that are received, none at first. A handler that is there already
    remains."""
    RECEIVED.clear()
    if not ends_at_once():
        yield RECEIVED
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield RECEIVED
    finally:
        signal.signal(signal.SIGTERM, before)
