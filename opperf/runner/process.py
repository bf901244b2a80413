"""What opperf's child processes have in common: how they end, and where they speak."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import select
import shutil
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from opperf.runner.launch import BASE

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


LAUNCHER = Path(__file__).absolute().with_name("launch.py")


def module_command(module: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """The command that runs a module of this very package in a process of its own, which imports
    nothing from the working directory."""
    return [python, str(LAUNCHER), module, *arguments]


def find_program(text: str) -> str | None:
    """The absolute path of a program; None if there is none that may be run."""
    found = shutil.which(os.path.expanduser(text))  # noqa: PTH111 - a bare name is looked for
    # Not resolved: a virtual environment's interpreter is a link, and known by where it lies.
    return None if found is None else os.path.abspath(found)  # noqa: PTH100


def fallback_packages() -> str:
    """This process's version of Python and the folders of the packages that a worker needs, for an
    interpreter that lacks some of them."""
    found = (importlib.util.find_spec(name) for name in BASE)
    folders = dict.fromkeys(
        str(Path(one.origin).parents[1]) for one in found if one is not None and one.origin
    )
    return os.pathsep.join(["{}.{}".format(*sys.version_info), *folders])


def child_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Environment variables for a child. An empty part of PYTHONPATH, as `$PYTHONPATH:/folder`
    has where there was none, means the working directory to Python, and is dropped."""
    parts = variables.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join(filter(None, parts))
    others = {name: value for name, value in variables.items() if name != "PYTHONPATH"}
    return {**others, "PYTHONPATH": path} if path else others
