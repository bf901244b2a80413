"""Processes as the kernel's files in /proc show them, and signals to them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable


def send(processes: Iterable[int], number: signal.Signals) -> None:
    """Sends a signal to those processes that have not ended."""
    for each in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, number)


def has_stopped(process: int) -> bool:
    """Whether no thread of a process runs."""
    states = (text(f"{task}/stat").rpartition(")")[2][1:2] for task in tasks(process))
    return all(state in "TtZX" for state in states)


def tasks(process: int) -> list[str]:
    """Returns the folders of a process's threads; none of one that has ended."""
    try:
        return [task.path for task in os.scandir(f"/proc/{process}/task")]
    except OSError:
        return []


def text(path: str) -> str:
    """Returns the text of a file of the kernel; none of a process that has ended."""
    # Bytes, which take a third of the time: hundreds of files are read for each verdict.
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return file.read().decode(errors="replace")
    except OSError:
        return ""
