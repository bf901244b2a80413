"""Worker processes for the cases of a run: one for each framework, interpreter and set of process
settings, one at a time; or several side by side, for cases whose figures do not depend on what else
runs, as counts of instructions."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import msgspec
import psutil

from opperf.errors import WorkerError
from opperf.frameworks.capabilities import needs_build
from opperf.instruments.visit import CompiledAhead
from opperf.machine.kernel import free_memory, this_machine, whole_cpus
from opperf.machine.pinning import NONE, Pinning
from opperf.metrics import needs_of, process_settings
from opperf.model import DEFAULTS, Case, Environment, Interpreter, Record, ScriptTarget, Settings
from opperf.plurals import pluralize
from opperf.programs.launching import ALONE, Place, program_environment
from opperf.programs.measuring import Programs
from opperf.results.kept import streams_of
from opperf.sources.varying import group_by_process, process_key
from opperf.worker.client import Worker

WORKER_BYTES = 3 * 2**30
"""Memory of a worker that counts, with its case: PyTorch's has 0.74 GiB, MXNet's 0.40."""


def interpreter_of(
    interpreters: Sequence[Interpreter], framework: str, label: str
) -> Interpreter | None:
    """Returns the interpreter with this label for a framework's cases; None for opperf's own.
    Raises `WorkerError` for an unknown label."""
    for interpreter in interpreters:
        if interpreter.label == label and interpreter.framework in ("", framework):
            return interpreter
    if label:
        raise WorkerError(
            f"no interpreter is called {label!r} here; name it with --python {label}:PATH"
        )
    return None


class Workers(AbstractContextManager["Workers"]):
    """Starts the worker that a case needs, and ends the previous one: two at once would share
    memory and caches. `pinning` chooses their cores. Raises what `Worker` raises."""

    lanes = 1

    def __init__(
        self, interpreters: Sequence[Interpreter] = (), pinning: Pinning | None = None
    ) -> None:
        self.interpreters = tuple(interpreters)
        self._pinning = pinning or Pinning(NONE)
        self._key = ""
        self._worker: Worker | None = None
        self._killed = False
        self.programs = Programs()
        self.ahead: dict[str, CompiledAhead] = {}
        """Of cases that are compiled but not measured yet, by id."""
        self.profiles: Path | None = None

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the worker, if there is one; the next case has a new one."""
        if self._worker is not None:
            self._worker.__exit__()
        self._worker, self._key = None, ""

    def kill(self) -> None:
        """Kills the worker, or the running program, from any thread, and lets no other start."""
        self._killed = True
        self.programs.kill()
        worker = self._worker
        if worker is not None:
            worker.kill()

    def add_interpreters(self, interpreters: Iterable[Interpreter]) -> None:
        """Adds interpreters; one with the label of an earlier one is ignored."""
        known = {(each.label, each.framework) for each in self.interpreters}
        new = (each for each in interpreters if (each.label, each.framework) not in known)
        self.interpreters = (*self.interpreters, *new)

    def of(self, framework: str, settings: Settings | None = None) -> Worker:
        settings = settings or Settings()
        key = process_key(framework, settings)
        if self._worker is None or key != self._key:
            self.close()
            self._worker = self.begin(framework, settings)
            self._key = key
            if self._killed:
                self._worker.kill()
        return self._worker

    def begin(self, framework: str, settings: Settings) -> Worker:
        """Returns a worker on the cores for cases of these settings, for the caller to end."""
        cpus = self._pinning.choose(self.core_count(settings))
        self._pinning.keep_off(cpus)
        return Worker(
            framework,
            settings,
            python=self._python_of(framework, settings),
            cpus=cpus,
            profiles=self.profiles,
        )

    def core_count(self, settings: Settings) -> int:
        """Returns the number of cores of a worker with these settings."""
        return self._pinning.core_count(process_settings(settings), os.environ)

    @property
    def program_cpus(self) -> frozenset[int]:
        """The cores that programs may use."""
        return self._pinning.available

    def _python_of(self, framework: str, settings: Settings) -> str:
        found = interpreter_of(self.interpreters, framework, settings.python)
        return found.path if found else ""

    def environment(self, case: Case) -> Environment:
        if isinstance(case.target, ScriptTarget):
            return program_environment(self._python_of(case.target.framework, case.settings))
        return self.of(case.target.framework, case.settings).environment()

    def measure(self, case: Case, place: Place = ALONE) -> Record:
        """Returns the record of a case; `place` is that of this node among those of a program."""
        if not isinstance(case.target, ScriptTarget):
            ahead = self.ahead.pop(case.id, None)
            return self.of(case.target.framework, case.settings).measure(case, ahead)
        # An idle worker's memory is the program's.
        self.close()
        # Beside the dumps of callgrind.
        streams = None if self.profiles is None else streams_of(self.profiles)
        python = self._python_of(case.target.framework, case.settings)
        return self.programs.measure(case, streams, python, self.program_cpus, place)


def count_fitting(cores: int) -> int:
    """Returns how many of as many workers as there are cores fit in the processor and memory."""
    here = this_machine(())
    free = min(psutil.virtual_memory().available, free_memory(here))
    return min(cores, whole_cpus(here), int(free // WORKER_BYTES))


def lane_count(cases: Sequence[Case], pinning: Pinning) -> int:
    """Returns the number of workers that may measure the cases side by side: as many as there are
    cores and memory for, as Valgrind runs one thread of a process at a time. 1 if a figure depends
    on what else runs."""
    if not cases or any(needs_of(case.settings).quiet_machine for case in cases):
        return 1
    return max(1, min(count_fitting(len(pinning.available)), len(cases)))


class Lanes(AbstractContextManager["Lanes"]):
    """Measures cases in several threads, each with workers of its own, on cores of their own. At
    the end their processes are killed, and what is still measured is lost."""

    def __init__(self, workers: Workers, pinning: Pinning, number: int) -> None:
        self.lanes = number
        self._own = threading.local()
        self._stack = ExitStack()
        self._all: list[Workers] = []
        for cores in pinning.split(number):
            one = Workers(workers.interpreters, cores)
            one.profiles = workers.profiles
            self._all.append(self._stack.enter_context(one))
        self._free = [*self._all]

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def kill(self) -> None:
        for workers in self._all:
            workers.kill()

    def _workers(self) -> Workers:
        if not hasattr(self._own, "workers"):
            self._own.workers = self._free.pop()
        found: Workers = self._own.workers
        return found

    def environment(self, case: Case) -> Environment:
        return self._workers().environment(case)

    def measure(self, case: Case) -> Record:
        return self._workers().measure(case)


def build(workers: Workers, cases: Iterable[Case], say: Callable[[str], None]) -> None:
    """Compiles the code of cases that need it. `say` prints what takes time."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in filter(needs_build, cases):
        groups.setdefault((case.target.framework, case.settings.python), []).append(case)
    for (framework, _), own in groups.items():
        say(f"compiling what is not cached of {pluralize(len(own), 'case')} in C++")
        # Not in a process that runs under Valgrind.
        settings = msgspec.structs.replace(own[0].settings, profiler=DEFAULTS["profiler"])
        workers.of(framework, settings).build(own)


def scripts_of(cases: Iterable[Case], interpreters: Sequence[Interpreter]) -> dict[str, str]:
    """Returns the script of each case's call in its framework alone, by id; a comment says why one
    cannot be made. Raises what `Worker` raises, for a framework that is not installed."""
    scripts: dict[str, str] = {}
    with Workers(interpreters) as workers:
        for case in group_by_process(cases):
            worker = workers.of(case.target.framework, case.settings)
            (scripts[case.id],) = worker.scripts((case,))
    return scripts
