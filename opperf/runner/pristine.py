"""Memory measured where a framework keeps nothing: in a fork of a process that only imported.

Frameworks keep workspace for later calls. One may have several buffers that it uses in turn and
lets grow, so what an operator allocates depends on what ran before it. A process that has
imported the framework and run nothing is forked; the fork measures one case after the other for
as long as the framework gives back all it took, and is replaced as soon as it keeps something.
A fork takes some tens of milliseconds, and its end as long again; an import takes seconds.

`python -m opperf.runner.pristine FRAMEWORK` is the process that is forked.
"""

from __future__ import annotations

import functools
import gc
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterable
from typing import BinaryIO

import msgspec

from opperf.frameworks import Framework, load
from opperf.model import Case, TensorSpec
from opperf.runner.allocator import steady
from opperf.runner.memory import Peaks, peaks_of
from opperf.runner.prepared import Bound
from opperf.runner.process import begin_child, end_with_parent, with_package

TIME_SHARE = 0.25
"""Share of a case's time limit that a fork may take for its two calls; the rest is for the calls
that are timed. A fork that takes longer is stuck, on a lock of a thread that it does not have."""

IMPORT_TIMEOUT_S = 120.0
"""Time a framework may take to import: seconds as a rule, a minute from a cold network disk."""

READY = b"ready\n"
"""The first line, once the framework is imported."""

READ_BYTES = 1 << 16

NOTHING = b"null"
"""The answer when a case could not be measured: it failed, or ended its process."""


class Pristine:
    """The process that is forked, seen from the one that asks. Starts at once, so that it
    imports while its parent does other things, and again should it have ended."""

    def __init__(self, framework: str) -> None:
        self._framework = framework
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "opperf.runner.pristine", self._framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=with_package(dict(os.environ)),
            start_new_session=True,
        )
        self._has_imported = False

    def peaks(self, case: Case) -> Peaks | None:
        """The peaks of a case; None if it could not be measured there, or not in time."""
        if self._process.poll() is not None:
            self._start()
        try:
            if not self.is_ready():
                return None
            assert self._process.stdin is not None
            self._process.stdin.write(msgspec.json.encode(case) + b"\n")
            self._process.stdin.flush()
            answer = self._line(TIME_SHARE * case.settings.timeout_s)
        except BrokenPipeError:
            return None
        except BaseException:
            # Its next answer would be to a question that nobody waits for any more.
            self.end()
            raise
        return msgspec.json.decode(answer or NOTHING, type=Peaks | None)

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
        self._process.kill()
        self._process.wait()


@functools.cache
def pristine(framework: str) -> Pristine:
    """The process for a framework, one for each process that asks."""
    return Pristine(framework)


def is_self_contained(case: Case, bound: Bound) -> bool:
    """Whether a case can be measured by another process: it needs no object of the caller's."""
    given = any(
        isinstance(spec, TensorSpec) and spec.fill.distribution == "given"
        for _, spec in case.tensors()
    )
    return bound.function is None and not given


class Fork:
    """A fork that answers requests, seen from the process that was forked."""

    def __init__(self, framework: Framework) -> None:
        (requests, self._requests), (self._answers, answers) = os.pipe(), os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(requests)
            os.close(answers)
            return
        end_with_parent()
        os.close(self._requests)
        os.close(self._answers)
        try:
            with os.fdopen(requests, "rb") as lines, os.fdopen(answers, "wb") as out:
                for line in lines:
                    found = peaks_of(msgspec.json.decode(line, type=Case), framework)
                    out.write(msgspec.json.encode(found) + b"\n")
                    out.flush()
        finally:
            # Neither the parent's buffers nor the framework's threads are this process's to end.
            os._exit(0)

    def ask(self, line: bytes) -> bytes:
        """Its answer to a request; `NOTHING` if it ended instead."""
        answer = b""
        try:
            os.write(self._requests, line)
            while not answer.endswith(b"\n"):
                piece = os.read(self._answers, READ_BYTES)
                if not piece:
                    return NOTHING + b"\n"
                answer += piece
        except BrokenPipeError:
            return NOTHING + b"\n"
        return answer

    def end(self) -> None:
        """End it, and wait until it is gone."""
        os.close(self._requests)
        os.close(self._answers)
        # Its memory is given back faster than by an end of its own accord.
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def serve(requests: Iterable[bytes], responses: BinaryIO, framework: Framework) -> None:
    """Answer requests until there are no more."""
    # What was imported stays; forks are to look for garbage among what they made only.
    gc.freeze()
    responses.write(READY)
    responses.flush()
    fork = Fork(framework)
    for line in requests:
        answer = fork.ask(line)
        responses.write(answer)
        responses.flush()
        found = msgspec.json.decode(answer, type=Peaks | None)
        if found is None or not found.clean:
            # Now, while nobody waits.
            fork.end()
            fork = Fork(framework)


def main() -> None:
    """Serve on standard input and output."""
    responses = begin_child()
    steady()
    serve(sys.stdin.buffer, responses, load(sys.argv[1]))


if __name__ == "__main__":
    main()
