"""Valgrind, which workers that count instructions run under, and the heap that it is given."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from opperf.errors import UsageError, one_line
from opperf.folders import cache_folder, part_folder
from opperf.frameworks import package_of
from opperf.instruments.callgrind.counter import DUMPS
from opperf.instruments.instrument import Launcher
from opperf.model import Settings
from opperf.processes.commands import run_command

INSTALL = "apt-get install valgrind"

OLDEST = (3, 16)
"""Debian 11's version, the oldest maintained one; PyTorch, JAX and MXNet were run with 3.19."""

STEADY = {"PYTHONHASHSEED": "0", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=127"}
"""Environment variables of the processes: the order of sets and dictionaries of strings, and as
many cached blocks as glibc allows where its allocator is used."""

TIMEOUT_S = 10.0
"""Limit on programs that take some milliseconds."""


class Valgrind:
    """The installed Valgrind. Raises `UsageError` if there is none, or an old one."""

    def __init__(self) -> None:
        found = shutil.which("valgrind")
        if found is None:
            raise UsageError(f"--profiler instructions needs Valgrind; install it: {INSTALL}")
        self.path = found
        asked = run_command([found, "--version"], timeout_s=TIMEOUT_S)
        self.version = asked.output.strip()
        match = re.match(r"valgrind-(\d+)\.(\d+)", self.version)
        if match is None:
            said = asked.problem or f"printed {self.version!r}"
            raise UsageError(f"{found} is not Valgrind: --version {said}")
        if tuple(map(int, match.groups())) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise UsageError(
                f"--profiler instructions needs Valgrind {oldest} or later, and {found} is "
                f"{self.version}; install a newer one"
            )

    def command(self, dumps: Path, settings: Settings) -> list[str]:
        """Returns the words before a command that run it under callgrind."""
        cache = "yes" if settings.callgrind_cache else "no"
        return [
            *_without_random_addresses(),
            self.path,
            "--tool=callgrind",
            # Else it makes pipes for a debugger in the temporary folder, which remain at a kill.
            "--vgdb=no",
            "--instr-atstart=no",
            f"--cache-sim={cache}",
            f"--branch-sim={cache}",
            f"--callgrind-out-file={dumps}.%p",
        ]


@functools.cache
def installed() -> Valgrind:
    """Returns the installed Valgrind. Raises `UsageError` as `Valgrind` does."""
    return Valgrind()


def _heap_variables(current: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment variables by which a process that counts has opperf's own allocator,
    from which Python's objects come too: what one takes in Python's own depends on the objects
    beside it. None where it cannot be built, as the record of the environment then says."""
    try:
        built = str(library())
    except HeapError:
        return {}
    preloaded = ":".join(filter(None, (built, current.get("LD_PRELOAD"))))
    return {"LD_PRELOAD": preloaded, "PYTHONMALLOC": current.get("PYTHONMALLOC", "malloc")}


@functools.cache
def _without_random_addresses() -> tuple[str, ...]:
    """Returns the words for the same addresses every time: containers often refuse."""
    words = ("setarch", "-R")
    if shutil.which(words[0]) is None:
        return ()
    return () if run_command([*words, "true"], timeout_s=TIMEOUT_S).problem else words


class CallgrindLauncher(Launcher):
    """Runs a worker under callgrind, whose dumps are in a temporary folder."""

    def __init__(self, framework: str, settings: Settings) -> None:
        self._settings = settings
        package = package_of(framework)
        self._defaults = {} if package is None else package.counting_variables
        self._folder = tempfile.TemporaryDirectory(prefix="opperf-callgrind-")
        self._dumps = Path(self._folder.name) / "dump"

    def command(self, words: Sequence[str]) -> list[str]:
        return [*installed().command(self._dumps, self._settings), *words]

    def variables(self, current: Mapping[str, str]) -> dict[str, str]:
        merged = {**self._defaults, **current, **STEADY, **self._settings.env}
        return {**merged, **_heap_variables(merged), DUMPS: str(self._dumps)}

    def process_ended(self) -> None:
        for path in Path(self._folder.name).iterdir():
            path.unlink()

    def close(self) -> None:
        self._folder.cleanup()


SOURCE = Path(__file__).with_name("heap.c")

COMPILER = "CC"
"""Environment variable with the command of the C compiler; without it `cc` is used."""

OPTIONS = ("-O2", "-fPIC", "-shared", "-pthread", "-fno-builtin")
"""The compiler must not make `calloc`, which is here, of `malloc` and `memset`."""

SEPARATORS = " :"
"""Separators of the paths of LD_PRELOAD, which knows no quotes."""

HEAP_TIMEOUT_S = 60.0
"""Limit on a compiler that takes 0.2 s."""

SYMBOL = "opperf_heap"


class HeapError(Exception):
    """The allocator cannot be built. The message is one line."""


@functools.cache
def library() -> Path:
    """Returns the shared library, cached or compiled now. Raises `HeapError` if that fails."""
    try:
        command = [*shlex.split(os.environ.get(COMPILER) or "cc"), *OPTIONS]
    except ValueError as error:
        raise HeapError(f"{COMPILER}: {error}") from error
    if shutil.which(command[0]) is None:
        raise HeapError(f"no C compiler {command[0]}")
    source = SOURCE.read_bytes()
    text = f"{platform.machine()} {shlex.join(command)}".encode()
    key = hashlib.sha256(source + text).hexdigest()[:16]
    made = cache_folder() / "heap" / f"{key}.so"
    if set(str(made)) & set(SEPARATORS):
        raise HeapError(f"the cache folder {cache_folder()} has a space or a colon in its path")
    try:
        if not made.is_file():
            made.parent.mkdir(parents=True, exist_ok=True)
            _compile(command, made)
    except OSError as error:
        raise HeapError(one_line(str(error))) from error
    return made


def _compile(command: list[str], made: Path) -> None:
    with part_folder(made.parent) as folder:
        part = folder / made.name
        done = run_command([*command, "-o", str(part), str(SOURCE)], timeout_s=HEAP_TIMEOUT_S)
        if done.problem:
            raise HeapError(f"{command[0]} {done.problem}: {one_line(done.errors)}")
        part.replace(made)


def is_loaded() -> bool:
    """Returns whether this process has the allocator."""
    return hasattr(ctypes.CDLL(None), SYMBOL)
