"""The child processes of opperf: started, set up by themselves, and ended with all that came of
them."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import traceback
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import IO, Any, Literal, NoReturn

from opperf.processes.channel import Channel
from opperf.terminating import end_with_parent, prctl

KEPT_PROCESSES: set[int] = set()
"""Ids of the processes that opperf itself starts in this one and keeps for later cases."""

KILL_WAIT_S = 5.0
"""Limit on the end of a killed process, which may be in the middle of a system call, or have a
hundred gigabytes or a file on a hanging disk."""

LOG_TAIL_BYTES = 8000
"""Length of the end of a process's output that is searched for the reason of its end: Valgrind
writes 1600 bytes after it, of a fork and of its parent each."""

MARK = "OPPERF_MARKS"
"""Environment variable with the marks of a process, separated by blanks."""


class Mark:
    """A mark that processes inherit, also those that leave their group for a session of their
    own."""

    def __init__(self) -> None:
        self._id = uuid.uuid4().hex

    def variables(self, current: Mapping[str, str]) -> dict[str, str]:
        """Returns environment variables with the mark behind those that there are."""
        return {**current, MARK: f"{current.get(MARK, '')} {self._id}".lstrip()}

    def kill(self) -> None:
        """Kills all that have it."""
        # Commands that start no process do without.
        import psutil

        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if self._id in process.environ().get(MARK, "").split():
                    process.kill()


class Log:
    """The output of processes, in a file: one that is removed in the end, or with a path kept."""

    def __init__(self, path: Path | None = None) -> None:
        self._file: IO[bytes]
        self._file = tempfile.TemporaryFile() if path is None else path.open("w+b")  # noqa: SIM115

    def fileno(self) -> int:
        return self._file.fileno()

    @property
    def tail(self) -> str:
        """The end of it."""
        # Read without moving the file's position, which the processes share.
        begin = max(0, os.fstat(self.fileno()).st_size - LOG_TAIL_BYTES)
        return os.pread(self.fileno(), LOG_TAIL_BYTES, begin).decode(errors="replace")

    def clear(self) -> None:
        self._file.seek(0)
        self._file.truncate()

    def close(self) -> None:
        self._file.close()


PIPES = {"": {}, "none": {"stdin": PIPE}, "answered": {"stdin": PIPE, "stdout": PIPE}}


class Child(subprocess.Popen[bytes]):
    """A process that leads a session of its own, so that Ctrl-C on the terminal reaches opperf
    alone, and its forks are in its group; or with `leads=False` one of this process's group. It
    reads requests from its standard input: none, whose end is that of this process, or such as it
    answers on its standard output, on a channel. `options` are those of `Popen`. Raises `OSError`
    if it cannot be started."""

    def __init__(
        self,
        words: Sequence[str],
        variables: Mapping[str, str],
        requests: Literal["", "none", "answered"] = "",
        leads: bool = True,
        mark: Mark | None = None,
        **options: Any,
    ) -> None:
        self.words, self._leads, self._mark = [*words], leads, mark
        files = dict.fromkeys(("stdin", "stdout", "stderr"), DEVNULL)
        super().__init__(
            words,
            env=variables if mark is None else mark.variables(variables),
            bufsize=0,
            start_new_session=leads,
            **{**files, **options, **PIPES[requests]},
        )
        self._answers = requests == "answered"
        if self._answers:
            assert self.stdout is not None and self.stdin is not None
            self.channel = Channel(self.stdout, self.stdin)

    def kill(self) -> None:
        """Kills it with its group, from any thread. Once it was awaited, its id may be another's;
        what is left of it then has its mark."""
        if not self._leads:
            super().kill()
        elif self.returncode is None:
            # Its group may have ended, and macOS says that of ended processes in another way.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def end(self, grace_s: float = 0.0) -> None:
        """Kills it with all that came of it, unless it ends in time, and waits for its memory."""
        if grace_s:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.wait(grace_s)
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(KILL_WAIT_S)
        if self._mark is not None:
            self._mark.kill()
        if self.stdin is not None:
            self.stdin.close()
        if self._answers and self.stdout is not None and not self.stdout.closed:
            self.channel.await_end(KILL_WAIT_S)
            self.channel.close()


class Fork:
    """A fork of this process that serves on its channel until it is ended, as a `Child` is."""

    def __init__(self, serve: Callable[[Channel], None]) -> None:
        (requests, asked), (answered, answers) = os.pipe(), os.pipe()

        def run() -> None:
            _keep_only(requests, answers)
            serve(_channel(requests, answers))

        self.pid = fork(run)
        KEPT_PROCESSES.add(self.pid)
        os.close(requests)
        os.close(answers)
        self.channel = _channel(answered, asked)
        self._has_ended = False

    def poll(self) -> int | None:
        if not self._has_ended:
            self._has_ended = os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        return 0 if self._has_ended else None

    def end(self) -> None:
        """Kills it, which frees its memory faster than a regular exit."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self._has_ended = True
        self.channel.close()


def _channel(reading: int, writing: int) -> Channel:
    return Channel(os.fdopen(reading, "rb", buffering=0), os.fdopen(writing, "wb", buffering=0))


def _keep_only(*descriptors: int) -> None:
    """Closes all files but these and the standard ones, and makes the standard input empty. While a
    child holds its parent's pipes open, their readers do not notice the parent's end."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for descriptor in [int(entry.name) for entry in Path("/dev/fd").iterdir()]:
        if descriptor > STANDARD_ERROR and descriptor not in descriptors:
            # The listing's own descriptor is among them, and closed already.
            with contextlib.suppress(OSError):
                os.close(descriptor)


STANDARD_ERROR = 2


def channel_of_child() -> Channel:
    """Sets up this process as a child that answers requests, and returns its channel."""
    end_with_parent()
    if parent_is_gone():
        # It ended while this process started, and the kernel signals later ends only.
        sys.exit(1)
    # The manager handles Ctrl-C, and ends its children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Where it is ignored, as a program that starts opperf may have it, no child can be awaited.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # What else is printed goes to standard error.
    writing = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return Channel(os.fdopen(sys.stdin.fileno(), "rb", buffering=0, closefd=False), writing)


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
