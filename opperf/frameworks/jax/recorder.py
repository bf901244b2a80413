"""Records the calls of a program that uses JAX: of each program that JAX compiles and runs, the
primitives, as often as they run.

A function outside `jax.jit` is many programs of a primitive or a few. Calls of compiled programs
usually do not come through Python; while a recorder is installed they do.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

import jax
import msgspec
from jax.extend import core

from opperf.errors import ProfilerError, UnsupportedError
from opperf.frameworks.calls import (
    BACKWARD,
    FORWARD,
    Calls,
    EndStep,
    Frames,
    RecordedCall,
    Recorder,
    Site,
    caller,
    site_at,
)
from opperf.frameworks.jax import primitives, private, steps, thunks
from opperf.frameworks.jax.compiling import COUNTER
from opperf.frameworks.timing import CompiledRuns, program_name
from opperf.model import Argument, Case, Fill, TensorSpec

LENGTH = "length"
"""Parameter of a loop that is the number of its rounds."""

OF_UNKNOWN_NUMBER = {
    "while": "the bodies of `while` loops are counted once for each call of the loop",
    "cond": "every branch of a `cond` is counted, and one of them runs",
}
"""Primitives whose programs run a number of times that is only known while they run."""

CONTAINERS = frozenset(
    {
        *("pjit", "jit", "closed_call", "core_call", "remat", "checkpoint", "custom_jvp_call"),
        *("custom_vjp_call", "custom_vjp_call_jaxpr", "custom_lin", "scan", "while", "cond"),
        *("shard_map", "xla_pmap", "custom_transpose_call", "run_state"),
    }
)
"""Primitives that only run the programs among their parameters."""

TRANSFORMED = re.compile(r"\w+\((.*)\)")
"""The name of a scope under a transformation: `transpose(jvp(Dense_0))`."""


class Entry(NamedTuple):
    """A primitive's calls in one run of a program."""

    call: RecordedCall
    site: Site | None
    """None for the line that calls the program."""
    number: int


class Program(NamedTuple):
    """A program that was run, and what one run of it calls."""

    jaxpr: Any
    """Kept, so that its identity is that of no other."""
    entries: tuple[Entry, ...]
    number: int
    """Number of calls in a run."""
    name: str
    """Of what was compiled; empty of a primitive alone."""


class JAXRecorder(Recorder):
    """Records the programs that this process runs."""

    def __init__(self, calls: Calls, end_step: EndStep) -> None:
        super().__init__(calls, end_step)
        self._recording = False
        self._frames = Frames(str(jax.__file__))
        self._programs: dict[int, Program] = {}
        self._unknown: set[str] = set()
        self._kernels = ProgramKernels(calls.compiled)
        self._restore: Callable[[], None] = lambda: None

    def install(self) -> None:
        module = private.PROGRAMS.get()
        names = (private.RUN_PROGRAM, private.FAST_PATH)
        run, fast_path = (name.get() for name in names)
        run_name, fast_name = (name.places[0].partition(":")[2] for name in names)

        def run_recorded(*args: Any, jaxpr: Any, **parameters: Any) -> Any:
            self._kernels.has_run = True
            if not self._recording:
                return run(*args, jaxpr=jaxpr, **parameters)
            begun, compiling = time.perf_counter_ns(), COUNTER.compiling_ns
            made = run(*args, jaxpr=jaxpr, **parameters)
            if self.calls.timed:
                jax.block_until_ready(made[0])
            elapsed = time.perf_counter_ns() - begun
            # Other threads may compile, too.
            name = str(parameters.get("name", ""))
            self._add(jaxpr, name, max(0, elapsed - (COUNTER.compiling_ns - compiling)))
            return made

        def restore() -> None:
            setattr(module, run_name, run)
            setattr(module, fast_name, fast_path)

        setattr(module, run_name, run_recorded)
        setattr(module, fast_name, lambda *args, **named: None)
        self._restore = restore
        # Those of before would be called without Python.
        jax.clear_caches()

    def begin(self) -> None:
        # Here the list of all is made in no step of the program.
        primitives.operators()
        if self.calls.timed:
            self._kernels.begin()
        self._recording = True

    def end(self) -> None:
        self._recording = False
        self._kernels.end()

    def wait(self) -> None:
        jax.block_until_ready(jax.live_arrays())

    def remove(self) -> None:
        self._restore()

    def notes(self) -> tuple[str, ...]:
        return tuple(OF_UNKNOWN_NUMBER[name] for name in sorted(self._unknown))

    def _add(self, jaxpr: Any, name: str, elapsed_ns: int) -> None:
        """Adds the calls of a run of a program; `name` is that of its function."""
        program = self._programs.get(id(jaxpr))
        if program is None:
            program = self._programs[id(jaxpr)] = self._read(jaxpr)
        around = self._around()._replace(program=program.name)
        self.calls.number += program.number
        alone = not program.name and self.calls.timed
        for call, site, number in program.entries:
            call.add(site or around, elapsed_ns if alone else None, number)
        if program.name:
            self.calls.compiled.add(program.name, elapsed_ns if self.calls.timed else None)
            self._kernels.add(name, program.name)

    def _around(self) -> Site:
        source = private.source_now()
        scope = str(source.name_stack) if source is not None else ""
        site = site_at(_module_of(scope), self._frames.find(caller(2)), _phase_of(scope))
        if site.phase == BACKWARD:
            # What is differentiated outside of a program is called by the line that asks for it.
            site = self._at(source, site.module, BACKWARD) or site
        return site

    def _at(self, source: Any, module: str, phase: str) -> Site | None:
        """Returns the site of the user's frame that JAX keeps; None without one."""
        for frame in source.traceback.frames if source.traceback is not None else ():
            if not self._frames.is_hidden(frame.file_name):
                return Site(module, frame.file_name, frame.line_num, frame.function_name, phase)
        return None

    def _read(self, closed: Any) -> Program:
        found: dict[tuple[int, Site | None], Entry] = {}
        total = 0
        name, file, line = private.source_of(closed.jaxpr)
        is_users = not self._frames.is_hidden(file)
        for step, site, number in self._walk(closed.jaxpr, 1, None, is_users):
            total += number
            call = self._call(step)
            if call is None:
                continue
            before = found.get((id(call), site))
            known = before.number if before else 0
            found[id(call), site] = Entry(call, site, known + number)
        name = program_name(name, file, line) if total > 1 else ""
        entries = (
            entry if entry.site is None else entry._replace(site=entry.site._replace(program=name))
            for entry in found.values()
        )
        return Program(closed, tuple(entries), total, name)

    def _walk(
        self, program: core.Jaxpr, number: int, outer: Site | None, is_users: bool
    ) -> Iterator[tuple[steps.Step, Site | None, int]]:
        """Yields the steps of a program that call no further program, each with its site and the
        number of its runs. `outer` is the site of the program's call; the lines of a program of a
        library's are those of its first call, and its steps have that of `outer`."""
        known: steps.Known = {}
        for equation in program.eqns:
            name = equation.primitive.name
            site = self._site(equation, outer) if is_users else outer
            inner = list(steps.programs_in(list(equation.params.values())))
            if name not in CONTAINERS or not inner:
                contents = tuple(steps.contents_of(value, known) for value in equation.invars)
                yield steps.Step(equation, contents), site, number
                continue
            if name in OF_UNKNOWN_NUMBER:
                self._unknown.add(name)
            rounds = equation.params.get(LENGTH, 1) if name == "scan" else 1
            for called in inner:
                own = not self._frames.is_hidden(private.source_of(called)[1])
                yield from self._walk(called, number * rounds, site, own)

    def _site(self, equation: Any, outer: Site | None) -> Site | None:
        """Returns the site of a step by what JAX keeps of it."""
        source = equation.source_info
        scope = str(source.name_stack)
        inside = _module_of(scope)
        around = outer.module if outer is not None else ""
        module = ".".join(filter(None, (around, inside)))
        phase = _phase_of(scope)
        if outer is not None and outer.phase == BACKWARD:
            phase = BACKWARD
        site = self._at(source, module, phase)
        if site is not None:
            return site
        return outer._replace(module=module, phase=phase) if outer is not None else None

    def _call(self, step: steps.Step) -> RecordedCall | None:
        """Returns the call of a step; None if no case can stand for it."""
        equation = step.equation
        values = tuple(str(value.aval) for value in equation.invars)
        given = {name: str(value) for name, value in equation.params.items()}
        key: Hashable = (equation.primitive.name, values, tuple(given.items()))
        known = self.calls.known.get(key)
        if known is not None:
            return known
        try:
            return self.calls.begin(key, key, lambda: describe(step))
        except UnsupportedError as error:
            self.calls.refuse(equation.primitive.name, str(error))
            return None


def describe(step: steps.Step) -> RecordedCall:
    """Returns a step as a call, of which nothing was counted yet. Raises `UnsupportedError` for one
    that no case can have."""
    name = primitives.operator_name(step.equation.primitive)
    if not name:
        raise UnsupportedError("it is no primitive of the registry")
    arguments: dict[str, Argument] = steps.arguments_of(step)
    indices = arguments.get(INDICES)
    if name.startswith(INDEXING) and isinstance(indices, TensorSpec):
        # Those of the operator's rule, along the axes that the call names.
        arguments[INDICES] = msgspec.structs.replace(indices, fill=Fill())
    operator = primitives.find(name)
    assert operator is not None
    return RecordedCall(Case(operator.target, arguments, passes=("forward",)))


INDEXING = ("primitive.gather", "primitive.scatter")
"""Beginnings of the names of primitives that read or write at indices."""

INDICES = "x1"
"""Their argument that has the indices."""


def _module_of(scope: str) -> str:
    """Returns the path of a module by the names of its scopes."""
    words = []
    for word in scope.split("/"):
        while match := TRANSFORMED.fullmatch(word):
            word = match[1]
        words.append(word)
    return ".".join(filter(None, words))


def _phase_of(scope: str) -> str:
    """Returns the phase of a scope: of a program that is transposed it is the backward pass."""
    return BACKWARD if "transpose(" in scope else FORWARD


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
