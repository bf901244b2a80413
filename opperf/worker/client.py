"""The manager's side of a worker process: starts it, sends requests, replaces it when it dies."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

import msgspec

from opperf import errors
from opperf.errors import OpperfError, WorkerError, one_line
from opperf.machine.pinning import NOT_PINNED, Cpus
from opperf.metrics import needs_of
from opperf.model import Case, Environment, Listing, Record, Settings, Status, Verification
from opperf.sources.completing import Completed
from opperf.sources.registry import Found, Plan, Resolution, resolve_selection
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes
from opperf.suites.base import SuiteModel
from opperf.worker import protocol
from opperf.worker.program import WorkerDied, WorkerProgram, describe_end
from opperf.worker.protocol import Answer, Kept, Observed, Request, Response, Trial

START_TIMEOUT_S = 120.0
"""Limit on the import of a framework: it takes seconds, or a minute from a cold network disk."""

PLAN_TIMEOUT_S = 120.0
"""Limit on planning: the whole registry takes about a second."""

BUILD_TIMEOUT_S = 3600.0
"""Limit on compiling: two hundred snippets of C++ take two minutes on two cores, and each that does
not compile another one."""

KILL_WAIT_S = 5.0
"""Limit on the end of a killed process, which may be in the middle of a system call."""

START_ATTEMPTS = 3
"""Attempts to start a worker that a signal ends during the import. One such end may be bad luck, as
when the kernel needs memory; a framework that crashes on import does so every time."""

READ_BYTES = 1 << 16

LOG_TAIL_BYTES = 8000
"""Length of the end of a worker's output that is searched for the reason of its end: Valgrind
writes 1600 bytes after it, of a fork and of its parent each."""

Use = Literal["fresh", "used", "forked"]
"""Which process has run operators: none, the process itself, or a fork of it."""

R = TypeVar("R")


class WorkerTimeout(Exception):
    """The worker did not respond in time, and was ended."""


class Worker(AbstractContextManager["Worker"]):
    """A worker process for one framework and the process settings of `settings`. It starts at the
    first request, and again after its end.

    `python` is its interpreter, whose environment needs the framework only: opperf is imported from
    here, and so are its dependencies that are missing there, if both have the same version of
    Python. `reference_work` times reference work between the calls. With `measures_memory` the
    process begins with a fork. `profiles` is the folder that keeps what callgrind wrote of each
    case. Every request raises `WorkerError` if the process cannot be started, and the `OpperfError`
    that the worker raised.
    """

    def __init__(
        self,
        framework: str,
        settings: Settings | None = None,
        environment: Mapping[str, str] | None = None,
        python: str = "",
        reference_work: bool = False,
        cpus: Cpus = NOT_PINNED,
        measures_memory: bool = True,
        profiles: Path | None = None,
    ) -> None:
        self._reference_work, self._framework = reference_work, framework
        settings = settings or Settings()
        self._needs = needs_of(settings)
        options = [protocol.MEMORY] if measures_memory and self._needs.pristine_fork else []
        self._program = WorkerProgram(framework, settings, environment, python, cpus, options)
        self._profiles = profiles
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._kept: Record | None = None
        """Record of the case in flight, once it has all but its verification."""
        self._log = tempfile.TemporaryFile()
        self._environment: Environment | None = None
        self._use: Use = "fresh"
        self._killed = False
        self.launches = 0

    def __exit__(self, *error: object) -> None:
        self.end()
        self._log.close()
        self._program.close()

    @property
    def is_foreign(self) -> bool:
        return self._program.is_foreign

    @property
    def log(self) -> str:
        """The end of the output of the worker and its framework."""
        # Read without moving the file's position, which the worker shares.
        file = self._log.fileno()
        begin = max(0, os.fstat(file).st_size - LOG_TAIL_BYTES)
        return os.pread(file, LOG_TAIL_BYTES, begin).decode(errors="replace")

    def environment(self) -> Environment:
        self._start()
        assert self._environment is not None
        return self._environment

    def begin_process(self, devices: Iterable[str]) -> bool:
        """Begins a fresh process, which has run no operator, for the next requests, and returns
        whether it is a fork, which the devices may not support. A fork before it ends first."""
        self.end_process()
        request = protocol.ForkRequest(devices=tuple(devices))
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
        request = protocol.PlanRequest(selection=selection, found=found or {})
        return self._ask_or_fail(request)

    def listing(self, paths: tuple[str, ...] = ()) -> Listing:
        return self._ask_or_fail(protocol.ListRequest(paths))

    def choices(self) -> dict[str, tuple[str, ...]]:
        return self._ask_or_fail(protocol.ChoicesRequest())

    def models(self, suite: str, folder: str = "") -> tuple[SuiteModel, ...]:
        """Returns the models that a suite has for the framework."""
        return self._ask_or_fail(protocol.ModelsRequest(suite=suite, folder=folder))

    def check_models(self, cases: Sequence[Case]) -> None:
        """Builds the models of cases. Raises the error of the first that is none."""
        self._ask_or_fail(protocol.CheckModelsRequest(cases=tuple(cases)), work="building models")

    def complete(self, cases: Sequence[Case], batch_factor: float = 1.0) -> tuple[Completed, ...]:
        request = protocol.CompleteRequest(cases=tuple(cases), batch_factor=batch_factor)
        return self._ask_or_fail(request)

    def build(self, cases: Sequence[Case]) -> None:
        """Compiles the code of cases, for this and all later processes."""
        request = protocol.BuildRequest(cases=tuple(cases))
        self._ask_or_fail(request, BUILD_TIMEOUT_S, "compiling")

    def scripts(self, cases: tuple[Case, ...]) -> tuple[str, ...]:
        return self._ask_or_fail(protocol.ScriptRequest(cases=cases))

    def trace(self, cases: tuple[Case, ...], chrome: str, execution: str) -> dict[str, str]:
        """Writes traces of the cases to these files, and returns those that could not be called."""
        request = protocol.TraceRequest(cases=cases, chrome=chrome, execution=execution)
        timeout_s = sum(case.settings.timeout_s for case in cases)
        return self._ask_or_fail(request, timeout_s, "tracing")

    def measure(self, case: Case) -> Record:
        """Returns the record of a case; a crash or a hang of the worker is its status."""
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
                profiles="" if self._profiles is None else str(self._profiles.resolve()),
            )
            return self._ask(request, case.settings.timeout_s)
        except WorkerDied as died:
            status, reason = Status.CRASHED, describe_end(died)
        except WorkerTimeout:
            advice = "raise --timeout or choose a smaller --size"
            status = Status.TIMEOUT
            reason = f"not finished after {case.settings.timeout_s:g} s; {advice}"
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

    def try_call(self, case: Case, timeout_s: float) -> Trial:
        """Returns the result of one call of a case; a crash or a hang is a refusal. A crash of a
        process that has run other cases may be theirs: the call is tried again in a new process."""
        for has_run in (self._use == "used" and self._is_running(), False):
            try:
                self._start_used()
                return self._ask(protocol.TryRequest(case=case), timeout_s)
            except WorkerDied as died:
                trial = Trial(refusal=describe_end(died), ended=True)
                if not has_run:
                    break
            except WorkerTimeout:
                return Trial(refusal=f"not finished after {timeout_s:g} s", ended=True)
        return trial

    def observe(self, case: Case, folder: Path, draw: int = 0) -> Observed:
        """Returns the results of one untimed call of a case, whose elements are in files of an
        empty folder; a crash or a hang is a refusal. Random numbers are the same for the same
        `draw`."""
        try:
            self._start_used()
            request = protocol.ObserveRequest(case=case, folder=str(folder.resolve()), draw=draw)
            return self._ask(request, case.settings.timeout_s)
        except WorkerDied as died:
            return Observed(refusal=describe_end(died))
        except WorkerTimeout:
            return Observed(refusal=f"not finished after {case.settings.timeout_s:g} s")

    def end(self) -> None:
        """Kills the process and its forks, if there is one."""
        # After an interrupt two threads may end it: the one that waits for it, and the main one.
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            # Its session is its own, and its forks are in its process group.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            # It ends, but with a hundred gigabytes, or on a hanging disk, that may take longer.
            process.wait(timeout=KILL_WAIT_S)
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None and stdout is not None
        stdin.close()
        with stdout:
            _await_end(stdout)
        self._program.process_ended()

    def kill(self) -> None:
        """Kills the process, from any thread, and lets no other one start."""
        self._killed = True
        process = self._process
        if process is not None and process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _start_used(self) -> None:
        """Starts a process that runs operators itself, unless a fork of it does."""
        self._start()
        if self._use == "fresh":
            self._use = "used"

    def _start(self) -> None:
        if self._is_running():
            return
        for attempts_left in reversed(range(START_ATTEMPTS)):
            # A process that ended after its last response has cost no case.
            self.end()
            self._launch()
            try:
                self._environment = self._answer(Environment, START_TIMEOUT_S)
                return
            except WorkerDied as died:
                if died.returncode < 0 and attempts_left:
                    continue
                name = self._framework
                raise WorkerError(
                    f"the worker ended while importing {name}: {describe_end(died)}; check that "
                    f"{self._program.python} is a Python interpreter with {name}"
                ) from died
            except WorkerTimeout as silent:
                took = f"importing {self._framework} took over {START_TIMEOUT_S:g} s"
                raise WorkerError(took) from silent
            except OpperfError:
                self.end()
                raise

    def _launch(self) -> None:
        self.launches += 1
        self._use = "fresh"
        self._buffer = b""
        # The output of one worker is no reason for the end of the next.
        self._log.seek(0)
        self._log.truncate()
        self._check_not_killed()
        self._process = self._program.start(self._log)
        self._check_not_killed()

    def _check_not_killed(self) -> None:
        """Raises `WorkerError` if the worker was killed, and ends a process that began since."""
        if self._killed:
            self.end()
            raise WorkerError("the worker was killed")

    def _ask_or_fail(
        self, request: Request[R], timeout_s: float | None = None, work: str = "planning"
    ) -> R:
        """Returns the answer to a request whose failure ends the run."""
        timeout_s = PLAN_TIMEOUT_S if timeout_s is None else timeout_s
        self._start()
        try:
            return self._ask(request, timeout_s)
        except WorkerDied as died:
            raise WorkerError(f"the worker ended while {work}: {describe_end(died)}") from died
        except WorkerTimeout as silent:
            raise WorkerError(f"{work} took over {timeout_s:g} s") from silent

    def _ask(self, request: Request[R], timeout_s: float) -> R:
        process = self._process
        assert process is not None and process.stdin is not None
        try:
            process.stdin.write(msgspec.json.encode(request) + b"\n")
        except BrokenPipeError:
            raise self._died(process) from None
        answer: R = self._answer(request.answer_type(), timeout_s)
        return answer

    def _answer(self, kind: Any, timeout_s: float) -> Any:
        line = self._line(timeout_s)
        try:
            response = msgspec.json.decode(line, type=Response)
            if isinstance(response, Answer):
                return msgspec.json.decode(response.result, type=kind)
            if isinstance(response, Kept):
                self._kept = response.record
                # What follows has as much time as what was before.
                return self._answer(kind, timeout_s)
        except msgspec.DecodeError as error:
            self.end()
            printed = one_line(line.decode(errors="replace"), 80)
            raise WorkerError(
                f"{self._program.python} does not run opperf's worker: it printed {printed!r}; "
                "name a Python interpreter"
            ) from error
        raised = getattr(errors, response.error, OpperfError)(response.message)
        raised.add_note(response.trace) if hasattr(raised, "add_note") else None
        raise raised

    def _line(self, timeout_s: float) -> bytes:
        process = self._process
        assert process is not None and process.stdout is not None
        deadline = time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    self.end()
                    raise WorkerTimeout
                chunk = os.read(process.stdout.fileno(), READ_BYTES)
                if not chunk:
                    raise self._died(process)
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _died(self, process: subprocess.Popen[bytes]) -> WorkerDied:
        try:
            returncode = process.wait(timeout=KILL_WAIT_S)
        except subprocess.TimeoutExpired:
            returncode = -signal.SIGKILL
        log = self.log
        self.end()
        return WorkerDied(returncode, log)


def _await_end(output: IO[bytes]) -> None:
    """Waits until no fork of an ended process has its output open: its memory is then free."""
    deadline = time.monotonic() + KILL_WAIT_S
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - time.monotonic())):
            if not os.read(output.fileno(), READ_BYTES):
                return
