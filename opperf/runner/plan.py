"""From what a user asks for to the cases that are run."""

from __future__ import annotations

import random
from collections.abc import Iterable

import msgspec

from opperf.errors import UsageError, suggestion
from opperf.frameworks import Framework
from opperf.model import (
    Argument,
    Case,
    Operator,
    OperatorTarget,
    Pass,
    Struct,
    Target,
    TensorSpec,
)
from opperf.rules.engine import Inputs, NoInputs, inputs_for, rules_module
from opperf.rules.ranges import in_range, limit_at, shapes_by_place
from opperf.rules.sizes import INT64, PRESETS
from opperf.runner.selecting import (
    Selection,
    check_groups,
    check_known,
    chosen,
    is_path,
    matching,
)

Found = dict[str, dict[str, Argument]]
"""Inputs that a search has found, by the operator's name; of the size that is planned."""


class Plan(Struct, frozen=True):
    """The cases to run, and the operators asked for that have none, each with the reason."""

    cases: tuple[Case, ...]
    no_benchmark: dict[str, str]
    aliases: dict[str, str] = {}
    """Names asked for that are other names of an operator, each with the one it is reported by."""
    searchable: tuple[str, ...] = ()
    """Those of `no_benchmark` for which a search may find inputs."""


def plan(framework: Framework, selection: Selection, found: Found | None = None) -> Plan:
    """Every case of a selection, in the registry's order. `found` is what a search has come upon
    for operators without a rule.

    Raises `UnknownOperatorError` for a name or pattern that no operator has, and
    `UsageError` for an unknown category, namespace or size, or a shape for an argument that
    no case has.
    """
    check_settings(framework, selection)
    rules = rules_module(framework.rules)
    preset = PRESETS[INT64 if selection.int64_tensor else selection.size]
    cases: list[Case] = []
    missing: dict[str, str] = {}
    searchable: list[str] = []
    for target, operator in _targets(framework, selection):
        own = (found or {}).get(target.label)
        made = inputs_for(operator, rules, preset, selection.settings.dtype, own)
        if isinstance(made, NoInputs):
            missing[target.label] = made.reason
            if made.searchable and isinstance(target, OperatorTarget):
                searchable.append(target.label)
            continue
        first = made[: selection.configurations]
        cases.extend(_case(framework, target, operator, inputs, selection) for inputs in first)
    _check_shapes(cases, selection)
    shaped = (_with_shapes(case, selection.shapes) for case in cases)
    # The user's shapes may make one case of several that differed in their shapes alone.
    distinct = list({case.id: case for case in shaped}.values())
    if selection.shuffle:
        random.Random(selection.settings.seed).shuffle(distinct)
    return Plan(
        cases=tuple(distinct),
        no_benchmark=missing,
        searchable=tuple(searchable),
        aliases=_aliases(framework, selection.patterns),
    )


def resolved(framework: Framework, selection: Selection) -> Selection:
    """The selection with the framework's own device and profiler where none is named, and
    devices under their canonical names.

    Raises `UsageError` for what is no device, and `DeviceError` for one that is not there.
    """
    settings = selection.settings
    device = settings.device
    filled = msgspec.structs.replace(
        settings,
        device=framework.parse_device(device) if device else framework.devices()[0],
        profiler=settings.profiler or framework.profilers[0],
    )
    return msgspec.structs.replace(selection, settings=filled)


def check_settings(framework: Framework, selection: Selection) -> None:
    """Refuse what this framework or build cannot do, before anything is planned.

    Raises `UsageError`.
    """
    settings = selection.settings
    framework.parse_device(settings.device)
    if settings.dtype not in framework.dtypes:
        raise UsageError(
            f"unknown dtype {settings.dtype!r}"
            f"{suggestion(settings.dtype, framework.dtypes)}; "
            f"known: {', '.join(framework.dtypes)}"
        )
    if settings.profiler not in framework.profilers:
        raise UsageError(
            f"unknown profiler {settings.profiler!r}; "
            f"{framework.name} offers: {', '.join(framework.profilers)}"
        )
    if selection.int64_tensor and framework.no_large_tensors():
        raise UsageError(
            f"--int64-tensor on: {framework.no_large_tensors()}, or --int64-tensor off"
        )
    check_known("size", (selection.size,), set(PRESETS))
    check_groups(framework.operators(), selection)


def _aliases(framework: Framework, patterns: Iterable[str]) -> dict[str, str]:
    """The patterns that are aliases, each with the name its operator is reported by."""
    found = {pattern: framework.resolve(pattern) for pattern in patterns}
    return {
        pattern: operator.name
        for pattern, operator in found.items()
        if operator is not None and operator.name != pattern
    }


def _targets(framework: Framework, selection: Selection) -> list[tuple[Target, Operator]]:
    """What is asked for, each with what it takes: operators in the registry's order, then
    callables by path in the order they were named."""
    operators = framework.operators()
    paths = [p for p in selection.patterns if is_path(p) and not matching(p, operators)]
    named = tuple(pattern for pattern in selection.patterns if pattern not in paths)
    registered: list[tuple[Target, Operator]] = []
    if named or not paths:
        narrowed = msgspec.structs.replace(selection, patterns=named)
        registered = [
            (OperatorTarget(framework=framework.name, name=operator.name), operator)
            for operator in chosen(operators, narrowed)
        ]
    targets = [framework.callable_target(path) for path in paths]
    return registered + [(target, framework.signature(target)) for target in targets]


def _case(
    framework: Framework,
    target: Target,
    operator: Operator,
    inputs: Inputs,
    selection: Selection,
) -> Case:
    flavour = framework.flavour(target)
    both = selection.backward and framework.gradients
    passes: tuple[Pass, ...] = ("forward", "backward") if both else ("forward",)
    return Case(
        target=target,
        arguments={n: flavoured(value, flavour) for n, value in inputs.arguments.items()},
        settings=msgspec.structs.replace(selection.settings, mode=inputs.mode),
        passes=passes,
        origin=inputs.origin,
        category=operator.category,
    )


def flavoured(argument: Argument, flavour: str) -> Argument:
    """The argument with its tensors of a framework's other array type."""
    if not flavour:
        return argument
    if isinstance(argument, tuple):
        return tuple(flavoured(element, flavour) for element in argument)  # type: ignore[misc]
    if isinstance(argument, TensorSpec):
        return msgspec.structs.replace(argument, flavour=flavour)
    return argument


def _check_shapes(cases: list[Case], selection: Selection) -> None:
    names = {name for case in cases for name, _ in case.tensors()}
    for name in selection.shapes:
        if name not in names:
            raise UsageError(
                f"--shape {name}=...: no tensor argument of the operators chosen "
                f"is called {name!r}{suggestion(name, names)}"
            )


def _with_shapes(case: Case, shapes: dict[str, tuple[int, ...]]) -> Case:
    """The case with the user's shapes; a list of tensors takes the shape for each. Indices stay in
    range of what is beside them, which a framework need not look after."""
    if not any(name in shapes for name in case.arguments):
        return case
    asked = {
        name: (shapes[name],) * len(value) if isinstance(value, tuple) else shapes[name]
        for name, value in case.arguments.items()
        if name in shapes
    }
    places = shapes_by_place({**case.arguments, **asked})

    def shaped(name: str, place: str, argument: Argument) -> Argument:
        if isinstance(argument, tuple):
            elements = enumerate(argument)
            return tuple(shaped(name, f"{place}.{i}", element) for i, element in elements)  # type: ignore[misc]
        if isinstance(argument, TensorSpec):
            return in_range(argument, shapes.get(name, argument.shape), limit_at(place, places))
        return argument

    arguments = {name: shaped(name, name, value) for name, value in case.arguments.items()}
    if arguments == case.arguments:
        return case
    return msgspec.structs.replace(case, arguments=arguments, origin=f"{case.origin}+shape")
