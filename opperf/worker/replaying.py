"""A replay by several ranks: the first one's in the process that measures, and processes of the
others, `opperf.worker.replaying FRAMEWORK`, which read their calls, and replay an iteration for
each further message."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Collection, Mapping, Sequence

import msgspec

from opperf.errors import OpperfError, UnsupportedError, one_line
from opperf.frameworks import Framework, load
from opperf.frameworks.replays import CallSequence, Group, Replayed
from opperf.instruments.prepared import case_scope
from opperf.model import Case, TraceTarget
from opperf.processes.channel import Answer, ChannelClosed, Refusal, Request, decoder_of
from opperf.processes.children import Child, channel_of_child
from opperf.processes.commands import free_port
from opperf.sources.replays import read_sequence
from opperf.worker.program import child_variables, module_command

END_S = 10.0
"""Seconds in which a process ends by itself once nothing more is asked of it; then it is killed."""


class ReplayRequest(Request[None], frozen=True):
    """Asks a rank, that of the case, to read its calls, and says where the ranks meet."""

    case: Case
    port: int


class RankedReplay:
    """A replay of the first rank, beside the processes of the others."""

    def __init__(self, case: Case, target: TraceTarget, framework: Framework) -> None:
        """Starts the processes, and waits until they have tried their calls."""
        port = free_port()
        command = module_command("opperf.worker.replaying", framework.name)
        variables = child_variables(os.environ)
        self._others = {
            # Of this process's group, with which they end, and whose log they write to.
            rank: Child(command, variables, stderr=None, requests="answered", leads=False)
            for rank in range(1, target.ranks)
        }
        self._finalize = weakref.finalize(self, _end, self._others.values())
        try:
            for rank in self._others:
                own = msgspec.structs.replace(target, rank=rank)
                self._send(rank, ReplayRequest(msgspec.structs.replace(case, target=own), port))
            group = Group(0, target.ranks, port)
            sequence = read_sequence(framework, target)
            self._check_ready()
            self._replay = framework.recordings.replay(case, sequence, group)
        except BaseException:
            self._finalize()
            raise
        self.sequence: CallSequence = sequence
        self.outside_bytes = self._replay.outside_bytes

    def _check_ready(self) -> None:
        """Waits until the other processes have read their calls. Raises `UnsupportedError` if one
        cannot, as the others would wait for it."""
        for rank, process in self._others.items():
            try:
                process.channel.answer(ReplayRequest)
            except OpperfError as error:
                raise UnsupportedError(f"rank {rank}: {one_line(str(error))}") from None
            except ChannelClosed:
                raise UnsupportedError(f"rank {rank}: its process has ended") from None

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
        for rank in self._others:
            self._send(rank, None)

    def _send(self, rank: int, message: ReplayRequest | None) -> None:
        try:
            self._others[rank].channel.send(message)
        except ChannelClosed:
            raise UnsupportedError(f"the process of rank {rank} has ended") from None


def _end(processes: Collection[Child]) -> None:
    for process in processes:
        process.channel.say_end()
    for process in processes:
        process.end(END_S)


def main() -> None:
    """Replays a rank's calls."""
    channel = channel_of_child()
    framework = load(sys.argv[1])
    asked: ReplayRequest = decoder_of(ReplayRequest).decode(channel.line())
    case = asked.case
    assert isinstance(case.target, TraceTarget)
    if case.settings.threads is not None:
        framework.processes.set_threads(case.settings.threads)
    with case_scope(case, framework):
        try:
            sequence = read_sequence(framework, case.target)
        except OpperfError as error:
            channel.send(Refusal.of(error))
            return
        channel.send(Answer.of(None))
        group = Group(case.target.rank or 0, case.target.ranks, asked.port)
        replay: Replayed = framework.recordings.replay(case, sequence, group)
        for _ in channel.lines():
            replay()


if __name__ == "__main__":
    main()
