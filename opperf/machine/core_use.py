"""Use of this machine's cores by others: claims of other runs of opperf, and load. A claim is a
file of a folder that all users share, which its process has locked for as long as it lives."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

from opperf.machine.kernel import (
    PROCFS,
    Unreadable,
    format_cpus,
    parse_cpus,
    read_text,
    usable_cpus,
)

try:
    import fcntl
except ImportError:  # not on Windows, where processes are not pinned either
    fcntl = None  # type: ignore[assignment]

NAME = "opperf-cores"

SUFFIX = ".claim"

CHOOSING = "choosing"
"""Locked by a process while it chooses: two that start together choose different cores."""

LONGEST_WAIT_S = 1.0
"""Longest wait for another process to choose, which takes milliseconds unless it is stopped."""

STEP_S = 0.01

FOR_ALL = 0o1777
READABLE = 0o644
"""Modes of the folder, in which each user may delete their own files only, and of a claim."""


class Held(NamedTuple):
    """The claim of another process."""

    process: int
    cpus: frozenset[int]


def shared_folder() -> Path:
    """Returns the folder of claims: one for all users of this machine."""
    return Path(tempfile.gettempdir()) / NAME


class Claims:
    """The cores that this process's workers use, as other processes see them, and the other way
    round. Where the folder cannot be written, nothing is claimed and nothing is seen."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or shared_folder()
        self._file: int | None = None
        self._path = Path()
        self._cpus = frozenset[int]()

    @contextmanager
    def choosing(self) -> Iterator[None]:
        """While no other process chooses."""
        if fcntl is None or not self._make_folder():
            yield
            return
        try:
            file = _open_shared(self._folder / CHOOSING)
        except OSError:
            yield
            return
        try:
            deadline = time.monotonic() + LONGEST_WAIT_S
            while not _lock(file) and time.monotonic() < deadline:
                time.sleep(STEP_S)
            yield
        finally:
            os.close(file)

    def others(self) -> list[Held]:
        """Returns the claims of other processes, and deletes those of processes that ended."""
        found: list[Held] = []
        with suppress(OSError):
            for path in sorted(self._folder.iterdir() if fcntl is not None else ()):
                if path.suffix == SUFFIX and path != self._path:
                    with suppress(OSError, ValueError):
                        found += _read(path)
        return found

    def add(self, cpus: Iterable[int]) -> None:
        """Claims cores, until `release` or the end of the process."""
        self._cpus |= frozenset(cpus)
        if fcntl is None or not self._make_folder():
            return
        # A user's full or read-only folder stops no run.
        with suppress(OSError):
            if self._file is None:
                prefix = f"{os.getpid()}-"
                self._file, path = tempfile.mkstemp(SUFFIX, prefix, self._folder)
                self._path = Path(path)
                _lock(self._file)
                os.fchmod(self._file, READABLE)
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, format_cpus(self._cpus).encode(), 0)

    def release(self) -> None:
        self._cpus = frozenset()
        if self._file is not None:
            with suppress(OSError):
                self._path.unlink()
            os.close(self._file)
        self._file = None

    def _make_folder(self) -> bool:
        with suppress(OSError):
            self._folder.mkdir()
            # What `mkdir` is asked for is lessened by the user's mask.
            self._folder.chmod(FOR_ALL)
        return self._folder.is_dir() and not self._folder.is_symlink()


def _open_shared(path: Path) -> int:
    try:
        # Linux refuses to create what another user has created in such a folder.
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, READABLE)


def _lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(path: Path) -> Iterator[Held]:
    """Yields the claim in a file, if its process lives; else deletes the file."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        if _lock(file):
            # Of another user, it stays, and counts for nothing.
            path.unlink()
            return
        cpus = parse_cpus(os.read(file, 4096).decode())
        yield Held(int(path.name.partition("-")[0]), cpus)
    finally:
        os.close(file)


INTERVAL_S = 0.1
"""Time over which cores are watched: ten steps of the kernel's count of their time."""

IDLE_FIELDS = (3, 4)
"""Positions of a core's time without work, and waiting for a disk, in the kernel's statistics."""

COUNTED_FIELDS = 8
"""Number of fields that add up to a core's time; those that follow are parts of them."""


def watch_cores(interval_s: float = INTERVAL_S, proc: Path = PROCFS) -> dict[int, float]:
    """Returns the share of an interval in which each core was busy, the hypervisor's other guests
    included; empty if the system does not count it."""
    before = _read_busy_times(proc)
    # This process itself then makes no core busy.
    time.sleep(interval_s if before else 0.0)
    after = _read_busy_times(proc)
    found = {}
    for cpu in before.keys() & after.keys():
        busy, whole = (now - then for now, then in zip(after[cpu], before[cpu], strict=True))
        found[cpu] = busy / whole if whole > 0 else 0.0
    return found


def _read_busy_times(proc: Path) -> dict[int, tuple[int, int]]:
    """Returns the busy time of each core and its whole time since boot, in the kernel's steps."""
    try:
        lines = read_text(proc / "stat").splitlines()
    except Unreadable:
        return {}
    found = {}
    for line in lines:
        name, *texts = line.split()
        number = name.removeprefix("cpu")
        if name != number and number.isdigit():
            counts = list(map(int, texts[:COUNTED_FIELDS]))
            idle = sum(counts[position] for position in IDLE_FIELDS)
            found[int(number)] = sum(counts) - idle, sum(counts)
    return found


class Use(NamedTuple):
    """Use of a machine's cores by others."""

    claims: tuple[Held, ...] = ()
    load: Mapping[int, float] = {}

    def users(self, cpus: Iterable[int]) -> int:
        """Returns the most other runs that use one of these cores."""
        return max((sum(cpu in held.cpus for held in self.claims) for cpu in cpus), default=0)

    def level(self, cpu: int) -> float:
        """Returns how busy a core is, in tenths; 0 if it is hardly."""
        share = self.load.get(cpu, 0.0)
        return round(share, 1) if share > RESTING else 0.0


NOTHING_ELSE = Use()

RESTING = 0.25
"""Share of the time in which a core that nothing needs for long is busy, at most."""


GAUGED_BYTES = 12_000_000
"""Bytes that each core hashes to gauge the machine: some 15 ms, several of a scheduler's slices."""

GAUGINGS = 3


def read_gauge() -> float:
    """Returns the mean seconds in which a usable core does a fixed work beside the others, as an
    operator's threads do: longer if other processes are busy."""
    data = bytes(GAUGED_BYTES)
    cores = max(1, len(usable_cpus()))

    def work_s(core: int) -> float:
        begun = time.perf_counter()
        hashlib.blake2b(data).digest()
        return time.perf_counter() - begun

    with ThreadPoolExecutor(cores) as threads:
        return median(fmean(threads.map(work_s, range(cores))) for _ in range(GAUGINGS))
