"""Starts and sets up opperf's child processes."""

from __future__ import annotations

import importlib.util
import os
import resource
import select
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, NoReturn

from opperf.terminating import end_with_parent, prctl
from opperf.worker.launch import BASE

KEPT_PROCESSES: set[int] = set()
"""Ids of the processes that opperf itself starts in this one and keeps for later cases."""

PR_SET_CHILD_SUBREAPER = 36
"""prctl's option for becoming the parent of orphans, from linux/prctl.h."""


def adopt_orphans() -> None:
    """Makes this process the parent of those among its descendants whose own has ended: those that
    a case has left running are seen then. Without prctl they end with the run."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def parent_is_gone() -> bool:
    """Whether the parent has ended, by the closed other end of standard input."""
    poll = select.poll()
    # A closed other end is reported for any mask.
    poll.register(sys.stdin.fileno(), 0)
    return bool(poll.poll(0))


def fork(run: Callable[[], None]) -> int:
    """Forks this process, and returns the id of the child, which calls `run` and then ends, as it
    does at its parent's end. Its exit code is that of `sys.exit`, or 1 after another error."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        end_with_parent()
        if os.getppid() == parent:
            run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        # Without cleanup, which would flush the parent's buffers and end the framework's threads.
        os._exit(code)


def end_like(status: int) -> NoReturn:
    """Ends this process as a child has ended, by its status from `os.waitpid`."""
    if os.WIFSIGNALED(status):
        # The child has dumped its core, and this process is not at fault.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            # A framework may have a handler, and no process can handle SIGKILL.
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def begin_child() -> BinaryIO:
    """Sets up a child process that serves requests, and returns the stream of its responses."""
    end_with_parent()
    if parent_is_gone():
        # It ended while this process started, and the kernel signals later ends only.
        sys.exit(1)
    # The manager handles Ctrl-C, and ends its children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Where it is ignored, as a program that starts opperf may have it, no child can be awaited.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # What else is printed goes to standard error.
    stream = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return stream


LAUNCHER = Path(__file__).absolute().with_name("launch.py")


def module_command(module: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """Returns the command that runs a module, and imports nothing from the working directory."""
    return [python, str(LAUNCHER), module, *arguments]


def find_program(text: str) -> str | None:
    """Returns the absolute path of an executable program; None if there is none."""
    found = shutil.which(os.path.expanduser(text))  # noqa: PTH111 - a bare name is searched for
    # Not resolved: a virtual environment's interpreter is a link, and its path identifies it.
    return None if found is None else os.path.abspath(found)  # noqa: PTH100


def fallback_packages() -> str:
    """Returns the value of `launch.FALLBACK_PACKAGES`: this process's version of Python, and the
    folders of the packages that a worker needs."""
    found = (importlib.util.find_spec(name) for name in BASE)
    folders = dict.fromkeys(
        str(Path(spec.origin).parents[1]) for spec in found if spec is not None and spec.origin
    )
    return os.pathsep.join(["{}.{}".format(*sys.version_info), *folders])


def child_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Returns environment variables for a child. Empty parts of PYTHONPATH, as in
    `$PYTHONPATH:/folder`, are dropped: Python reads them as the working directory."""
    parts = variables.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join(filter(None, parts))
    others = {name: value for name, value in variables.items() if name != "PYTHONPATH"}
    return {**others, "PYTHONPATH": path} if path else others
