"""The manager's side of a worker process: start it, ask it, replace it when it dies."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from typing import TypeVar

import msgspec

from opperf import errors
from opperf.errors import OpperfError, WorkerError, one_line
from opperf.model import Case, Environment, Listing, Record, Settings, Status
from opperf.runner.launch import FALLBACK_PACKAGES
from opperf.runner.messages import (
    ErrorResponse,
    ListRequest,
    ListResponse,
    MeasureRequest,
    MeasureResponse,
    PlanRequest,
    PlanResponse,
    ReadyResponse,
    Request,
    ResolveRequest,
    ResolveResponse,
    Response,
    ScriptRequest,
    ScriptResponse,
    TryRequest,
    TryResponse,
)
from opperf.runner.process import child_variables, fallback_packages, module_command
from opperf.runner.trial import Trial
from opperf.sources.registry import Found, Plan, Resolution, resolve_selection
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes

START_TIMEOUT_S = 120.0
"""Time a framework may take to import: seconds as a rule, a minute from a cold network disk."""

PLAN_TIMEOUT_S = 120.0
"""Time a plan may take; the whole registry takes about a second."""

KILL_WAIT_S = 5.0
"""Time the kernel may take to end a killed process that is in the middle of a system call."""

START_ATTEMPTS = 3
"""How often a worker is started that a signal ends while it imports. Once may be bad luck, as
when the kernel needs memory; a framework that crashes on import does so every time."""

READ_BYTES = 1 << 16

OWN_DISTUTILS = {"SETUPTOOLS_USE_DISTUTILS": "stdlib"} if sys.version_info < (3, 12) else {}
"""Variables with which a framework that asks for distutils gets Python's own, where it has one:
setuptools puts itself in its place, and takes a fifth of a second to import."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Variables that set a framework's compute threads; read once, when it is imported."""

LOG_TAIL_BYTES = 2000
"""How much of what a worker printed is looked at for the reason of its end."""

Answer = TypeVar(
    "Answer",
    ReadyResponse,
    PlanResponse,
    ResolveResponse,
    ListResponse,
    ScriptResponse,
    MeasureResponse,
    TryResponse,
)


class WorkerDied(Exception):
    """The worker ended before it answered; `returncode` is as `subprocess` gives it."""

    def __init__(self, returncode: int, log: str) -> None:
        super().__init__(returncode)
        self.returncode, self.log = returncode, log


class WorkerTimeout(Exception):
    """The worker did not answer in time."""


class Worker(AbstractContextManager["Worker"]):
    """A worker process for one framework and the process settings of `settings`. Starts when
    first asked and again after an end.

    `python` is the interpreter that runs it, this process's unless another one is named, whose
    environment has the framework; opperf itself is brought along, and so is what it stands on
    (numpy, scipy, psutil, msgspec) where that is missing and the versions of Python are the same.
    `paced` has fixed work timed between the calls. Raises, from every question: `WorkerError` if
    the process cannot be started, and the `OpperfError` the worker itself raised.
    """

    def __init__(
        self,
        framework: str,
        settings: Settings | None = None,
        environment: Mapping[str, str] | None = None,
        python: str = "",
        paced: bool = False,
    ) -> None:
        self._paced = paced
        self._framework, self._python = framework, python or sys.executable
        self._variables = child_variables(os.environ if environment is None else environment)
        own = {FALLBACK_PACKAGES: fallback_packages()} if self.is_foreign else OWN_DISTUTILS
        self._variables = {**own, **self._variables}
        settings = settings or Settings()
        if settings.threads is not None:
            self._variables.update(dict.fromkeys(THREAD_VARIABLES, str(settings.threads)))
        self._variables.update(settings.env)
        self._settings = msgspec.json.encode(settings.process()).decode()
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._log = tempfile.TemporaryFile()
        self._environment: Environment | None = None
        self.launches = 0
        """Processes that were begun so far."""

    def __exit__(self, *error: object) -> None:
        self.end()
        self._log.close()

    @property
    def is_foreign(self) -> bool:
        """Whether another interpreter than this process's runs it, with other packages."""
        return self._python != sys.executable

    @property
    def log(self) -> str:
        """The last of what the worker and its framework printed."""
        # Read without moving the file's position, which is the worker's as well.
        file = self._log.fileno()
        begin = max(0, os.fstat(file).st_size - LOG_TAIL_BYTES)
        return os.pread(file, LOG_TAIL_BYTES, begin).decode(errors="replace")

    def environment(self) -> Environment:
        """The environment of the worker's process."""
        self._start()
        assert self._environment is not None
        return self._environment

    def resolve(self, axes: Axes) -> Resolution:
        """The axes with the framework's own device and profiler where none is named, and every
        device under its canonical name."""
        return self._ask_or_fail(
            ResolveRequest(axes=axes), ResolveResponse, PLAN_TIMEOUT_S
        ).resolution

    def resolve_selection(self, selection: Selection) -> Selection:
        """The selection with the framework's own device and profiler where none is named."""
        return resolve_selection(selection, self.resolve)

    def plan(self, selection: Selection, found: Found | None = None) -> Plan:
        """The cases of a selection; `found` is what a search has come upon."""
        request = PlanRequest(selection=selection, found=found or {})
        return self._ask_or_fail(request, PlanResponse, PLAN_TIMEOUT_S).plan

    def listing(self) -> Listing:
        """The framework's registry."""
        return self._ask_or_fail(ListRequest(), ListResponse, PLAN_TIMEOUT_S).listing

    def scripts(self, cases: tuple[Case, ...]) -> tuple[str, ...]:
        """A script for each case, in the framework's own terms."""
        return self._ask_or_fail(ScriptRequest(cases=cases), ScriptResponse, PLAN_TIMEOUT_S).scripts

    def measure(self, case: Case) -> Record:
        """The record of a case; a crash or a hang of the worker is the record's status."""
        begun = time.monotonic()
        try:
            self._start()
            request = MeasureRequest(case=case, paced=self._paced)
            return self._ask(request, MeasureResponse, case.settings.timeout_s).record
        except WorkerDied as died:
            status, reason = Status.CRASHED, describe_end(died)
        except WorkerTimeout:
            self.end()
            status = Status.TIMEOUT
            reason = (
                f"no end after {case.settings.timeout_s:g} s; "
                "allow more with --timeout or choose a smaller --size"
            )
        return Record(
            case=case, id=case.id, status=status, reason=reason, wall_s=time.monotonic() - begun
        )

    def try_call(self, case: Case, timeout_s: float) -> Trial:
        """What came of one call of a case; the end of the worker, or no end in time, too."""
        try:
            self._start()
            return self._ask(TryRequest(case=case), TryResponse, timeout_s).trial
        except WorkerDied as died:
            return Trial(refusal=describe_end(died), ended=True)
        except WorkerTimeout:
            self.end()
            return Trial(refusal=f"no end after {timeout_s:g} s", ended=True)

    def end(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is None:
            return
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            # It ends, but a hundred gigabytes, or a disk that hangs, may take longer than that.
            self._process.wait(timeout=KILL_WAIT_S)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process = None

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        for attempts_left in reversed(range(START_ATTEMPTS)):
            # One that ended after it had answered has cost no case.
            self.end()
            self._launch()
            try:
                self._environment = self._answer(ReadyResponse, START_TIMEOUT_S).environment
                return
            except WorkerDied as died:
                if died.returncode < 0 and attempts_left:
                    continue
                raise WorkerError(
                    f"the worker ended while importing {self._framework}: {describe_end(died)}"
                ) from died
            except WorkerTimeout as silent:
                self.end()
                raise WorkerError(
                    f"importing {self._framework} took over {START_TIMEOUT_S:g} s"
                ) from silent
            except OpperfError:
                self.end()
                raise

    def _launch(self) -> None:
        self.launches += 1
        self._buffer = b""
        # The last words of one worker are not those of the next.
        self._log.seek(0)
        self._log.truncate()
        try:
            self._process = subprocess.Popen(
                module_command(
                    "opperf.runner.worker", self._framework, self._settings, python=self._python
                ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=self._variables,
                bufsize=0,
                # Ctrl-C on the terminal reaches the manager alone.
                start_new_session=True,
            )
        except OSError as error:
            raise WorkerError(f"cannot start a worker process: {error}") from error

    def _ask_or_fail(self, request: Request, kind: type[Answer], timeout_s: float) -> Answer:
        """As `_ask`, for questions whose loss ends the run."""
        self._start()
        try:
            return self._ask(request, kind, timeout_s)
        except WorkerDied as died:
            raise WorkerError(f"the worker ended while planning: {describe_end(died)}") from died
        except WorkerTimeout as silent:
            self.end()
            raise WorkerError(f"planning took over {timeout_s:g} s") from silent

    def _ask(self, request: Request, kind: type[Answer], timeout_s: float) -> Answer:
        process = self._process
        assert process is not None and process.stdin is not None
        try:
            process.stdin.write(msgspec.json.encode(request) + b"\n")
        except BrokenPipeError:
            raise self._died() from None
        return self._answer(kind, timeout_s)

    def _answer(self, kind: type[Answer], timeout_s: float) -> Answer:
        line = self._line(timeout_s)
        try:
            response = msgspec.json.decode(line, type=Response)
        except msgspec.DecodeError as error:
            self.end()
            said = one_line(line.decode(errors="replace"), 80)
            raise WorkerError(
                f"{self._python} does not run opperf's worker: it printed {said!r}; "
                "name a Python interpreter"
            ) from error
        if isinstance(response, ErrorResponse):
            raised = getattr(errors, response.error, OpperfError)(response.message)
            raised.add_note(response.trace) if hasattr(raised, "add_note") else None
            raise raised
        assert isinstance(response, kind), response
        return response

    def _line(self, timeout_s: float) -> bytes:
        """The next line of the worker's answer."""
        process = self._process
        assert process is not None and process.stdout is not None
        deadline = time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise WorkerTimeout
                chunk = os.read(process.stdout.fileno(), READ_BYTES)
                if not chunk:
                    raise self._died()
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _died(self) -> WorkerDied:
        assert self._process is not None
        try:
            returncode = self._process.wait(timeout=KILL_WAIT_S)
        except subprocess.TimeoutExpired:
            returncode = -signal.SIGKILL
        log = self.log
        self.end()
        return WorkerDied(returncode, log)


FATAL = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
"""Signals that tell of a fault in a program, and that a framework may handle: MXNet 1 prints
"Segmentation fault: 11" and exits with 255."""


def handled_signal(log: str) -> signal.Signals | None:
    """The signal after which a framework's own handler ended the process, by what it printed."""
    lines = set(log.splitlines())
    return next((s for s in FATAL if f"{signal.strsignal(s)}: {s.value}" in lines), None)


def describe_end(died: WorkerDied) -> str:
    """Why a worker ended, in words: the signal or the exit code, and its last words."""
    code, handled = died.returncode, handled_signal(died.log)
    if code < 0:
        name = signal.Signals(-code).name
        reason = f"the process was ended by {name}"
        if -code == signal.SIGKILL:
            reason += " (out of memory, most likely; choose a smaller --size)"
    elif handled:
        reason = f"the process was ended by {handled.name}, with exit code {code}"
    else:
        reason = f"the process ended with exit code {code}"
    last = one_line((died.log.strip().splitlines() or [""])[-1], 160)
    return f"{reason}; last words: {last}" if last else reason
