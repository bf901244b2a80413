"""Inputs of an operator: by a hand-written family, a table of argument names, or else a search."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from opperf.declared import declared, load_declared
from opperf.frameworks.user_modules import PREFIX
from opperf.model import (
    DEFAULTS,
    Argument,
    Fill,
    Kind,
    Operator,
    Parameter,
    TensorSpec,
    iter_tensors,
)
from opperf.operations import OPERATIONS
from opperf.operations.uses import Choice, Roles, Use
from opperf.operations.work.sizes import Formula
from opperf.rules.configurations import (
    NOTES,
    Configuration,
    Phase,
    inputs_of,
    notes_of,
    read_configuration,
)
from opperf.rules.dependencies import Rules
from opperf.rules.differences import Difference
from opperf.rules.not_finite import NotFinite
from opperf.rules.registering import (
    Families,
    Family,
    NoInputs,
    OperationFamily,
    check_listed,
    each_of,
)
from opperf.rules.repeating import repeated
from opperf.rules.shapes import DISPATCH
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, rename_arguments, with_dtype, without_gradients
from opperf.rules.whys import describe_arguments, set_apart

Alternatives = Callable[[Operator, Preset], "list[Argument]"]
"""Values of one argument, one per configuration."""


@dataclass(frozen=True)
class Inputs:
    """Arguments of one configuration, the rule that made them, and the phase to run in."""

    arguments: Arguments
    origin: str
    phase: Phase = "predict"
    why: str = ""
    """In one line, which model, paper or kernel the configuration stands for."""
    dtype: str = ""
    """The dtype that they compute in, of a user's arrays or by their rule; empty for the requested
    one."""

    @property
    def is_dense(self) -> bool:
        """Whether no tensor has another layout."""
        specs = (spec for value in self.arguments.values() for spec in iter_tensors(value))
        return all(spec.layout == "dense" for spec in specs)


class RulesModule(Protocol):
    """A framework's rules module. All but the families has a default, in `OPTIONAL`."""

    FAMILIES: Families
    OPERATIONS: Mapping[str, Use | Choice]
    """The canonical operation of each operator, and the names of its arguments."""
    GRADIENTS: bool
    """Whether the framework computes any."""
    TABLE: Mapping[tuple[str, Kind], Alternatives]
    """Values by argument name."""
    OPTIONAL_TENSORS: frozenset[str]
    """Names of tensors that may be omitted."""
    TRAIN_PHASE: frozenset[str]
    """Operators that run in the training phase."""
    NEEDS_OUTPUT: frozenset[str]
    """Operators that require an output array from the caller."""
    NOT_BENCHMARKED: Mapping[str, str]
    """Operators that cannot be called on their own, each with the reason."""
    NOT_FINITE: Mapping[str, NotFinite]
    """Operators whose results may have NaN or infinity, each with the reason."""
    WORK: Mapping[str, Formula]
    """Operations and bytes of operators without a canonical operation, by their argument names."""
    RECORDED: Callable[[Operator, Arguments], Arguments]
    """Returns those arguments of a recorded call of an operator that a case has; by default all."""
    DIFFERENCES: Mapping[str, Difference]
    """Known differences from references, by the operator's name or that of its operation."""
    CONTENTS: Rules
    """Contents that the other arguments of a call decide, by operator and argument."""
    RESULTS: Rules
    """Contents on which the shapes depend that a call returns, by operator and argument."""
    FUNCTIONS: Mapping[str, Family | str]
    """By the framework's place of a function: the family of one that no operator's inputs suit, or
    why it has none."""
    NUMPY_INTERFACE: str
    """Beginning of the places of functions that compute as NumPy's; empty if there are none."""


OPTIONAL: Mapping[str, object] = {
    **dict.fromkeys(("OPERATIONS", "TABLE", "FUNCTIONS", "NOT_BENCHMARKED", "NOT_FINITE"), {}),
    **dict.fromkeys(("CONTENTS", "RESULTS", "WORK", "DIFFERENCES"), {}),
    **dict.fromkeys(("OPTIONAL_TENSORS", "TRAIN_PHASE", "NEEDS_OUTPUT"), frozenset()),
    "GRADIENTS": False,
    "RECORDED": lambda operator, arguments: arguments,
    "NUMPY_INTERFACE": "",
}
"""What a rules module need not have, with its default."""


def rules_module(path: str) -> RulesModule:
    """The rules module of that dotted path."""
    module: RulesModule = importlib.import_module(path)
    for name in OPTIONAL.keys() - vars(module).keys():
        setattr(module, name, OPTIONAL[name])
    _complete(path)
    return module


GROUP = "opperf.rules"
"""Entry points of other packages' rules: modules that register families, each under the name of the
framework's rules module without its package (`torch`)."""


@functools.cache
def _complete(path: str) -> None:
    """Imports the modules of other packages with rules for a framework, once. Raises `RuleError`
    for a module of opperf's that would be ignored."""
    check_listed(importlib.import_module(path))
    for entry in declared(GROUP):
        if entry.name == path.rpartition(".")[2]:
            load_declared(entry)


RULE, OPERATION = "rule:", "operation:"
"""Prefixes of origins: of a framework's own families, and of shared ones."""

FOUND = "small inputs that the operator was found to accept, scaled up"
"""Why an operator without a rule has its inputs."""

SEARCH = "search"
"""Origin of inputs that were found by trying."""
BY_NAME = "table:names"
"""Origin of inputs from a framework's table of argument names."""


def inputs_for(
    operator: Operator,
    rules: RulesModule,
    preset: Preset,
    dtype: str,
    found: Arguments | None = None,
) -> list[Inputs] | NoInputs:
    """Every configuration of an operator at one size, or why there is none.

    `dtype` is the requested one; if it is empty, each configuration has that of its rule.
    `found` are a search's inputs, for operators without a rule.
    """
    excluded = exclusion(operator, rules)
    if excluded is not None:
        return excluded
    made = configurations(operator, rules, preset)
    if isinstance(made, NoInputs):
        if found is None or not made.searchable:
            return made
        made = [Configuration(found, SEARCH, FOUND, None)]
    return finish(operator, rules, made, dtype)


def exclusion(operator: Operator, rules: RulesModule) -> NoInputs | None:
    """Why an operator cannot be called on its own; None if it can."""
    reasons = rules.NOT_BENCHMARKED
    return next((NoInputs(reasons[name]) for name in operator.names if name in reasons), None)


def make_inputs(
    operator: Operator, rules: RulesModule, family: Family, preset: Preset, dtype: str
) -> list[Inputs] | NoInputs:
    """Every configuration of one family at one size, or why there is none."""
    made = of_family(family, operator, preset)
    if isinstance(made, NoInputs):
        return made
    origin = RULE + name_of(family)
    return finish(operator, rules, [read_configuration(one, origin, family) for one in made], dtype)


def finish(
    operator: Operator, rules: RulesModule, made: Iterable[Configuration], dtype: str
) -> list[Inputs]:
    """Configurations with the output, dtype and phase that an operator needs."""
    phase: Phase = "train" if set(operator.names) & rules.TRAIN_PHASE else "predict"
    inputs: list[Inputs] = []
    for one in made:
        arguments = with_output(operator, rename_arguments(operator, one.arguments), rules)
        if not rules.GRADIENTS:
            arguments = without_gradients(arguments)
        own = "" if dtype else one.dtype
        arguments = with_dtype(operator, arguments, dtype or own or DEFAULTS["dtype"])
        made_here = Inputs(arguments, one.origin, one.phase or phase, one.why, own)
        if one.dtype and any(_are_equal(made_here, other) for other in inputs):
            # In the requested dtype it is what another configuration is.
            continue
        inputs.append(made_here)
    return inputs


def _are_equal(one: Inputs, other: Inputs) -> bool:
    return (one.arguments, one.phase) == (other.arguments, other.phase)


def configurations(
    operator: Operator, rules: RulesModule, preset: Preset
) -> list[Configuration] | NoInputs:
    """The configurations of the first rule that has any, with its name, and those that further
    families add to them; or why there is none."""
    own = own_configurations(operator, rules, preset)
    made = [] if isinstance(own, NoInputs) else own
    for one in further_configurations(operator, rules, preset):
        if not any(measure_the_same(one, other) for other in made):
            made.append(one)
    made += repeated(made, rules.FAMILIES.repetition_of(operator))
    return made or own


def further_configurations(
    operator: Operator, rules: RulesModule, preset: Preset
) -> list[Configuration]:
    """The configurations that families add to those of an operator's rule."""
    if not operator.namespace:
        return []
    made: list[Configuration] = []
    for family in rules.FAMILIES.further_of(operator):
        found = of_family(family, operator, preset)
        assert not isinstance(found, NoInputs)
        made += [read_configuration(one, RULE + name_of(family), family) for one in found]
    return made


def own_configurations(
    operator: Operator, rules: RulesModule, preset: Preset
) -> list[Configuration] | NoInputs:
    """The configurations of the first rule that has any, with its name; or why none does."""
    families = rules.FAMILIES
    # A callable without tensors is no operator of its name: `np.random.gamma` is not `gamma`.
    registered = bool(operator.namespace or operator.tensors)
    own = families.family_of(operator) if registered else None
    if own is None and registered:
        shared = from_operations(operator, rules, preset)
        if shared:
            return shared
        own = families.by_category.get(operator.category)
    if own is not None:
        made = of_family(own, operator, preset)
    else:
        made = from_table(operator, rules, preset)
    if isinstance(made, NoInputs):
        return made
    if own is None:
        return [Configuration(one, BY_NAME, describe_arguments(one), None) for one in made]
    return [read_configuration(one, RULE + name_of(own), own) for one in made]


def of_family(family: Family, operator: Operator, preset: Preset) -> Iterable[Arguments] | NoInputs:
    """A family's configurations of an operator. Raises `FailedRuleError` if its code fails."""
    return each_of(family, lambda: family(operator, preset), f"operator {operator.name}")


def of_operation(family: OperationFamily, operation: str, preset: Preset) -> Iterable[Roles]:
    """A shared family's configurations of an operation. Raises `FailedRuleError` if its code
    fails."""
    made = each_of(family, lambda: family(OPERATIONS[operation], preset), f"operation {operation}")
    assert not isinstance(made, NoInputs)
    return made


def name_of(family: Family | OperationFamily) -> str:
    """`module.function` of a family."""
    module = family.__module__.rpartition(".")[2].removeprefix(PREFIX)
    return f"{module}.{family.__name__}"


def uses_of(
    operator: Operator, table: Mapping[str, Use | Choice]
) -> Iterable[tuple[Use, Arguments]]:
    """Every use of an operator in a table, with the argument that selects it, of which the operator
    may lack some in a framework's older versions."""
    entry = next((table[name] for name in operator.names if name in table), None)
    has = {*NOTES, *(parameter.name for parameter in operator.parameters)}
    made = entry.each(operator) if entry is not None else ()
    return [(use, chosen) for use, chosen in made if chosen.keys() <= has]


def from_operations(operator: Operator, rules: RulesModule, preset: Preset) -> list[Configuration]:
    """Configurations from the shared families of an operator's operations, under its own argument
    names. One with an input that the operator has no argument for is dropped."""
    made: list[tuple[Configuration, Arguments]] = []
    for use, chosen in uses_of(operator, rules.OPERATIONS):
        family = rules.FAMILIES.by_operation.get(use.operation)
        if family is None:
            continue
        for roles in of_operation(family, use.operation, preset):
            arguments = use.to_arguments(operator, inputs_of(roles))
            if arguments is None:
                continue
            own = {**arguments, **chosen, **notes_of(roles)}
            one = read_configuration(own, OPERATION + name_of(family), family)
            if not any(measure_the_same(one, other) for other, _ in made):
                made.append((one, chosen))
    return set_apart(made)


def measure_the_same(one: Configuration, other: Configuration) -> bool:
    """Whether two configurations of an operator are the same, as those are that differ by a role
    that it has no argument for, or both measure its call."""
    if one.why == other.why == DISPATCH:
        return True
    return (one.arguments, one.phase, one.dtype) == (other.arguments, other.phase, other.dtype)


def arguments_by_role(
    operator: Operator, table: Mapping[str, Use | Choice], family: OperationFamily, preset: Preset
) -> Iterable[Arguments]:
    """A shared family's configurations under an operator's own argument names, for a framework's
    family that adds to them or replaces some."""
    for use, chosen in uses_of(operator, table):
        for roles in of_operation(family, use.operation, preset):
            arguments = use.to_arguments(operator, inputs_of(roles))
            if arguments is not None:
                yield {**arguments, **chosen, **notes_of(roles)}


def from_table(
    operator: Operator, rules: RulesModule, preset: Preset
) -> Iterable[Arguments] | NoInputs:
    """Configurations from a framework's table, by the name and kind of each required argument.

    The i-th configuration has the i-th value of each argument; an argument with fewer values
    keeps its last.
    """
    needed = [p for p in operator.parameters if is_needed(p, rules)]
    if not operator.tensors:
        reason = "it takes no tensor, and no rule has arguments for it"
        return NoInputs(reason, searchable=True)
    if not needed:
        reason = "it requires no argument, and no rule has any for it"
        return NoInputs(reason, searchable=True)
    missing = [p for p in needed if (p.name, p.kind) not in rules.TABLE]
    if missing:
        wanted = ", ".join(f"{p.name} ({p.kind.value})" for p in missing)
        return NoInputs(f"no rule has a value for {wanted}", searchable=True)
    columns = {p.name: rules.TABLE[p.name, p.kind](operator, preset) for p in needed}
    count = max(len(column) for column in columns.values())
    return [
        {name: column[min(i, len(column) - 1)] for name, column in columns.items()}
        for i in range(count)
    ]


def is_needed(parameter: Parameter, rules: RulesModule) -> bool:
    """Whether a table must have a value for the parameter. Some registries declare optional tensors
    as required; the rules know these."""
    return parameter.required and parameter.name not in rules.OPTIONAL_TENSORS


OUTPUT = "out"
"""Name of the argument that a call writes to."""


def with_output(operator: Operator, arguments: Arguments, rules: RulesModule) -> Arguments:
    """The arguments with an output array shaped as the first tensor, if the operator requires
    one."""
    if OUTPUT in arguments or not set(operator.names) & rules.NEEDS_OUTPUT:
        return arguments
    first = next(value for value in arguments.values() if isinstance(value, TensorSpec))
    output = TensorSpec(first.shape, first.dtype, Fill("constant"), array_type=first.array_type)
    return {**arguments, OUTPUT: output}
