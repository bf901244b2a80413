"""A command of opperf on a node of a cluster that nothing else uses: an actor that runs it in a
process of its own, and hands out what it writes."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import opperf
from opperf.execution.fleet.node_worker import RAY_THREADS
from opperf.processes.children import Child, Log

END_S = 20.0
"""Seconds that an interrupted command has to end its workers."""

OPTION = "--on-node"
"""Option by which the command is given the file of what it does."""

ASKED, SESSION = "request.json", "session.jsonl"
"""Names of that file, and of the one beside it that the command writes."""


class Written(NamedTuple):
    """The lines that a command has written behind those that the manager has."""

    messages: bytes
    """Of standard error, in whole lines until the command has ended."""
    content: bytes
    """Whole lines of its file."""
    code: int | None
    """Exit code; None while it runs."""


class NodeCommand:
    """Runs a command. Its process ends with that of the actor, which Ray ends with the manager."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="opperf-")
        self._file = Path(self._folder.name) / SESSION
        self._log = Path(self._folder.name) / "messages.txt"
        self._process: Child | None = None

    def version(self) -> str:
        """Returns opperf's version on this node."""
        return opperf.__version__

    def begin(self, asked: bytes, content: bytes, folder: str, cpus: int) -> None:
        """Starts the command in a folder, if it is on this node too. `asked` says what it measures,
        `content` is there of its file already; `cpus` are the cores that the actor reserves."""
        if content:
            self._file.write_bytes(content)
        file = self._file.with_name(ASKED)
        file.write_bytes(asked)
        variables = dict(os.environ)
        if variables.get(RAY_THREADS) == str(cpus):
            # The arms have the threads that they are given, as on a machine without Ray.
            del variables[RAY_THREADS]
        command = [sys.executable, "-m", "opperf", "ab", OPTION, str(file)]
        there = Path(folder) if Path(folder).is_dir() else None
        with closing(Log(self._log)) as log:
            self._process = Child(command, variables, stderr=log, cwd=there)

    def written(self, messages: int, content: int) -> Written:
        """Returns what there is behind this many bytes of its messages and of its file."""
        assert self._process is not None
        # First, so that what a command wrote before it ended is there.
        code = self._process.poll()
        said = _lines(self._log, messages, is_whole=code is not None)
        return Written(said, _lines(self._file, content), code)

    def interrupt(self) -> None:
        """Ends the command as Ctrl-C does, or kills it if that takes too long."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        self._process.end(END_S)

    def close(self) -> None:
        """Kills the command if it runs, with which its workers end, and removes its files."""
        if self._process is not None:
            self._process.end()
        self._folder.cleanup()


def _lines(path: Path, begin: int, is_whole: bool = False) -> bytes:
    """Returns the lines of a file from a byte on; one that is being written if `is_whole`."""
    if not path.exists():
        return b""
    with path.open("rb") as file:
        file.seek(begin)
        found = file.read()
    return found if is_whole else found[: found.rfind(b"\n") + 1]
