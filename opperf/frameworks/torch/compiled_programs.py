"""The programs that `torch.compile` has made, while a program is recorded: no dispatch mode sees
their own kernels."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import torch

from opperf.frameworks.calls import FORWARD, Calls, Site, Sites
from opperf.frameworks.compiled_runs import program_name
from opperf.frameworks.torch import private

COMPILED_CODE = "torch._inductor.output_code"
"""The module of the programs that `torch.compile` makes."""

KERNEL = re.compile(r"cpp_\w*_\d+")
"""Names of the functions of a compiled program's module that are its kernels on a CPU, which return
when they are done."""


class CompiledPrograms:
    """Adds the runs of these programs to the calls, and the time of their kernels where calls are
    timed."""

    def __init__(self, calls: Calls, sites: Sites, site_now: Callable[[], Site]) -> None:
        """`site_now` returns the site of what is called now."""
        self.counting = False
        self._calls, self._sites, self._site_now = calls, sites, site_now
        self._replaced: list[tuple[dict[str, Any], str, Any]] = []
        """Of each kernel that is timed the names of its module, its own, and the kernel."""
        self._seen: set[int] = set()
        """Identities of the modules' names whose kernels are timed."""
        self._restore: Callable[[], None] = lambda: None

    def watch(self) -> None:
        """Watches the programs, once their module is imported."""
        kind = private.COMPILED_PROGRAM.find()
        if kind is None:
            return
        original = kind.__call__

        def call(program: Any, *args: Any, **named: Any) -> Any:
            if not self.counting:
                return original(program, *args, **named)
            return self._run(program, lambda: original(program, *args, **named))

        def restore() -> None:
            kind.__call__ = original

        kind.__call__, self._restore = call, restore

    def remove(self) -> None:
        """Ends watching."""
        self._restore()
        for names, name, kernel in self._replaced:
            names[name] = kernel

    def _run(self, program: Any, run: Callable[[], Any]) -> Any:
        """Returns what a run of a program returns, and adds it."""
        site, outer = self._site_now(), self._sites.program
        if self._calls.timed:
            self._time_kernels(private.names_of(program))
        is_async = torch.cuda.is_initialized()
        if is_async and self._calls.timed:
            torch.cuda.synchronize()
        self._sites.program = _name(site)
        begun = time.perf_counter_ns()
        try:
            result = run()
            if is_async and self._calls.timed:
                torch.cuda.synchronize()
        finally:
            elapsed = time.perf_counter_ns() - begun
            is_known = self._calls.timed or not is_async
            self._calls.compiled.add(self._sites.program, elapsed if is_known else None)
            self._sites.program = outer
        return result

    def _time_kernels(self, names: dict[str, Any]) -> None:
        """Has the kernels of a module timed; `names` are all of its names."""
        if id(names) in self._seen:
            return
        self._seen.add(id(names))
        for name, kernel in list(names.items()):
            if KERNEL.fullmatch(name) and callable(kernel):
                self._replaced.append((names, name, kernel))
                names[name] = self._timed(name, kernel)

    def _timed(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            begun = time.perf_counter_ns()
            result = kernel(*args)
            if self.counting:
                elapsed = time.perf_counter_ns() - begun
                self._calls.compiled.add_kernel(self._sites.program, name, elapsed)
            return result

        return call


def _name(site: Site) -> str:
    """Returns the name of the program that runs at a site."""
    name = program_name(site.module or site.function, site.file, site.line)
    return name if site.phase == FORWARD else f"{name} {site.phase}"
