"""The processes of a program on a node: they run side by side until they have made the observations
that are wanted, and one that fails ends all of them."""

from __future__ import annotations

import json
import math
import os
import selectors
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

import opperf
from opperf.formats.milabench.streams import PHASES
from opperf.machine.gpus import gpu_facts
from opperf.model import Case, ScriptTarget, Status
from opperf.plurals import pluralize
from opperf.processes.children import Mark
from opperf.programs.launching import HookOptions, Part, ProcessPlan, ServerPlan, read_versions
from opperf.programs.process import ProgramProcess, Server
from opperf.programs.samples import Sampler
from opperf.programs.streams import LineReader, new_path

STOP_GRACE_S = 3.0
"""Time that a stopped program has for its own end: one that waits for another process, or ignores
exceptions, is killed."""

SILENT_S = 10.0
"""Least time for which a process without observations is awaited once others have made theirs, if
nothing says that it makes any: of several ranks, often only the first one does."""

SERVER_END_S = 1.0
"""Time in which a server is seen to have ended after a client failed of it: it closes its
connections first."""

POLL_S = 0.05
"""Seconds between two looks at whether a process has ended, where the kernel does not say so."""


class Progress(Enum):
    """How far the part of a program is that runs on one node."""

    BUSY = "busy"
    SILENT = "silent"
    """It has made no observation, and nothing says that it makes any."""
    READY = "ready"
    """All observations that are wanted are made."""


VOIR_WARMUP = 20
"""Observations that voir makes beyond those that are wanted: twice the shortest warm-up. It stops
the program at a number that it is given before."""


class Group:
    """The processes of a program on this node. One that fails ends all of them."""

    def __init__(
        self,
        case: Case,
        parts: Sequence[Part],
        plans: Sequence[ProcessPlan],
        streams: Path | None,
        python: str,
        held: bool = False,
        server: ServerPlan | None = None,
    ) -> None:
        assert isinstance(case.target, ScriptTarget)
        self._case, self._target, self._python = case, case.target, python
        self._hooks = tuple(part[:3] for part in parts if part.pattern is None)
        patterns = [part.pattern for part in parts if part.pattern is not None]
        self._meta = {
            "hostname": socket.gethostname(),
            "opperf": opperf.__version__,
            "versions": read_versions(python or sys.executable),
            "gpus": list(gpu_facts()),
        }
        self._mark = Mark()
        self.processes = [
            ProgramProcess(
                plan,
                self._target,
                case.settings,
                patterns,
                None if streams is None else new_path(streams, f"{case.id}.{plan.name}"),
            )
            for plan in plans
        ]
        log = None if streams is None else streams / f"{case.id}.server.log"
        self._server = None if server is None else Server(server, log, self._mark)
        # After the streams, which may not be writable.
        self._stack = ExitStack()
        self._selector = self._stack.enter_context(selectors.DefaultSelector())
        self.culprit: ProgramProcess | None = None
        """The first process that failed."""
        self.sampler: Sampler | None = None
        self._stop_at: float | None = None
        self._done_at: float | None = None
        self._begun = time.monotonic()
        self._longest_wait_s = POLL_S if held else math.inf
        """Shorter where the kernel does not say that a process has ended, or others stop it."""
        self._held, self._is_ready = held, False

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._unfinished:
            if process.is_started:
                process.end(Status.FAILED, "was interrupted")
                process.close()
            else:
                process.abandon("was interrupted")
        if self._server is not None:
            self._server.close()
        self._stack.close()
        self._mark.kill()

    @property
    def _unfinished(self) -> list[ProgramProcess]:
        return [process for process in self.processes if process.status is None]

    @property
    def progress(self) -> Progress:
        """How far it is."""
        if self._is_ready:
            return Progress.READY
        silent = not any(process.observations.rates for process in self.processes)
        return Progress.SILENT if silent and not self._hooks else Progress.BUSY

    def expect_end(self) -> None:
        """Lets all processes end in whatever way, from any thread."""
        for process in self._unfinished:
            process.is_stopped = True

    def release(self) -> None:
        """Stops all processes soon, from any thread."""
        self._held, self._is_ready = False, True

    def end(self, reason: str) -> None:
        """Kills all processes for a reason, from any thread."""
        for process in self._unfinished:
            process.end(Status.FAILED, reason)

    def kill(self) -> None:
        """Kills all processes, from any thread."""
        self.end("was killed")

    def run(self) -> None:
        """Runs the program to its end, or until it is stopped."""
        if self._server is not None and not self._await_server(self._server):
            return
        options = HookOptions(self._hooks, self._voir_options())
        for process in self.processes:
            if process.ending is None:
                config = self._config(process.plan)
                process.start(self._python, options, self._mark, config, self._meta)
            else:
                process.abandon(process.ending[1])
            if process.status is not None:
                self._fail(process)
                break
            if process.ending is not None:
                # By another thread, while it was being started.
                process.kill()
            self._listen(process)
        started = [process for process in self.processes if process.is_started]
        gpus = tuple(dict.fromkeys(gpu for process in started for gpu in process.plan.gpus))
        served = [] if self._server is None or self._server.id is None else [self._server.id]
        self.sampler = Sampler([*(process.id for process in started), *served], gpus)
        deadline = self._begun + self._case.settings.timeout_s
        next_sample = self._begun + self._target.interval_s
        while self._unfinished:
            now = time.monotonic()
            if now >= deadline:
                self._time_out()
                deadline = now + STOP_GRACE_S
            if self._stop_at is not None and now >= self._stop_at:
                self._stop_at = now + STOP_GRACE_S
                for process in self._unfinished:
                    process.kill()
            if now >= next_sample:
                self._sample()
                next_sample = now + self._target.interval_s
            self._stop_if_complete(now)
            times = (deadline, next_sample, self._stop_at, self._silent_until())
            wait_s = min(each for each in times if each is not None) - now
            self._handle(max(0.0, min(wait_s, self._longest_wait_s)))

    def _await_server(self, server: Server) -> bool:
        """If it is not ready, no process is started."""
        deadline = self._begun + self._case.settings.timeout_s
        problem = server.start()
        while problem or not server.is_ready():
            status, reason = Status.FAILED, problem or server.why_ended()
            if time.monotonic() >= deadline:
                seconds = self._case.settings.timeout_s
                text = f"the server is not ready after {seconds:g} s"
                status, reason = Status.TIMEOUT, server.with_output(text)
            for process in self.processes:
                if process.ending is not None:
                    # By another thread.
                    status, reason = process.ending
            if reason:
                for process in self.processes:
                    process.abandon(reason, status)
                self.culprit = self.processes[0]
                return False
            time.sleep(POLL_S)
        return True

    def _listen(self, process: ProgramProcess) -> None:
        for pipe, reader in process.readers.items():
            key = (process, pipe, reader)
            self._selector.register(reader.descriptor, selectors.EVENT_READ, key)
        try:
            ended = os.pidfd_open(process.id)
        except (AttributeError, OSError):
            self._longest_wait_s = POLL_S
            return
        self._stack.callback(os.close, ended)
        self._selector.register(ended, selectors.EVENT_READ, (process, "end", None))

    def _handle(self, wait_s: float) -> None:
        for key, _ in self._selector.select(wait_s):
            process, pipe, reader = key.data
            if reader is not None:
                self._read(process, pipe, reader)
        # Before its clients, which end of its end.
        lost = "" if self._server is None else self._server.why_ended()
        for process in self._unfinished:
            code = process.ended_with()
            # What opperf ended has its reason.
            if code and self._server is not None and not (lost or process.is_explained):
                lost = self._server.why_ended(SERVER_END_S)
            if lost:
                process.end(Status.FAILED, lost)
            if code is not None:
                self._end(process)

    def _read(self, process: ProgramProcess, pipe: str, reader: LineReader) -> None:
        descriptor, phase = reader.descriptor, process.phase
        lines, at = reader.read(), time.monotonic()
        if not reader.is_open:
            self._selector.unregister(descriptor)
        for line in lines or ():
            process.take(pipe, line, at)
        if process.phase == PHASES[-1] != phase:
            # The last moment at which its processes are there.
            self._sample()

    def _end(self, process: ProgramProcess) -> None:
        for key in list(self._selector.get_map().values()):
            if key.data[0] is process:
                self._selector.unregister(key.fileobj)
        process.close()
        if process.status is not Status.OK:
            self._fail(process)

    def _fail(self, process: ProgramProcess) -> None:
        """Ends all other processes: they would wait for this one."""
        if self.culprit is not None:
            return
        self.culprit = process
        for other in self._unfinished:
            if other.is_started:
                other.end(Status.FAILED, f"ended, as process {process.plan.name} failed")
            else:
                other.abandon(f"not started, as process {process.plan.name} failed")

    def _time_out(self) -> None:
        seconds = self._case.settings.timeout_s
        for process in self._unfinished:
            count = len(process.observations.rates)
            advice = process.messages[:1] or ["raise max_duration or lower voir.options.stop"]
            reason = (
                f"not finished after {seconds:g} s, with {pluralize(count, 'observation')}; "
                f"{advice[0]}"
            )
            process.end(Status.TIMEOUT, reason)

    def _sample(self) -> None:
        assert self.sampler is not None
        machine = self.sampler.read()
        for process in self._unfinished:
            process.sampled(
                *machine,
                self.sampler.process_data(process.id),
                self.sampler.gpu_data(process.plan.gpus),
            )

    def _stop_if_complete(self, now: float) -> None:
        if self._stop_at is not None:
            return
        unfinished = self._unfinished
        if not self._is_ready and any(process.observations.is_complete for process in unfinished):
            self._done_at = self._done_at or now
            until = self._silent_until()
            is_past = until is not None and now >= until
            self._is_ready = all(
                process.observations.is_complete or (is_past and not process.observations.rates)
                for process in unfinished
            )
        if self._is_ready and not self._held:
            self._stop(now)

    def _stop(self, now: float) -> None:
        self._sample()
        self._stop_at = now + STOP_GRACE_S
        for process in self._unfinished:
            process.stop()

    def _silent_until(self) -> float | None:
        """Returns the time until which processes without observations are awaited; None if there
        is no such time: each process that has hooks makes observations."""
        if self._hooks or self._done_at is None or self._stop_at is not None:
            return None
        return self._done_at + max(SILENT_S, self._done_at - self._begun)

    def _voir_options(self) -> str:
        """The path of a file with them; empty if voir is not used."""
        target = self._target
        if not target.voirfile:
            return ""
        options = {
            "stop": target.skip + VOIR_WARMUP + target.stop,
            "interval": f"{target.interval_s:g}s",
            "skip": 0,
        }
        folder = self._stack.enter_context(tempfile.TemporaryDirectory())
        path = Path(folder, "voir.json")
        path.write_text(json.dumps({"options": options}))
        return str(path)

    def _config(self, plan: ProcessPlan) -> dict[str, Any]:
        target = self._target
        content: dict[str, Any] = msgspec.to_builtins(target)
        return {
            **content,
            "case": self._case.id,
            "tag": [target.name, plan.name],
            "plan": {"method": target.method, "n": target.processes},
            "rank": plan.rank,
            "devices": list(plan.gpus),
            "max_duration": self._case.settings.timeout_s,
        }
