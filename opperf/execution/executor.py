"""Executors: each runs the visits of a schedule, and knows nothing of what is measured. Another
package adds one through the entry-point group `opperf.executors`: a function of a `Task` that
returns a context with an `Executor`. `--executor NAME` chooses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from opperf.declared import NO_OPTIONS, Options, PackageOptions, declared, load_declared
from opperf.errors import LAST_OUTPUT, UsageError, unknown, with_last_output
from opperf.execution.fleet.nodes import FleetOptions
from opperf.execution.workers import Lanes, Workers, lane_count
from opperf.frameworks import Framework
from opperf.instruments.prepared import NOTHING_BOUND, Bound
from opperf.instruments.visit import Conditions
from opperf.machine.environment import environment
from opperf.machine.pinning import AUTO, Pinning
from opperf.model import Case, Environment, Interpreter, Record, ScriptTarget, Status
from opperf.worker.measure import measure
from opperf.worker.pristine import PristineMeter, configure_heap

GROUP = "opperf.executors"

LOCAL, ISOLATED = "local", "isolated"
"""Executors of this machine: one process for many cases, and one for each."""

RAY = "ray"
"""Executor of the nodes of a cluster."""

OWN = (LOCAL, ISOLATED)

BUILT_IN = (EntryPoint(RAY, "opperf.execution.fleet.executor:open_fleet", GROUP),)
"""Executors that are opened like those of other packages, and imported only then."""


class Executor(Protocol):
    """Measures cases. `measure` and `environment` are called by as many threads as `lanes` says."""

    @property
    def lanes(self) -> int:
        """Most cases that are measured at once."""
        ...

    def measure(self, case: Case) -> Record:
        """Returns the record of a case; a crash or a hang is its status."""
        ...

    def environment(self, case: Case) -> Environment:
        """Returns the environment of the process that measures the case."""
        ...

    def kill(self) -> None:
        """Ends what is being measured, from any thread, so that threads that wait for it go on."""
        ...


Arrive = Callable[[str, Environment], str]
"""Called with the node that measured a case, and the environment of the process; returns the id of
the environment, which is stored."""


@runtime_checkable
class ClusterExecutor(Executor, Protocol):
    """Chooses among nodes, so that the environment of a case is known once it is measured."""

    def measure_at(self, case: Case, arrive: Arrive) -> Record:
        """Returns the record of a case, with its node and the id of its environment."""
        ...


@dataclass(frozen=True)
class Task:
    """Work for which an executor is made."""

    cases: tuple[Case, ...]
    """Those that remain to be measured."""
    interpreters: tuple[Interpreter, ...] = ()
    profiles: Path | None = None
    """Folder that keeps what an instrument's program wrote of each case."""
    echo: Callable[[str], None] | None = None
    """Called with what a case's own process has written; None if nobody wants it."""
    cluster: FleetOptions = FleetOptions()
    cores: str = AUTO
    """Choice of the workers' cores, as `--cpus` has it."""
    measured: tuple[Record, ...] = ()
    """Records of an earlier run that is resumed."""
    say: Callable[[str], None] | None = None
    """Called with a sentence on where the cases are measured; None if nobody wants it."""
    added: PackageOptions = NO_OPTIONS
    """`options` has those of one package."""

    def options(self, kind: type[Options]) -> Options:
        """Returns the options that a package has declared by a `Group`."""
        return self.added.among(kind)


Open = Callable[[Task], AbstractContextManager[Executor]]


def check_executor(name: str) -> Open | None:
    """Returns what opens an executor of another package; None for one of this machine. Raises
    `UsageError` for an unknown name, and for one that cannot be loaded or called."""
    found = {entry.name: entry for entry in (*BUILT_IN, *declared(GROUP))}
    if name in OWN:
        return None
    if name not in found:
        raise unknown("executor", name, (*OWN, *found))
    opened: Open = load_declared(found[name])
    if not callable(opened):
        raise UsageError(
            f"the executor {found[name].value}, an entry point of the group {GROUP}, is not a "
            "function; fix its package, or remove it"
        )
    return opened


def open_executor(
    name: str, task: Task, workers: Workers, pinning: Pinning
) -> AbstractContextManager[Executor]:
    """Returns a context with the executor of a name. Those of this machine use `workers`, begun for
    planning. Raises `UsageError` as `check_executor` does."""
    opened = check_executor(name)
    if opened is not None:
        # What planned may not keep cores and memory from workers of this machine.
        workers.close()
        return opened(task)
    for case in task.cases:
        if case.settings.node:
            raise UsageError(
                f"{case.label} is for node {case.settings.node} of a cluster: add --executor ray"
            )
    workers.profiles = task.profiles
    if name == ISOLATED:
        # Nothing was planned in the processes that measure.
        workers.close()
        return nullcontext(Isolated(workers, task.echo))
    number = lane_count(task.cases, pinning)
    if number == 1:
        # What was begun, for planning, may measure too.
        return nullcontext(workers)
    workers.close()
    return Lanes(workers, pinning, number)


@dataclass(frozen=True)
class InProcess:
    """Measures in this process, with the objects that cases are bound to, by id."""

    frameworks: Mapping[str, Framework]
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    lanes: int = 1

    def measure(self, case: Case) -> Record:
        framework = self.frameworks[case.target.framework]
        if case.settings.threads is not None:
            # One to measure again with a single thread, after waits for a core.
            reason = "this process keeps its number of threads"
            return Record(case=case, id=case.id, status=Status.SKIPPED, reason=reason)
        bound = self.bounds.get(case.id, NOTHING_BOUND)
        # Its memory in a pristine process, if possible.
        return measure(case, framework, bound, Conditions(PristineMeter(bound)))

    def environment(self, case: Case) -> Environment:
        framework = self.frameworks[case.target.framework]
        return environment(framework, configure_heap(framework.name))

    def kill(self) -> None:
        """Does nothing: this process is the user's."""


class Isolated:
    """Measures each case in a new process of `workers`, which ends with it. The reason of what ends
    in another way than by its own record has the last lines that the process wrote, and `echo` is
    called with all of them."""

    lanes = 1

    def __init__(self, workers: Workers, echo: Callable[[str], None] | None = None) -> None:
        self._workers, self._echo = workers, echo

    def measure(self, case: Case) -> Record:
        if isinstance(case.target, ScriptTarget):
            # It has processes of its own, and a reason with their last lines.
            return self._workers.measure(case)
        worker = self._workers.of(case.target.framework, case.settings)
        try:
            record = worker.measure(case)
            log = worker.log
            if log.strip() and record.status in (Status.CRASHED, Status.TIMEOUT):
                # A crash's reason has the last line already.
                said, *_ = record.reason.partition(LAST_OUTPUT)
                reason = with_last_output(said, log.splitlines())
                record = msgspec.structs.replace(record, reason=reason)
            if self._echo is not None and log:
                self._echo(log)
        finally:
            self._workers.close()
        return record

    def environment(self, case: Case) -> Environment:
        return self._workers.environment(case)

    def kill(self) -> None:
        self._workers.kill()
