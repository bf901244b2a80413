"""Compiles snippets of C++ in a few translation units, and finds those that do not compile."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil

from opperf.errors import UnsupportedError, UsageError
from opperf.frameworks.torch.snippets import kept
from opperf.frameworks.torch.snippets.compiling import (
    CompileError,
    check_compiler,
    compile_unit,
    plain_messages,
)
from opperf.frameworks.torch.snippets.units import (
    CppSnippet,
    Faults,
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


def build(snippets: Iterable[tuple[SnippetTarget, bool]]) -> None:
    """Compiles the snippets that the cache does not have; the flags are whether each has a backward
    pass. Does nothing without a compiler, as `statement_of` says for each."""
    asked = {one.key: one for one in (CppSnippet(*pair) for pair in snippets)}
    missing = [one for one in asked.values() if kept.find(one) is None]
    if not missing:
        return
    try:
        check_compiler()
    except UnsupportedError:
        return
    units = _units(missing)
    with plain_messages(), ThreadPoolExecutor(len(units)) as pool:
        list(pool.map(_build_unit, units))


def statement_of(target: SnippetTarget, program: bytes, has_backward: bool) -> Any:
    """Returns the statement of a snippet, after its setup: an object with `run()`, `loop(count)`,
    `result()`, `prepare(leaves, head)` and `backward()`.

    Raises `UsageError` with the compiler's first error, `UnsupportedError` without a compiler, and
    `RuntimeError` for an error of the setup.
    """
    snippet = CppSnippet(target, has_backward)
    found = kept.find(snippet)
    if found is None:
        check_compiler()
        with plain_messages():
            _build_unit([snippet])
        found = kept.find(snippet)
    assert found is not None
    if found.error:
        raise UsageError(found.error)
    return kept.module(found.unit).create(found.index, program)


def _units(snippets: Sequence[CppSnippet]) -> list[list[CppSnippet]]:
    """Returns the snippets in as many parts as compilers can run at once."""
    # On macOS a process has no affinity.
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    fitting = int(psutil.virtual_memory().available // UNIT_BYTES)
    count = max(1, min(cores, fitting, len(snippets) // LEAST))
    return [list(snippets[first::count]) for first in range(count)]


def _build_unit(snippets: list[CppSnippet]) -> None:
    """Compiles snippets in one unit, or if that fails in several, until each one either is compiled
    or has failed alone."""
    name = unit_name(snippets)
    try:
        made = compile_unit(name, unit_text(snippets), kept.unit_file(name))
    except CompileError as error:
        faults = read_faults(str(error))
    else:
        kept.keep_unit(name, made, snippets)
        return
    if len(snippets) == 1:
        (snippet,) = snippets
        if not faults.by_key:
            _check_headers(faults)
        kept.keep_error(snippet, faults.by_key.get(snippet.key, f"C++: {faults.first}"))
        return
    for part in _parts(snippets, faults):
        _build_unit(part)


def _parts(snippets: list[CppSnippet], faults: Faults) -> list[list[CppSnippet]]:
    """Returns two parts of a unit that does not compile: the snippets without an error and those
    with one, or its halves if the errors do not tell."""
    guilty = [one for one in snippets if one.key in faults.by_key]
    innocent = [one for one in snippets if one.key not in faults.by_key]
    if guilty and innocent:
        return [innocent, guilty]
    middle = len(snippets) // 2
    return [snippets[:middle], snippets[middle:]]


def _check_headers(faults: Faults) -> None:
    """Raises `UnsupportedError` if a unit without a snippet does not compile either: the fault is
    then that of the compiler or of its headers, as those of Python."""
    name = unit_name(())
    try:
        compile_unit(name, unit_text(()), kept.unit_file(name))
    except CompileError as error:
        reason = read_faults(str(error)).first
        raise UnsupportedError(
            f"no snippet of C++ can be compiled here: {reason}; install the headers of Python "
            "(apt install python3-dev), or name another compiler in CXX"
        ) from None
