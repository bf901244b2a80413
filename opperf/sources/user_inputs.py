"""Inputs that a user's function returns, as a source of cases."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opperf.errors import UsageError
from opperf.frameworks import Framework
from opperf.frameworks.base import CallArguments
from opperf.frameworks.user_inputs import (
    FUNCTION,
    OPTION,
    Configuration,
    configurations,
    entry_of,
    place_of,
)
from opperf.model import (
    CallableTarget,
    Case,
    FileTarget,
    Fill,
    Operator,
    OperatorTarget,
    Settings,
    Target,
    TensorSpec,
)
from opperf.rules.engine import Inputs
from opperf.rules.registering import NoInputs
from opperf.sources.overrides import LACKS, accepted


def inputs_by_function(
    framework: Framework, target: Target, operator: Operator, settings: Settings, dtype: str = ""
) -> list[Inputs] | NoInputs | None:
    """Returns the inputs of a target that the function of the settings returns, or that the target
    has no such argument; None where the settings name a table without inputs of the target. Arrays
    are in `dtype`, if that is asked for.

    Raises `UsageError` for a function that cannot be called, or that returns what no case can have
    or other arrays in each call.
    """
    # The manager imports this module and needs no NumPy.
    from opperf.sources.call import collect_lists

    reference = settings.input_function
    entry = entry_of(framework, settings, _names(target, operator))
    if entry is None:
        return None
    made, again = (configurations(framework, settings, entry) for _ in range(2))
    names = () if takes_any(framework, target, operator) else accepted(operator, NoInputs("")).all
    for configuration in made:
        element = _own_names(operator, configuration.arguments)
        lacking = [name for name in collect_lists(element, operator) if names and name not in names]
        if lacking:
            return NoInputs(
                f"{LACKS} {lacking[0]!r}, which {reference} returns; it has {', '.join(names)}"
            )
    found = [
        _cases(framework, target, operator, settings, dtype, entry, returned)
        for returned in (made, again)
    ]
    # Workers call it again.
    if [case.arguments for case in found[0]] != [case.arguments for case in found[1]]:
        raise UsageError(
            f"{OPTION} {reference}: the function returns other arrays in each call; seed its "
            "random numbers, for example with np.random.default_rng(0)"
        )
    return [
        Inputs(
            case.arguments,
            f"function:{reference}",
            case.settings.phase,
            f"{configuration.name} of {reference}",
            case.settings.dtype,
        )
        for configuration, case in zip(made, found[0], strict=True)
    ]


def _cases(
    framework: Framework,
    target: Target,
    operator: Operator,
    settings: Settings,
    dtype: str,
    entry: str,
    returned: Sequence[Configuration],
) -> list[Case]:
    # The manager imports this module and needs no NumPy.
    from opperf.sources.call import UserCall

    reference = settings.input_function
    own = [_own_names(operator, arguments) for arguments, _ in returned]
    places = [
        _places(reference, entry, index, arguments) for index, (arguments, _) in enumerate(returned)
    ]

    def locate(position: int, value: Any, spec: TensorSpec) -> Fill:
        return Fill(FUNCTION, data=places[position][id(value)], digest=spec.fill.digest)

    function = framework.function(target)
    call = UserCall(framework, function, own, settings, target=target, dtype=dtype, locate=locate)
    cases = list(call.cases())
    for position, reason in call.excluded.items():
        raise UsageError(f"{OPTION} {reference}: {position}: {reason}")
    return cases


def _names(target: Target, operator: Operator) -> tuple[str, ...]:
    """Returns the full names of a target, by whose ends a table of inputs may call it."""
    if isinstance(target, FileTarget):
        return (f"{Path(target.file).resolve()}:{target.function}",)
    if isinstance(target, CallableTarget):
        return (target.path,)
    return (target.label, operator.name, *operator.aliases)


def takes_any(framework: Framework, target: Target, operator: Operator) -> bool:
    """Whether a function takes arguments of any name, as `**kwargs`, beside those of its signature
    `operator`; one that calls a registered operator takes that one's."""
    if isinstance(target, OperatorTarget) or framework.naming.wrapped_operator(target, operator):
        return False
    try:
        declared = inspect.signature(framework.function(target)).parameters.values()
    except (TypeError, ValueError):
        # A function in C may have no signature.
        return False
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in declared)


def _own_names(operator: Operator, arguments: CallArguments) -> dict[str, Any]:
    return {operator.own_name(name): value for name, value in arguments.items()}


def _places(reference: str, entry: str, index: int, own: CallArguments) -> dict[int, str]:
    """Places of arrays, by identity; the first of one that occurs again."""
    found: dict[int, str] = {}
    for name, value in own.items():
        listed = isinstance(value, (list, tuple))
        for at, element in enumerate(value) if listed else ((None, value),):
            found.setdefault(id(element), place_of(reference, entry, index, name, at))
    return found
