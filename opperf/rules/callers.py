"""Inputs of an operator that is a step of others: those with which these call it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import NamedTuple

from opperf.frameworks import Framework, load
from opperf.model import Argument, Operator
from opperf.rules.engine import Inputs, exclusion, inputs_for, rules_module
from opperf.rules.faults import guarded
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import PRESETS, Preset
from opperf.rules.values import Arguments

CALLER = "caller:"

NONE = "no operator with inputs calls it"

INDEXED = ("small", "float32")
"""Size and dtype of the calls in which callers are looked for: each takes some milliseconds."""


def inputs_of_callers(
    framework: Framework,
    operator: Operator,
    callers: Iterable[Operator],
    preset: Preset,
    dtype: str,
) -> list[Inputs] | NoInputs:
    """Returns the inputs with which the first of its callers that does call it calls an operator;
    without such a caller, those of the simplest of all operators that call it. A caller whose rule
    or trace fails is passed over; where it is the last, that is the reason."""
    excluded = exclusion(operator, rules_module(framework.rules))
    if excluded is not None:
        return excluded
    fault: NoInputs | None = None
    for caller in _candidates(framework, operator, callers):
        made = _inputs_of(framework, operator, caller, preset, dtype)
        if isinstance(made, NoInputs):
            fault = fault or made
        elif made:
            return made
    if fault is not None:
        return fault
    # One of those may have been the caller.
    unknown = failed_callers(framework.name)
    reason = next((f"; {caller.reason}" for caller in unknown.values()), "")
    return NoInputs(NONE + reason)


def _candidates(
    framework: Framework, operator: Operator, callers: Iterable[Operator]
) -> Iterator[Operator]:
    """Yields the callers of an operator; those among all operators last: it takes seconds."""
    yield from callers
    yield from _index(framework.name).callers.get(operator.name, ())


def failed_callers(name: str) -> Mapping[str, NoInputs]:
    """Returns the operators of a framework in whose calls no other could be looked for, as their
    rule or the reading of their trace failed, each with the reason."""
    return _index(name).faults


def _inputs_of(
    framework: Framework, operator: Operator, caller: Operator, preset: Preset, dtype: str
) -> list[Inputs] | NoInputs:
    """Returns the inputs with which one operator calls another, each once, in its first pass."""
    given = _guarded_inputs(framework, caller, preset, dtype)
    if isinstance(given, NoInputs):
        return given if given.is_fault else []
    made: list[Inputs] = []
    trace = trace_of(caller)
    for inputs in given:
        found = guarded(partial(_step, framework, operator, caller, inputs.arguments), trace)
        if isinstance(found, NoInputs):
            return found
        if found is None or any(other.arguments == found for other in made):
            continue
        origin = CALLER + caller.label
        made.append(dataclasses.replace(inputs, arguments=dict(found), origin=origin))
    return made


def _step(
    framework: Framework, operator: Operator, caller: Operator, arguments: Arguments
) -> Mapping[str, Argument] | None:
    """Returns the arguments of an operator in the first pass of a call that has it, if any."""
    passes = framework.inference.steps(caller, arguments)
    return next((steps[operator.name] for steps in passes if operator.name in steps), None)


def trace_of(caller: Operator) -> str:
    """Returns the beginning of the reason where a caller's trace cannot be read."""
    return f"the trace of its caller {caller.label} failed"


def _guarded_inputs(
    framework: Framework, caller: Operator, preset: Preset, dtype: str
) -> list[Inputs] | NoInputs:
    return guarded(
        lambda: inputs_for(caller, rules_module(framework.rules), preset, dtype),
        f"the rule of its caller {caller.label} failed",
    )


class Index(NamedTuple):
    """The operators that the functions of a framework call."""

    callers: Mapping[str, tuple[Operator, ...]]
    """The callers of each operator that has any, the simplest first."""
    faults: Mapping[str, NoInputs]
    """Operators of which that is not known, each with the reason."""


@cache
def _index(name: str) -> Index:
    framework = load(name)
    size, dtype = INDEXED
    calls: dict[str, dict[Operator, int]] = {}
    faults: dict[str, NoInputs] = {}
    for caller in framework.operators():
        if framework.inference.callers(caller) is not None:
            continue
        steps = _steps_of(framework, caller, PRESETS[size], dtype)
        if isinstance(steps, NoInputs):
            faults[caller.label] = steps
            continue
        for step in steps:
            calls.setdefault(step, {}).setdefault(caller, len(steps))
    ordered = {
        step: tuple(sorted(callers, key=lambda one: (callers[one], one.name)))
        for step, callers in calls.items()
    }
    return Index(ordered, faults)


def _steps_of(
    framework: Framework, caller: Operator, preset: Preset, dtype: str
) -> set[str] | NoInputs:
    """Returns the names of what an operator's first case calls."""
    made = _guarded_inputs(framework, caller, preset, dtype)
    if isinstance(made, NoInputs):
        return made if made.is_fault else set()
    if not made:
        return set()
    arguments = made[0].arguments
    return guarded(
        lambda: {step for steps in framework.inference.steps(caller, arguments) for step in steps},
        trace_of(caller),
    )
