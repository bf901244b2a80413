"""Measures memory in pristine processes: forks of one that has imported the framework and run
nothing.

Frameworks keep workspace for later calls. One may have several buffers that it uses in turn and
lets grow, so what an operator allocates depends on what ran before it. A fork measures one case
after the other until the framework keeps memory, and is then replaced. A fork takes some tens of
milliseconds, and its end as long again; an import takes seconds.

The server, which is forked for that, is itself a fork of a worker that has just imported the
framework. For a process that may have run operators already, it is a process of its own:
`opperf.worker.pristine FRAMEWORK`.

The `forkserver` of `multiprocessing` cannot replace this. Its server is always a new interpreter,
which would import the framework a second time beside each worker: seconds, where a fork of the
worker takes milliseconds. There is one server in a process, with one list of modules to preload,
and in a user's process it is the user's. Its children outlive a parent that is killed in the middle
of a kernel, as they request no signal at its death (`end_with_parent`). Most of this module would
remain: requests and answers, their time limits, and the reuse of forks.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from opperf.frameworks import Framework, load
from opperf.frameworks.user_modules import Imports
from opperf.instruments.memory import MEMORY
from opperf.instruments.peaks import MemoryMeter, Peaks, measure_case_peaks, peaks
from opperf.instruments.prepared import Bound, PreparedCase, compiles
from opperf.model import Case, Note, NoteCode, TensorSpec, TraceTarget
from opperf.worker.allocator import configure_heap
from opperf.worker.binding import bound_of
from opperf.worker.process import (
    KEPT_PROCESSES,
    adopt_orphans,
    begin_child,
    child_variables,
    fork,
    module_command,
)
from opperf.worker.process_state import ProcessState, seed_afresh

TIME_SHARE = 0.25
"""Limit on a fork's two calls, as a share of the case's time limit; the rest is for timed calls. A
fork that takes longer waits for a lock that a thread held, which the fork does not have."""

IMPORT_TIMEOUT_S = 120.0
"""Limit on the import of a framework: it takes seconds, or a minute from a cold network disk."""

READY = b"ready\n"
"""The server's first line, once the framework is imported."""

NOTHING = b"null"
"""The answer to a case that failed, or ended its process."""


class PristineServer:
    """The parent's side of the process that is forked, which is started again after its end. With
    `framework`, it is a fork of this one, which must have run nothing yet; else a new one, which
    imports the framework while its parent goes on."""

    def __init__(self, name: str, framework: Framework | None = None) -> None:
        self._name = name
        self._process: subprocess.Popen[bytes] | Child
        if framework is None:
            self._start()
        else:
            self._process = Child(lambda lines, out: serve(lines, out, framework))
            self._has_imported = False
        self._asked: Case | None = None

    def _start(self) -> None:
        self._process = subprocess.Popen(
            module_command("opperf.worker.pristine", self._name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_variables(os.environ),
            start_new_session=True,
        )
        KEPT_PROCESSES.add(self._process.pid)
        self._has_imported = False
        self._asked = None

    def begin(self, case: Case) -> None:
        """Sends the case whose peaks are requested next, once the framework is imported."""
        if self._has_imported:
            self._ask(case)

    def peaks(self, case: Case) -> Peaks | None:
        """Returns the peaks of a case; None if it could not be measured, or not in time."""
        if self._asked != case or self._process.poll() is not None:
            self._ask(case)
        return msgspec.json.decode(self._answer() or NOTHING, type=Peaks | None)

    def _ask(self, case: Case) -> None:
        if self._asked is not None:
            # The previous case's call was refused here, so that its peaks are not needed.
            self._answer()
        if self._process.poll() is not None:
            self._start()
        with self._ended_by_errors():
            if self.wait_until_ready():
                assert self._process.stdin is not None
                with contextlib.suppress(BrokenPipeError):
                    self._process.stdin.write(msgspec.json.encode(case) + b"\n")
                    self._process.stdin.flush()
                    self._asked = case

    def _answer(self) -> bytes:
        """Returns the answer to the case that was sent; empty if there is none, or not in time."""
        case, self._asked = self._asked, None
        if case is None:
            return b""
        with self._ended_by_errors():
            return self._line(TIME_SHARE * case.settings.timeout_s)

    @contextlib.contextmanager
    def _ended_by_errors(self) -> Iterator[None]:
        """Ends the process at an interrupt: its next answer would be taken for another case's."""
        try:
            yield
        except BaseException:
            self.end()
            raise

    def wait_until_ready(self) -> bool:
        """Waits until it has imported the framework, and returns whether it has."""
        if not self._has_imported:
            self._has_imported = self._line(IMPORT_TIMEOUT_S) == READY
        return self._has_imported

    def _line(self, timeout_s: float) -> bytes:
        """Returns the next line of its output; empty if it ended, or took too long."""
        stream = self._process.stdout
        assert stream is not None
        # A line comes in one piece: it is shorter than a pipe's buffer.
        if select.select([stream], [], [], timeout_s)[0]:
            return stream.readline()
        self.end()
        return b""

    def end(self) -> None:
        self._asked = None
        self._process.kill()
        self._process.wait()


_SERVERS: dict[str, PristineServer] = {}


def pristine_server(name: str) -> PristineServer:
    """Returns this process's server for a framework."""
    if name not in _SERVERS:
        _SERVERS[name] = PristineServer(name)
    return _SERVERS[name]


def start_pristine_server(framework: Framework) -> None:
    """Forks the server for a framework from this process, which has run nothing yet: in
    milliseconds, where another import would take seconds, and a core from this process."""
    _SERVERS[framework.name] = PristineServer(framework.name, framework)


def is_self_contained(case: Case, bound: Bound) -> bool:
    """Returns whether another process can measure a case, without the caller's objects."""
    has_arrays = any(
        isinstance(spec, TensorSpec) and spec.fill.distribution == "given"
        for _, spec in case.tensors()
    )
    return bound.function is None and not has_arrays


class Child:
    """A fork of this process that answers requests, with some methods of `subprocess.Popen`."""

    def __init__(self, answer: Callable[[BinaryIO, BinaryIO], None]) -> None:
        (requests, stdin), (stdout, answers) = os.pipe(), os.pipe()

        def run() -> None:
            _keep_only(requests, answers)
            with os.fdopen(requests, "rb") as lines, os.fdopen(answers, "wb") as out:
                answer(lines, out)

        self.pid = fork(run)
        KEPT_PROCESSES.add(self.pid)
        os.close(requests)
        os.close(answers)
        self.stdin, self.stdout = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        self._has_ended = False

    def poll(self) -> int | None:
        if not self._has_ended:
            self._has_ended = os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        return 0 if self._has_ended else None

    def kill(self) -> None:
        """Kills it, which frees its memory faster than a regular exit."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        if not self._has_ended:
            os.waitpid(self.pid, 0)
            self._has_ended = True
        for stream in (self.stdin, self.stdout):
            # Nobody reads what the buffer still has.
            with contextlib.suppress(BrokenPipeError):
                stream.close()


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


CASES = msgspec.json.Decoder(Case)
"""Made in the process that is forked, as the first decoder would take each fork milliseconds."""


class Fork:
    """The server's side of a fork that measures cases."""

    def __init__(self, framework: Framework) -> None:
        def answer(lines: BinaryIO, out: BinaryIO) -> None:
            # The process that makes the timed calls announces imports to the manager.
            Imports.watch = contextlib.nullcontext
            state = ProcessState(framework)
            adopt_orphans()
            for line in lines:
                state.begin()
                case = CASES.decode(line)
                seed_afresh()
                found = measure_case_peaks(case, framework, bound_of)
                if state.settle(case).lost:
                    state.end_processes()
                    found = msgspec.structs.replace(found, clean=False)
                out.write(msgspec.json.encode(found) + b"\n")
                out.flush()

        self._child = Child(answer)

    def ask(self, line: bytes) -> bytes:
        """Returns the answer to a request; `NOTHING` if the fork ended instead."""
        try:
            self._child.stdin.write(line)
            self._child.stdin.flush()
        except BrokenPipeError:
            return NOTHING + b"\n"
        answer = self._child.stdout.readline()
        return answer if answer.endswith(b"\n") else NOTHING + b"\n"

    def end(self) -> None:
        self._child.kill()
        self._child.wait()


def serve(requests: Iterable[bytes], responses: BinaryIO, framework: Framework) -> None:
    """Answers requests until there are no more."""
    # Imported objects stay, so that forks look for garbage only among those they made.
    gc.freeze()
    responses.write(READY)
    responses.flush()
    fork: Fork | None = Fork(framework)
    for line in requests:
        if fork is None:
            fork = Fork(framework)
        answer = fork.ask(line)
        responses.write(answer)
        responses.flush()
        found = msgspec.json.decode(answer, type=Peaks | None)
        if found is None or not found.clean:
            # Its memory is freed at once. The next fork is made with the next case, and not while
            # the calls of this one are timed.
            fork.end()
            fork = None


def main() -> None:
    """Serves on standard input and output."""
    responses = begin_child()
    framework = sys.argv[1]
    configure_heap(framework)
    serve(sys.stdin.buffer, responses, load(framework))


if __name__ == "__main__":
    main()


class PristineMeter(MemoryMeter):
    """Measures in a pristine process where the framework keeps workspace; else in this one, with a
    note. `bound` are the caller's objects that the case needs."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def begin(self, case: Case, framework: Framework) -> None:
        if framework.keeps_workspace(case.settings.device) and not self._obstacle(case, framework):
            pristine_server(framework.name).begin(case)

    def peaks(self, prepared: PreparedCase) -> Peaks:
        case, framework = prepared.case, prepared.framework
        if not framework.keeps_workspace(case.settings.device):
            return peaks(prepared)
        obstacle = self._obstacle(case, framework)
        found = None if obstacle else pristine_server(framework.name).peaks(case)
        return found or _measure_here(prepared, obstacle or "the fork made for it gave no answer")

    def _obstacle(self, case: Case, framework: Framework) -> str:
        """Returns why the case cannot be measured in another process; empty if it can."""
        if not is_self_contained(case, self._bound):
            return "its function or its arrays are its caller's"
        if isinstance(case.target, TraceTarget) and case.target.ranks > 1:
            return "its other ranks are processes beside this one"
        if compiles(case, framework):
            return "another one would compile it a second time"
        if not framework.supports_fork(case.settings.device):
            return f"{case.settings.device} cannot be used in a fork"
        return ""


def _measure_here(prepared: PreparedCase, why: str) -> Peaks:
    note = Note(
        MEMORY.name,
        NoteCode.NOT_PRISTINE,
        f"measured in a process that had run operators before, as {why}; workspace kept from "
        "them is not counted",
    )
    return msgspec.structs.replace(peaks(prepared), notes=(note,))
