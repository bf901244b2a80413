"""The kernels of compiled programs in a recording, by JAX's own profiler."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

from opperf.errors import ProfilerError, UnsupportedError
from opperf.frameworks.compiled_runs import CompiledRuns
from opperf.frameworks.jax import thunks

MOST_RUNS = 2000
"""Runs of compiled programs that are profiled: events of many more would fill the memory."""


class ProgramKernels:
    """Profiles the runs of compiled programs between `begin` and `end`, and adds the times of their
    kernels to the runs."""

    def __init__(self, compiled: CompiledRuns) -> None:
        self._compiled = compiled
        self._profile = ExitStack()
        self._found: list[Any] | None = None
        """Has the profile after its end; None where nothing is profiled."""
        self._runs: Counter[tuple[str, str]] = Counter()
        """Of modules and programs, in this profile."""
        self._left = MOST_RUNS
        self.has_run = False
        """Whether anything has run. A profile before that would choose the program's devices."""
        self._wanted = False

    def begin(self) -> None:
        """Begins a profile, at once or after the first run, unless the program makes one of its own
        or enough was profiled."""
        self._wanted = True
        if self.has_run and self._left > 0:
            self._start()

    def _start(self) -> None:
        self._wanted = False
        # JAX refuses a second profiler with this error.
        with suppress(RuntimeError, UnsupportedError):
            self._found = self._profile.enter_context(thunks.record())

    def add(self, name: str, program: str) -> None:
        """Notes a run of a program; `name` is that of its function."""
        if self._wanted and self._left > 0:
            self._start()
        elif self._found is not None:
            # As JAX names a module.
            module = "jit_" + re.sub(r"[^\w.-]", "_", name).rstrip("_")
            self._runs[module, program] += 1
            self._left -= 1
            if self._left <= 0:
                self.end()

    def end(self) -> None:
        """Ends the profile, and adds what it has."""
        found, self._found, self._wanted = self._found, None, False
        runs, self._runs = self._runs, Counter()
        if found is None:
            return
        with suppress(ProfilerError):
            self._profile.close()
        programs = dict(runs.keys())
        # Modules of different functions may have the same name.
        shared = {module for module, number in Counter(m for m, _ in runs).items() if number > 1}
        for profile in found:
            for module, kernel, time_ns in _kernels(profile):
                if module in programs and module not in shared:
                    self._compiled.add_kernel(programs[module], kernel, time_ns)


def _kernels(profile: Any) -> Iterator[tuple[str, str, float]]:
    """Yields the module, name and nanoseconds of each thunk, without those of thunks inside."""
    for plane in profile.planes:
        for line in plane.lines:
            begun: list[tuple[float, list[Any]]] = []
            for begin, end, module, name in sorted(
                _thunks(line), key=lambda own: (own[0], -own[1])
            ):
                while begun and begun[-1][0] <= begin:
                    yield tuple(begun.pop()[1])
                if begun:
                    begun[-1][1][2] -= end - begin
                begun.append((end, [module, name, end - begin]))
            while begun:
                yield tuple(begun.pop()[1])


def _thunks(line: Any) -> Iterator[tuple[float, float, str, str]]:
    for event in line.events:
        stats = dict(event.stats)
        if thunks.THUNK in stats and thunks.MODULE in stats:
            begin = event.start_ns
            yield begin, begin + event.duration_ns, str(stats[thunks.MODULE]), event.name
