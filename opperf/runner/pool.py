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
from contextlib import ExitStack
from types import TracebackType
from typing import TypeVar

import msgspec

from opperf import errors
from opperf.errors import OpperfError, WorkerError, one_line
from opperf.model import Case, Environment, Listing, Record, Status
from opperf.runner.messages import (
    Explained,
    ExplainRequest,
    ListedAll,
    ListRequest,
    Measured,
    MeasureRequest,
    Planned,
    PlanRequest,
    Ready,
    Refused,
    Request,
    Resolved,
    ResolveRequest,
    Response,
)
from opperf.runner.plan import Plan
from opperf.runner.process import with_package
from opperf.runner.selecting import Selection

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

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Variables that set a framework's compute threads; read once, when it is imported."""

LOG_TAIL_BYTES = 2000
"""How much of what a worker printed is looked at for the reason of its end."""

Answer = TypeVar("Answer", Ready, Planned, Resolved, ListedAll, Explained, Measured)


class WorkerDied(Exception):
    """The worker ended before it answered; `returncode` is as `subprocess` gives it."""

    def __init__(self, returncode: int, log: str) -> None:
        super().__init__(returncode)
        self.returncode, self.log = returncode, log


class WorkerSilent(Exception):
    """The worker did not answer in time."""


class Worker:
    """A worker process for one framework. Starts when first asked and again after an end.

    Raises, from every question: `WorkerError` if the process cannot be started, and the
    `OpperfError` the worker itself raised.
    """

    def __init__(
        self,
        framework: str,
        threads: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._framework = framework
        self._variables = dict(os.environ if environment is None else environment)
        if threads is not None:
            self._variables.update(dict.fromkeys(THREADS, str(threads)))
        self._variables = with_package(self._variables)
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._resources = ExitStack()
        self._log = self._resources.enter_context(tempfile.TemporaryFile())
        self._environment: Environment | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()
        self._resources.close()

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

    def resolved(self, selection: Selection) -> Selection:
        """The selection with the framework's own device and profiler where none is named."""
        request = ResolveRequest(selection=selection)
        return self._ask_or_fail(request, Resolved, PLAN_TIMEOUT_S).selection

    def plan(self, selection: Selection) -> Plan:
        """The cases of a selection."""
        return self._ask_or_fail(PlanRequest(selection=selection), Planned, PLAN_TIMEOUT_S).plan

    def listing(self) -> Listing:
        """The framework's registry."""
        return self._ask_or_fail(ListRequest(), ListedAll, PLAN_TIMEOUT_S).listing

    def explained(self, selection: Selection) -> Explained:
        """The cases of a selection, each with a script in the framework's own terms."""
        return self._ask_or_fail(ExplainRequest(selection=selection), Explained, PLAN_TIMEOUT_S)

    def measure(self, case: Case) -> Record:
        """The record of a case; a crash or a hang of the worker is the record's status."""
        begun = time.monotonic()
        try:
            self._start()
            return self._ask(MeasureRequest(case=case), Measured, case.settings.timeout_s).record
        except WorkerDied as died:
            status, reason = Status.CRASHED, how_it_ended(died)
        except WorkerSilent:
            self.end()
            status = Status.TIMEOUT
            reason = (
                f"no end after {case.settings.timeout_s:g} s; "
                "allow more with --timeout or choose a smaller --size"
            )
        return Record(
            case=case, id=case.id, status=status, reason=reason, wall_s=time.monotonic() - begun
        )

    def end(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is None:
            return
        self._process.kill()
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
                self._environment = self._answer(Ready, START_TIMEOUT_S).environment
                return
            except WorkerDied as died:
                if died.returncode < 0 and attempts_left:
                    continue
                raise WorkerError(
                    f"the worker ended while importing {self._framework}: {how_it_ended(died)}"
                ) from died
            except WorkerSilent as silent:
                self.end()
                raise WorkerError(
                    f"importing {self._framework} took over {START_TIMEOUT_S:g} s"
                ) from silent
            except OpperfError:
                self.end()
                raise

    def _launch(self) -> None:
        self._buffer = b""
        # The last words of one worker are not those of the next.
        self._log.seek(0)
        self._log.truncate()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "opperf.runner.worker", self._framework],
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
            raise WorkerError(f"the worker ended while planning: {how_it_ended(died)}") from died
        except WorkerSilent as silent:
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
        response = msgspec.json.decode(self._line(timeout_s), type=Response)
        if isinstance(response, Refused):
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
                    raise WorkerSilent
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


def how_it_ended(died: WorkerDied) -> str:
    """Why a worker ended, in words: the signal or the exit code, and its last words."""
    code = died.returncode
    if code < 0:
        name = signal.Signals(-code).name
        reason = f"the process was ended by {name}"
        if -code == signal.SIGKILL:
            reason += " (out of memory, most likely; choose a smaller --size)"
    else:
        reason = f"the process ended with exit code {code}"
    last = one_line((died.log.strip().splitlines() or [""])[-1], 160)
    return f"{reason}; last words: {last}" if last else reason
