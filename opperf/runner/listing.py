"""Lists a framework's registry, and writes cases as scripts. Runs in the worker."""

from __future__ import annotations

import msgspec

from opperf.errors import NoGradientError, one_line
from opperf.frameworks import Framework
from opperf.model import Case, ListedOperator, Listing, Operator
from opperf.rules.configurations import Phase
from opperf.rules.engine import SEARCH, NoInputs, RulesModule, inputs_for, rules_module
from opperf.rules.sizes import PRESETS
from opperf.rules.values import Arguments
from opperf.runner.prepared import PreparedCase

BASELINE = "float32"
"""Dtype of the inputs when only the names of the rules are needed."""


def list_operators(framework: Framework) -> Listing:
    """Returns every operator of a framework, with the rule that makes its inputs."""
    rules = rules_module(framework.rules)
    return Listing(
        framework=framework.name,
        version=framework.version(),
        registered=framework.registered(),
        operators=tuple(_listed(operator, rules) for operator in framework.operators()),
    )


def _listed(operator: Operator, rules: RulesModule) -> ListedOperator:
    made = inputs_for(operator, rules, PRESETS["default"], BASELINE)
    if isinstance(made, NoInputs):
        if made.searchable:
            return ListedOperator(operator=operator, rule=SEARCH, cases=None)
        return ListedOperator(operator=operator, reason=made.reason)
    different: list[tuple[Arguments, Phase]] = []
    for one in made:
        if (one.arguments, one.phase) not in different:
            different.append((one.arguments, one.phase))
    return ListedOperator(operator=operator, rule=made[0].origin, cases=len(different))


def script(framework: Framework, case: Case) -> str:
    """Returns a script that makes the case's call in the framework alone, with its backward pass if
    it has one; or a comment with the reason why the call cannot be made."""
    try:
        with framework.scope(case):
            prepared = PreparedCase(case, framework)
            shown, note = case, ""
            if "backward" in case.passes:
                try:
                    framework.gradient(case, prepared.call, prepared.differentiated)
                except NoGradientError as error:
                    shown = msgspec.structs.replace(case, passes=("forward",))
                    note = f"# no backward pass: {error}\n"
            return framework.source(shown, prepared.arguments, prepared.call) + note
    except Exception as error:
        reason = framework.refusal(error) or f"{type(error).__name__}: {error}"
        return f"# cannot be made here: {one_line(reason)}\n"
