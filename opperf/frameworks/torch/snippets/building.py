"""Compiles snippets of C++ in a few translation units, and keeps each in the cache or its error."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
import sysconfig
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import psutil
import torch

from opperf.errors import UnsupportedError, UsageError
from opperf.folders import cache_folder
from opperf.frameworks.torch.snippets.compiling import (
    FLAGS,
    CompileError,
    check_compiler,
    compile_unit,
    compiler_version,
    plain_messages,
)
from opperf.frameworks.torch.snippets.units import (
    HEADER,
    Faults,
    key_of,
    read_faults,
    unit_name,
    unit_text,
)
from opperf.model import SnippetTarget, Struct

MODULES: dict[str, ModuleType] = {}
"""The units that this process has loaded, by name."""


class Cached(Struct, frozen=True):
    """A snippet's place in a unit, or the compiler's first error."""

    unit: str = ""
    index: int = 0
    error: str = ""


@functools.cache
def folder() -> Path:
    """Returns the folder of this build of PyTorch, interpreter and compiler: what is compiled by
    one is of no use to another."""
    parts = (
        torch.__version__,
        str(torch.version.git_version),
        sysconfig.get_config_var("SOABI") or sys.version,
        compiler_version(),
        *FLAGS,
        HEADER.read_text(encoding="utf-8"),
    )
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    made = cache_folder() / "snippets" / key
    made.mkdir(parents=True, exist_ok=True)
    return made


def unit_file(name: str) -> Path:
    """Returns the file of a compiled unit."""
    return folder() / f"{name}.so"


def find(target: SnippetTarget) -> Cached | None:
    """Returns what the cache has of a snippet; None if that is nothing, or cannot be read."""
    try:
        found = msgspec.json.decode(_file(target).read_bytes(), type=Cached)
    except (OSError, msgspec.DecodeError):
        return None
    return found if found.error or unit_file(found.unit).is_file() else None


def keep_unit(name: str, unit: ModuleType, targets: Sequence[SnippetTarget]) -> None:
    """Keeps a compiled unit for its snippets."""
    MODULES[name] = unit
    for index, target in enumerate(targets):
        _write(_file(target), Cached(unit=name, index=index))


def keep_error(target: SnippetTarget, error: str) -> None:
    """Keeps the error of a snippet that does not compile."""
    _write(_file(target), Cached(error=error))


def module(name: str) -> ModuleType:
    """Returns the module of a unit."""
    if name not in MODULES:
        spec = importlib.util.spec_from_file_location(name, unit_file(name))
        assert spec is not None and spec.loader is not None
        MODULES[name] = made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
    return MODULES[name]


def _write(path: Path, value: Cached) -> None:
    """Writes a file at once, as other processes may read it."""
    part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    part.write_bytes(msgspec.json.encode(value))
    part.replace(path)


def _file(target: SnippetTarget) -> Path:
    return folder() / f"{key_of(target)}.json"


LEAST = 8
"""Fewest snippets of a unit, if there are several units: PyTorch's headers take as long to compile
as some thirty snippets, so that smaller units gain nothing from another core."""

UNIT_BYTES = 2 * 2**30
"""Memory of a compiler that reads PyTorch's headers, rounded up from 1.3 GiB."""


HEADER_FAULTS: list[str] = []
"""Why no snippet can be compiled, once this process has found that out: it takes as long as to
compile one."""


def build(targets: Iterable[SnippetTarget]) -> None:
    """Compiles the snippets that the cache does not have. What is in the way of that is no error
    here: `statement_of` raises it for each."""
    asked = {key_of(target): target for target in targets}
    missing = [target for target in asked.values() if find(target) is None]
    if not missing:
        return
    # No compiler, or no place in the cache.
    with suppress(UnsupportedError, OSError):
        check_compiler()
        units = _units(missing)
        with plain_messages(), ThreadPoolExecutor(len(units)) as pool:
            list(pool.map(_build_unit, units))


def statement_of(target: SnippetTarget, program: bytes) -> Any:
    """Returns the statement of a snippet, after its setup: an object with `run()`, `loop(count)`,
    `result()`, `prepare(leaves, head)` and `backward()`.

    Raises `UsageError` with the compiler's first error, `UnsupportedError` without a compiler, and
    `RuntimeError` for an error of the setup.
    """
    found = find(target)
    if found is None:
        check_compiler()
        if HEADER_FAULTS:
            raise UnsupportedError(HEADER_FAULTS[0])
        with plain_messages():
            _build_unit([target])
        found = find(target)
    assert found is not None
    if found.error:
        raise UsageError(found.error)
    return module(found.unit).create(found.index, program)


def _units(targets: Sequence[SnippetTarget]) -> list[list[SnippetTarget]]:
    """Returns the snippets in as many parts as compilers can run at once."""
    # On macOS a process has no affinity.
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    fitting = int(psutil.virtual_memory().available // UNIT_BYTES)
    count = max(1, min(cores, fitting, len(targets) // LEAST))
    return [list(targets[first::count]) for first in range(count)]


def _build_unit(targets: list[SnippetTarget]) -> None:
    """Compiles snippets in one unit, or if that fails in several, until each one either is compiled
    or has failed alone."""
    name = unit_name(targets)
    try:
        made = compile_unit(name, unit_text(targets), unit_file(name))
    except CompileError as error:
        faults = read_faults(str(error))
    else:
        keep_unit(name, made, targets)
        return
    if len(targets) == 1:
        (target,) = targets
        if not faults.by_key:
            _check_headers(faults)
        keep_error(target, faults.by_key.get(key_of(target), f"C++: {faults.first}"))
        return
    for part in _parts(targets, faults):
        _build_unit(part)


def _parts(targets: list[SnippetTarget], faults: Faults) -> list[list[SnippetTarget]]:
    """Returns two parts of a unit that does not compile: the snippets without an error and those
    with one, or its halves if the errors do not tell."""
    guilty = [target for target in targets if key_of(target) in faults.by_key]
    innocent = [target for target in targets if key_of(target) not in faults.by_key]
    if guilty and innocent:
        return [innocent, guilty]
    middle = len(targets) // 2
    return [targets[:middle], targets[middle:]]


def _check_headers(faults: Faults) -> None:
    """Raises `UnsupportedError` if a unit without a snippet does not compile either: the fault is
    then that of the compiler or of its headers, as those of Python."""
    name = unit_name(())
    try:
        compile_unit(name, unit_text(()), unit_file(name))
    except CompileError as error:
        reason = read_faults(str(error)).first
        HEADER_FAULTS.append(
            f"no snippet of C++ can be compiled here: {reason}; install the headers of Python "
            "(apt install python3-dev), or name another compiler in CXX"
        )
        raise UnsupportedError(HEADER_FAULTS[0]) from None
