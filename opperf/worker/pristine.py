"""Measures memory in pristine processes: forks of one that has imported the framework and run
nothing.

Frameworks keep workspace for later calls, so what an operator allocates depends on what ran before
it. A fork measures one case after the other until the framework keeps memory, and is then replaced.
The server, which is forked for that, is itself a fork of a worker that has just imported the
framework, or for a process that may have run operators a process of its own:
`opperf.worker.pristine FRAMEWORK`.

The `forkserver` of `multiprocessing` cannot replace this: it would import the framework a second
time, there is one in a process, and its children outlive a parent that is killed in a kernel.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from opperf.frameworks import Framework, available, load, package_of
from opperf.frameworks.user_modules import Imports
from opperf.instruments.callgrind.counter import DUMPS
from opperf.instruments.callgrind.valgrind import is_loaded
from opperf.instruments.memory import MEMORY
from opperf.instruments.peaks import MemoryMeter, Peaks, measure_case_peaks, peaks
from opperf.instruments.prepared import Bound, PreparedCase, compiles
from opperf.machine import heap
from opperf.model import Case, Note, NoteCode, TensorSpec, TraceTarget
from opperf.processes.channel import (
    Answer,
    Channel,
    ChannelClosed,
    ChannelTimeout,
    Request,
    decoder_of,
)
from opperf.processes.children import KEPT_PROCESSES, Child, Fork, adopt_orphans, channel_of_child
from opperf.worker.binding import bound_of
from opperf.worker.process_state import ProcessState, seed_afresh
from opperf.worker.program import child_variables, module_command


def configure_heap(framework: str) -> str:
    """Configures this process's heap, for the first framework that it measures, and returns a
    description. Call it before the framework starts its threads. A process that counts instructions
    has an allocator of opperf's own, if that could be built."""
    return heap.configure_heap(_settings(framework))


def _settings(framework: str) -> heap.Wanted:
    if DUMPS in os.environ:
        return heap.OWN_ALLOCATOR if is_loaded() else heap.MAPPED
    package = package_of(framework) if framework in available() else None
    is_parallel = package is not None and package.allocates_in_parallel
    return heap.KEEPING if is_parallel else heap.KEEPING_ONE


R = TypeVar("R")

TIME_SHARE = 0.25
"""Limit on a fork's two calls, as a share of the case's time limit; the rest is for timed calls. A
fork that takes longer waits for a lock that a thread held, which the fork does not have."""

IMPORT_TIMEOUT_S = 120.0
"""Limit on the import of a framework: it takes seconds, or a minute from a cold network disk."""


class ReadyRequest(Request[bool], frozen=True):
    """Is never sent: the server's first message says that it has imported the framework."""


class PeaksRequest(Request[Peaks | None], frozen=True):
    """Asks for the peaks of a case; None if it failed, or ended its process."""

    case: Case


class PristineServer:
    """The parent's side of the process that is forked, which is started again after its end. With
    `framework`, it is a fork of this one, which must have run nothing yet; else a new one, which
    imports the framework while its parent goes on."""

    def __init__(self, name: str, framework: Framework | None = None) -> None:
        self._name = name
        self._process: Child | Fork
        if framework is None:
            self._start()
        else:
            self._process = Fork(lambda channel: serve(channel, framework))
            self._has_imported = False
        self._asked: PeaksRequest | None = None

    def _start(self) -> None:
        self._process = Child(
            module_command("opperf.worker.pristine", self._name),
            child_variables(os.environ),
            requests="answered",
        )
        KEPT_PROCESSES.add(self._process.pid)
        self._has_imported = False
        self._asked = None

    def begin(self, case: Case) -> None:
        """Sends the case whose peaks are requested next, once the framework is imported."""
        if self._has_imported:
            self._ask(PeaksRequest(case))

    def peaks(self, case: Case) -> Peaks | None:
        """Returns the peaks of a case; None if it could not be measured, or not in time."""
        request = PeaksRequest(case)
        if self._asked != request or self._process.poll() is not None:
            self._ask(request)
        return self._answer()

    def _ask(self, request: PeaksRequest) -> None:
        if self._asked is not None:
            # The previous case's call was refused here, so that its peaks are not needed.
            self._answer()
        if self._process.poll() is not None:
            self._start()
        if self.wait_until_ready():
            with self._ended_by_errors(), contextlib.suppress(ChannelClosed):
                self._process.channel.send(request)
                self._asked = request

    def _answer(self) -> Peaks | None:
        asked, self._asked = self._asked, None
        if asked is None:
            return None
        return self._await(PeaksRequest, TIME_SHARE * asked.case.settings.timeout_s)

    def wait_until_ready(self) -> bool:
        """Waits until it has imported the framework, and returns whether it has."""
        if not self._has_imported:
            self._has_imported = bool(self._await(ReadyRequest, IMPORT_TIMEOUT_S))
        return self._has_imported

    def _await(self, kind: type[Request[R]], timeout_s: float) -> R | None:
        """Returns the answer to a request; None if it ended, or took too long and was ended."""
        with self._ended_by_errors():
            try:
                return self._process.channel.answer(kind, timeout_s)
            except ChannelClosed:
                return None
            except ChannelTimeout:
                self.end()
                return None

    @contextlib.contextmanager
    def _ended_by_errors(self) -> Iterator[None]:
        """Ends the process at an interrupt: its next answer would be taken for another case's."""
        try:
            yield
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        self._asked = None
        self._process.end()


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


def answer_peaks(channel: Channel, framework: Framework) -> None:
    """Answers requests in a fork that measures cases."""
    # The process that makes the timed calls announces imports to the manager.
    Imports.watch = contextlib.nullcontext
    state = ProcessState(framework)
    adopt_orphans()
    for line in channel.lines():
        state.begin()
        case = decoder_of(PeaksRequest).decode(line).case
        seed_afresh()
        found = measure_case_peaks(case, framework, bound_of)
        if state.settle(case).lost:
            state.end_processes()
            found = msgspec.structs.replace(found, clean=False)
        channel.send(Answer.of(found))


def serve(channel: Channel, framework: Framework) -> None:
    """Answers requests until there are no more."""
    # Imported objects stay, so that forks look for garbage only among those they made. The decoder
    # is made here, as it would take each fork milliseconds.
    decoder_of(PeaksRequest)
    gc.freeze()

    def new_fork() -> Fork:
        return Fork(lambda channel: answer_peaks(channel, framework))

    channel.send(Answer.of(True))
    fork: Fork | None = new_fork()
    for line in channel.lines():
        fork = fork or new_fork()
        found = None
        with contextlib.suppress(ChannelClosed):
            found = fork.channel.ask(decoder_of(PeaksRequest).decode(line))
        channel.send(Answer.of(found))
        if found is None or not found.clean:
            # Its memory is freed at once. The next fork is made with the next case, and not while
            # the calls of this one are timed.
            fork.end()
            fork = None


def main() -> None:
    """Serves on standard input and output."""
    channel = channel_of_child()
    framework = sys.argv[1]
    configure_heap(framework)
    serve(channel, load(framework))


if __name__ == "__main__":
    main()


class PristineMeter(MemoryMeter):
    """Measures in a pristine process where the framework keeps workspace; else in this one, with a
    note. `bound` are the caller's objects that the case needs."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def begin(self, case: Case, framework: Framework) -> None:
        if framework.memory.keeps_workspace(case.settings.device) and not self._obstacle(
            case, framework
        ):
            pristine_server(framework.name).begin(case)

    def peaks(self, prepared: PreparedCase) -> Peaks:
        case, framework = prepared.case, prepared.framework
        if not framework.memory.keeps_workspace(case.settings.device):
            return peaks(prepared)
        obstacle = self._obstacle(case, framework)
        found = None if obstacle else pristine_server(framework.name).peaks(case)
        if found is not None:
            return found
        why = obstacle or "the fork made for it gave no answer"
        note = Note(
            MEMORY.name,
            NoteCode.NOT_PRISTINE,
            f"measured in a process that had run operators before, as {why}; workspace kept from "
            "them is not counted",
        )
        return msgspec.structs.replace(peaks(prepared), notes=(note,))

    def _obstacle(self, case: Case, framework: Framework) -> str:
        """Returns why the case cannot be measured in another process; empty if it can."""
        if not is_self_contained(case, self._bound):
            return "its function or its arrays are its caller's"
        if isinstance(case.target, TraceTarget) and case.target.ranks > 1:
            return "its other ranks are processes beside this one"
        if compiles(case, framework):
            return "another one would compile it a second time"
        if not framework.processes.supports_fork(case.settings.device):
            return f"{case.settings.device} cannot be used in a fork"
        return ""
