"""Actors on a cluster's node: one that measures one case at a time, in processes of its own on
cores of its own; one that runs a command of opperf, and hands out what it writes."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import msgspec

import opperf
from opperf.errors import OpperfError, OutputError
from opperf.execution.workers import Workers
from opperf.machine.pinning import Pinning
from opperf.model import Case, Environment, Interpreter, Record, Struct
from opperf.processes.children import Child, Log
from opperf.processes.commands import free_port
from opperf.programs.group import Progress
from opperf.programs.launching import ALONE, Place

CONTROL = "control"
"""Group of the methods that are called while another one measures."""

RAY_THREADS = "OMP_NUM_THREADS"
"""Variable that Ray sets to the number of cores that an actor reserves."""


class Setup(Struct, frozen=True):
    """The options of a worker of a node."""

    cpus: int
    """Number of the cores that it reserves."""
    node: str = ""
    """Name of the node in the cluster."""
    cores: str = "auto"
    """As `--cpus` has it."""
    interpreters: tuple[Interpreter, ...] = ()
    profiles: str = ""
    """Name of the folder of what is written beside a record, and sent with it; empty for none."""


class Measured(Struct, frozen=True):
    """A case's record, and the environment of the process that measured it."""

    record: Record | None = None
    environment: Environment | None = None
    refusal: str = ""
    """Why the node can measure no such case; then there is no record."""
    files: dict[str, bytes] = {}
    """The files that were written beside the record, by name."""


class NodeWorker:
    """Measures cases on a node, by a set-up that is JSON, once its version is checked."""

    def __init__(self, setup: bytes) -> None:
        made = msgspec.json.decode(setup, type=Setup)
        if os.environ.get(RAY_THREADS) == str(made.cpus):
            # The processes are pinned to as many cores, as on a machine without Ray.
            del os.environ[RAY_THREADS]
        # Open until the actor's process ends.
        self._stack = ExitStack()
        self._node = made.node
        pinning = self._stack.enter_context(Pinning(made.cores))
        own = self._stack.enter_context(pinning.reserve(made.cpus))
        self._workers = self._stack.enter_context(Workers(made.interpreters, own))
        self._folder: Path | None = None
        if made.profiles:
            folder = tempfile.TemporaryDirectory(prefix="opperf-")
            self._folder = Path(self._stack.enter_context(folder))
            # Folders of programs are beside that.
            self._workers.profiles = self._folder / made.profiles

    def version(self) -> str:
        """Returns opperf's version on this node."""
        return opperf.__version__

    def environment(self, case: Case) -> Measured:
        """Returns the environment of the process that measures a case, and no record."""
        try:
            return Measured(environment=self._workers.environment(case))
        except OpperfError as error:
            return Measured(refusal=str(error))

    def meeting_place(self) -> tuple[str, int]:
        """Returns the address of this node in the cluster, and a free port of it, where the
        processes of a program on several nodes meet."""
        address: str = importlib.import_module("ray.util").get_node_ip_address()
        return address, free_port(address)

    def progress(self) -> str:
        """Returns how far the program of `measure` is."""
        running = self._workers.programs.running
        return (Progress.BUSY if running is None else running.progress).value

    def expect_end(self) -> None:
        """Lets the processes of the program end in whatever way: those of other nodes are about to
        be stopped."""
        if (running := self._workers.programs.running) is not None:
            running.expect_end()

    def release(self) -> None:
        """Stops the program, which is held."""
        if (running := self._workers.programs.running) is not None:
            running.release()

    def end(self, reason: str) -> None:
        """Ends the program for a reason."""
        if (running := self._workers.programs.running) is not None:
            running.end(reason)

    def measure(self, case: Case, place: Place = ALONE) -> Measured:
        """Returns what was measured. `place` is that of this node among those of a program."""
        try:
            where = self._workers.environment(case)
            record = self._workers.measure(case, place._replace(name=self._node))
        except OpperfError as error:
            return Measured(refusal=str(error), files=self._take_files())
        return Measured(record, where, files=self._take_files())

    def _take_files(self) -> dict[str, bytes]:
        if self._folder is None:
            return {}
        found = {}
        for path in sorted(filter(Path.is_file, self._folder.rglob("*"))):
            found[path.relative_to(self._folder).as_posix()] = path.read_bytes()
            path.unlink()
        return found


def keep_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes the files of a record to the run file's folder. Raises `OutputError`."""
    for name, content in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise OutputError(f"{path}: cannot be written ({error.strerror})") from error


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
