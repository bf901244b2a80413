"""Runs a command on damaged input in a process of its own, with limits of time and memory."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import importlib
import os
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock
from urllib.parse import unquote_to_bytes

import msgspec

from opperf import opperf as command_line
from opperf.errors import InternalError, OpperfError, UsageError
from opperf.frameworks import load
from opperf.history.store.opening import Store
from opperf.machine.environment import environment
from opperf.serving.application import make_application
from opperf.worker import protocol
from opperf.worker.client import Worker
from opperf.worker.serve import ANSWERS, answer
from tests.mutations.entrances import GROUPS, Entrance
from tests.mutations.mutating import BYTES, damaged

CPU_S = 20
"""Of a command: ten times what the slowest takes. Not of the clock, which counts what else runs."""

LIMIT_S = 180.0
"""Of the clock: what waits takes no time of a core."""

MOST_BYTES = 2 << 30
"""Beyond what the process has before the command: a damaged file is small."""

FINE = frozenset({0, 1, 2, 3})
"""Exit codes: 1 is of findings, 3 of what a comparison cannot decide. Internal errors have 3 too,
and are known by their message."""

AT = re.compile(r'File "([^"]+/(?:opperf|tests)/[^"]+)", line (\d+), in (\S+)')


sys.path.insert(0, str(Path(__file__).parents[1] / "fake"))  # The framework of sessions.


@dataclass(frozen=True)
class Outcome:
    """How a command ended; `fault` is empty if that was right."""

    code: int
    output: str
    fault: str = ""
    """Kind of the fault and where it was raised, the same for the same fault."""


def damage(entrance: Entrance, place: Path, seed: str, kind: str = "") -> str:
    """Damages the entrance's input in a folder, and returns the kind of the damage."""
    name, content = damaged(_content(entrance, place).read_bytes(), entrance.kinds, seed, kind)
    _content(entrance, place).write_bytes(content)
    return name


@dataclass(frozen=True)
class Trial:
    """A command on damaged input, and what does the same again."""

    outcome: Outcome
    command: str

    @property
    def report(self) -> str:
        return f"{self.outcome.fault}\n  {self.command}\n{self.outcome.output[-2000:]}"


class InputError(Exception):
    """Undamaged input that its command does not take."""


def search(
    entrance: Entrance, seed: str, kinds: Iterable[str], keep: Path | None = None, first: int = 0
) -> Iterator[Trial]:
    """Damages an entrance's input once in each of these kinds, in which an empty one is any, and
    yields how the command ended. `seed` and the position decide the damage; those before `first`
    are left out, and the damaged files are left in `keep`. Raises `InputError` if the command has a
    fault, or does not take its input, before any damage."""
    made = Path(_made(entrance.make).name)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        imported = Path(folder) / "imported"
        undamaged = _in_copy(made, entrance, lambda place: run(entrance, place, imported))
        is_refused = bool(entrance.ends) and entrance.ends in undamaged.output
        if undamaged.fault or (undamaged.code not in (0, 1) and not is_refused):
            raise InputError(f"{entrance.name}: exit code {undamaged.code}: {undamaged.output}")
        _import(imported.read_text().split())
    # A search for garbage in the process of a command would copy all that is imported.
    gc.freeze()
    for position, kind in enumerate(kinds):
        if position < first:
            continue
        own = f"{seed}/{entrance.name}/{position}"

        def damage_and_run(place: Path, own: str = own, kind: str = kind) -> Outcome:
            damage(entrance, place, own, kind)
            if keep is not None:
                shutil.copytree(place, keep, dirs_exist_ok=True)
            return run(entrance, place)

        again = f"--entrance {shlex.quote(entrance.name)} --seed {seed} --at {position}"
        again += f" --kind {kind}" * bool(kind)
        outcome = _in_copy(made, entrance, damage_and_run)
        yield Trial(outcome, f"python -m benchmarks.damage.mutations {again}")


def faults_of(group: str, of_bytes: bool, seed: str) -> list[str]:
    """Returns the reports of the faults of a group's entrances, each of which is damaged in one of
    the ways that change bytes, or in one that changes what they say."""
    found = [
        one.report
        for entrance in GROUPS[group]
        if not entrance.is_slow
        for one in search(entrance, seed, (_kind(entrance, of_bytes, seed),))
        if one.outcome.fault
    ]
    # Removes the folders: the end of a process of a pool does not.
    _made.cache_clear()
    return found


def _kind(entrance: Entrance, of_bytes: bool, seed: str) -> str:
    kinds = [kind for kind in entrance.kinds if (kind in BYTES) == of_bytes]
    return Random(f"{seed}/{entrance.name}").choice(kinds)


PREFIX = "opperf-damaged-"


def _in_copy(folder: Path, entrance: Entrance, does: Callable[[Path], Outcome]) -> Outcome:
    """Returns the outcome of what is done in a copy of a folder with the undamaged input."""
    with tempfile.TemporaryDirectory(prefix=PREFIX) as own:
        place = Path(own) / "work"
        shutil.copytree(folder, place)
        if entrance.value:
            (place / VALUE).write_text(entrance.value)
        return does(place)


@functools.cache
def _made(make: Callable[[Path], None]) -> tempfile.TemporaryDirectory[str]:
    """The folder of the files that are undamaged, made once; it is removed with the process."""
    folder = tempfile.TemporaryDirectory(prefix=PREFIX)
    make(Path(folder.name))
    return folder


VALUE = ".value"
"""Name of the file with the value of a variable or a request."""


def _content(entrance: Entrance, place: Path) -> Path:
    is_value = entrance.file == "GET" or entrance.file.startswith("$")
    if is_value:
        return place / VALUE
    # The names of some files are ids.
    return min(place.glob(entrance.file), default=place / entrance.file)


def _import(names: Collection[str]) -> None:
    """Imports what a command has imported, so that its next processes need not."""
    for framework in ("numpy", "torch"):
        if f"opperf.frameworks.{framework}.framework" in names:
            # Its registry is kept.
            load(framework).operators()
    for name in names:
        # A module of a framework's may replace a function of its package.
        if not name.startswith("opperf.frameworks."):
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def run(entrance: Entrance, place: Path, imported: Path | None = None) -> Outcome:
    """Runs the command in a fork, in a folder; it writes which modules it has `imported`."""
    output = place.parent / "output"
    child = os.fork()
    if child == 0:
        code = 99
        try:
            with output.open("wb") as file:
                _separate(place, file.fileno())
            code = _call(entrance, place)
            if imported is not None:
                imported.write_text("\n".join(sys.modules))
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stderr.flush()
                sys.stdout.flush()
            os._exit(code)
    code = _wait(child)
    text = output.read_bytes().decode(errors="replace")
    return Outcome(code, text, _fault(code, text))


def _wait(child: int) -> int:
    """Returns the exit code of a process; minus the number of the signal that ended it."""
    handle = os.pidfd_open(child)
    try:
        if not select.select([handle], [], [], LIMIT_S)[0]:
            os.killpg(child, signal.SIGKILL)
    finally:
        os.close(handle)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _fault(code: int, text: str) -> str:
    if code in (-signal.SIGKILL, -signal.SIGXCPU):
        return f"hang: not finished after {CPU_S:g} s of a core or {LIMIT_S:g} s"
    found = text.partition("internal error, please report it: ")[2]
    if not found and "Traceback (most recent call last)" not in text and code in FINE:
        return ""
    frames = AT.findall(text)
    kind = found.split(":")[0] if found else f"exit code {code}"
    own = [frame for frame in frames if "/opperf/" in frame[0] and "/tests/" not in frame[0]]
    file, line, function = (own or frames or [("?", "0", "?")])[-1]
    return f"{kind} at {file.rpartition('/opperf/')[2]}:{line} {function}"


def _separate(place: Path, output: int) -> None:
    """Has this process have its own folder, variables, output and limits."""
    os.setsid()
    os.chdir(place)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for from_, to in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(from_, to)
    sys.stdin, sys.stdout, sys.stderr = map(os.fdopen, (0, 1, 2), "rww")
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "CI_", "OPPERF_"))]:
        del os.environ[name]
    os.environ |= {
        "OPPERF_DATA": str(place / "data"),
        "OPPERF_CACHE": str(place / "cache"),
        "HOME": str(place),
        "COLUMNS": "100",
    }
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES, used + MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _call(entrance: Entrance, place: Path) -> int:
    words = entrance.words.split()
    value = place / VALUE
    with in_process():
        if entrance.value and not entrance.file.startswith("$"):
            return _request(value.read_bytes())
        if entrance.value:
            # The system takes no NUL in a variable.
            os.environb[entrance.file[1:].encode()] = value.read_bytes().replace(b"\0", b"")
        try:
            command_line.main(words)
        except SystemExit as ended:
            return int(ended.code or 0)
    return 98


def _request(target: bytes) -> int:
    """Asks the dashboard's application as a server that got a request does: 0 if it answers, and
    with no error of its own."""
    path, _, query = target.partition(b"?")
    scope = {
        **{"type": "http", "http_version": "1.1", "method": "GET", "scheme": "http"},
        **{"path": unquote_to_bytes(path).decode("utf-8", "replace"), "raw_path": path},
        **{"query_string": query, "root_path": "", "headers": [(b"host", b"localhost")]},
    }
    answers: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        answers.append(message)

    try:
        with Store("history.sqlite", must_exist=True) as store:
            asyncio.run(make_application(store)(scope, receive, send))
    except OpperfError as error:
        print(error)
        return error.exit_code
    # 503 says that the store cannot be read.
    return 97 if answers[0]["status"] == 500 else 0


NOTHING = "nothing is measured here"


@contextlib.contextmanager
def in_process() -> Iterator[None]:
    """Has workers answer in this process what they are asked but for measuring, no worker,
    builder or bench be started, servers not serve, and internal errors have their tracebacks."""
    refused = UsageError(NOTHING)
    reading = set(ANSWERS) - {protocol.TraceRequest, protocol.ObserveRequest, protocol.TryRequest}

    def start(self: Any) -> None:
        self._environment = environment(load(self._framework))

    def ask(self: Any, request: Any, *_: Any) -> Any:
        if type(request) not in reading:
            raise refused
        sent = msgspec.json.decode(msgspec.json.encode(request), type=type(request))
        found = answer(load(self._framework), sent)
        return msgspec.json.decode(msgspec.json.encode(found), type=request.answer_type())

    def refuse(*_: Any, **__: Any) -> Any:
        raise refused

    explained: Callable[[Exception], Any] = command_line._as_opperf_error

    def explain(error: Exception) -> Any:
        made = explained(error)
        if isinstance(made, InternalError):
            traceback.print_exception(error)
        return made

    class NotStarted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, command: Any, *more: Any, **options: Any) -> None:
            if Path(command[0]).name.startswith(("python", "uv", "pip", "voir", "bash", "sh")):
                raise refused
            super().__init__(command, *more, **options)

    with (
        mock.patch.multiple(Worker, _start=start, _start_used=start, _ask=ask, measure=refuse),
        mock.patch.object(command_line, "_as_opperf_error", explain),
        mock.patch("uvicorn.Server.run", refuse),
        mock.patch("subprocess.Popen", NotStarted),
    ):
        yield
