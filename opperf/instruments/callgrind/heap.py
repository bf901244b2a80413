"""Builds the allocator of processes whose instructions are counted (heap.c), once for each user."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
from pathlib import Path

from opperf.errors import one_line
from opperf.folders import cache_folder, part_folder
from opperf.processes.commands import run_command

SOURCE = Path(__file__).with_name("heap.c")

COMPILER = "CC"
"""Environment variable with the command of the C compiler; without it `cc` is used."""

OPTIONS = ("-O2", "-fPIC", "-shared", "-pthread", "-fno-builtin")
"""The compiler must not make `calloc`, of which these functions are a part, of `malloc` and
`memset`."""

SEPARATORS = " :"
"""Separators of the paths of LD_PRELOAD, which knows no quotes."""

TIMEOUT_S = 60.0
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
    """Makes the library, of which another process never sees a part."""
    with part_folder(made.parent) as folder:
        part = folder / made.name
        done = run_command([*command, "-o", str(part), str(SOURCE)], timeout_s=TIMEOUT_S)
        if done.problem:
            raise HeapError(f"{command[0]} {done.problem}: {one_line(done.errors)}")
        part.replace(made)


def is_loaded() -> bool:
    """Returns whether this process has the allocator."""
    return hasattr(ctypes.CDLL(None), SYMBOL)
