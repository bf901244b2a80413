"""The manager's side of a process that a program profiles: starts it with a batch of cases, waits
for its end, and reads which cases it has made the calls of."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from opperf.errors import one_line
from opperf.instruments.instrument import Launcher
from opperf.instruments.wrapped.program import ProcessFiles, WrappingProgram
from opperf.machine.kernel import memory_advice, memory_kills
from opperf.machine.pinning import Cpus
from opperf.model import Settings, Wrapper
from opperf.processes.children import Child, Log
from opperf.worker.case_process import START_TIMEOUT_S
from opperf.worker.program import FATAL, WorkerDied, WorkerProgram, describe_end
from opperf.worker.protocol import Batch, Begun, Line, Made

POLL_S = 0.05
"""Seconds between two looks at a process: short against its start, of a second or more."""

SHELL_SIGNAL = 128
"""Added to the number of a signal that ended a process in the exit code of what ran it."""

ENDING = (*FATAL, signal.SIGKILL)
"""Signals by which the calls of a case end their process."""

MODULE = "opperf.worker.profiled_calls"


@dataclass
class Ended:
    """How a process ended, and what it has done."""

    made: dict[str, Made] = field(default_factory=dict)
    """Its cases with their calls, by id."""
    ended_by: str = ""
    """Id of the case during whose calls the process ended; empty if it ended by itself."""
    reason: str = ""
    """Why it ended without some cases, in words; empty if it has made the calls of all."""


class WrappedProcess:
    """Processes of the cases of one framework and process settings, one at a time. `python` is
    their interpreter, `cpus` are their cores, and `variables` further environment variables."""

    def __init__(
        self,
        framework: str,
        settings: Settings,
        python: str,
        cpus: Cpus,
        variables: Mapping[str, str],
    ) -> None:
        self._framework, self._settings = framework, settings
        self._python, self._cpus, self._variables = python, cpus, variables
        self._process: Child | None = None
        self._killed = False

    def run(
        self,
        wrapper: Wrapper,
        program: WrappingProgram,
        batch: Batch,
        files: ProcessFiles,
        folder: Path,
    ) -> Ended:
        """Runs a batch under a program to its end. `folder` is for files that are needed until
        then. Raises `WorkerError` if the process cannot be started."""
        asked = folder / "batch.json"
        asked.write_bytes(msgspec.json.encode(batch))
        for path in files.control or ():
            path.unlink(missing_ok=True)
            os.mkfifo(path)
        lines = Path(batch.lines)
        lines.write_bytes(b"")
        launcher = Launcher(program.command(wrapper, files), self._variables)
        worker = WorkerProgram(
            self._framework,
            self._settings,
            None,
            self._python,
            self._cpus,
            [str(asked)],
            MODULE,
            launcher,
        )
        limits = {line.id: line.case.settings.timeout_s * program.slowdown for line in batch.cases}
        kills = memory_kills()
        with closing(Log(files.log)) as log:
            self._process = process = worker.start(log, answers=False)
            try:
                if self._killed:
                    process.kill()
                timed_out = self._wait(process, lines, limits)
            finally:
                self._process = None
                process.end()
            return _ended(lines, process.returncode, timed_out, batch, log, kills)

    def kill(self) -> None:
        """Kills the process, from any thread, and lets no other one go on."""
        self._killed = True
        process = self._process
        if process is not None:
            process.kill()

    def _wait(self, process: Child, lines: Path, limits: Mapping[str, float]) -> str:
        """Waits for the process's end. Returns why it was ended, if a case took too long."""
        size, begun = 0, time.monotonic()
        limit_s = START_TIMEOUT_S
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(POLL_S)
                return ""
            now = lines.stat().st_size
            if now != size:
                size, begun = now, time.monotonic()
                last = _read(lines)[-1:]
                limit_s = max((limits.get(line.id, 0.0) for line in last), default=START_TIMEOUT_S)
            if time.monotonic() - begun > limit_s:
                return f"not finished after {limit_s:g} s; raise --timeout"


def _read(lines: Path) -> list[Line]:
    decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
    return [decoder.decode(line) for line in lines.read_bytes().split(b"\n")[:-1]]


def _ended(
    lines: Path, code: int | None, timed_out: str, batch: Batch, log: Log, kills: int | None
) -> Ended:
    ended = Ended()
    for line in _read(lines):
        if isinstance(line, Begun):
            ended.ended_by = line.id
        else:
            ended.ended_by = ""
            ended.made[line.id] = line
    if timed_out:
        ended.reason = timed_out
    elif len(ended.made) < len(batch.cases) or (code and not batch.cases):
        end = code or 0
        if end - SHELL_SIGNAL in ENDING:
            end = SHELL_SIGNAL - end
        died = WorkerDied(end, log.tail, memory_advice(-end, kills))
        ended.reason = one_line(describe_end(died))
    return ended
