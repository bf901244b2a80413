"""Compiles snippets of C++ in a few translation units, and finds those that do not compile."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psutil

from opperf.errors import UnsupportedError, UsageError
from opperf.frameworks.torch.snippets import cache
from opperf.frameworks.torch.snippets.compiling import (
    CompileError,
    check_compiler,
    compile_unit,
    plain_messages,
)
from opperf.frameworks.torch.snippets.units import (
    Faults,
    key_of,
    read_faults,
    unit_name,
    unit_text,
)
from opperf.model import SnippetTarget

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
    missing = [target for target in asked.values() if cache.find(target) is None]
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
    found = cache.find(target)
    if found is None:
        check_compiler()
        if HEADER_FAULTS:
            raise UnsupportedError(HEADER_FAULTS[0])
        with plain_messages():
            _build_unit([target])
        found = cache.find(target)
    assert found is not None
    if found.error:
        raise UsageError(found.error)
    return cache.module(found.unit).create(found.index, program)


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
        made = compile_unit(name, unit_text(targets), cache.unit_file(name))
    except CompileError as error:
        faults = read_faults(str(error))
    else:
        cache.keep_unit(name, made, targets)
        return
    if len(targets) == 1:
        (target,) = targets
        if not faults.by_key:
            _check_headers(faults)
        cache.keep_error(target, faults.by_key.get(key_of(target), f"C++: {faults.first}"))
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
        compile_unit(name, unit_text(()), cache.unit_file(name))
    except CompileError as error:
        reason = read_faults(str(error)).first
        HEADER_FAULTS.append(
            f"no snippet of C++ can be compiled here: {reason}; install the headers of Python "
            "(apt install python3-dev), or name another compiler in CXX"
        )
        raise UnsupportedError(HEADER_FAULTS[0]) from None
