"""Runs cases of any framework once, and judges what goes in and comes out."""

from __future__ import annotations

import functools
import gc
import math
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
import numpy as np

import opperf  # noqa: F401  (restores what MXNet needs of NumPy)
from opperf.errors import FailedRuleError, NoGradientError, UnsupportedError
from opperf.frameworks import Framework, load
from opperf.frameworks.base import ReadableGradient
from opperf.frameworks.numpy_arrays import array_contents
from opperf.instruments.call_results import OUTPUT, leaves
from opperf.instruments.peaks import guard
from opperf.instruments.prepared import PreparedCase
from opperf.instruments.profilers import find_profilers
from opperf.instruments.restoring import FreshInputs
from opperf.model import Case, Settings
from opperf.rules.deviations import is_unwritten, may_lack_numbers
from opperf.rules.engine import rules_module
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection
from tests.conformance.exceptions import Found
from tests.conformance.judging import (
    CONSTANT,
    DOES_NOT_RUN,
    NOT_FINITE,
    Finding,
    Values,
    holds_positions,
    judge_gradients,
    judge_integers,
    judge_outputs,
)
from tests.conformance.weak import judge_arguments, judge_contents, judge_together

ON_REQUEST = {"torch": ("onednn", "quantized")}
"""Namespaces by framework that a run without names leaves out, and that are checked too."""


@functools.cache
def planned(
    name: str, size: str, patterns: tuple[str, ...] = (), dtype: str = "float32"
) -> tuple[Case, ...]:
    """Returns the cases of a framework's operators, as a run plans them: by default of all of them,
    and those of `ON_REQUEST`; with the places and the tags of their rows.
    Raises `UnknownOperatorError` for a pattern that matches none, and `FailedRuleError` for rules
    that fail, with file and line."""
    framework = load(name)
    # A framework without the default dtype has its first one.
    dtype = dtype if dtype in framework.dtypes else framework.dtypes[0]
    settings = Settings(profiler=next(iter(find_profilers(framework))), dtype=dtype)
    if framework.name == "jax":
        # Thousands of programs, none of which a user runs.
        settings = msgspec.structs.replace(settings, compile_cache="cold")
    selected = [Selection(patterns, size=size, settings=settings, rules=True)]
    if not patterns and name in ON_REQUEST:
        selected.append(msgspec.structs.replace(selected[0], namespaces=ON_REQUEST[name]))
    plans = [plan(framework, one) for one in selected]
    # In a run these are operators without inputs; here they are faults of the rules.
    failed = {label: one.excluded[label] for one in plans for label in one.faults}
    if failed:
        raise FailedRuleError("\n".join(f"{label}: {why}" for label, why in failed.items()))
    return tuple(case for one in plans for case in one.cases)


MOST_LEFT = 2**28
"""Bytes of cases from which what they have left in memory is freed: hundreds of them would fill
it, and each search for it takes as long as a case."""


class Left:
    """What cases have left in memory: gradients are in cycles, which Python does not look for while
    few objects are made."""

    def __init__(self) -> None:
        self._bytes = 0

    def make_room(self, needed: int) -> None:
        """Frees it if it may be much, before a case of so many bytes."""
        if self._bytes and self._bytes + needed > MOST_LEFT:
            gc.collect()
            self._bytes = 0
        self._bytes += needed


LEFT = Left()


class Judged(NamedTuple):
    """A case, and what is wrong with it."""

    case: Case
    findings: tuple[Finding, ...]
    ran: bool = True
    """Whether this build and machine have the means to run it."""
    lacks_numbers: bool = False
    """Whether results are not finite numbers, which the framework's rules say is no fault."""


@contextmanager
def cheaply(framework: Framework) -> Iterator[None]:
    """Returns a context in which calls take less of the processor's time: one thread, which waits
    for no other, programs that are compiled without optimisation, and no search for garbage among
    what is there before."""
    gc.collect()
    gc.freeze()
    if framework.name == "jax":
        from tests.conformance.one_program import compiled_quickly

        with compiled_quickly():
            yield
    elif framework.name == "torch":
        before = framework.processes.threads()
        framework.processes.set_threads(1)
        try:
            yield
        finally:
            framework.processes.set_threads(before or 1)
    else:
        yield


def judge(case: Case, framework: Framework) -> Judged:
    """Runs a case once, forward and backward, and returns what is wrong with it."""
    try:
        LEFT.make_room(guard(case, framework))
        with framework.scope(case), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = tuple(_findings(case, framework))
        listed = rules_module(framework.rules).NOT_FINITE
        if is_unwritten(case, framework, listed):
            # What is in memory may be one number by chance.
            found = tuple(one for one in found if one.kind != CONSTANT)
        if may_lack_numbers(case, framework, listed):
            finite = tuple(one for one in found if one.kind != NOT_FINITE)
            return Judged(case, finite, lacks_numbers=len(finite) < len(found))
        return Judged(case, found)
    except UnsupportedError:
        return Judged(case, (), ran=False)
    except Exception as error:
        reason = framework.refusal(error)
        if reason is None:
            reason = f"{type(error).__name__}: {error}"
        elif framework.build.unavailable.search(reason):
            return Judged(case, (), ran=False)
        return Judged(case, (Finding(DOES_NOT_RUN, "", reason.splitlines()[0]),))


def found_in(judged: Iterable[Judged]) -> Iterator[Found]:
    """Yields the findings of cases."""
    for one in judged:
        for finding in one.findings:
            yield Found(one.case, finding)


ROWS_OF = "default"
"""The size whose extents lines of why have."""


def weak_rows(name: str, patterns: tuple[str, ...] = ()) -> Iterator[Found]:
    """Yields what is weak about a framework's rows, by themselves and beside others,
    without running them."""
    framework = load(name)
    of_operator: dict[str, list[Case]] = {}
    for case in planned(name, ROWS_OF, patterns):
        of_operator.setdefault(case.label, []).append(case)
        for finding in judge_arguments(case):
            yield Found(case, finding)
    for cases in of_operator.values():
        signature = framework.signature(cases[0].target)
        operator = framework.naming.wrapped_operator(cases[0].target, signature)
        for case, finding in judge_together(cases, operator):
            yield Found(case, finding)


def _findings(case: Case, framework: Framework) -> Iterator[Finding]:
    """Yields what is wrong with a case. Raises what the call raises."""
    prepared = PreparedCase(case, framework)
    # As they are before the call.
    inputs = [
        one._replace(numbers=one.numbers.copy()) for one in read(framework, prepared.arguments)
    ]
    yield from judge_integers(inputs, position_limits(case))
    yield from judge_contents(case, inputs)
    if framework.name == "jax" and "backward" in case.passes and prepared.differentiated:
        found = _of_one_program(prepared)
        if found is not None:
            yield from found
            return
    fresh = FreshInputs(prepared)
    framework.processes.seed(case.settings.seed)
    returned = prepared.call()
    framework.synchronize(case.settings.device)
    outputs = list(read(framework, {OUTPUT: returned}))
    if fresh.restore is not None or not outputs:
        outputs += written(inputs, read(framework, prepared.arguments))
    yield from judge_outputs(outputs)
    del returned, outputs, inputs
    fresh.look()
    if "backward" in case.passes:
        yield from judge_gradients(gradients(prepared, fresh))


def _of_one_program(prepared: PreparedCase) -> list[Finding] | None:
    """Returns what is wrong with the results of a case of JAX; None if not all of it can be
    compiled or differentiated at once."""
    from tests.conformance.one_program import outputs_and_gradients

    framework = prepared.framework
    try:
        returned, made = outputs_and_gradients(prepared.call.flat, prepared.differentiated)
    except Exception as error:
        if framework.refusal(error) is None:
            raise
        return None
    named = zip(prepared.differentiated_places, made, strict=False)
    return [
        *judge_outputs(read(framework, {OUTPUT: returned})),
        *judge_gradients(read(framework, {f"gradient of {place}": one for place, one in named})),
    ]


def gradients(prepared: PreparedCase, fresh: FreshInputs) -> Iterator[Values]:
    """Yields the gradients of a call; none where it has none."""
    framework = prepared.framework

    restore = fresh.restore or (lambda: None)
    try:
        restore()
        gradient = prepared.make_gradient()
    except NoGradientError:
        return
    assert isinstance(gradient, ReadableGradient)
    restore()
    gradient.record()
    results = list(gradient.read(gradient.backward()))
    framework.synchronize(prepared.case.settings.device)
    names = prepared.differentiated_places
    names = [*names, *(f"parameter {index}" for index in range(len(results) - len(names)))]
    for name, one in zip(names, results, strict=True):
        yield from read(framework, {f"gradient of {name}": one})


MOST_ZEROS = 2**28
"""Bytes of a sparse tensor with its zeros, from which it is not read: the small size has it too."""


def read(framework: Framework, values: dict[str, Any]) -> Iterator[Values]:
    """Yields the tensors among named values, whose numbers may lie where the values have theirs."""
    for name, value in values.items():
        for place, one in leaves(name, value):
            held = framework.arrays.contents(one) or array_contents(one)
            if held is not None and not (held.layout != "dense" and held.bytes > MOST_ZEROS):
                yield Values(place, held.numbers(1))


def written(before: Iterable[Values], after: Iterable[Values]) -> Iterator[Values]:
    """Yields the arguments that a call has written to."""
    for old, new in zip(before, after, strict=True):
        if not np.array_equal(old.numbers, new.numbers, equal_nan=old.kind in "fc"):
            yield new._replace(place=f"{new.place} after the call")


def position_limits(case: Case) -> dict[str, int]:
    """Returns, for the arguments that hold positions, the largest size or integer among the
    other arguments, which is the most that they may point to."""
    tensors = dict(case.tensors())
    known = [math.prod(_plain(one)) for one in case.arguments.values()]
    return {
        name: max([*known, *(one.size for place, one in tensors.items() if place != name)])
        for name in tensors
        if holds_positions(name)
    }


def _plain(value: Any) -> tuple[int, ...]:
    """Returns the integers of a plain argument, of which a shape has several."""
    every = value if isinstance(value, tuple) else (value,)
    return tuple(one for one in every if type(one) is int)


def without_gradient(case: Case) -> Case:
    """Returns a case with its forward pass only."""
    return msgspec.structs.replace(case, passes=("forward",))
