"""Lists a framework's registry, and writes cases as scripts. Runs in the worker."""

from __future__ import annotations

import msgspec

from opperf.errors import NoGradientError, one_line
from opperf.frameworks import Framework
from opperf.instruments.prepared import PreparedCase, case_scope
from opperf.model import Case, ListedOperator, Listing, Operator, OperatorTarget, Target
from opperf.rules.callables import inputs_for_target
from opperf.rules.configurations import Phase
from opperf.rules.engine import SEARCH
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import PRESETS
from opperf.rules.values import Arguments
from opperf.sources.registry import missing_kernel
from opperf.sources.selecting import callable_at


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
        registered=framework.registered(),
        operators=tuple(_listed(framework, *entry) for entry in found),
        functions=framework.function_paths(),
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
            return framework.source(shown, prepared.arguments, prepared.call) + note
    except Exception as error:
        reason = framework.refusal(error) or f"{type(error).__name__}: {error}"
        return f"# cannot be made here: {one_line(reason)}\n"
