"""Answers of a worker that measures nothing: registries listed, scripts, traces, and cases compiled
ahead, into the framework's cache or as code that every process needs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

import msgspec

from opperf.errors import NoGradientError, UnsupportedError, one_line
from opperf.frameworks import Framework, package_of
from opperf.frameworks.user_modules import loaded_for, loaded_modules, users_modules
from opperf.instruments.peaks import guard, tensor_bytes
from opperf.instruments.prepared import NOTHING_BOUND, Bound, PreparedCase, case_scope, reason_of
from opperf.instruments.times import BACKWARD
from opperf.instruments.visit import CompiledAhead
from opperf.machine.kernel import named_cpus
from opperf.model import (
    EAGER,
    UNKNOWN,
    Case,
    ListedOperator,
    Listing,
    ModelTarget,
    Operator,
    OperatorTarget,
    Role,
    Target,
    TraceTarget,
)
from opperf.model.declaring import digest
from opperf.rules.callables import inputs_for_target
from opperf.rules.configurations import Phase
from opperf.rules.engine import SEARCH
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import PRESETS
from opperf.rules.values import Arguments
from opperf.sources.overrides import VALUED
from opperf.sources.registry import missing_kernel
from opperf.sources.selecting import callable_at
from opperf.sources.shapes import bounded, with_decided
from opperf.sources.varying import with_array_type, with_settings
from opperf.worker import protocol
from opperf.worker.binding import bound_of
from opperf.worker.protocol import Trial

MOST_BYTES = 2**28
"""Most memory of a case that is compiled ahead, as several are at once: its inputs are made for
that. What runs on more takes seconds, of which compiling is a small part."""


def uncompiled(framework: Framework, cases: Sequence[Case]) -> tuple[str, ...]:
    """Returns the ids of the cases that have a cache which lacks their programs."""
    marks = {case.id: framework.modes.compiled_mark(case) for case in cases}
    return tuple(id for id, mark in marks.items() if mark is not None and not mark.exists())


def compile_cases(framework: Framework, cases: Sequence[Case]) -> dict[str, CompiledAhead]:
    """Returns what compiling took of each case that could be made here."""
    found = {}
    for case in cases:
        # The case's record will have the error.
        with suppress(Exception):
            found[case.id] = _compile(framework, case)
            mark = framework.modes.compiled_mark(case)
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
            framework.modes.compile_ahead(prepared.call, inputs)
        figures = framework.modes.compilation(prepared.call)
        return CompiledAhead(
            compile_ns=figures["compilation"],
            first_ns=framework.modes.first_compile_ns(prepared.call),
            cache_misses=int(figures["compile_cache_misses"]),
        )


def build_cases(framework: Framework, cases: Sequence[Case]) -> None:
    """Compiles the code of cases, on all cores that opperf may use: nothing is measured by then."""
    with on_usable_cores():
        framework.modes.build(cases)


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


def list_operators(framework: Framework, paths: tuple[str, ...] = ()) -> Listing:
    """Returns every operator of a framework, or the callables at these paths, each with the rule
    that makes its inputs. Raises `UnknownOperatorError` for a path that leads to none."""
    found: list[tuple[Target, Operator, str]]
    if paths:
        targets = [callable_at(framework, path, framework.operators()) for path in paths]
        found = [
            (target, framework.signature(target), path)
            for target, path in zip(targets, paths, strict=True)
        ]
    else:
        found = [(operator.target, operator, operator.name) for operator in framework.operators()]
    return Listing(
        framework=framework.name,
        version=framework.version(),
        registered=framework.naming.registered(),
        operators=tuple(_listed(framework, *entry) for entry in found),
        functions=framework.naming.function_paths(),
    )


def _listed(framework: Framework, target: Target, operator: Operator, name: str) -> ListedOperator:
    # Without a dtype, as only the names of the rules are needed.
    made = inputs_for_target(framework, target, operator, PRESETS["default"], "")
    shown = msgspec.structs.replace(operator, name=name)
    lacking = missing_kernel(framework, target, operator, framework.devices()[0])
    if lacking:
        return ListedOperator(operator=shown, reason=lacking, has_kernel=False)
    if isinstance(made, NoInputs):
        if made.searchable and isinstance(target, OperatorTarget):
            return ListedOperator(operator=shown, rule=SEARCH, cases=None)
        return ListedOperator(operator=shown, reason=made.reason)
    different: list[tuple[Arguments, Phase]] = []
    whys: list[str] = []
    for case in made:
        if (case.arguments, case.phase) not in different:
            different.append((case.arguments, case.phase))
            whys.append(case.why)
    return ListedOperator(
        operator=shown, rule=made[0].origin, cases=len(different), whys=tuple(whys)
    )


def scripts(framework: Framework, cases: Sequence[Case]) -> list[str]:
    """Returns the `script` of each case."""
    return [script(framework, case) for case in cases]


def script(framework: Framework, case: Case) -> str:
    """Returns a script that makes the case's call in the framework alone, with its backward pass if
    it has one; or a comment with the reason why the call cannot be made."""
    try:
        with case_scope(case, framework):
            prepared = PreparedCase(case, framework)
            shown, note = case, ""
            if "backward" in case.passes:
                try:
                    prepared.make_gradient()
                except NoGradientError as error:
                    shown = msgspec.structs.replace(case, passes=("forward",))
                    note = f"# no backward pass: {error}\n"
            return framework.recordings.source(shown, prepared.arguments, prepared.call) + note
    except Exception as error:
        return f"# cannot be made here: {reason_of(error, framework)}\n"


def trace(
    framework: Framework, cases: Sequence[Case], chrome: str, execution: str, least_s: float = 0.0
) -> dict[str, str]:
    """Writes the framework's traces of the cases to these files, unless empty, and returns those
    that could not be called, by id, with the reason. The label of a case is `[param|<id in its
    file>]`, that of a replay its name. Raises `UnsupportedError` without traces."""
    failed: dict[str, str] = {}
    # A replay has tried its calls before, which are no part of its iteration.
    replays = {case.id: case for case in cases if isinstance(case.target, TraceTarget)}
    ready: dict[str, Bound] = {}
    for case in replays.values():
        with _failures(case, failed), case_scope(case, framework):
            ready[case.id] = bound_of(case, framework)
    paths = (Path(path) if path else None for path in (chrome, execution))
    with framework.profilers.tracing(*paths) as label:
        for case in cases:
            if case.id in failed:
                continue
            is_replay = case.id in replays
            name = case.label if is_replay else f"[param|{case.source_id or case.id}]"
            with _failures(case, failed), case_scope(case, framework), label(name):
                # A model is built in the scope that it runs in.
                is_model = isinstance(case.target, ModelTarget)
                made = bound_of(case, framework) if is_model else NOTHING_BOUND
                _call(framework, case, ready.get(case.id, made), least_s)
    return failed


@contextmanager
def _failures(case: Case, failed: dict[str, str]) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        failed[case.id] = one_line(f"{type(error).__name__}: {error}")


def _call(framework: Framework, case: Case, bound: Bound, least_s: float) -> None:
    prepared = PreparedCase(case, framework, bound)
    end = time.monotonic() + least_s
    prepared.call()
    while time.monotonic() < end:
        framework.synchronize(case.settings.device)
        prepared.call()
    if BACKWARD.name in case.passes:
        try:
            gradient = prepared.make_gradient()
        except NoGradientError:
            return
        gradient.record()
        gradient.backward()
    framework.synchronize(case.settings.device)


UNGUARDED = 2**20
"""Bytes of inputs up to which free memory is not checked, which takes longer than the call."""


def _complete(case: Case, framework: Framework) -> Case:
    """Returns the case with the target's array type, all shapes inferred, indices in range, and
    integers that the other arguments decide, but for a user's own."""
    array_type = framework.arrays.array_type(case.target)
    made = msgspec.structs.replace(case, arguments=with_array_type(case.arguments, array_type))
    if any(spec.shape == UNKNOWN for _, spec in made.tensors()):
        made = framework.inference.with_inferred_shapes(made)
    made = bounded(framework, made)
    own = [name for name, spec in made.tensors() if spec.fill.distribution == "literal"]
    kept = own if VALUED in made.origin else []
    decided = with_decided(framework, made.target, made.arguments, kept)
    return msgspec.structs.replace(made, arguments=decided)


def try_call(case: Case, framework: Framework) -> Trial:
    """Makes the case's tensors and calls its target once, forward only, in the framework's default
    mode: another one may take seconds to compile. Any exception is a refusal. A user's function
    that is refused there may still run in eager mode."""
    trial = _try_in(framework.modes.names[0], case, framework)
    if (
        trial.refusal
        and EAGER in framework.modes.names[1:]
        and not framework.naming.is_own(case.target)
    ):
        eager = _try_in(EAGER, case, framework)
        return trial if eager.refusal else eager
    return trial


def _try_in(mode: str, case: Case, framework: Framework) -> Trial:
    try:
        case = with_settings(_complete(case, framework), {"mode": mode})
        refused = framework.inference.foreseen_refusal(case)
        if refused:
            return Trial(refusal=refused)
        if sum(tensor_bytes(spec) for _, spec in case.tensors()) > UNGUARDED:
            guard(case, framework)
        with case_scope(case, framework):
            prepared = PreparedCase(case, framework)
            started = time.perf_counter()
            outputs = prepared.call()
            framework.synchronize(case.settings.device)
            seconds = time.perf_counter() - started
            return Trial(
                arguments=case.arguments,
                has_nan=framework.arrays.has_nan(outputs),
                output_bytes=sum(extent.bytes for extent in framework.arrays.extents(outputs)),
                seconds=seconds,
            )
    except Exception as error:
        return Trial(refusal=reason_of(error, framework))


MAPS = Path("/proc/self/maps")
"""Linux's list of what is mapped into a process, whose lines end with a path."""


def loaded(
    framework: Framework, targets: Iterable[Target], imports: Mapping[str, Role]
) -> protocol.Loaded:
    """Returns the files of the framework, of the modules that were imported for it, of users'
    targets, and of what these have imported of the user's own."""
    package = package_of(framework.name)
    roles = {} if package is None else {package.name: Role.PART}
    own = chain.from_iterable(map(loaded_for, targets))
    files = (*loaded_modules({**roles, **imports}), *own)
    known = {(found.name, found.file) for found in files}
    others = (found for found in users_modules() if (found.name, found.file) not in known)
    return protocol.Loaded(tuple(dict.fromkeys((*files, *others))), digest(sorted(_libraries())))


def _libraries() -> set[str]:
    try:
        lines = MAPS.read_text().splitlines()
    except OSError:
        return set()
    paths = {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    return {path for path in paths if ".so" in Path(path).name}
