"""The registry as a source: operators with the inputs that rules make for them."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from opperf import profilers
from opperf.dtypes import DTYPES
from opperf.errors import DeviceError, OpperfError, UsageError, suggest
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
from opperf.sources.selecting import (
    Selection,
    check_groups,
    check_known,
    find_matching,
    is_path,
    select,
)
from opperf.sources.varying import Axes, deduplicate

Found = dict[str, dict[str, Argument]]
"""Inputs that a search has found, by the operator's name; of the size that is planned."""


class Plan(Struct, frozen=True):
    """The cases to run, and the operators asked for that have none, each with the reason."""

    cases: tuple[Case, ...]
    excluded: dict[str, str]
    aliases: dict[str, str] = {}
    """Names asked for that are other names of an operator, each with the one it is reported by."""
    searchable: tuple[str, ...] = ()
    """Those of `excluded` for which a search may find inputs."""


class Registry:
    """The operators of a selection, in the registry's order. `found` are inputs that a search has
    found for operators without a rule.

    Raises `UsageError` for an unknown dtype, device, category, namespace or size.
    """

    def __init__(
        self, framework: Framework, selection: Selection, found: Found | None = None
    ) -> None:
        check_settings(framework, selection)
        self.excluded: dict[str, str] = {}
        self.searchable: list[str] = []
        """Those of `excluded` for which a search may find inputs."""
        self._framework, self._selection, self._found = framework, selection, found or {}

    def cases(self) -> Iterator[Case]:
        """Every case. Raises `UnknownOperatorError` for a name or pattern that no operator has."""
        framework, selection = self._framework, self._selection
        rules = rules_module(framework.rules)
        preset = PRESETS[INT64 if selection.int64_tensor else selection.size]
        for target, operator in _targets(framework, selection):
            own = self._found.get(target.label)
            made = inputs_for(operator, rules, preset, selection.settings.dtype, own)
            if isinstance(made, NoInputs):
                self.excluded[target.label] = made.reason
                if made.searchable and isinstance(target, OperatorTarget):
                    self.searchable.append(target.label)
                continue
            for inputs in made[: selection.configurations]:
                yield _case(framework, target, operator, inputs, selection)


def plan(framework: Framework, selection: Selection, found: Found | None = None) -> Plan:
    """Every case of a selection, with the shapes and in the order that the user asks for.

    Raises what `Registry` does, and `UsageError` for a shape of an argument that no case has.
    """
    source = Registry(framework, selection, found)
    cases = list(source.cases())
    _check_shapes(cases, selection)
    # The user's shapes may make one case of several that differed in their shapes alone.
    made = list(deduplicate(_with_shapes(case, selection.shapes) for case in cases))
    if selection.shuffle:
        random.Random(selection.settings.seed).shuffle(made)
    return Plan(
        cases=tuple(made),
        excluded=source.excluded,
        searchable=tuple(source.searchable),
        aliases=_aliases(framework, selection.patterns),
    )


class Resolution(Struct, frozen=True):
    """Axes as a framework has them."""

    axes: Axes
    usable: Axes
    """Those of the values that this build and machine have."""


def resolve(framework: Framework, axes: Mapping[str, tuple[Any, ...]]) -> Resolution:
    """The axes with the framework's own device and profiler where none is named, and devices under
    their canonical names. A value that this build or machine does not have stays among others that
    it has: its cases are skipped.

    Raises `UsageError` for a value that means nothing, or an axis of which no value can be used.
    """
    asked = {
        "device": axes.get("device") or framework.devices()[:1],
        "profiler": axes.get("profiler") or tuple(profilers.offered(framework))[:1],
    }
    found: Axes = {**axes, **asked}
    found["device"] = tuple(dict.fromkeys(_device(framework, text) for text in asked["device"]))
    usable: Axes = {}
    for name, values in found.items():
        refusals = {value: refusal(framework, name, value) for value in values}
        usable[name] = tuple(value for value, refused in refusals.items() if refused is None)
        for value, refused in refusals.items():
            if refused is not None and (not usable[name] or _is_misspelt(framework, name, value)):
                raise refused
    return Resolution(found, usable)


def resolve_selection(selection: Selection, resolve: Callable[[Axes], Resolution]) -> Selection:
    """The selection with the framework's own device and profiler where none is named, as `resolve`
    has them. Raises what it does."""
    settings = selection.settings
    asked = {"device": settings.device, "profiler": settings.profiler, "dtype": settings.dtype}
    resolution = resolve({name: (value,) for name, value in asked.items() if value})
    found = {name: values[0] for name, values in resolution.axes.items()}
    return msgspec.structs.replace(selection, settings=msgspec.structs.replace(settings, **found))


def _device(framework: Framework, text: str) -> str:
    """The canonical name of a device, whether or not it is there."""
    try:
        return framework.parse_device(text)
    except DeviceError as error:
        return error.device or text


def refusal(framework: Framework, name: str, value: Any) -> OpperfError | None:
    """Why the framework, build or machine does not have a setting's value; None if it does."""
    if name == "device":
        try:
            framework.parse_device(value)
        except DeviceError as error:
            return error
        return None
    if name not in OFFERED:
        return None
    offered = OFFERED[name](framework)
    if value in offered:
        return None
    return UsageError(
        f"unknown {name} {value!r}{suggest(value, offered)}; "
        f"{framework.name} has: {', '.join(offered)}"
    )


OFFERED: dict[str, Callable[[Framework], Collection[str]]] = {
    "dtype": lambda framework: framework.dtypes,
    "profiler": profilers.offered,
    "mode": lambda framework: framework.modes,
}
"""Settings whose values a framework lists."""


def _is_misspelt(framework: Framework, name: str, value: Any) -> bool:
    """Whether a value that a framework lacks is a slip of the keyboard, and not one that another
    framework may have: no dtype at all, or nearly a word that this framework has."""
    if name == "dtype":
        return value not in DTYPES
    return name in OFFERED and bool(suggest(value, OFFERED[name](framework)))


def check_settings(framework: Framework, selection: Selection) -> None:
    """Refuse what this framework or build cannot do, before anything is planned.

    Raises `UsageError`.
    """
    settings = selection.settings
    for name in ("device", *OFFERED):
        refused = refusal(framework, name, getattr(settings, name))
        if refused is not None:
            raise refused
    if selection.int64_tensor and framework.large_tensor_limit():
        raise UsageError(
            f"--int64-tensor on: {framework.large_tensor_limit()}, or --int64-tensor off"
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
    paths = [p for p in selection.patterns if is_path(p) and not find_matching(p, operators)]
    named = tuple(pattern for pattern in selection.patterns if pattern not in paths)
    registered: list[tuple[Target, Operator]] = []
    if named or not paths:
        narrowed = msgspec.structs.replace(selection, patterns=named)
        registered = [
            (OperatorTarget(framework=framework.name, name=operator.name), operator)
            for operator in select(operators, narrowed)
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
    array_type = framework.array_type(target)
    both = selection.backward and framework.gradients
    passes: tuple[Pass, ...] = ("forward", "backward") if both else ("forward",)
    return Case(
        target=target,
        arguments={n: with_array_type(value, array_type) for n, value in inputs.arguments.items()},
        settings=msgspec.structs.replace(selection.settings, phase=selection.phase or inputs.phase),
        passes=passes,
        origin=inputs.origin,
        category=operator.category,
    )


def with_array_type(argument: Argument, array_type: str) -> Argument:
    """The argument with its tensors of a framework's other array type."""
    if not array_type:
        return argument
    if isinstance(argument, tuple):
        return tuple(with_array_type(element, array_type) for element in argument)  # type: ignore[misc]
    if isinstance(argument, TensorSpec):
        return msgspec.structs.replace(argument, array_type=array_type)
    return argument


def _check_shapes(cases: list[Case], selection: Selection) -> None:
    names = {name for case in cases for name, _ in case.tensors()}
    for name in selection.shapes:
        if name not in names:
            raise UsageError(
                f"--shape {name}=...: no tensor argument of the operators chosen "
                f"is called {name!r}{suggest(name, names)}"
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
