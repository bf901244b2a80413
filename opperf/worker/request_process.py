"""The process of a worker as its manager sees it: started, given one request at a time, replaced
when it dies."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import msgspec

from opperf.errors import OpperfError, WorkerError, one_line
from opperf.frameworks.user_modules import OWN_MODULES
from opperf.machine.kernel import memory_advice, memory_kills
from opperf.machine.pinning import NOT_PINNED, Cpus, move_process
from opperf.model import Environment, Record
from opperf.processes.channel import Answer, ChannelClosed, ChannelTimeout, Request, decoder_of
from opperf.processes.children import KILL_WAIT_S, Child, Log
from opperf.worker.program import WorkerDied, WorkerProgram
from opperf.worker.protocol import Importing, Kept, Response

START_TIMEOUT_S = 120.0
"""Limit on the import of a framework: it takes seconds, or a minute from a cold network disk."""

START_ATTEMPTS = 3
"""Attempts to start a worker that a signal ends during the import. One such end may be bad luck, as
when the kernel needs memory; a framework that crashes on import does so every time."""

Use = Literal["fresh", "used", "forked"]
"""Which process has run operators: none, the process itself, or a fork of it."""

R = TypeVar("R")


class WorkerTimeout(Exception):
    """The worker did not respond in time, and was ended. `importing` is the user's module that it
    was importing, by name or file; empty if it was not."""

    def __init__(self, timeout_s: float, importing: str = "") -> None:
        super().__init__(timeout_s, importing)
        self.timeout_s, self.importing = timeout_s, importing

    def __str__(self) -> str:
        during = f" by the import of {self.importing}" if self.importing else ""
        return f"not finished{during} after {self.timeout_s:g} s"

    def of(self, work: str) -> str:
        """Returns in words what took too long: the import, or else this work."""
        what = f"importing {self.importing}" if self.importing else work
        return f"{what} took over {self.timeout_s:g} s"


class RequestProcess:
    """A process of a worker's program, which answers requests. It starts at the first one, and
    again after its end. `framework` is what it imports first; `cpus` are its cores."""

    def __init__(self, program: WorkerProgram, framework: str, cpus: Cpus = NOT_PINNED) -> None:
        self._program, self._framework, self.cpus = program, framework, cpus
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
            except WorkerDied as died:
                if died.returncode < 0 and attempts_left:
                    continue
                name = self._framework
                raise WorkerError(
                    f"{died.of(f'importing {name}')}; check that "
                    f"{self._program.python} is a Python interpreter with {name}"
                ) from died
            except WorkerTimeout as silent:
                raise WorkerError(silent.of(f"importing {self._framework}")) from silent
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
        """Raises `WorkerError` if the worker was killed, and ends a process that began since."""
        if self._killed:
            self.end()
            raise WorkerError("the worker was killed")

    def _ask(
        self, request: Request[R], timeout_s: float, import_timeout_s: float | None = None
    ) -> R:
        """Returns the answer to a request. Each import of a user's module has a limit of its own,
        that of the rest by default."""
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
        """Returns the answer. An import has as much time as what is before and after, as has what
        follows a record that is kept."""
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
