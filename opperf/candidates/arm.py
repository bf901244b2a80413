"""The judge's end of a process that runs a candidate or a reference. It is stopped, with all that
it has started, whenever it is not asked for something: inputs are written and results read while
nothing of it runs, so that no work is done before its time or after it."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import select
import signal
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from opperf.candidates import sandbox
from opperf.candidates.model import Differs, VerdictStatus
from opperf.candidates.nursery import Spawn, Spawned
from opperf.candidates.proc_files import has_stopped, send, tasks, text
from opperf.candidates.protocol import DTYPES, HEAD_BYTES, Bytes, Load, Look, Output, Run, decoded
from opperf.errors import OpperfError, WorkerError, one_line
from opperf.frameworks import package_of, variables_of
from opperf.machine.kernel import THREAD_VARIABLES
from opperf.plurals import pluralize
from opperf.processes.channel import Channel, ChannelClosed, ChannelTimeout, Request
from opperf.processes.children import Child, Log
from opperf.worker.program import module_command

R = TypeVar("R")

F_ADD_SEALS, SEALS = 1033, 1 | 2 | 4
"""Of linux/fcntl.h: the memory neither grows nor shrinks, which would end the judge."""

POOL_BYTES = 512 << 20
"""Memory for the inputs of all calls of a run, of each process."""

THREADS = (*THREAD_VARIABLES, "NUMBA_NUM_THREADS")
"""Variables that set the threads of the framework, and of compilers that candidates use."""

START_TIMEOUT_S = 120.0
"""Limit on the import of a framework: it takes seconds, or a minute from a cold network disk."""

WATCH_S = 0.1
"""Time between two looks at the number and memory of a candidate's processes."""

MOST_ANSWER_BYTES = 1 << 24
"""Of an answer: it has some 20 bytes for each of some thousand results."""

MOST_WAITED = 3.0
"""Times a limit that is granted for the time in which it had no processor, on a busy machine."""

STOP_TIMEOUT_S = 10.0
"""Limit on the time until all threads have stopped: one may be in a call of the system."""

END_TIMEOUT_S = 2.0
"""Limit on the time from the end of the channel until it is said how the process has ended."""

STOP_POLL_S = 50e-6

CHANNEL = "the judge's channel of answers has what is no answer to the request"


HINTS = {
    "0 active drivers": "Triton needs a GPU, or os.environ['TRITON_INTERPRET'] = '1' before its "
    "import",
    "Read-only file system": "write to a folder of tempfile",
}
"""Advice on errors of candidates' code, by a part of their text."""


class Stopped(Exception):
    """A candidate's process that did not answer, or answered that its code has failed."""

    def __init__(self, status: VerdictStatus, reason: str, differs: Differs = "") -> None:
        super().__init__(reason)
        self.status, self.reason, self.differs = status, one_line(reason), differs


class Nursery:
    """A process that has imported a framework and run nothing, of which processes are forked."""

    def __init__(self, framework: str, threads: int | None = None) -> None:
        """Raises `WorkerError` if the framework cannot be imported, and as `variables_of`."""
        variables = sandbox.clean_variables((*variables_of(framework), *THREADS))
        if threads is not None:
            variables |= dict.fromkeys(THREADS, str(threads))
        package = package_of(framework)
        variables |= {} if package is None else package.fork_variables
        self._control, theirs = socket.socketpair()
        self._log = Log()
        with theirs:
            self._process = Child(
                module_command("opperf.candidates.nursery", framework, str(theirs.fileno())),
                variables,
                requests="none",
                pass_fds=[theirs.fileno()],
                stderr=self._log,
            )
        self._control.settimeout(START_TIMEOUT_S)
        try:
            answer = self._control.recv(16)
        except OSError:
            answer = b""
        if answer != b"ready":
            error = self._error()
            self.end()
            raise error

    def spawn(self, wanted: Spawn, files: Sequence[int]) -> int:
        """Has a process forked, and returns its id. Raises `WorkerError`."""
        try:
            socket.send_fds(self._control, [msgspec.json.encode(wanted)], list(files))
            spawned = msgspec.json.decode(self._control.recv(1 << 12), type=Spawned)
        except (OSError, msgspec.DecodeError):
            # It has ended, or does not answer.
            spawned = Spawned()
        if not spawned.pid:
            raise self._error()
        return spawned.pid

    def _error(self) -> WorkerError:
        lines = self._log.tail.strip().splitlines() or ["it ended"]
        return WorkerError(f"the process of candidates: {lines[-1]}")

    def end(self) -> None:
        self._process.end()
        self._control.close()
        self._log.close()


class Arm:
    """A process that runs a function on inputs in a memory that this process writes."""

    def __init__(
        self, nursery: Nursery, file: str, function: str, limits: sandbox.Limits, beside: str = ""
    ) -> None:
        """`beside` is a further file whose folder the process is shown."""
        self._limits = limits
        self._root = tempfile.mkdtemp(prefix="opperf-candidate-")
        size = HEAD_BYTES + POOL_BYTES
        memory = os.memfd_create("inputs", os.MFD_ALLOW_SEALING)
        os.ftruncate(memory, size)
        fcntl.fcntl(memory, F_ADD_SEALS, SEALS)
        self._map = mmap.mmap(memory, size)
        self._head = np.frombuffer(self._map, np.int64, HEAD_BYTES // 8)
        self.pool: Bytes = np.frombuffer(self._map, np.uint8, POOL_BYTES, HEAD_BYTES)
        own, theirs = socket.socketpair()
        reading, writing = os.pipe()
        self._ended = os.fdopen(reading, "rb", buffering=0)
        folders = tuple(sandbox.shown_of(each) for each in (file, beside) if each)
        wanted = Spawn(self._root, folders, limits, size)
        try:
            try:
                self._guard = nursery.spawn(wanted, (theirs.fileno(), memory, writing))
            finally:
                theirs.close()
                os.close(memory)
                os.close(writing)
            line = self._ended.readline()
            if not line:
                raise WorkerError("the process of a candidate ended as it began")
        except BaseException:
            own.close()
            self._ended.close()
            self._remove_root()
            raise
        self.lacking: tuple[str, ...] = tuple(msgspec.json.decode(line))
        self._host = int(text(f"/proc/{self._guard}/task/{self._guard}/children"))
        self._memory = os.open(f"/proc/{self._host}/mem", os.O_RDONLY)
        stream: Any = own.makefile("rwb", buffering=0)
        self._channel = Channel(stream, stream, MOST_ANSWER_BYTES)
        own.close()
        self._stopped: list[int] = []
        self._file, self._function = file, function

    def ask(self, request: Request[R], timeout_s: float | None = None) -> R:
        """Returns the answer. Raises `Stopped`."""
        return self.timed(request, timeout_s)[2]

    def timed(self, request: Request[R], timeout_s: float | None = None) -> tuple[int, int, R]:
        """Returns the nanoseconds from the request until its answer was here, by this process's
        clock, those of processors that were used, and the answer; then nothing of the other process
        runs. Raises `Stopped`."""
        self.send(request)
        used, begin = self._used_ns(), time.perf_counter_ns()
        self.go_on()
        answer = self.answer(request, timeout_s)
        elapsed = time.perf_counter_ns() - begin
        self.stop()
        return elapsed, self._used_ns() - used, answer

    def _used_ns(self) -> int:
        try:
            # The kernel's number of the clock of a process, as `clock_getcpuclockid` makes it.
            return time.clock_gettime_ns(~self._host << 3 | 2)
        except OSError:
            raise Stopped(VerdictStatus.CRASHED, self._end_in_words()) from None

    def send(self, request: Request[Any]) -> None:
        line = type(request).__name__.encode() + b" " + msgspec.json.encode(request)
        with self._as_verdict():
            self._channel.send(msgspec.Raw(line))

    def answer(self, request: Request[R], timeout_s: float | None = None) -> R:
        """Returns the answer to a request that was sent. Raises `Stopped`."""
        limit_s = timeout_s or self._limits.call_s
        began, waited_s = time.monotonic(), self._waited_s()
        with self._as_verdict():
            while True:
                try:
                    return self._channel.answer(type(request), min(WATCH_S, limit_s))
                except ChannelTimeout:
                    self._watch()
                    granted_s = min(self._waited_s() - waited_s, MOST_WAITED * limit_s)
                    if time.monotonic() - began >= limit_s + granted_s:
                        raise Stopped(
                            VerdictStatus.TIMEOUT, f"it has not ended within {limit_s:g} s"
                        ) from None
        raise AssertionError

    @contextlib.contextmanager
    def _as_verdict(self) -> Iterator[None]:
        """Makes what goes wrong on the channel a status of a verdict."""
        try:
            yield
        except (Stopped, ChannelTimeout):
            raise
        except (ChannelClosed, ConnectionError):
            raise Stopped(VerdictStatus.CRASHED, self._end_in_words()) from None
        except OpperfError as error:
            text = str(error)
            hints = [f"; {hint}" for part, hint in HINTS.items() if part in text]
            raise Stopped(VerdictStatus.FAILED, "".join([text, *hints])) from None
        except Exception:
            # Whatever bytes do to their decoder: the host writes none but answers.
            raise Stopped(VerdictStatus.CHEATED, CHANNEL) from None

    def _end_in_words(self) -> str:
        # One that has closed its end, and goes on, says nothing.
        poll = select.poll()
        poll.register(self._ended.fileno(), select.POLLIN)
        words = self._ended.readline().strip() if poll.poll(END_TIMEOUT_S * 1000) else b""
        if not words:
            return "its process has closed the channel, or was ended"
        status = int(words)
        if os.WIFSIGNALED(status):
            return f"its process was ended by {signal.Signals(os.WTERMSIG(status)).name}"
        return f"its process has ended itself with exit code {os.WEXITSTATUS(status)}"

    def _watch(self) -> None:
        """Raises `Stopped` if the processes are too many, or have too much memory."""
        found = self._processes()
        if len(found) > self._limits.processes:
            raise Stopped(
                VerdictStatus.CRASHED, f"it started {pluralize(len(found), 'process')}: ended"
            )
        pages = (text(f"/proc/{each}/statm").split()[1:2] for each in found)
        held = sum(int(own) for each in pages for own in each) * os.sysconf("SC_PAGESIZE")
        if held > 2 * self._limits.memory_bytes:
            raise Stopped(VerdictStatus.CRASHED, f"it took {held >> 20} MiB of memory: ended")

    def _processes(self) -> list[int]:
        """Returns the ids of the guard and of all that came of it."""
        found = [self._guard]
        for each in found:
            for task in tasks(each):
                found.extend(map(int, text(f"{task}/children").split()))
        return found

    def _waited_s(self) -> float:
        """Returns how long its first thread was ready to run and had no processor."""
        return int((text(f"/proc/{self._host}/schedstat") or "0 0").split()[1]) / 1e9

    def stop(self) -> None:
        """Stops all threads of all its processes, and returns when they have stopped. Raises
        `Stopped` if they do not."""
        until = time.monotonic() + STOP_TIMEOUT_S
        known: list[int] = []
        while True:
            # Those that were started meanwhile, and those that another one has continued.
            self._stopped = found = self._processes()
            going = [each for each in reversed(found) if not has_stopped(each)]
            if not going and found == known:
                return
            if time.monotonic() > until:
                raise Stopped(
                    VerdictStatus.TIMEOUT,
                    f"its processes have not stopped within {STOP_TIMEOUT_S:g} s",
                )
            known = found
            send(going, signal.SIGSTOP)
            if going:
                # The processor is for those that are to stop.
                time.sleep(STOP_POLL_S)

    def go_on(self) -> None:
        send(self._stopped, signal.SIGCONT)
        self._stopped = []

    def stop_at(self, call: int, limit_s: float) -> int:
        """Stops a run as it makes a call, or after a time. Returns the number of the call that it
        makes, as it says; -1 before the first."""
        until = time.monotonic() + limit_s
        self._head[0] = -1
        self.go_on()
        while self._head[0] < call and time.monotonic() < until:
            time.sleep(STOP_POLL_S)
        self.stop()
        return int(self._head[0])

    def write(self, data: Bytes) -> None:
        """Writes the inputs of calls to its slots, from the first on."""
        self.pool[: data.size] = data.reshape(-1)

    def read(self, outputs: Sequence[Output], call: int) -> tuple[Any, ...]:
        """Returns the numbers of the results of a call, which has these, from the memory of the
        process. Raises `Stopped`."""
        first = 1 + call * len(outputs)
        return tuple(
            self._read(int(self._head[first + at]), output) for at, output in enumerate(outputs)
        )

    def _read(self, address: int, output: Output) -> Any:
        size = output.bytes
        try:
            data = os.pread(self._memory, size, address) if size else b""
        except (OSError, ValueError):
            data = b""
        if len(data) != size:
            raise Stopped(VerdictStatus.WRONG, "its result is not in memory when the call returns")
        is_raw = output.dtype == "bfloat16" and output.stored == "uint16"
        dtype = output.dtype if is_raw else output.stored
        return decoded(np.frombuffer(data, np.uint8), dtype, output.shape)

    def load(self) -> None:
        """Has its file imported, as the first that runs in it. Raises `Stopped`."""
        self.ask(Load(self._file, self._function), self._limits.start_s)

    def look(self, calls: Sequence[int]) -> tuple[tuple[Output, ...], ...]:
        """Returns what the results of calls are, as it says. Raises `Stopped`."""
        found = self.ask(Look(tuple(calls)))
        every = [output for outputs in found for output in outputs if not output.problem]
        if len(found) != len(calls) or any(output.stored not in DTYPES for output in every):
            # The host describes each call, by dtypes that NumPy has.
            raise Stopped(VerdictStatus.CHEATED, CHANNEL)
        return found

    def run(self, slots: Sequence[int], wide: bool = False, first: bool = False) -> int:
        return self.ask(Run(tuple(slots), wide), self._limits.start_s if first else None)

    def end(self) -> None:
        """Ends it with all that came of it."""
        send(self._processes(), signal.SIGKILL)
        os.close(self._memory)
        self._channel.close()
        self._ended.close()
        self._remove_root()

    def _remove_root(self) -> None:
        with contextlib.suppress(OSError):
            Path(self._root).rmdir()
