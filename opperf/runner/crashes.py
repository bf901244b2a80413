"""How a worker process ended, in words."""

from __future__ import annotations

import re
import signal

from opperf.errors import one_line


class WorkerDied(Exception):
    """The worker ended before it responded; `returncode` is that of `subprocess`."""

    def __init__(self, returncode: int, log: str) -> None:
        super().__init__(returncode)
        self.returncode, self.log = returncode, log


FATAL = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
"""Signals of a fault in a program, which a framework may handle: MXNet 1 prints "Segmentation
fault: 11" and exits with 255."""


def handled_signal(log: str) -> signal.Signals | None:
    """Returns the signal whose handler, the framework's own, ended the process, by its output."""
    lines = set(log.splitlines())
    return next((s for s in FATAL if f"{signal.strsignal(s)}: {s.value}" in lines), None)


UNHANDLED = re.compile(r"unhandled instruction(?: bytes:)? (0x[0-9A-Fa-fx ]+)")
"""Printed by Valgrind for an instruction that it does not know."""


def describe_end(died: WorkerDied) -> str:
    """Returns why a worker ended, in words: signal or exit code, and its last line of output."""
    code, handled = died.returncode, handled_signal(died.log)
    unhandled = UNHANDLED.search(died.log)
    # A library may try such an instruction, and go on without.
    if unhandled and signal.SIGILL in (-code, handled):
        return (
            f"Valgrind does not know an instruction of the operator, {unhandled[1].strip()}; use "
            "another profiler"
        )
    if code < 0:
        name = signal.Signals(-code).name
        reason = f"the process was ended by {name}"
        if -code == signal.SIGKILL:
            reason += " (probably out of memory; choose a smaller --size)"
    elif handled:
        reason = f"the process was ended by {handled.name}, with exit code {code}"
    else:
        reason = f"the process ended with exit code {code}"
    last = one_line((died.log.strip().splitlines() or [""])[-1], 160)
    return f"{reason}; last output: {last}" if last else reason
