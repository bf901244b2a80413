"""A recording while it is made: the frameworks that this process uses, their calls and steps.

The file of a recording: what is checked before it, and what is said of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from opperf.errors import FrameworkError, OutputError, UnsupportedError, UsageError
from opperf.frameworks import available, load, package_of
from opperf.frameworks.calls import Calls, Recorder
from opperf.frameworks.user_modules import after_import
from opperf.model import CompiledProgram, Program
from opperf.plurals import pluralize
from opperf.recording.steps import MARKED, StepRange, Steps
from opperf.recording.writing import summarise_steps, write
from opperf.results.output import check_output

_present: list[Session] = []
"""The recording of this process, while there is one."""


def _before_fork() -> None:
    for session in _present:
        session.forks += 1


def _in_child() -> None:
    for session in tuple(_present):
        session.stop()


os.register_at_fork(before=_before_fork, after_in_child=_in_child)


def step() -> None:
    """Ends a step of the program, where it has no optimizer that does, or where its own ends are
    others: `opperf record --steps A:B` counts these. Without a recorder it does nothing."""
    for session in _present:
        session.steps.end(MARKED)


class Session:
    """Records the calls of all frameworks that this process imports, until it is stopped. Raises
    `UsageError` if there is one already."""

    def __init__(
        self,
        command: str,
        timed: bool = False,
        wanted: StepRange | None = None,
        trace: Path | None = None,
    ) -> None:
        """`command` is the program's, `wanted` are the steps to record, and `trace` is the file for
        the framework's own trace of them."""
        if _present:
            raise UsageError("a recording is being made already; end it before another begins")
        self.command = command
        self.timed = timed
        self.steps = Steps(
            wanted or StepRange(),
            self._switch,
            wait=self._wait,
            forget=self._forget,
            ended=self._end_flow,
        )
        self.unsupported: dict[str, str] = {}
        """Frameworks of the program that cannot be recorded, each with the reason."""
        self.forks = 0
        """Times that the process was forked."""
        self._trace = trace
        self._traces = ExitStack()
        self._calls: dict[str, Calls] = {}
        self._recorders: dict[str, Recorder] = {}
        self._waiting: list[Callable[[], None]] = []
        self._recording = False
        self._has_flow = False
        """Whether the first recorded step has ended."""
        self._since_ns: int | None = None
        """When the present part of the recording began; None between parts, and before a framework
        is imported."""
        self._recorded_ns = 0
        self._process = os.getpid()
        self._notes: list[str] = []

    def start(self, frameworks: Iterable[str] = ()) -> None:
        """Begins with the frameworks that are imported, and waits for the others; of those named
        here, raises the error of one that cannot be recorded."""
        _present.append(self)
        named = tuple(frameworks)
        for name in named:
            self._add(name)
        self.steps.begin()
        for name, module in _modules().items():
            if name not in named:
                self._waiting.append(after_import(module, partial(self._try, name)))

    def _try(self, name: str) -> None:
        try:
            self._add(name)
        except (UnsupportedError, FrameworkError) as error:
            self.unsupported[name] = str(error)

    def _add(self, name: str) -> None:
        calls = Calls(self.timed)
        recorder = load(name).recordings.recorder(calls, self.steps.end)
        recorder.install()
        self._calls[name], self._recorders[name] = calls, recorder
        if self._recording:
            self._begin(name)
            self._since_ns = self._since_ns or time.perf_counter_ns()

    def _begin(self, name: str) -> None:
        """Begins to record a framework, and its own trace, of which there is one."""
        if self._trace is not None:
            # Another framework of the program may write one where this does not.
            with suppress(UnsupportedError):
                self._traces.enter_context(load(name).profilers.tracing(None, self._trace))
                self._trace = None
        self._recorders[name].begin()
        if not self._has_flow:
            self._recorders[name].begin_flow()

    def _end_flow(self, is_whole: bool) -> None:
        """Ends keeping the flow of tensors, which is that of the first recorded step, or begins
        anew if that was a part of one."""
        begun = time.perf_counter_ns()
        for recorder in self._recorders.values():
            if not is_whole:
                recorder.begin_flow()
            elif not self._has_flow:
                recorder.end_flow()
        self._has_flow = is_whole
        if self._since_ns is not None:
            self._recorded_ns -= time.perf_counter_ns() - begun

    def _switch(self, recording: bool) -> None:
        if self._since_ns is not None:
            self._recorded_ns += time.perf_counter_ns() - self._since_ns
            self._since_ns = None
        self._recording = recording
        if not recording:
            self._end_flow(True)
        for name, recorder in self._recorders.items():
            if recording:
                self._begin(name)
            else:
                recorder.end()
        if not recording:
            self._traces.close()
        elif self._recorders:
            self._since_ns = time.perf_counter_ns()

    @contextmanager
    def interrupted(self) -> Iterator[None]:
        """Returns a context in which no call is recorded, and whose time is none of the steps'."""
        recorders = [*self._recorders.values()] if self._recording else []
        begun = time.perf_counter_ns()
        for recorder in recorders:
            recorder.end()
        try:
            yield
        finally:
            for recorder in recorders:
                recorder.begin()
            if recorders:
                self._recorded_ns -= time.perf_counter_ns() - begun

    def _wait(self) -> None:
        for recorder in self._recorders.values():
            recorder.wait()

    def _forget(self) -> None:
        self._recorded_ns = 0
        self._has_flow = False
        for calls in self._calls.values():
            calls.forget()

    @property
    def is_of_this_process(self) -> bool:
        """Whether this process is the one that began it, and no fork of that."""
        return os.getpid() == self._process

    def stop(self) -> None:
        """Ends recording, and undoes what it has changed in the frameworks."""
        self.steps.stop()
        for cancel in self._waiting:
            cancel()
        for recorder in self._recorders.values():
            recorder.remove()
        if self in _present:
            _present.remove(self)

    def note(self, sentence: str) -> None:
        """Adds what a reader of the recording must know."""
        self._notes.append(sentence)

    def nothing(self) -> str:
        """Returns why nothing was recorded."""
        nothing = "no operator was called that can be recorded"
        return self.steps.missed() or "; ".join((nothing, *self.unsupported.values()))

    @property
    def calls(self) -> dict[str, Calls]:
        """The calls so far, by framework."""
        return {name: calls for name, calls in self._calls.items() if calls.number}

    def program(self) -> Program:
        """Returns what is known of the program so far."""
        used = self.calls
        return Program(
            command=self.command,
            framework=", ".join(sorted(used, key=lambda name: -used[name].number)),
            steps=max(1, self.steps.recorded),
            calls=sum(calls.number for calls in used.values()),
            step=summarise_steps(self.steps.times[False]),
            recorded_step=summarise_steps(self.steps.times[True]),
            recorded_ns=float(self._recorded_ns) or None,
            compiled=tuple(
                program for calls in used.values() for program in calls.compiled.recorded()
            ),
            notes=(*self._notes, *self._further_notes(used)),
        )

    def _further_notes(self, used: dict[str, Calls]) -> Iterable[str]:
        if self.steps.missed():
            yield self.steps.missed()
        if self.steps.recorded and 0 in self.steps.wanted:
            yield (
                "the first step has what comes before it, as the program's start, in it; record "
                "later steps to leave that out"
            )
        if self._trace is not None and used:
            yield "no execution trace was written: PyTorch makes one, and none of it was recorded"
        if self.forks:
            yield (
                f"the program forked {pluralize(self.forks, 'time')}: the calls of its children "
                "are not among these"
            )
        for name, calls in used.items():
            if calls.merged:
                yield (
                    f"{pluralize(calls.merged, 'call')} of {name} with further numbers are counted "
                    "with those of other numbers and the same tensors"
                )
            if calls.left_out:
                yield (
                    f"{pluralize(calls.left_out, 'call')} of {name} are not recorded, as there are "
                    "too many distinct ones; record fewer steps"
                )
            yield from self._recorders[name].notes()


def _modules() -> dict[str, str]:
    """Returns the module of each framework by name, of those that a program may import."""
    found = {}
    for name in available():
        try:
            package = package_of(name)
        except FrameworkError:
            continue
        if package is not None:
            found[name] = package.name
    return found


EXTENSION = ".jsonl"
"""That of run files."""


def check_files(file: Path, trace: Path | None, overwrite: bool) -> None:
    """Raises `UsageError` for a recording that is no run file by its name, and `OutputError` for a
    file that exists, unless it may be replaced, or that cannot be written."""
    if file.suffix != EXTENSION:
        raise UsageError(
            f"{file}: a recording is a run file, whose name ends with {EXTENSION}; `opperf export` "
            "writes other formats"
        )
    if trace is not None and trace.resolve() == file.resolve():
        raise UsageError(f"{trace}: the execution trace needs a file other than the recording's")
    for output in filter(None, (file, trace)):
        if output.is_file() and not overwrite:
            raise OutputError(f"{output} exists; add --overwrite to replace it, or choose another")
        check_output(output, overwrite)


def written(session: Session, file: Path, overwrite: bool) -> tuple[str, ...]:
    """Writes what a session has recorded, and returns lines about it: how many calls there are, and
    what a reader must know. Raises the errors of `write`."""
    program = session.program()
    cases, notes = write(program, session.calls, file, overwrite)
    made = session.steps.recorded
    steps = f" in {pluralize(made, 'step')}" if made else ""
    return (
        f"{file}: {pluralize(program.calls, 'call')}{steps}, {len(cases):,} of them distinct; "
        f"measure them with: opperf run {file}",
        *_compiled(program.compiled),
        *(f"note: {note}" for note in notes),
    )


def _compiled(programs: Sequence[CompiledProgram]) -> Iterator[str]:
    if programs:
        times = [found.time_ns for found in programs if found.time_ns is not None]
        took = f", for {sum(times) / 1e6:,.1f} ms in all" if times else ""
        yield (
            f"{pluralize(len(programs), 'compiled program')} ran "
            f"{pluralize(sum(found.runs for found in programs), 'time')}{took}; `opperf report` "
            "has each by its name"
        )
