"""A replay by several ranks: the first one's in the process that measures, and processes of the
others.

`opperf.worker.replaying FRAMEWORK RANK PORT` is the process of a rank: it reads the case from the
first line of standard input, answers that it has read its calls, and replays an iteration for each
further line, until there are no more.
"""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence

import msgspec

from opperf.errors import OpperfError, UnsupportedError, one_line
from opperf.frameworks import Framework, load
from opperf.frameworks.replays import CallSequence, Group, Replayed
from opperf.instruments.prepared import case_scope
from opperf.machine.ports import free_port
from opperf.model import Case, TraceTarget
from opperf.sources.traces.replays import read_sequence
from opperf.worker.process import begin_child, child_variables, module_command

READY = "\n"
"""Line of the process of a rank that has read its calls; of another one, the line says why not."""

END_S = 10.0
"""Seconds in which a process ends by itself once nothing more is asked of it; then it is killed."""


class RankedReplay:
    """A replay of the first rank, beside the processes of the others."""

    def __init__(self, case: Case, target: TraceTarget, framework: Framework) -> None:
        """Starts the processes, and waits until they have tried their calls."""
        port = free_port()
        self._processes = [
            _start(case, target, framework, rank, port) for rank in range(1, target.ranks)
        ]
        self._finalize = weakref.finalize(self, _end, self._processes)
        try:
            group = Group(0, target.ranks, port)
            sequence = read_sequence(framework, target)
            self._check_ready()
            self._replay = framework.replay(case, sequence, group)
        except BaseException:
            self._finalize()
            raise
        self.sequence: CallSequence = sequence
        self.outside_bytes = self._replay.outside_bytes

    def _check_ready(self) -> None:
        """Waits until the other processes have read their calls. Raises `UnsupportedError` if one
        cannot, as the others would wait for it."""
        for rank, process in enumerate(self._processes, 1):
            assert process.stdout is not None
            answer = process.stdout.readline().decode()
            if answer != READY:
                raise UnsupportedError(f"rank {rank}: {answer.strip() or 'its process has ended'}")

    @property
    def omitted(self) -> Mapping[int, str]:
        """Index of each step that is not replayed, with the reason."""
        return self._replay.omitted

    def __call__(self) -> None:
        self._begin()
        self._replay()

    def step_times(self) -> Sequence[int]:
        """Returns the nanoseconds of each step in one iteration."""
        self._begin()
        return self._replay.step_times()

    def _begin(self) -> None:
        """Has the other processes begin an iteration. Raises `UnsupportedError` if one ended."""
        for rank, process in enumerate(self._processes, 1):
            assert process.stdin is not None
            try:
                process.stdin.write(b"\n")
                process.stdin.flush()
            except BrokenPipeError:
                raise UnsupportedError(f"the process of rank {rank} has ended") from None


def _start(
    case: Case, target: TraceTarget, framework: Framework, rank: int, port: int
) -> subprocess.Popen[bytes]:
    command = module_command("opperf.worker.replaying", framework.name, str(rank), str(port))
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=child_variables(os.environ),
    )
    own = msgspec.structs.replace(case, target=msgspec.structs.replace(target, rank=rank))
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(own) + b"\n")
    process.stdin.flush()
    return process


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Ends processes, which read that there are no more lines."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    for process in processes:
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main() -> None:
    """Replays a rank's calls."""
    answers = begin_child()
    name, rank, port = sys.argv[1:]
    framework = load(name)
    case = msgspec.json.decode(sys.stdin.buffer.readline(), type=Case)
    assert isinstance(case.target, TraceTarget)
    if case.settings.threads is not None:
        framework.set_threads(case.settings.threads)
    with case_scope(case, framework):
        try:
            sequence = read_sequence(framework, case.target)
        except OpperfError as error:
            answers.write(f"{one_line(str(error))}\n".encode())
            return
        answers.write(READY.encode())
        answers.flush()
        group = Group(int(rank), case.target.ranks, int(port))
        replay: Replayed = framework.replay(case, sequence, group)
        for _ in sys.stdin.buffer:
            replay()


if __name__ == "__main__":
    main()
