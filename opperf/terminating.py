"""How processes end: SIGTERM, by which schedulers and `timeout` end one, acts as Ctrl-C does, and
what opperf has started ends with it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

RECEIVED: list[int] = []
"""The signals that this process received, while a command of the command line ran."""


PR_SET_PDEATHSIG = 1
"""prctl's option for a signal on the parent's death, from linux/prctl.h."""


def end_with_parent() -> None:
    """Makes the kernel kill this process when its parent dies, even in the middle of a call.
    Without prctl, a worker ends between requests, at the end of its standard input."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def prctl(option: int, value: int) -> None:
    """Sets an option of this process, where the system has `prctl`."""
    import ctypes  # only where processes are started

    try:
        call = ctypes.CDLL(None).prctl
    except (AttributeError, OSError):
        return
    call(option, value, 0, 0, 0)


def ending_with_parent() -> Callable[[], None]:
    """Returns the `preexec_fn` of another program that ends with this process."""
    # Not in the child, where a thread that does not exist may hold the lock of imports.
    import ctypes  # noqa: F401

    return end_with_parent


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


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Holds Ctrl-C and SIGTERM while a process is started: Python ignores what is raised in
    functions that it calls as it forks, such as those of `logging`."""
    held: list[tuple[int, FrameType | None]] = []
    handlers = {}
    # Only the main thread has handlers called.
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # What is ignored, or ends the process, does so in the child as well.
    called = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in called:
        signal.signal(number, lambda *received: held.append(received))
    try:
        yield
    finally:
        for number, handler in called.items():
            signal.signal(number, handler)
    for received, frame in held[:1]:
        called[signal.Signals(received)](received, frame)
