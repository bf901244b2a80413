"""The manager's side of a worker: its requests, and what a crash or a hang of it is for each."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from opperf.errors import WorkerError
from opperf.frameworks.user_code import target_at
from opperf.instruments.visit import CompiledAhead, FewCalls, KeptResults
from opperf.machine.pinning import NOT_PINNED, Cpus
from opperf.metrics import needs_of
from opperf.model import (
    Case,
    Environment,
    FileTarget,
    Listing,
    OperatorTarget,
    Record,
    Settings,
    Status,
    Verification,
)
from opperf.models.base import SuiteModel
from opperf.processes.channel import Request
from opperf.processes.children import KILL_WAIT_S
from opperf.sources.completing import Completed
from opperf.sources.registry import Found, Plan
from opperf.sources.resolving import Resolution, resolve_selection
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes
from opperf.worker import protocol
from opperf.worker.program import WorkerDied, WorkerProgram
from opperf.worker.protocol import Loaded, Observed, Trial
from opperf.worker.request_process import START_TIMEOUT_S, RequestProcess, WorkerTimeout

PLAN_TIMEOUT_S = 600.0
"""Limit on planning: a whole registry takes a second, JAX's primitives, whose callers are traced,
half a minute, and both several times that beside other work."""

BUILD_TIMEOUT_S = 3600.0
"""Limit on compiling: two hundred snippets of C++ take two minutes on two cores, and each that does
not compile another one."""

R = TypeVar("R")


class Worker(RequestProcess, AbstractContextManager["Worker"]):
    """A worker process for one framework and the process settings of `settings`. It starts at the
    first request, and again after its end.

    `python` is its interpreter, whose environment needs the framework only: opperf is imported from
    here, and so are its dependencies that are missing there, if both have the same version of
    Python. `reference_work` times reference work between the calls. With `own_modules`, or an
    interpreter or path of its own, it imports nothing from the working directory. `profiles` is the
    folder that keeps what an instrument's program wrote of each case. Every request raises
    `WorkerError` if the process cannot be started, and the `OpperfError` that the worker raised.
    """

    def __init__(
        self,
        framework: str,
        settings: Settings | None = None,
        environment: Mapping[str, str] | None = None,
        python: str = "",
        reference_work: bool = False,
        cpus: Cpus = NOT_PINNED,
        profiles: Path | None = None,
        own_modules: bool = False,
    ) -> None:
        self._reference_work = reference_work
        settings = settings or Settings()
        self._needs = needs_of(settings)
        options = [protocol.MEMORY] if self._needs.pristine_fork else []
        program = WorkerProgram(
            framework, settings, environment, python, cpus, options, own_modules=own_modules
        )
        super().__init__(program, framework, cpus)
        self._rehearsed = False
        self._not_imported: dict[str, str] = {}
        """Users' modules whose import has not ended in time, by name or file, with the reason."""
        self._profiles = profiles

    def environment(self) -> Environment:
        self._start()
        assert self._environment is not None
        return self._environment

    def begin_process(self, devices: Iterable[str], rehearsed: bool = False) -> bool:
        """Begins a fresh process, which has run no operator, for the next requests, and returns
        whether it is a fork, which the devices may not support. A fork before it ends first. With
        `rehearsed` it only calls operators eagerly, on dense tensors, in cases that fit in memory:
        what others need is not imported, which takes PyTorch longer than all else."""
        self.end_process()
        self._rehearsed = rehearsed
        request = protocol.ForkRequest(devices=tuple(devices), rehearsed=rehearsed)
        forked = self._ask_or_fail(request, START_TIMEOUT_S, "forking")
        if forked:
            self._use = "forked"
            self.launches += 1
        return forked

    def end_process(self) -> None:
        """Ends the process that has run operators: a fork, or else the worker's own."""
        if self._use == "used":
            self.end()
        elif self._use == "forked" and self._is_running():
            with suppress(WorkerDied, WorkerTimeout):
                self._ask(protocol.EndRequest(), KILL_WAIT_S)
                self._use = "fresh"

    def resolve(self, axes: Axes) -> Resolution:
        """Returns the axes with the framework's defaults, and canonical names of devices."""
        return self._ask_or_fail(protocol.ResolveRequest(axes=axes))

    def resolve_selection(self, selection: Selection) -> Selection:
        return resolve_selection(selection, self.resolve)

    def plan(self, selection: Selection, found: Found | None = None) -> Plan:
        """Returns the plan of a selection. What is in a module whose import does not end in the
        time of a case is excluded, with the reason; the rest is planned."""
        patterns = selection.patterns
        while True:
            excluded = {name: why for name in patterns if (why := self._why_not_imported(name))}
            left = tuple(name for name in patterns if name not in excluded)
            if patterns and not left:
                return Plan(cases=(), excluded=excluded)
            asked = msgspec.structs.replace(selection, patterns=left)
            request = protocol.PlanRequest(selection=asked, found=found or {})
            limit_s = selection.settings.timeout_s
            try:
                plan = self._ask_or_fail(request, import_timeout_s=limit_s)
            except WorkerError as error:
                silent = error.__cause__
                if not isinstance(silent, WorkerTimeout) or not silent.importing:
                    raise
                self._not_imported[silent.importing] = (
                    f"{error}; raise --timeout, or correct the file"
                )
                if not any(map(self._why_not_imported, left)):
                    raise
            else:
                return msgspec.structs.replace(plan, excluded={**plan.excluded, **excluded})

    def _why_not_imported(self, name: str) -> str:
        """Returns why the user's module that an operator's name leads to was not imported; empty
        for any other operator."""
        target = target_at(self._framework, name, self.has_own_modules)
        if isinstance(target, FileTarget):
            return self._not_imported.get(str(Path(target.file).resolve()), "")
        module = target.path.partition(":")[0] if target is not None else ""
        return self._not_imported.get(module, "")

    def listing(self, paths: tuple[str, ...] = ()) -> Listing:
        return self._ask_or_fail(protocol.ListRequest(paths))

    def choices(self) -> dict[str, tuple[str, ...]]:
        return self._ask_or_fail(protocol.ChoicesRequest())

    def models(self, suite: str, folder: str = "") -> tuple[SuiteModel, ...]:
        """Returns the models that a suite has for the framework."""
        return self._ask_or_fail(protocol.ModelsRequest(suite=suite, folder=folder))

    def check_models(self, cases: Sequence[Case]) -> None:
        """Builds the models of cases. Raises the error of the first that is none."""
        request = protocol.CheckModelsRequest(cases=tuple(cases))
        self._ask_or_fail(request, None, "building models", longest_s(cases))

    def complete(self, cases: Sequence[Case], batch_factor: float = 1.0) -> tuple[Completed, ...]:
        request = protocol.CompleteRequest(cases=tuple(cases), batch_factor=batch_factor)
        return self._ask_or_fail(request, import_timeout_s=longest_s(cases))

    def build(self, cases: Sequence[Case]) -> None:
        """Compiles the code of cases, for this and all later processes."""
        request = protocol.BuildRequest(cases=tuple(cases))
        self._ask_or_fail(request, BUILD_TIMEOUT_S, "compiling")

    def uncompiled(self, cases: Sequence[Case]) -> tuple[str, ...]:
        """Returns the ids of the cases that are compiled into a cache which does not have them."""
        return self._ask_or_fail(protocol.UncompiledRequest(cases=tuple(cases)), work="compiling")

    def compile(self, cases: Sequence[Case]) -> dict[str, CompiledAhead]:
        """Compiles cases into a cache, and returns what that took of those that could be."""
        timeout_s = sum(case.settings.timeout_s for case in cases)
        request = protocol.CompileRequest(cases=tuple(cases))
        return self._ask_or_fail(request, timeout_s, "compiling")

    def loaded(self, cases: Iterable[Case]) -> Loaded:
        """Returns the files that its process has loaded for cases that were planned in it."""
        targets = {case.target.key: case.target for case in cases}
        users = [own for own in targets.values() if not isinstance(own, OperatorTarget)]
        return self._ask_or_fail(protocol.LoadedRequest(tuple(users)))

    def scripts(self, cases: tuple[Case, ...]) -> tuple[str, ...]:
        return self._ask_or_fail(protocol.ScriptRequest(cases=cases))

    def trace(
        self, cases: tuple[Case, ...], chrome: str, execution: str, least_s: float = 0.0
    ) -> dict[str, str]:
        """Writes traces of the cases to these files, and returns those that could not be called.
        Each is called once, or for `least_s` seconds."""
        request = protocol.TraceRequest(cases, chrome, execution, least_s)
        timeout_s = sum(case.settings.timeout_s + least_s for case in cases)
        return self._ask_or_fail(request, timeout_s, "tracing")

    def measure(
        self,
        case: Case,
        ahead: CompiledAhead | None = None,
        results: KeptResults | None = None,
        finds_removed_work: bool = True,
        few: FewCalls | None = None,
    ) -> Record:
        """Returns the record of a case; a crash or a hang of the worker is its status. `ahead` is
        what compiling it took in another process; `results` says where those of timed calls are
        kept; `few` asks for fewer samples than a summary needs."""
        started = time.monotonic()
        self._kept = None
        try:
            self._start()
            if self._needs.fork_for_each_case and self._use != "used":
                # A framework that supports no fork goes on: it may take half a minute to start.
                self.begin_process([case.settings.device])
            self._start_used()
            request = protocol.MeasureRequest(
                case=case,
                reference_work=self._reference_work,
                rehearsed=self._rehearsed,
                profiles="" if self._profiles is None else str(self._profiles.resolve()),
                results=results,
                finds_removed_work=finds_removed_work,
                ahead=ahead,
                few=few,
            )
            return self._ask(request, case.settings.timeout_s)
        except WorkerDied as died:
            status, reason = Status.CRASHED, str(died)
        except WorkerTimeout as silent:
            advice = (
                "raise --timeout"
                if silent.importing
                else "raise --timeout or choose a smaller --size"
            )
            status = Status.TIMEOUT
            reason = f"{silent}; {advice}"
        wall_s = time.monotonic() - started
        verification = Verification.not_run(reason) if case.settings.verify else None
        if self._kept is not None:
            return msgspec.structs.replace(self._kept, verification=verification, wall_s=wall_s)
        return Record(
            case=case,
            id=case.id,
            status=status,
            reason=reason,
            wall_s=wall_s,
            verification=verification,
        )

    def alternate(
        self,
        cases: Sequence[Case],
        draw: str,
        results: Mapping[str, KeptResults],
        finds_removed_work: bool = True,
        few: FewCalls | None = None,
    ) -> tuple[Record, ...]:
        """Returns the records of cases whose calls alternate; a crash or a hang is the status of
        all. `draw` is the seed of the orders; the rest is that of `measure`, `results` by case."""
        started = time.monotonic()
        try:
            self._start_used()
            request = protocol.AlternateRequest(
                cases=tuple(cases),
                results=tuple(results.get(case.id) for case in cases),
                few=few,
                finds_removed_work=finds_removed_work,
                draw=draw,
            )
            return self._ask(request, sum(case.settings.timeout_s for case in cases))
        except WorkerDied as died:
            status, reason = Status.CRASHED, str(died)
        except WorkerTimeout as silent:
            status, reason = Status.TIMEOUT, f"{silent}; raise --timeout"
        wall_s = (time.monotonic() - started) / len(cases)
        return tuple(
            Record(case=case, id=case.id, status=status, reason=reason, wall_s=wall_s)
            for case in cases
        )

    def try_call(self, case: Case, timeout_s: float) -> Trial:
        """Returns the result of one call of a case; a crash or a hang is a refusal. A crash of a
        process that has run other cases may be theirs: the call is tried again in a new process."""
        for has_run in (self._use == "used" and self._is_running(), False):
            try:
                self._start_used()
                return self._ask(protocol.TryRequest(case=case), timeout_s)
            except (WorkerDied, WorkerTimeout) as ended:
                trial = Trial(refusal=str(ended), ended=True)
                if not has_run or isinstance(ended, WorkerTimeout):
                    break
        return trial

    def observe(self, case: Case, folder: Path, draw: int = 0, calls: int | None = 0) -> Observed:
        """Returns the results of untimed calls of a case, whose elements are in files of an empty
        folder; a crash or a hang is a refusal. Random numbers are the same for the same `draw`.
        `calls` are those after the first, as `ObserveRequest` has them."""
        try:
            self._start_used()
            request = protocol.ObserveRequest(
                case=case, folder=str(folder.resolve()), draw=draw, calls=calls
            )
            return self._ask(request, case.settings.timeout_s)
        except (WorkerDied, WorkerTimeout) as ended:
            return Observed(refusal=str(ended))

    def _start_used(self) -> None:
        """Starts a process that runs operators itself, unless a fork of it does."""
        self._start()
        if self._use == "fresh":
            self._use = "used"

    def _ask_or_fail(
        self,
        request: Request[R],
        timeout_s: float | None = None,
        work: str = "planning",
        import_timeout_s: float | None = None,
    ) -> R:
        """Returns the answer to a request whose failure ends the run."""
        timeout_s = PLAN_TIMEOUT_S if timeout_s is None else timeout_s
        self._start()
        try:
            return self._ask(request, timeout_s, import_timeout_s)
        except (WorkerDied, WorkerTimeout) as ended:
            raise WorkerError(ended.of(work)) from ended


def longest_s(cases: Iterable[Case]) -> float | None:
    """Returns the longest time limit of some cases; None without any."""
    return max((case.settings.timeout_s for case in cases), default=None)
