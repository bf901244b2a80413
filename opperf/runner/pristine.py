"""Memory measured where a framework keeps nothing: in a fork of a process that only imported.

Frameworks keep workspace for later calls. One may have several buffers that it uses in turn and
lets grow, so what an operator allocates depends on what ran before it. A process that has
imported the framework and run nothing is forked; the fork measures one case after the other for
as long as the framework gives back all it took, and is replaced as soon as it keeps something.
A fork takes some tens of milliseconds, and its end as long again; an import takes seconds.

The process that is forked is itself a fork of a worker, made when the worker has imported the
framework; for a process that may have run operators already it is
another one, of `opperf.runner.pristine FRAMEWORK`.

The `forkserver` of `multiprocessing` does not serve here. Its server is always a new interpreter,
which would import the framework a second time beside each worker: seconds, where a fork of the
worker takes milliseconds. There is one server in a process, with one list of modules to preload,
and in a user's process it is the user's. Its children outlive a parent that is killed in the middle
of a kernel, as no signal is asked for the parent's death (`end_with_parent`). What would remain to
be written is most of this module: requests and answers, their time limits, and when a fork is used
again.
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
from opperf.model import Case, TensorSpec
from opperf.runner.allocator import configure_heap
from opperf.runner.memory import Peaks, peaks_of
from opperf.runner.process import begin_child, child_variables, end_with_parent, module_command
from opperf.sources.bound import Bound

TIME_SHARE = 0.25
"""Share of a case's time limit that a fork may take for its two calls; the rest is for the calls
that are timed. A fork that takes longer is stuck, on a lock of a thread that it does not have."""

IMPORT_TIMEOUT_S = 120.0
"""Time a framework may take to import: seconds as a rule, a minute from a cold network disk."""

READY = b"ready\n"
"""The first line, once the framework is imported."""

NOTHING = b"null"
"""The answer when a case could not be measured: it failed, or ended its process."""


class Pristine:
    """The process that is forked, seen from the one that asks. Starts again should it have ended.

    Given the framework itself, it is a fork of this process, which has imported it and must have
    run nothing yet; else it is started, and imports the framework while its parent does other
    things.
    """

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
            module_command("opperf.runner.pristine", self._name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_variables(os.environ),
            start_new_session=True,
        )
        self._has_imported = False
        self._asked = None

    def begin(self, case: Case) -> None:
        """Have a case measured whose peaks are wanted next, unless that would have to wait for the
        framework to be imported."""
        if self._has_imported:
            self._ask(case)

    def peaks(self, case: Case) -> Peaks | None:
        """The peaks of a case; None if it could not be measured there, or not in time."""
        if self._asked != case or self._process.poll() is not None:
            self._ask(case)
        return msgspec.json.decode(self._answer() or NOTHING, type=Peaks | None)

    def _ask(self, case: Case) -> None:
        """Send a case, if there is a process that takes it."""
        if self._asked is not None:
            # The call of the case before was refused, and nobody wants its peaks.
            self._answer()
        if self._process.poll() is not None:
            self._start()
        with self._ended_by_errors():
            if self.is_ready():
                assert self._process.stdin is not None
                with contextlib.suppress(BrokenPipeError):
                    self._process.stdin.write(msgspec.json.encode(case) + b"\n")
                    self._process.stdin.flush()
                    self._asked = case

    def _answer(self) -> bytes:
        """The answer to the case that was sent; empty if there is none, or not in time."""
        case, self._asked = self._asked, None
        if case is None:
            return b""
        with self._ended_by_errors():
            return self._line(TIME_SHARE * case.settings.timeout_s)

    @contextlib.contextmanager
    def _ended_by_errors(self) -> Iterator[None]:
        """End the process where an interrupt comes inside: its next answer would be to a question
        that nobody waits for any more."""
        try:
            yield
        except BaseException:
            self.end()
            raise

    def is_ready(self) -> bool:
        """Wait until it has imported the framework; whether it has."""
        if not self._has_imported:
            self._has_imported = self._line(IMPORT_TIMEOUT_S) == READY
        return self._has_imported

    def _line(self, timeout_s: float) -> bytes:
        """The next line it writes; empty if it ended, or did not write in time and was ended."""
        stream = self._process.stdout
        assert stream is not None
        # A line comes in one piece: it is shorter than a pipe's buffer.
        if select.select([stream], [], [], timeout_s)[0]:
            return stream.readline()
        self.end()
        return b""

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._asked = None
        self._process.kill()
        self._process.wait()


_BEGUN: dict[str, Pristine] = {}
"""The processes for this one, by framework."""


def pristine(name: str) -> Pristine:
    """The process for a framework, one for each process that asks."""
    if name not in _BEGUN:
        _BEGUN[name] = Pristine(name)
    return _BEGUN[name]


def begin_pristine(framework: Framework) -> None:
    """Fork the process for a framework from this one, which has imported it and run nothing yet.
    That takes milliseconds, where another import would take seconds, and a core from this one."""
    _BEGUN[framework.name] = Pristine(framework.name, framework)


def is_self_contained(case: Case, bound: Bound) -> bool:
    """Whether a case can be measured by another process: it needs no object of the caller's."""
    given = any(
        isinstance(spec, TensorSpec) and spec.fill.distribution == "given"
        for _, spec in case.tensors()
    )
    return bound.function is None and not given


class Child:
    """A fork of this process that answers requests: as much of `subprocess.Popen` as is needed."""

    def __init__(self, answer: Callable[[BinaryIO, BinaryIO], None]) -> None:
        (requests, stdin), (stdout, answers) = os.pipe(), os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                end_with_parent()
                _keep_only(requests, answers)
                with os.fdopen(requests, "rb") as lines, os.fdopen(answers, "wb") as out:
                    answer(lines, out)
            finally:
                # Neither the parent's buffers nor the framework's threads are this process's to
                # end.
                os._exit(0)
        os.close(requests)
        os.close(answers)
        self.stdin, self.stdout = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        self._has_ended = False

    def poll(self) -> int | None:
        """0 if it has ended, None while it lives."""
        if not self._has_ended:
            self._has_ended = os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        return 0 if self._has_ended else None

    def kill(self) -> None:
        """End it: its memory is given back faster than by an end of its own accord."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Wait until it is gone."""
        if not self._has_ended:
            os.waitpid(self.pid, 0)
            self._has_ended = True
        for stream in (self.stdin, self.stdout):
            # What was not written any more has nobody to read it.
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def _keep_only(*descriptors: int) -> None:
    """Close every file but these and the standard ones, of which the input is nobody's: a child
    that holds on to its parent's pipes hides the parent's end from those at their other ends."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for descriptor in [int(entry.name) for entry in Path("/dev/fd").iterdir()]:
        if descriptor > STANDARD_ERROR and descriptor not in descriptors:
            # The list itself was one of them, and is closed already.
            with contextlib.suppress(OSError):
                os.close(descriptor)


STANDARD_ERROR = 2
"""The last of the standard files' descriptors."""


CASES = msgspec.json.Decoder(Case)
"""Made once, in the process that is forked: a first decoder takes a fork some milliseconds."""


class Fork:
    """A fork that measures cases, seen from the process that was forked."""

    def __init__(self, framework: Framework) -> None:
        def answer(lines: BinaryIO, out: BinaryIO) -> None:
            for line in lines:
                found = peaks_of(CASES.decode(line), framework)
                out.write(msgspec.json.encode(found) + b"\n")
                out.flush()

        self._child = Child(answer)

    def ask(self, line: bytes) -> bytes:
        """Its answer to a request; `NOTHING` if it ended instead."""
        try:
            self._child.stdin.write(line)
            self._child.stdin.flush()
        except BrokenPipeError:
            return NOTHING + b"\n"
        answer = self._child.stdout.readline()
        return answer if answer.endswith(b"\n") else NOTHING + b"\n"

    def end(self) -> None:
        """End it, and wait until it is gone."""
        self._child.kill()
        self._child.wait()


def serve(requests: Iterable[bytes], responses: BinaryIO, framework: Framework) -> None:
    """Answer requests until there are no more."""
    # What was imported stays; forks are to look for garbage among what they made only.
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
            # Its memory is given back at once. Another fork is made with the next case, and not
            # while the calls of this one are timed.
            fork.end()
            fork = None


def main() -> None:
    """Serve on standard input and output."""
    responses = begin_child()
    configure_heap()
    serve(sys.stdin.buffer, responses, load(sys.argv[1]))


if __name__ == "__main__":
    main()
