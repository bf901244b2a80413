"""The server of a program: started before its processes, awaited until it answers, ended after
them."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import IO

from opperf.errors import one_line, with_last_output
from opperf.machine.killing import kill_group
from opperf.programs.launching import MARK, ServerPlan
from opperf.terminating import ending_with_parent

ANSWER_S = 5.0
"""Limit on one answer of a server that is about to be ready, which may be busy."""

TAIL_BYTES = 8000
"""Of the end of what it printed, in which the last lines are."""

SUCCESSFUL = range(200, 300)
"""Codes of HTTP."""


class Server:
    """The server of a plan. On a node that does not start it, it is only awaited. Its output goes
    to a file `log`; without one it is kept until it has ended."""

    def __init__(self, plan: ServerPlan, log: Path | None, mark: str) -> None:
        self.plan, self._path, self._mark = plan, log, mark
        self._log: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None

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
            self._log = tempfile.TemporaryFile() if self._path is None else self._path.open("w+b")
        except OSError as error:
            return f"{self._path}: cannot be written ({error.strerror})"
        try:
            self._process = subprocess.Popen(
                plan.words,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                env={**plan.variables, MARK: self._mark},
                cwd=plan.folder,
                start_new_session=True,
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
        # Without moving the position, which the server shares.
        file = self._log.fileno()
        begin = max(0, os.fstat(file).st_size - TAIL_BYTES)
        text = os.pread(file, TAIL_BYTES, begin).decode(errors="replace")
        return one_line(with_last_output(reason, text.splitlines()))

    def close(self) -> None:
        """Ends it, with its group."""
        if self._process is not None:
            kill_group(self._process.pid)
            self._process.wait()
        if self._log is not None:
            self._log.close()
