"""The state of a worker's process between cases: what a case leaves changed, so that later ones
would be measured under other conditions, is restored; what cannot be costs the process. The table
is `PARTS`; a framework adds its own (`Processes.parts`).

Random numbers are no part of it: each case begins with others (`seed_afresh`). What a user's layer
keeps is restored beside this (`object_state.py`)."""

from __future__ import annotations

import contextlib
import gc
import locale
import operator
import os
import random
import resource
import signal
import sys
import threading
import warnings
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from opperf.frameworks import Framework
from opperf.frameworks.base import ProcessPart
from opperf.frameworks.user_modules import BESIDE
from opperf.instruments.prepared import compiles
from opperf.model import Case, Note, NoteCode, OperatorTarget
from opperf.processes.children import KEPT_PROCESSES

LIMITS = tuple(
    sorted(value for name, value in vars(resource).items() if name.startswith("RLIMIT_"))
)

SIGNALS = tuple(range(1, 32))
"""Numbers of the standard signals; to read the others too takes as long again."""

TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)

STREAMS = (0, 1, 2)

DESCRIPTORS = Path("/proc/self/fd") if Path("/proc/self/fd").is_dir() else Path("/dev/fd")

CHILDREN = "/proc/thread-self/children"
"""Linux's list of the processes that the thread has started, or adopted, which is here the first
one: another thread's would take a read each."""

MOST_OPENED = 32
"""Files that a case may leave open: a framework opens some at its first use, as PyTorch's compiler
does, and 32 cases with as many stay below the usual limit of 1024."""

LEAST_FREE = 64
"""Files that a process must still be able to open for its next case: an import of a package opens
one at a time, a compiler some tens."""

DENORMAL = sys.float_info.min
"""Half of it is zero where the processor flushes denormal numbers."""


def _working_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - six times as fast
    except OSError:
        # It was removed.
        return ""


def _umask() -> int:
    # There is no call that only reads it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _set_limits(before: Sequence[tuple[int, int]]) -> None:
    for limit, values in zip(LIMITS, before, strict=True):
        if resource.getrlimit(limit) != values:
            resource.setrlimit(limit, values)


def _set_handlers(before: Sequence[Any]) -> None:
    for number, handler in zip(SIGNALS, before, strict=True):
        if signal.getsignal(number) != handler:
            # One that is not Python's, which is None here, cannot be set again: it raises.
            signal.signal(number, handler)


def _stop_timers(before: Sequence[bool]) -> None:
    for timer, ran in zip(TIMERS, before, strict=True):
        if not ran:
            signal.setitimer(timer, 0)


def _streams() -> list[tuple[int, int] | None]:
    found: list[tuple[int, int] | None] = []
    for descriptor in STREAMS:
        try:
            status = os.fstat(descriptor)
        except OSError:
            found.append(None)
        else:
            found.append((status.st_dev, status.st_ino))
    return found


def _descriptors() -> tuple[int, int]:
    """Returns the number of open files, and of those that can be open."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    try:
        return len(os.listdir(DESCRIPTORS)), most  # noqa: PTH208 - faster
    except OSError:
        # None is left to list them by.
        return most, most


def _are_many(before: tuple[int, int], now: tuple[int, int]) -> bool:
    grown = now[0] - before[0]
    return grown > MOST_OPENED or (grown > 0 and now[1] - now[0] < LEAST_FREE)


def _children() -> frozenset[int]:
    try:
        # It raises if there is none, which takes less time than the list.
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        with open(CHILDREN, "rb", 0) as file:  # noqa: PTH123 - twice as fast
            return frozenset(map(int, file.read().split()))
    except OSError:
        return frozenset()


def _is_running(process: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def _environment_part(own: Collection[str]) -> ProcessPart:
    """Returns the environment but for the variables that a framework sets for itself."""

    def read() -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name not in own}

    def restore(before: dict[str, str]) -> None:
        now = read()
        for name in now.keys() - before.keys():
            del os.environ[name]
        for name, value in before.items():
            if now.get(name) != value:
                os.environ[name] = value

    return ProcessPart("environment variables changed", read, restore, is_set_up=True)


def _numpy() -> Any:
    # The manager does without NumPy.
    import numpy

    return numpy


def _set_search_path(before: Sequence[str]) -> None:
    # Those of users' files are opperf's own addition, and are at its end.
    sys.path[:] = [*before, *BESIDE]


def _set_python_streams(before: Sequence[Any]) -> None:
    sys.stdin, sys.stdout, sys.stderr = before


def _set_tracers(before: Sequence[Any]) -> None:
    sys.settrace(before[0])
    sys.setprofile(before[1])


def _set_collection(before: tuple[bool, tuple[int, ...], int]) -> None:
    (gc.enable if before[0] else gc.disable)()
    gc.set_threshold(*before[1])
    gc.set_debug(before[2])


def _set_filters(before: Sequence[Any]) -> None:
    # It also has `warnings` forget what it keeps of the other filters.
    warnings.resetwarnings()
    warnings.filters[:] = before  # type: ignore[index]


PARTS = (
    ProcessPart("the working directory changed", _working_directory, os.chdir),
    ProcessPart("the umask changed", _umask, os.umask),
    # Before the files, whose number a limit bounds.
    ProcessPart(
        "limits of resources changed", lambda: list(map(resource.getrlimit, LIMITS)), _set_limits
    ),
    ProcessPart(
        "handlers of signals changed", lambda: list(map(signal.getsignal, SIGNALS)), _set_handlers
    ),
    ProcessPart(
        "signals blocked",
        lambda: set(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        partial(signal.pthread_sigmask, signal.SIG_SETMASK),
    ),
    ProcessPart(
        "a timer running",
        lambda: [signal.getitimer(timer) != (0.0, 0.0) for timer in TIMERS],
        _stop_timers,
    ),
    ProcessPart(
        "its cores changed",
        # None where they cannot be chosen, as on macOS.
        lambda: os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(),
        lambda before: os.sched_setaffinity(0, before),
    ),
    ProcessPart("its priority changed", lambda: os.getpriority(os.PRIO_PROCESS, 0)),
    ProcessPart("standard streams changed", _streams),
    ProcessPart("files open", _descriptors, is_changed=_are_many),
    ProcessPart(
        "processes running",
        _children,
        is_changed=lambda before, now: any(map(_is_running, now - before - KEPT_PROCESSES)),
        compiler_adds=True,
    ),
    ProcessPart(
        "threads running", threading.active_count, is_changed=operator.lt, compiler_adds=True
    ),
    ProcessPart(
        "Python's streams changed", lambda: (sys.stdin, sys.stdout, sys.stderr), _set_python_streams
    ),
    ProcessPart("a tracer set", lambda: (sys.gettrace(), sys.getprofile()), _set_tracers),
    ProcessPart(
        "garbage collection changed",
        lambda: (gc.isenabled(), gc.get_threshold(), gc.get_debug()),
        _set_collection,
    ),
    ProcessPart(
        "the recursion limit changed",
        sys.getrecursionlimit,
        sys.setrecursionlimit,
        is_set_up=True,
        compiler_adds=True,
    ),
    ProcessPart("denormal numbers flushed", lambda: DENORMAL * 0.5 == 0.0, is_set_up=True),
    ProcessPart(
        "the locale changed",
        lambda: locale.setlocale(locale.LC_ALL),
        lambda before: locale.setlocale(locale.LC_ALL, before),
        is_set_up=True,
    ),
    ProcessPart(
        "sys.path changed",
        lambda: [folder for folder in sys.path if folder not in BESIDE],
        _set_search_path,
        is_set_up=True,
    ),
    ProcessPart(
        "filters of warnings changed", lambda: list(warnings.filters), _set_filters, is_set_up=True
    ),
    ProcessPart(
        "NumPy's errors changed",
        lambda: dict(_numpy().geterr()),
        lambda before: _numpy().seterr(**before),
        is_set_up=True,
    ),
)
"""Parts of any process, in the order in which they are read after each case. All of them take some
80 us (`benchmarks/cost/process_state.py`)."""


def parts_of(framework: Framework) -> tuple[ProcessPart, ...]:
    """Returns the parts of a process of a framework, in the order in which they are read."""
    return (
        *PARTS,
        _environment_part(framework.processes.own_variables),
        *framework.processes.parts,
    )


class Left(NamedTuple):
    """Parts that a call has left changed, in words."""

    restored: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    """Parts that cannot be restored, so that the process is to be replaced."""

    @property
    def note(self) -> Note | None:
        """The note on it in the record of the case; None if nothing was left changed."""
        said = [
            f"left {', '.join(what)}: {then}"
            for what, then in ((self.restored, "restored"), (self.lost, "its worker was replaced"))
            if what
        ]
        return Note("", NoteCode.LEFT_CHANGED, "; ".join(said)) if said else None


UNREADABLE = object()
"""Stands for a part that cannot be read, as a case has replaced what is read by something else."""


class ProcessState:
    """The state of this process, as it was read first, and is to be for each case."""

    def __init__(self, framework: Framework) -> None:
        self._framework = framework
        self._parts = parts_of(framework)
        self._before: list[Any] = []

    def begin(self) -> None:
        """Reads the state that is kept, unless it was read: not while the process starts, when
        the manager still moves it to its cores."""
        if not self._before:
            self._before = [part.read() for part in self._parts]

    @contextlib.contextmanager
    def importing(self) -> Iterator[None]:
        """Keeps what a module sets up while it is imported inside: its later cases rely on that.
        A part that has changed already, by a case's scope, is not the module's."""
        kept = [
            (place, part, before)
            for place, part in enumerate(self._parts if self._before else ())
            if part.is_set_up and not part.is_changed(self._before[place], before := part.read())
        ]
        try:
            yield
        finally:
            for place, part, before in kept:
                now = part.read()
                if part.is_changed(before, now):
                    self._before[place] = now

    def settle(self, case: Case | None = None) -> Left:
        """Restores what was left changed, by a case or by another request. Of a framework's own
        operator, what it sets up at its first use stays."""
        self.begin()
        stays_set_up = case is None or isinstance(case.target, OperatorTarget)
        has_compiled = case is None or compiles(case, self._framework)
        restored, lost = [], []
        for place, part in enumerate(self._parts):
            before, now = self._before[place], _read(part)
            stays = (part.is_set_up and stays_set_up) or (part.compiler_adds and has_compiled)
            if now is not UNREADABLE and (stays or not part.is_changed(before, now)):
                self._before[place] = now
            elif _restores(part, before):
                restored.append(part.left)
            else:
                lost.append(part.left)
        return Left(tuple(restored), tuple(lost))

    def end_processes(self) -> None:
        """Kills the processes that were started since the state was read."""
        place = [part.read for part in self._parts].index(_children)
        for process in _children() - self._before[place] - KEPT_PROCESSES:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def _restores(part: ProcessPart, before: Any) -> bool:
    if part.restore is None:
        return False
    # What it refuses, as a limit that only an administrator may raise, is seen when it is read.
    with contextlib.suppress(Exception):
        part.restore(before)
    now = _read(part)
    return now is not UNREADABLE and not part.is_changed(before, now)


def _read(part: ProcessPart) -> Any:
    # What cannot be read costs the process, and not the run.
    with contextlib.suppress(Exception):
        return part.read()
    return UNREADABLE


def seed_afresh() -> None:
    """Seeds the random numbers of Python and NumPy, of which a user's function may draw, as a new
    process does: what a case has seeded decides none of a later one's. A framework's scope seeds
    its own."""
    random.seed()
    _numpy().random.seed()
