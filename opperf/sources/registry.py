"""The registry as a source: operators with the inputs that rules make for them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

import msgspec

from opperf.errors import UnsupportedError
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
    RulePlace,
    RuleUse,
    Struct,
    Target,
)
from opperf.ranges import UNNAMED
from opperf.rules.callables import inputs_for_target
from opperf.rules.engine import Inputs, rules_module
from opperf.rules.faults import CASE, no_inputs
from opperf.rules.places import exceptions, places_of, search_place
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import INT64, PRESETS, Preset
from opperf.sources.completing import LAYER
from opperf.sources.layers import Layer, find_layer, layer_inputs, layer_target, needs_shape
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
from opperf.sources.plain import plain_forms, with_names_of
from opperf.sources.resolving import check_settings
from opperf.sources.selecting import Selection, callable_at, select, split_paths
from opperf.sources.shapes import bounded, inputs_in_shapes, with_shapes
from opperf.sources.user_inputs import inputs_by_function
from opperf.sources.varying import (
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
    faults: tuple[str, ...] = ()
    """Operators in `excluded` for which opperf's code, or that of a user's rule, failed."""
    misfits: tuple[str, ...] = ()
    """Operators in `excluded` that the framework refuses with the user's shapes and values."""
    earlier: tuple[Record, ...] = ()
    """Records of the cases in files, by which the time of a run is forecast."""
    renamed: dict[str, dict[str, str]] = {}
    """Operators' own names of arguments that the user names otherwise, by label."""
    program: Program | None = None
    """The program whose recorded calls are the cases."""
    exceptions: dict[str, tuple[RulePlace, ...]] = {}
    """The places that exclude operators, where that was asked for."""
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
        self._default = rules_module(framework.rules).DTYPE
        if not selection.dtype_given and selection.settings.dtype == DEFAULTS["dtype"]:
            settings = msgspec.structs.replace(selection.settings, dtype=self._default)
            selection = msgspec.structs.replace(selection, settings=settings)
        self.excluded: dict[str, str] = {}
        self.searchable: list[str] = []
        self.faults: list[str] = []
        self.arguments: dict[str, Accepted] = {}
        """Names of the arguments of every operator, where the user sets some."""
        self.differentiable: list[tuple[str, tuple[str, ...]]] = []
        """The label of each case and what can be differentiated in it, if the user chooses that."""
        self.plain: list[Case] = []
        self.renamed: dict[str, dict[str, str]] = {}
        self.exceptions: dict[str, tuple[RulePlace, ...]] = {}
        self._framework, self._selection, self._found = framework, selection, found or {}

    def cases(self) -> Iterator[Case]:
        """Yields every case. Raises `UnknownOperatorError` for a pattern without operator."""
        for target, operator in _targets(self._framework, self._selection):
            # Whole, so that an operator whose code fails on the way has no case.
            try:
                made = list(self._cases(target, operator))
            except Exception as error:
                self._exclude(target, operator, no_inputs(error, CASE))
            else:
                yield from made

    def _exclude(self, target: Target, operator: Operator, why: NoInputs) -> None:
        self.excluded[target.label] = why.reason
        if why.is_fault:
            self.faults.append(target.label)
        if why.searchable and isinstance(target, OperatorTarget):
            self.searchable.append(target.label)
        if self._selection.rules:
            found = exceptions(operator, rules_module(self._framework.rules))
            searched = [search_place()] if why.searchable else []
            self.exceptions[target.label] = (*searched, *found)

    def _cases(self, target: Target, operator: Operator) -> Iterator[Case]:
        framework, selection = self._framework, self._selection
        layer = find_layer(framework, target)
        if layer is not None and not selection.settings.input_function:
            yield from self._layer(target, layer, operator)
            return
        preset = PRESETS[INT64 if selection.int64_tensor else selection.size]
        overrides = Overrides.of(selection)
        names = overrides.aliases(operator)
        overrides = overrides.renamed(names)
        made = self._inputs(target, operator, preset, overrides)
        if isinstance(made, NoInputs):
            self._exclude(target, operator, made)
            return
        if names:
            self.renamed[target.label] = names
        made = with_values(operator, made, overrides.values, selection.settings.dtype)
        try:
            # Of a rule's inputs with a user's shapes or values the plain form comes first.
            is_rules = not selection.settings.input_function and selection.fuzz is None
            if overrides.names and is_rules:
                plain = plain_forms(operator, made, overrides.names)
                self.plain += self._cases_of(target, operator, plain, overrides)
            yield from self._cases_of(target, operator, made[: selection.configurations], overrides)
        except UnsupportedError as error:
            # The configurations before the one that is not supported remain.
            self.excluded[target.label] = str(error)

    def _cases_of(
        self, target: Target, operator: Operator, made: list[Inputs], overrides: Overrides
    ) -> Iterator[Case]:
        for inputs in made:
            case = case_of(self._framework, target, operator, inputs, self._selection)
            if not self._is_differentiated(case, operator):
                continue
            if overrides.names:
                case = with_shapes(self._framework, case, overrides.shapes, overrides.values)
                case = bounded(self._framework, case)
            yield case

    def _layer(self, target: Target, layer: Layer, operator: Operator) -> Iterator[Case]:
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
        inputs = layer_inputs(layer, built, overrides, self._selection.settings.dtype)
        signature = msgspec.structs.replace(operator, category=LAYER, parameters=())
        case = case_of(self._framework, built, signature, inputs, self._selection)
        if self._is_differentiated(case, signature):
            yield case

    def _is_differentiated(self, case: Case, operator: Operator) -> bool:
        """Whether a case has a gradient that the user asks for; if not, it is excluded."""
        wanted = case.settings.differentiated
        if not wanted:
            return True
        known = (*differentiable(case), *self._framework.objects.parameter_names(case.target))
        # Another configuration may have an optional argument that this one lacks.
        declared = (parameter.name for parameter in operator.tensors)
        self.differentiable.append((case.label, tuple(dict.fromkeys((*known, *declared)))))
        if set(wanted).isdisjoint(known):
            self.excluded[case.label] = f"{LACKS} {wanted[0]!r} that takes a gradient"
            return False
        return True

    def _inputs(
        self, target: Target, operator: Operator, preset: Preset, overrides: Overrides
    ) -> list[Inputs] | NoInputs:
        """Returns a target's inputs by the user's function or by its rule, with the tensors that
        the user sets; without either, those that the user sets."""
        framework, selection = self._framework, self._selection
        lacking_kernel = missing_kernel(framework, target, operator, selection.settings.device)
        if lacking_kernel:
            return NoInputs(lacking_kernel)
        dtype, reference = selection.settings.dtype, selection.settings.input_function
        made: list[Inputs] | NoInputs | None = None
        if reference:
            asked = dtype if selection.dtype_given else ""
            made = inputs_by_function(framework, target, operator, selection.settings, asked)
        if made is None:
            found = self._found.get(target.label)
            # Each configuration may have the dtype of its rule where the user chooses none, and
            # neither shapes nor values, which are measured in one.
            is_chosen = dtype != self._default or selection.dtype_given or overrides.names
            asked = dtype if is_chosen else ""
            made = inputs_for_target(framework, target, operator, preset, asked, found)
            if reference and isinstance(made, NoInputs):
                made = NoInputs(f"no inputs in {reference}")
        if not overrides.names:
            return made
        names = accepted(operator, made)
        if not isinstance(target, OperatorTarget) and not framework.naming.place(target):
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
    """Returns why a registered operator cannot run on a device; empty if it can."""
    if not isinstance(target, OperatorTarget):
        return ""
    return framework.inference.missing_kernel(operator, device)


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
        faults=tuple(source.faults),
        aliases=_aliases(framework, selection.patterns),
        renamed=source.renamed,
        exceptions=source.exceptions,
        plain=plain,
    )


LAYERS = (
    *("caller", "form", "shared family", "family", "further family", "category", "argument"),
    *("search", "entry", "binding", "row", "recorded inputs", "derivation", "exception"),
)
"""Kinds of places that make cases, in the order in which they are listed."""


def rule_uses(plan: Plan) -> tuple[RuleUse, ...]:
    """Returns the places that made a plan's cases, by operator, each with their ids; and what
    excludes operators."""
    found: dict[str, dict[RulePlace, list[str]]] = {}
    for case in plan.cases:
        for place in case.rules:
            found.setdefault(case.label, {}).setdefault(place, []).append(case.id)
    for label, places in plan.exceptions.items():
        for place in places:
            found.setdefault(label, {}).setdefault(place, [])
    return tuple(
        RuleUse(label, place, tuple(found[label][place]))
        for label in found
        for place in sorted(found[label], key=lambda one: LAYERS.index(one.layer))
    )


def _aliases(framework: Framework, patterns: Iterable[str]) -> dict[str, str]:
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
            for operator in select(operators, narrowed, framework.naming.function_paths())
        ]
    targets = [callable_at(framework, path, operators) for path in paths]
    found = registered + [(target, framework.signature(target)) for target in targets]
    if not selection.partners:
        return found
    partners = _partners(framework, selection)
    return [with_names_of(framework, chosen, partners) for chosen in found]


def _partners(framework: Framework, selection: Selection) -> list[tuple[Target, Operator]]:
    patterns = selection.partners
    if not patterns:
        return []
    return _targets(framework, msgspec.structs.replace(selection, patterns=patterns, partners=()))


def case_of(
    framework: Framework, target: Target, operator: Operator, inputs: Inputs, selection: Selection
) -> Case:
    """Returns the case of a target with these inputs, in the settings of a selection."""
    array_type = framework.arrays.array_type(target)
    arguments = framework.inference.with_outputs(operator, inputs.arguments)
    both = selection.backward and framework.gradients.supported
    passes: tuple[Pass, ...] = ("forward", "backward") if both else ("forward",)
    rules = tuple(places_of(framework, operator, inputs)) if selection.rules else ()
    made = Case(
        target=target,
        arguments=with_array_type(arguments, array_type),
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
        rules=rules,
        category=operator.category,
    )
    made = with_dtype_options(made)
    return with_gradients(made) if made.settings.differentiated else made
