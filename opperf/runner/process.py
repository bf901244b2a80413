"""What opperf's child processes have in common: how they end, and where they speak."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from pathlib import Path
from typing import BinaryIO

PR_SET_PDEATHSIG = 1
"""prctl's option for a signal at the parent's death, from linux/prctl.h."""


def end_with_parent() -> None:
    """Have the kernel end this process when its parent dies, even by SIGKILL in the middle
    of a kernel. Where there is no prctl, the end of standard input does it between requests."""
    try:
        prctl = ctypes.CDLL(None).prctl
    except (AttributeError, OSError):
        return
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def parent_is_gone() -> bool:
    """Whether the process that this one takes requests from has ended: nobody holds the other end
    of standard input any more."""
    poll = select.poll()
    # That the other end is closed is told without being asked for.
    poll.register(sys.stdin.fileno(), 0)
    return bool(poll.poll(0))


def take_standard_output() -> BinaryIO:
    """The protocol's stream; anything printed from now on goes to standard error."""
    stream = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return stream


def begin_child() -> BinaryIO:
    """Set up a child process that answers requests; the stream of its answers."""
    end_with_parent()
    if parent_is_gone():
        # It ended while this process started, and the kernel tells of later ends only.
        sys.exit(1)
    # Ctrl-C is the manager's to handle: it ends its children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return take_standard_output()


PACKAGE = Path(__file__).absolute().parents[1]
"""This package's folder, by the path it is imported by: what lies beside it may be a link's
neighbours or those of what it points to."""


def with_package(variables: dict[str, str], folder: Path = PACKAGE.parent) -> dict[str, str]:
    """Environment variables with which a child finds this very package, however its parent was
    started; `folder` is where it lies."""
    found = [str(folder), *filter(None, [variables.get("PYTHONPATH")])]
    return {**variables, "PYTHONPATH": os.pathsep.join(found)}
