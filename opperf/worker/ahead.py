"""Compiles cases ahead: into the framework's cache, for the process that measures them, and code
that every process needs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from opperf.errors import UnsupportedError
from opperf.frameworks import Framework
from opperf.instruments.guard import guard
from opperf.instruments.prepared import PreparedCase, case_scope
from opperf.instruments.visit import CompiledAhead
from opperf.machine.kernel import named_cpus
from opperf.model import Case

MOST_BYTES = 2**28
"""Most memory of a case that is compiled ahead, as several are at once: its inputs are made for
that. What runs on more takes seconds, of which compiling is a small part."""


def uncompiled(framework: Framework, cases: Sequence[Case]) -> tuple[str, ...]:
    """Returns the ids of the cases that have a cache which lacks their programs."""
    marks = {case.id: framework.compiled_mark(case) for case in cases}
    return tuple(id for id, mark in marks.items() if mark is not None and not mark.exists())


def compile_cases(framework: Framework, cases: Sequence[Case]) -> dict[str, CompiledAhead]:
    """Returns what compiling took of each case that could be made here."""
    found = {}
    for case in cases:
        # The case's record will have the error.
        with suppress(Exception):
            found[case.id] = _compile(framework, case)
            mark = framework.compiled_mark(case)
            if mark is not None:
                mark.parent.mkdir(parents=True, exist_ok=True)
                mark.touch()
    return found


def _compile(framework: Framework, case: Case) -> CompiledAhead:
    if guard(case, framework) > MOST_BYTES:
        raise UnsupportedError("too large to be compiled beside others")
    with case_scope(case, framework):
        prepared = PreparedCase(case, framework)
        # What cannot be compiled, as a gradient that does not exist, comes after what can be.
        with suppress(Exception):
            inputs = prepared.differentiated if "backward" in case.passes else []
            framework.compile_ahead(prepared.call, inputs)
        figures = framework.compilation(prepared.call)
        return CompiledAhead(
            compile_ns=figures["compilation"],
            first_ns=framework.first_compile_ns(prepared.call),
            cache_misses=int(figures["compile_cache_misses"]),
        )


def build_cases(framework: Framework, cases: Sequence[Case]) -> None:
    """Compiles the code of cases, on all cores that opperf may use: nothing is measured by then."""
    with on_usable_cores():
        framework.build(cases)


@contextmanager
def on_usable_cores() -> Iterator[None]:
    """Has what this thread starts run on all cores that opperf may use."""
    usable = named_cpus()
    if not usable:
        yield
        return
    pinned = os.sched_getaffinity(0)
    try:
        # A control group may have lost them.
        with suppress(OSError):
            os.sched_setaffinity(0, usable)
        yield
    finally:
        os.sched_setaffinity(0, pinned)
