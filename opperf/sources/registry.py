"""The registry as a source: operators with the inputs that rules make for them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from opperf.errors import DeviceError, UnsupportedError, UsageError
from opperf.frameworks import Framework
from opperf.model import (
    DEFAULTS,
    Argument,
    Case,
    Operator,
    OperatorTarget,
    Pass,
    Program,
    Record,
    Struct,
    Target,
)
from opperf.ranges import UNNAMED
from opperf.rules.callables import inputs_for_target
from opperf.rules.engine import Inputs
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import INT64, PRESETS, Preset
from opperf.sources.choices import CHOICES, LISTED, is_misspelt, parse_device, refusal
from opperf.sources.layers import (
    LAYER,
    Layer,
    find_layer,
    layer_inputs,
    layer_target,
    needs_shape,
    with_contents,
)
from opperf.sources.overrides import (
    LACKS,
    Accepted,
    Overrides,
    accepted,
    check_names,
    own_inputs,
    with_tensors,
    with_values,
)
from opperf.sources.partners import with_names_of
from opperf.sources.plain import plain_forms
from opperf.sources.selecting import (
    Selection,
    callable_at,
    check_groups,
    check_known,
    select,
    split_paths,
)
from opperf.sources.shapes import bounded, inputs_in_shapes, with_shapes
from opperf.sources.user_inputs import inputs_by_function
from opperf.sources.varying import (
    OPTION,
    Axes,
    check_gradients,
    deduplicate,
    differentiable,
    with_array_type,
    with_dtype_options,
    with_gradients,
    with_memory_format,
)

Found = dict[str, dict[str, Argument]]
"""Inputs that a search has found, by the operator's name, at the planned size."""


class Plan(Struct, frozen=True):
    """The cases to run, and the selected operators without a case, each with the reason."""

    cases: tuple[Case, ...]
    excluded: dict[str, str]
    aliases: dict[str, str] = {}
    """Aliases among the selected names, each with the name in results."""
    searchable: tuple[str, ...] = ()
    """Operators in `excluded` for which a search may find inputs."""
    misfits: tuple[str, ...] = ()
    """Operators in `excluded` that the framework refuses with the user's shapes and values."""
    earlier: tuple[Record, ...] = ()
    """Records of the cases in files, by which the time of a run is forecast."""
    renamed: dict[str, dict[str, str]] = {}
    """Operators' own names of arguments that the user names otherwise, by label."""
    program: Program | None = None
    """The program whose recorded calls are the cases."""
    plain: tuple[Case, ...] = ()
    """Plain forms of the cases with the user's shapes and values, of which those that the framework
    accepts are known when they are tried."""


class Registry:
    """The cases of a selection, in the registry's order. `found` are inputs that a search has
    found for operators without a rule.

    Raises `UsageError` for an unknown dtype, device, category, namespace or size.
    """

    def __init__(
        self, framework: Framework, selection: Selection, found: Found | None = None
    ) -> None:
        check_settings(framework, selection)
        self.excluded: dict[str, str] = {}
        self.searchable: list[str] = []
        """Operators in `excluded` for which a search may find inputs."""
        self.arguments: dict[str, Accepted] = {}
        """Names of the arguments of every operator, where the user sets some."""
        self.differentiable: list[tuple[str, tuple[str, ...]]] = []
        """The label of each case and what can be differentiated in it, if the user chooses that."""
        self.plain: list[Case] = []
        """Plain forms of the cases, if the user sets shapes or values."""
        self.renamed: dict[str, dict[str, str]] = {}
        """Operators' own names of arguments that the user names otherwise, by label."""
        self._framework, self._selection, self._found = framework, selection, found or {}

    def cases(self) -> Iterator[Case]:
        """Yields every case. Raises `UnknownOperatorError` for a name or pattern that matches no
        operator."""
        framework, selection = self._framework, self._selection
        preset = PRESETS[INT64 if selection.int64_tensor else selection.size]
        dtype = selection.settings.dtype
        for target, operator in _targets(framework, selection):
            layer = find_layer(framework, target)
            if layer is not None and not selection.settings.input_function:
                yield from self._layer(target, layer, operator)
                continue
            made = self._inputs(target, operator, preset)
            if isinstance(made, NoInputs):
                self.excluded[target.label] = made.reason
                if made.searchable and isinstance(target, OperatorTarget):
                    self.searchable.append(target.label)
                continue
            overrides = Overrides.of(selection)
            names = overrides.aliases(operator)
            if names:
                self.renamed[target.label] = names
                overrides = overrides.renamed(names)
            made = with_values(operator, made, overrides.values, dtype)
            try:
                if _has_plain_form(selection, overrides):
                    plain = plain_forms(operator, made, overrides.names)
                    self.plain += self._cases_of(target, operator, plain, overrides)
                yield from self._cases_of(
                    target, operator, made[: selection.configurations], overrides
                )
            except UnsupportedError as error:
                self.excluded[target.label] = str(error)

    def _cases_of(
        self, target: Target, operator: Operator, made: list[Inputs], overrides: Overrides
    ) -> Iterator[Case]:
        """Yields the cases of a target's inputs with what the user sets."""
        for inputs in made:
            case = _case(self._framework, target, operator, inputs, self._selection)
            if self._is_differentiated(case, operator):
                yield _overridden(self._framework, case, overrides)

    def _layer(self, target: Target, layer: Layer, operator: Operator) -> Iterator[Case]:
        """Yields the case of a layer for inputs of the user's shapes."""
        self.arguments[target.label] = layer.accepted
        overrides = Overrides.of(self._selection).renamed(layer.aliases)
        if not set(overrides.shapes) & set(layer.inputs):
            self.excluded[target.label] = needs_shape(layer)
            return
        try:
            built = layer_target(self._framework, layer, overrides)
        except UnsupportedError as error:
            self.excluded[target.label] = str(error)
            return
        inputs = layer_inputs(layer, overrides, self._selection.settings.dtype)
        signature = msgspec.structs.replace(operator, category=LAYER, parameters=())
        case = _case(
            self._framework, built, signature, with_contents(built, inputs), self._selection
        )
        if self._is_differentiated(case, signature):
            yield case

    def _is_differentiated(self, case: Case, operator: Operator) -> bool:
        """Whether a case has something of which the user asks for the gradient, if for any. One
        without is excluded."""
        wanted = case.settings.differentiated
        if not wanted:
            return True
        known = (*differentiable(case), *self._framework.parameter_names(case.target))
        # Another configuration may have an optional argument that this one lacks.
        declared = (parameter.name for parameter in operator.tensors)
        self.differentiable.append((case.label, tuple(dict.fromkeys((*known, *declared)))))
        if set(wanted).isdisjoint(known):
            self.excluded[case.label] = f"{LACKS} {wanted[0]!r} that takes a gradient"
            return False
        return True

    def _inputs(
        self, target: Target, operator: Operator, preset: Preset
    ) -> list[Inputs] | NoInputs:
        """Returns a target's inputs by the user's function or by its rule, with the tensors that
        the user sets; without either, those that the user sets."""
        framework, selection = self._framework, self._selection
        lacking_kernel = missing_kernel(framework, target, operator, selection.settings.device)
        if lacking_kernel:
            return NoInputs(lacking_kernel)
        dtype, overrides = selection.settings.dtype, Overrides.of(selection)
        overrides = overrides.renamed(overrides.aliases(operator))
        reference = selection.settings.input_function
        made: list[Inputs] | NoInputs | None = None
        if reference:
            asked = dtype if selection.dtype_given else ""
            made = inputs_by_function(framework, target, operator, selection.settings, asked)
        if made is None:
            found = self._found.get(target.label)
            asked = "" if _leaves_dtype(selection, overrides) else dtype
            made = inputs_for_target(framework, target, operator, preset, asked, found)
            if reference and isinstance(made, NoInputs):
                made = NoInputs(f"no inputs in {reference}")
        if not overrides.names:
            return made
        names = accepted(operator, made)
        if not isinstance(target, OperatorTarget) and not framework.place(target):
            names = names.of_a_users_function()
        self.arguments[target.label] = names
        lacking = names.lacks(overrides)
        if lacking:
            what = repr(lacking[0]) if lacking[0] != UNNAMED else "that is its only input"
            return NoInputs(f"{LACKS} {what}")
        overrides = Overrides(names.shapes(overrides), overrides.values)
        if isinstance(made, NoInputs):
            set_here = own_inputs(framework, target, operator, overrides, preset, dtype)
            # A search may find the inputs that the user does not set.
            return made if isinstance(set_here, NoInputs) and made.searchable else set_here
        if not overrides.shapes:
            return made
        make = functools.partial(inputs_for_target, framework, target, operator, dtype=dtype)
        made = with_tensors(framework, target, operator, made, overrides.shapes, dtype)
        return inputs_in_shapes(made, overrides.shapes, preset, make)


def missing_kernel(framework: Framework, target: Target, operator: Operator, device: str) -> str:
    """Returns why a registered operator cannot run on a device; empty if it can, and for any other
    callable."""
    if not isinstance(target, OperatorTarget):
        return ""
    return framework.missing_kernel(operator, device)


def plan(framework: Framework, selection: Selection, found: Found | None = None) -> Plan:
    """Returns the plan of a selection, with the user's shapes, in the registry's order.

    Raises the errors of `Registry`, and `UsageError` for a shape or value of an argument that no
    operator has.
    """
    source = Registry(framework, selection, found)
    # Cases that differ in their shapes alone are the same with the user's shapes. The memory format
    # depends on the shapes.
    memory_format = selection.settings.memory_format
    made = deduplicate(with_memory_format(case, memory_format) for case in source.cases())
    plain = deduplicate(with_memory_format(case, memory_format) for case in source.plain)
    check_names(Overrides.of(selection), source.arguments, _partners(framework, selection))
    check_gradients(selection.settings.differentiated, source.differentiable)
    measured = {case.label for case in made}
    return Plan(
        cases=made,
        excluded={
            label: reason
            for label, reason in source.excluded.items()
            # Another configuration may have the argument.
            if not (label in measured and reason.startswith(LACKS))
        },
        searchable=tuple(source.searchable),
        aliases=_aliases(framework, selection.patterns),
        renamed=source.renamed,
        plain=plain,
    )


def _overridden(framework: Framework, case: Case, overrides: Overrides) -> Case:
    """Returns a case in the user's shapes, with indices that suit these and the user's values."""
    if not overrides.names:
        return case
    shaped = with_shapes(framework, case, overrides.shapes, overrides.values)
    return bounded(framework, shaped)


def _leaves_dtype(selection: Selection, overrides: Overrides) -> bool:
    """Returns whether each configuration may have the dtype of its rule: the user chooses none, and
    neither shapes nor values, which are measured in one."""
    is_default = selection.settings.dtype == DEFAULTS["dtype"]
    return is_default and not selection.dtype_given and not overrides.names


def _has_plain_form(selection: Selection, overrides: Overrides) -> bool:
    """Returns whether the inputs are a rule's with a user's shapes or values, of which the plain
    form comes first."""
    is_rules = not selection.settings.input_function and selection.fuzz is None
    return bool(overrides.names) and is_rules


OWN_DEFAULT = ("device", "profiler", "mode")
"""Settings whose default is the framework's own."""


class Resolution(Struct, frozen=True):
    """Axes with a framework's values filled in."""

    axes: Axes
    usable: Axes
    """The axes with only the values that this build and machine support."""


def resolve(framework: Framework, axes: Mapping[str, tuple[Any, ...]]) -> Resolution:
    """Returns the axes with the framework's default device and profiler filled in, and with devices
    under their canonical names. An unsupported value stays beside supported ones: its cases are
    skipped.

    Raises `UsageError` for an unknown value, and for an axis without a supported value.
    """
    requested = {
        name: axes.get(name) or tuple(CHOICES[name](framework))[:1] for name in OWN_DEFAULT
    }
    found: Axes = {**axes, **requested}
    found["device"] = tuple(dict.fromkeys(_device(framework, text) for text in requested["device"]))
    usable: Axes = {}
    for name, values in found.items():
        # Pairs, as options are dicts, which are no keys.
        refusals = [(value, refusal(framework, name, value)) for value in values]
        usable[name] = tuple(value for value, refused in refusals if refused is None)
        for value, refused in refusals:
            if refused is not None and (not usable[name] or is_misspelt(framework, name, value)):
                raise refused
    return Resolution(found, usable)


def resolve_selection(selection: Selection, resolve: Callable[[Axes], Resolution]) -> Selection:
    """Returns the selection with the framework's default device and profiler filled in by
    `resolve`, whose errors it raises."""
    settings = selection.settings
    requested = {name: getattr(settings, name) for name in ("dtype", *OWN_DEFAULT)}
    resolution = resolve({name: (value,) for name, value in requested.items() if value})
    found = {name: values[0] for name, values in resolution.axes.items()}
    return msgspec.structs.replace(selection, settings=msgspec.structs.replace(settings, **found))


def _device(framework: Framework, text: str) -> str:
    """Returns the canonical name of a device, available or not."""
    try:
        return parse_device(framework, text)
    except DeviceError as error:
        return error.device or text


def check_settings(framework: Framework, selection: Selection) -> None:
    """Raises `UsageError` for settings that the framework or build does not support."""
    settings = selection.settings
    for name in ("device", "options", *LISTED):
        refused = refusal(framework, name, getattr(settings, name))
        if refused is not None:
            raise refused
    if settings.grad and not (selection.backward and framework.gradients):
        with_ = "--no-backward" if framework.gradients else f"{framework.name}, which has none"
        raise UsageError(f"{OPTION} {settings.grad} has no effect with {with_}; omit it")
    if selection.int64_tensor and framework.large_tensor_limit():
        raise UsageError(
            f"--int64-tensor on: {framework.large_tensor_limit()}, or --int64-tensor off"
        )
    check_known("size", (selection.size,), PRESETS)
    check_groups(framework.operators(), selection)


def _aliases(framework: Framework, patterns: Iterable[str]) -> dict[str, str]:
    """Returns the patterns that are aliases, each with its operator's name in results."""
    found = {pattern: framework.resolve(pattern) for pattern in patterns}
    return {
        pattern: operator.label
        for pattern, operator in found.items()
        if operator is not None and operator.label != pattern
    }


def _targets(framework: Framework, selection: Selection) -> list[tuple[Target, Operator]]:
    """Returns the selected targets with their signatures: operators in the registry's order, then
    callables by path in the order of the patterns."""
    operators = framework.operators()
    paths, named = split_paths(selection.patterns, operators)
    registered: list[tuple[Target, Operator]] = []
    if named or not paths:
        narrowed = msgspec.structs.replace(selection, patterns=named)
        registered = [
            (operator.target, operator)
            for operator in select(operators, narrowed, framework.function_paths())
        ]
    targets = [callable_at(framework, path, operators) for path in paths]
    found = registered + [(target, framework.signature(target)) for target in targets]
    if not selection.partners:
        return found
    partners = _partners(framework, selection)
    return [with_names_of(framework, chosen, partners) for chosen in found]


def _partners(framework: Framework, selection: Selection) -> list[tuple[Target, Operator]]:
    """Returns what the selection's operators are compared with, if they are."""
    patterns = selection.partners
    if not patterns:
        return []
    return _targets(framework, msgspec.structs.replace(selection, patterns=patterns, partners=()))


def _case(
    framework: Framework,
    target: Target,
    operator: Operator,
    inputs: Inputs,
    selection: Selection,
) -> Case:
    array_type = framework.array_type(target)
    arguments = framework.with_outputs(operator, inputs.arguments)
    both = selection.backward and framework.gradients
    passes: tuple[Pass, ...] = ("forward", "backward") if both else ("forward",)
    made = Case(
        target=target,
        arguments={n: with_array_type(value, array_type) for n, value in arguments.items()},
        settings=msgspec.structs.replace(
            selection.settings,
            phase=selection.phase or inputs.phase,
            dtype=inputs.dtype or selection.settings.dtype,
            # Applied once the shapes are final.
            memory_format=DEFAULTS["memory_format"],
        ),
        passes=passes,
        origin=inputs.origin,
        why=inputs.why,
        category=operator.category,
    )
    made = with_dtype_options(made)
    return with_gradients(made) if made.settings.differentiated else made
