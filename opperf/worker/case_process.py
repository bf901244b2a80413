"""The process of a worker as its manager sees it: started, asked for plans and records of cases,
replaced when it dies."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from opperf.errors import OpperfError, WorkerError, one_line
from opperf.frameworks.user_code import target_at
from opperf.frameworks.user_modules import OWN_MODULES
from opperf.instruments.visit import CompiledAhead, FewCalls, KeptResults
from opperf.machine.kernel import memory_advice, memory_kills
from opperf.machine.pinning import NOT_PINNED, Cpus, move_process
from opperf.metrics import needs_of
from opperf.model import Case, Environment, FileTarget, Record, Settings, Verification
from opperf.processes.channel import Answer, ChannelClosed, ChannelTimeout, Request, decoder_of
from opperf.processes.children import KILL_WAIT_S, Child, Log
from opperf.sources.completing import Completed
from opperf.sources.registry import Found, Plan
from opperf.sources.selecting import Selection
from opperf.worker import protocol
from opperf.worker.program import WorkerDied, WorkerEnded, WorkerProgram, WorkerTimeout
from opperf.worker.protocol import Importing, Kept, Response

START_TIMEOUT_S = 120.0
"""Limit on the import of a framework: it takes seconds, or a minute from a cold network disk."""

START_ATTEMPTS = 3
"""Attempts to start a worker that a signal ends during the import. One such end may be bad luck, as
when the kernel needs memory; a framework that crashes on import does so every time."""

PLAN_TIMEOUT_S = 600.0
"""Limit on planning: a whole registry takes a second, JAX's primitives, whose callers are traced,
half a minute, and both several times that beside other work."""

Use = Literal["fresh", "used", "forked"]
"""Which process has run operators: none, the process itself, or a fork of it."""

R = TypeVar("R")


class CaseProcess:
    """A worker process for one framework and process settings, which starts at the first request,
    and again after its end. `python` is its interpreter, whose environment needs the framework
    only; `reference_work` is timed between the calls; with `own_modules`, or an interpreter or path
    of its own, it imports nothing from the working directory; `profiles` keeps what an instrument's
    program wrote of each case. Requests raise `WorkerError` if it cannot be started, and what the
    worker raised."""

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
        self._program = WorkerProgram(
            framework, settings, environment, python, cpus, options, own_modules=own_modules
        )
        self._framework, self.cpus = framework, cpus
        self._rehearsed = False
        self._not_imported: dict[str, str] = {}
        """Users' modules whose import has not ended in time, by name or file, with the reason."""
        self._profiles = profiles
        self._process: Child | None = None
        self._importing = ""
        """The user's module that is imported now, by name or file."""
        self._kept: Record | None = None
        """Record of the case in flight, once it has all but its verification."""
        self._log = Log()
        self._environment: Environment | None = None
        self._use: Use = "fresh"
        self._is_starting = False
        """Whether the process has not answered yet: it still imports."""
        self._killed = False
        self._memory_kills = memory_kills()
        """Processes that the kernel had killed when the last request began."""
        self.launches = 0

    def __exit__(self, *error: object) -> None:
        self.end()
        self._log.close()
        self._program.close()

    @property
    def is_foreign(self) -> bool:
        return self._program.is_foreign

    @property
    def has_own_modules(self) -> bool:
        """Whether it imports nothing from the working directory."""
        return OWN_MODULES in self._program.variables

    @property
    def log(self) -> str:
        """The end of the output of the worker and its framework."""
        return self._log.tail

    def launch(self, cpus: frozenset[int], options: Sequence[str] = ()) -> None:
        """Begins to start the process, without waiting, on cores that it leaves when it has
        imported the framework, as many as its own; with further options of the program."""
        if not self._is_running():
            self._launch(cpus, options)

    def end(self) -> None:
        """Kills the process and its forks, if there is one."""
        # After an interrupt two threads may end it: the one that waits for it, and the main one.
        process, self._process = self._process, None
        self._is_starting = False
        if process is None:
            return
        process.end()
        self._program.process_ended()

    def kill(self) -> None:
        """Kills the process, from any thread, and lets no other one start."""
        self._killed = True
        process = self._process
        if process is not None:
            process.kill()

    def _is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _start(self) -> None:
        if self._is_running() and not self._is_starting:
            return
        for attempts_left in reversed(range(START_ATTEMPTS)):
            if not self._is_starting:
                # A process that ended after its last response has cost no case.
                self.end()
                self._launch()
            self._is_starting = False
            try:
                self._environment = self._answer(Environment, START_TIMEOUT_S, START_TIMEOUT_S)
                assert self._process is not None
                move_process(self._process.pid, self.cpus.pinned)
                return
            except WorkerEnded as ended:
                name = self._framework
                how = ended.of(f"importing {name}")
                if isinstance(ended, WorkerDied):
                    if ended.returncode < 0 and attempts_left:
                        continue
                    how += (
                        f"; check that {self._program.python} is a Python interpreter with {name}"
                    )
                raise WorkerError(how) from ended
            except OpperfError:
                self.end()
                raise

    def _launch(self, cpus: frozenset[int] = frozenset(), options: Sequence[str] = ()) -> None:
        self.launches += 1
        self._use = "fresh"
        self._importing = ""
        # The output of one worker is no reason for the end of the next.
        self._log.clear()
        self._check_not_killed()
        self._process = self._program.start(self._log, cpus=cpus, options=options)
        self._is_starting = True
        self._check_not_killed()

    def _check_not_killed(self) -> None:
        if self._killed:
            self.end()
            raise WorkerError("the worker was killed")

    def _ask(
        self, request: Request[R], timeout_s: float, import_timeout_s: float | None = None
    ) -> R:
        """Returns the answer. Each import of a user's module has a limit of its own, if any."""
        process = self._process
        assert process is not None
        self._memory_kills = memory_kills()
        try:
            process.channel.send(request)
        except ChannelClosed:
            raise self._died(process) from None
        self._importing = ""
        limit_s = timeout_s if import_timeout_s is None else import_timeout_s
        answer: R = self._answer(request.answer_type(), timeout_s, limit_s)
        return answer

    def _answer(self, kind: Any, timeout_s: float, import_timeout_s: float) -> Any:
        """Returns the answer. An import, and what follows a kept record, has as much time again."""
        while True:
            line = self._line(import_timeout_s if self._importing else timeout_s)
            try:
                response: Response = decoder_of(Response).decode(line)
                if isinstance(response, Importing):
                    self._importing = response.name
                elif isinstance(response, Kept):
                    self._kept = response.record
                elif isinstance(response, Answer):
                    if response.last:
                        self.end()
                    return decoder_of(kind).decode(response.result)
                else:
                    raise response.exception()
            except msgspec.DecodeError as error:
                self.end()
                printed = one_line(line.decode(errors="replace"), 80)
                raise WorkerError(
                    f"{self._program.python} does not run opperf's worker: it printed {printed!r}; "
                    "name a Python interpreter"
                ) from error

    def _line(self, timeout_s: float) -> bytes:
        process = self._process
        assert process is not None
        try:
            return process.channel.line(timeout_s)
        except ChannelClosed:
            raise self._died(process) from None
        except ChannelTimeout:
            self.end()
            raise WorkerTimeout(timeout_s, self._importing) from None

    def _died(self, process: Child) -> WorkerDied:
        try:
            returncode = process.wait(timeout=KILL_WAIT_S)
        except subprocess.TimeoutExpired:
            returncode = -signal.SIGKILL
        log = self.log
        self.end()
        return WorkerDied(returncode, log, memory_advice(-returncode, self._memory_kills))

    def environment(self) -> Environment:
        self._start()
        assert self._environment is not None
        return self._environment

    def begin_process(self, devices: Iterable[str], rehearsed: bool = False) -> bool:
        """Begins a fresh process, which has run no operator, for the next requests, and returns
        whether it is a fork, which the devices may not support. With `rehearsed` it only calls
        operators eagerly, on dense tensors that fit: what others need, PyTorch takes seconds to
        import."""
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
            with suppress(WorkerEnded):
                self._ask(protocol.EndRequest(), KILL_WAIT_S)
                self._use = "fresh"

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
        """Returns why the user's module of an operator was not imported; empty for any other."""
        target = target_at(self._framework, name, self.has_own_modules)
        if isinstance(target, FileTarget):
            return self._not_imported.get(str(Path(target.file).resolve()), "")
        module = target.path.partition(":")[0] if target is not None else ""
        return self._not_imported.get(module, "")

    def complete(self, cases: Sequence[Case], batch_factor: float = 1.0) -> tuple[Completed, ...]:
        request = protocol.CompleteRequest(cases=tuple(cases), batch_factor=batch_factor)
        return self._ask_or_fail(request, import_timeout_s=longest_s(cases))

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
        except WorkerEnded as ended:
            status = ended.status
            reason = ended.reason("raise --timeout or choose a smaller --size")
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

    def _start_used(self) -> None:
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
        self._start()
        try:
            return self._ask(request, timeout_s or PLAN_TIMEOUT_S, import_timeout_s)
        except WorkerEnded as ended:
            raise WorkerError(ended.of(work)) from ended


def longest_s(cases: Iterable[Case]) -> float | None:
    """Returns the longest time limit of some cases; None without any."""
    return max((case.settings.timeout_s for case in cases), default=None)
