"""Inputs that a user's function returns, as a source of cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from opperf.errors import UsageError
from opperf.frameworks import Framework
from opperf.frameworks.user_inputs import FUNCTION, OPTION, configurations, place_of
from opperf.model import Argument, Fill, Operator, Settings, Target, TensorSpec, map_tensors
from opperf.rules.engine import Inputs
from opperf.rules.registering import NoInputs
from opperf.sources.overrides import LACKS, accepted


def inputs_by_function(
    framework: Framework, target: Target, operator: Operator, settings: Settings
) -> list[Inputs] | NoInputs:
    """Returns the inputs of a target that the function of the settings returns, or that the target
    has no such argument.

    Raises `UsageError` for a function that cannot be called, or that returns what no case can have
    or other arrays in each call.
    """
    # The manager imports this module and needs no NumPy.
    from opperf.sources.call import UserCall, collect_lists

    reference = settings.input_function
    made, again = (configurations(framework, settings) for _ in range(2))
    _check_repeats(reference, framework, made, again)
    names = accepted(operator, NoInputs("")).all
    for one in made:
        lacking = [name for name in collect_lists(one, operator) if names and name not in names]
        if lacking:
            return NoInputs(
                f"{LACKS} {lacking[0]!r}, which {reference} returns; it has {', '.join(names)}"
            )
    call = UserCall(framework, framework.function(target), made, settings, target=target)
    cases = list(call.cases())
    for position, reason in call.excluded.items():
        raise UsageError(f"{OPTION} {reference}: {position}: {reason}")
    return [
        Inputs(
            _with_places(framework, reference, index, own, case.arguments),
            f"function:{reference}",
            case.settings.phase,
            f"configuration {index} of {reference}",
        )
        for index, (case, own) in enumerate(zip(cases, made, strict=True))
    ]


def _arrays(
    framework: Framework, own: Mapping[str, Any]
) -> Iterator[tuple[str, int | None, TensorSpec]]:
    """Yields the arrays of a configuration: name, position in a list, and spec."""
    for name, value in own.items():
        listed = isinstance(value, (list, tuple))
        for at, element in enumerate(value) if listed else ((None, value),):
            spec = framework.describe(element)
            if spec is not None:
                yield name, at, spec


def _check_repeats(
    reference: str,
    framework: Framework,
    made: list[Mapping[str, Any]],
    again: list[Mapping[str, Any]],
) -> None:
    """Raises `UsageError` if a second call returned other arrays: workers call it again."""
    first, second = ([list(_arrays(framework, own)) for own in all_] for all_ in (made, again))
    if first != second:
        raise UsageError(
            f"{OPTION} {reference}: the function returns other arrays in each call; seed its "
            "random numbers, as with np.random.default_rng(0)"
        )


def _with_places(
    framework: Framework,
    reference: str,
    index: int,
    own: Mapping[str, Any],
    arguments: Mapping[str, Argument],
) -> dict[str, Argument]:
    """Returns the arguments of a call with the place of each array in place of the array. They are
    in the order of the function's, in which those of a list may have names of their own."""
    places = iter(
        Fill(FUNCTION, data=place_of(reference, index, name, at), digest=spec.fill.digest)
        for name, at, spec in _arrays(framework, own)
    )

    def placed(spec: TensorSpec) -> TensorSpec:
        if spec.fill.distribution != "given":
            return spec
        return msgspec.structs.replace(spec, fill=next(places))

    return {name: map_tensors(value, placed) for name, value in arguments.items()}
