"""One process of a program: what it writes becomes events of its stream, and observations.

The server of a program: started before its processes, awaited until it answers, ended after
them.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opperf.decoding import read_json
from opperf.errors import LAST_LINES, LONGEST_LINE, one_line, with_last_output
from opperf.formats.milabench import streams as events
from opperf.instruments.observations import TRAIN, Observation, Observations, read_observation
from opperf.machine.kernel import memory_advice, memory_kills
from opperf.matching import BoundedPattern, SlowPatternError
from opperf.model import ScriptTarget, Settings, Status
from opperf.processes.children import Child, Log, Mark
from opperf.programs.launching import HookOptions, ProcessPlan, ServerPlan, start_process
from opperf.programs.streams import LONGEST_DATA, LineReader, StreamWriter
from opperf.terminating import ending_with_parent, interrupts_held

FORMAT_ERROR, BINARY = "format_error", "binary"
"""Events of what cannot be read: data that is no JSON, and output that is no text."""

SIGNALS = {each.value: each.name for each in signal.Signals}

NUMBER = re.compile(r"[^0-9eE.+-]")
"""Characters in a printed number that are none of it, such as the commas between thousands."""


class ProgramProcess:
    """A process of a program, from its start to its end."""

    def __init__(
        self,
        plan: ProcessPlan,
        target: ScriptTarget,
        settings: Settings,
        patterns: Sequence[BoundedPattern],
        stream: Path | None,
    ) -> None:
        self.plan, self._target, self._patterns = plan, target, patterns
        self.observations = Observations(target.stop, target.skip, settings.warmup)
        self.writer = StreamWriter(stream)
        self.readers: dict[str, LineReader] = {}
        self.status: Status | None = None
        """None until it has ended."""
        self.reason = ""
        self.exit_code: int | None = None
        self.is_stopped = False
        self.phase = ""
        self.peak_bytes = 0
        self.messages: list[str] = []
        self.started_at = 0.0
        self.first_at: float | None = None
        self.counted_from: float | None = None
        self.counted_to: float | None = None
        """Times of the monotonic clock: of the start, the first observation, the first one after
        the warm-up, and the last one that is wanted."""
        self._process: Child | None = None
        self._memory_kills: int | None = None
        """Processes that the kernel had killed when this one began."""
        self._command: list[str] = []
        self._control = -1
        self._error = ""
        self._tail: deque[str] = deque(maxlen=LAST_LINES)
        """The last lines of the standard error."""
        self._steps: dict[int, tuple[float, float]] = {}
        """By pattern, the last step whose time is known, and that time."""
        self._lines: dict[int, int] = {}
        """By pattern, the number of lines."""
        self.ending: tuple[Status, str] | None = None
        """The status and the reason of a process that is being ended."""

    @property
    def is_started(self) -> bool:
        return self._process is not None

    @property
    def wanted(self) -> int:
        """Number of observations after the warm-up that are wanted of it."""
        return self._target.stop

    @property
    def id(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, python: str, options: HookOptions, mark: Mark, config: Any, meta: Any) -> None:
        """Starts it. If that fails, it has ended. `config` and `meta` are the content of events."""
        self.writer.write(events.CONFIG, config)
        self.writer.write(events.META, meta, "data")
        self.started_at = time.monotonic()
        self._memory_kills = memory_kills()
        try:
            process, data, self._control = start_process(
                self.plan, self._target, python, options, mark
            )
        except OSError as error:
            self.status = Status.FAILED
            self.reason = f"cannot be started: {error.filename}: {error.strerror}"
            self.writer.write(events.ERROR, {"type": type(error).__name__, "message": str(error)})
            self._write_end()
            return
        self._process, self._command = process, process.words
        self.writer.write(events.START, {"command": self._command, "time": time.time()})
        assert process.stdout is not None and process.stderr is not None
        self.readers = {
            "data": LineReader(data, LONGEST_DATA),
            # Descriptors that `Popen` does not close again.
            "stdout": LineReader(os.dup(process.stdout.fileno())),
            "stderr": LineReader(os.dup(process.stderr.fileno())),
        }
        process.stdout.close()
        process.stderr.close()

    def take(self, pipe: str, line: bytes, at: float) -> None:
        """Takes a line of a pipe, read at a time of the monotonic clock."""
        if pipe == "data":
            self._take_data(line)
            return
        try:
            text = line.decode()
        except UnicodeDecodeError:
            self.writer.write_printed(BINARY, line.decode(errors="backslashreplace"), pipe)
            return
        if pipe == "stderr" and text.strip():
            self._tail.append(text)
        self.writer.write_printed(events.LINE, text, pipe)
        self._search(text, at)

    def _search(self, line: str, at: float) -> None:
        for place, pattern in enumerate(self._patterns):
            try:
                found = pattern.search(line)
            except SlowPatternError as error:
                # Each further line may be as slow.
                self._patterns = ()
                self.end(Status.FAILED, str(error))
                return
            if found is not None:
                self._take_match(place, found, at)

    def _take_data(self, line: bytes) -> None:
        try:
            content = read_json(line)
        except ValueError as error:
            content = error
        if not isinstance(content, dict):
            shown = line.decode(errors="backslashreplace")
            self.writer.write_printed(FORMAT_ERROR, shown, "data")
            return
        name = content.get("$event", events.DATA)
        data = content if "$event" not in content else content.get("$data")
        self._take_event(str(name), data)

    def _take_event(self, name: str, data: Any) -> None:
        self.writer.write(name, data, "data")
        if name == events.DATA:
            self._observe(read_observation(data))
        elif name == events.PHASE and isinstance(data, dict):
            self.phase = str(data.get("name", ""))
        elif name == events.MESSAGE and isinstance(data, str):
            self.messages.append(one_line(data, LONGEST_LINE))
        elif name == events.ERROR and isinstance(data, dict):
            text = f"{data.get('place', '')}{data.get('type')}: {data.get('message')}"
            self._error = one_line(text, LONGEST_LINE)

    def _observe(self, seen: Observation) -> None:
        observations = self.observations
        self.peak_bytes = seen.peak_bytes or self.peak_bytes
        if not observations.add(seen):
            return
        now = time.monotonic()
        self.first_at = self.first_at or now
        if observations.warmup is not None and self.counted_from is None:
            self.counted_from = now
        if self.counted_to is None and observations.is_complete:
            self.counted_to = now

    def _take_match(self, place: int, found: re.Match[str], at: float) -> None:
        """Takes a line that a pattern is in: its rate, or that of its steps, or of such lines. Of
        those that were read together, the time of the first alone is known."""
        groups = {name: _number(text) for name, text in found.groupdict().items() if text}
        data: dict[str, Any] = {"task": TRAIN}
        if groups.get("rate") is not None:
            data |= {"rate": groups["rate"], "units": "items/s"}
        elif "rate" not in found.re.groupindex:
            self._lines[place] = self._lines.get(place, 0) + 1
            step = groups.get("step") if "step" in found.re.groupindex else self._lines[place]
            before, before_at = self._steps.get(place, (step, 0.0))
            if step is not None and before is not None and at > before_at:
                self._steps[place] = step, at
                if step > before:
                    data |= {"rate": (step - before) / (at - before_at), "units": "steps/s"}
        if groups.get("loss") is not None:
            data["loss"] = groups["loss"]
        if groups.get("step") is not None:
            data["batch_id"] = groups["step"]
        if len(data) > 1:
            self._take_event(events.DATA, data)

    def sampled(self, *data: dict[str, Any] | None) -> None:
        """Writes samples of the machine."""
        for each in filter(None, data):
            self.writer.write(events.DATA, {"task": "main", **each, "time": time.time()}, "data")

    def stop(self) -> None:
        """Has the program stop at its next step."""
        self.is_stopped = True
        self.writer.write(events.STOP, {"observations": len(self.observations.counted)})
        # It may have ended meanwhile.
        with contextlib.suppress(OSError):
            os.write(self._control, b"s")

    def end(self, status: Status, reason: str) -> None:
        """Kills it, with its group."""
        self.ending = self.ending or (status, reason)
        self.kill()

    def kill(self) -> None:
        """Kills it, from any thread."""
        if self._process is not None:
            self._process.kill()

    def abandon(self, reason: str, status: Status = Status.FAILED) -> None:
        """Gives up a process that was not started."""
        self.status, self.reason = status, reason
        self.writer.close()

    @property
    def is_explained(self) -> bool:
        """Whether it ends because it is stopped or killed."""
        return self.is_stopped or self.ending is not None

    def ended_with(self) -> int | None:
        """Returns its exit code or the number of its signal once it has ended; None before, and
        when its result is taken."""
        if self._process is None or self.status is not None:
            return None
        # Its id stays its own until its result is taken.
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        found = os.waitid(os.P_PID, self.id, flags)
        return None if found is None else found.si_status

    def close(self) -> None:
        """Takes the result of the ended process, and what it has written."""
        assert self._process is not None
        self._process.kill()
        code = self._process.wait()
        for pipe, reader in self.readers.items():
            for line in reader.drain():
                self.take(pipe, line, time.monotonic())
        os.close(self._control)
        # One that was killed has none of its own.
        self.exit_code = None if code < 0 and (self.ending or self.is_stopped) else code
        self.status, self.reason = self._result(code)
        if self.status is Status.TIMEOUT:
            self.writer.write(events.ERROR, {"type": "TimeoutError", "message": self.reason})
        self._write_end()

    def _write_end(self) -> None:
        data = {"command": self._command, "time": time.time(), "return_code": self.exit_code}
        self.writer.write(events.END, data)
        self.writer.close()

    def _result(self, code: int) -> tuple[Status, str]:
        if self.is_stopped:
            return Status.OK, ""
        if self.ending is not None:
            return self.ending
        if code == 0:
            return Status.OK, ""
        if code < 0:
            name = SIGNALS.get(-code, f"signal {-code}")
            advice = memory_advice(-code, self._memory_kills)
            ended = ", ".join(filter(None, (f"ended by {name}", advice)))
            return Status.CRASHED, with_last_output(ended, self._tail)
        if self._error:
            return Status.FAILED, f"exit code {code}: {self._error}"
        return Status.FAILED, with_last_output(f"exit code {code}", self._tail)


def _number(text: str) -> float | None:
    # As it is first: a loss may be `nan`.
    for form in (text, NUMBER.sub("", text)):
        with contextlib.suppress(ValueError):
            return float(form)
    return None


ANSWER_S = 5.0
"""Limit on one answer of a server that is about to be ready, which may be busy."""

SUCCESSFUL = range(200, 300)
"""Codes of HTTP."""


class Server:
    """The server of a plan. On a node that does not start it, it is only awaited. Its output goes
    to a file `log`; without one it is kept until it has ended."""

    def __init__(self, plan: ServerPlan, log: Path | None, mark: Mark) -> None:
        self.plan, self._path, self._mark = plan, log, mark
        self._log: Log | None = None
        self._process: Child | None = None

    @property
    def id(self) -> int | None:
        """The id of its process; None on another node."""
        return None if self._process is None else self._process.pid

    def start(self) -> str:
        """Starts it, and returns why that fails; empty if it does not."""
        plan = self.plan
        if not plan.starts:
            return ""
        try:
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            self._log = Log(self._path)
        except OSError as error:
            return f"{self._path}: cannot be written ({error.strerror})"
        try:
            with interrupts_held():
                self._process = Child(
                    plan.words,
                    self._mark.variables(plan.variables),
                    stdout=self._log,
                    stderr=self._log,
                    cwd=plan.folder,
                    preexec_fn=ending_with_parent(),
                )
        except OSError as error:
            return f"the server cannot be started: {error.filename}: {error.strerror}"
        return ""

    def is_ready(self) -> bool:
        """Whether it accepts connections, and says on its path of health that it is well."""
        address, health = (self.plan.host, self.plan.port), self.plan.health
        try:
            if not health:
                socket.create_connection(address, ANSWER_S).close()
                return True
            connection = http.client.HTTPConnection(*address, timeout=ANSWER_S)
            try:
                connection.request("GET", health)
                return connection.getresponse().status in SUCCESSFUL
            finally:
                connection.close()
        except (OSError, http.client.HTTPException):
            return False

    def why_ended(self, within_s: float = 0.0) -> str:
        """Returns how it has ended, or does within a time; empty while it runs."""
        if self._process is None:
            return ""
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            return ""
        code = self._process.returncode
        how = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
        return self.with_output(f"the server has ended {how}")

    def with_output(self, reason: str) -> str:
        """Returns a reason with the last lines of its output."""
        if self._log is None:
            return reason
        return one_line(with_last_output(reason, self._log.tail.splitlines()))

    def close(self) -> None:
        """Ends it, with its group."""
        if self._process is not None:
            self._process.end()
        if self._log is not None:
            self._log.close()
