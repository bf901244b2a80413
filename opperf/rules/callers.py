"""Inputs of an operator that is a step of others: those with which these call it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from opperf.frameworks import Framework, load
from opperf.model import Operator
from opperf.rules.engine import Inputs, exclusion, inputs_for, rules_module
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import PRESETS, Preset

CALLER = "caller:"
"""Prefix of the origin of such inputs."""

NONE = "no operator with inputs calls it"

INDEXED = ("small", "float32")
"""Size and dtype of the calls in which callers are looked for: one of each operator, as each takes
some milliseconds."""


def inputs_of_callers(
    framework: Framework,
    operator: Operator,
    callers: Iterable[Operator],
    preset: Preset,
    dtype: str,
) -> list[Inputs] | NoInputs:
    """Returns the inputs with which the first of its callers that does call it calls an operator;
    without such a caller, those of the simplest of all operators that call it."""
    excluded = exclusion(operator, rules_module(framework.rules))
    if excluded is not None:
        return excluded
    for caller in callers:
        if made := _inputs_of(framework, operator, caller, preset, dtype):
            return made
    for caller in _index(framework.name).get(operator.name, ()):
        if made := _inputs_of(framework, operator, caller, preset, dtype):
            return made
    return NoInputs(NONE)


def _inputs_of(
    framework: Framework, operator: Operator, caller: Operator, preset: Preset, dtype: str
) -> list[Inputs]:
    """Returns the inputs with which one operator calls another, each once: those of the first pass
    that has such a call."""
    given = inputs_for(caller, rules_module(framework.rules), preset, dtype)
    made: list[Inputs] = []
    for one in [] if isinstance(given, NoInputs) else given:
        passes = framework.steps(caller, one.arguments)
        found = next((steps[operator.name] for steps in passes if operator.name in steps), None)
        if found is None or any(other.arguments == found for other in made):
            continue
        made.append(Inputs(dict(found), CALLER + caller.label, one.phase, one.why, one.dtype))
    return made


@functools.cache
def _index(name: str) -> Mapping[str, tuple[Operator, ...]]:
    """Returns the callers of each operator of a framework that has any, the simplest first."""
    framework = load(name)
    rules = rules_module(framework.rules)
    size, dtype = INDEXED
    calls: dict[str, dict[Operator, int]] = {}
    for caller in framework.operators():
        if framework.callers(caller) is not None:
            continue
        made = inputs_for(caller, rules, PRESETS[size], dtype)
        for one in [] if isinstance(made, NoInputs) else made[:1]:
            passes = framework.steps(caller, one.arguments)
            steps = {step for of_pass in passes for step in of_pass}
            for step in steps:
                calls.setdefault(step, {}).setdefault(caller, len(steps))
    return {
        step: tuple(sorted(callers, key=lambda one: (callers[one], one.name)))
        for step, callers in calls.items()
    }
