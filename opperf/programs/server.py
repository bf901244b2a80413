"""The server of a program: started before its processes, awaited until it answers, ended after
them."""

from __future__ import annotations

import http.client
import socket
import subprocess
from pathlib import Path

from opperf.errors import one_line, with_last_output
from opperf.processes.children import Child, Log, Mark
from opperf.programs.launching import ServerPlan
from opperf.terminating import ending_with_parent

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
        """Whether it answers: accepts connections, and says on its path of health that it is
        well."""
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
        """Returns how it has ended, or does within a time, with its last lines; empty while it
        runs."""
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
