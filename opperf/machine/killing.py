"""Ends processes that opperf has started, with all that they have started themselves."""

from __future__ import annotations

import contextlib
import os
import signal

import psutil


def kill_group(process: int) -> None:
    """Kills a process and all others of its group, which it leads."""
    # It may have ended, and macOS says that of a group of ended processes in another way.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)


def kill_marked(variable: str, mark: str) -> None:
    """Kills the processes that began with this value of an environment variable, which a process
    inherits that has left its group for a session of its own."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(variable) == mark:
                process.kill()
