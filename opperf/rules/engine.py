"""Inputs of an operator: by a hand-written family, a table of argument names, or else a search."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from opperf.declared import declared, load_declared
from opperf.frameworks.user_modules import PREFIX
from opperf.model import DEFAULTS, Argument, Kind, Operator, Parameter, TensorSpec, iter_tensors
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Choice, Use
from opperf.operations.work.sizes import Formula
from opperf.rules.configurations import (
    NOTES,
    TINY,
    Configuration,
    Phase,
    Source,
    describe_arguments,
    inputs_of,
    notes_of,
    read_configuration,
    set_apart,
)
from opperf.rules.dependencies import Rules
from opperf.rules.deriving import derived
from opperf.rules.deviations import Difference, NotFinite
from opperf.rules.registering import (
    Families,
    Family,
    NoInputs,
    OperationFamily,
    Rows,
    each_of,
    merged,
    of_operation,
)
from opperf.rules.sizes import Preset
from opperf.rules.values import ZEROS, Arguments, rename_arguments, with_dtype, without_gradients

Alternatives = Callable[[Operator, Preset], "list[Argument]"]
"""Values of one argument, one per configuration."""


class Made(NamedTuple):
    """Origin of inputs: the rules of an operator, and the source of the configuration there."""

    operator: Operator
    rules: RulesModule
    source: Source


@dataclass(frozen=True)
class Inputs:
    """Arguments of one configuration, the rule that made them, and the phase to run in."""

    arguments: Arguments
    origin: str
    phase: Phase = "predict"
    why: str = ""
    """In one line, which model, paper or kernel the configuration stands for."""
    dtype: str = ""
    """The dtype of a user's arrays or of their rule; empty for the requested one."""
    tags: tuple[str, ...] = field(default=(), compare=False)
    """Of its row."""
    made: Made | None = field(default=None, compare=False)
    """None of inputs that are the user's."""

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
    DTYPE: str
    """The dtype of tensors where neither the user nor the configuration says one."""
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
    """By a function's place: the family of one that no operator's inputs suit, or why none."""
    NUMPY_INTERFACE: str
    """Beginning of the places of functions that compute as NumPy's; empty if there are none."""


OPTIONAL: Mapping[str, object] = {
    **{name: {} for name in ("OPERATIONS", "TABLE", "FUNCTIONS", "NOT_BENCHMARKED", "NOT_FINITE")},
    **{name: {} for name in ("CONTENTS", "RESULTS", "WORK", "DIFFERENCES")},
    **dict.fromkeys(("OPTIONAL_TENSORS", "TRAIN_PHASE", "NEEDS_OUTPUT"), frozenset()),
    "GRADIENTS": False,
    "DTYPE": DEFAULTS["dtype"],
    "RECORDED": lambda operator, arguments: arguments,
    "NUMPY_INTERFACE": "",
}
"""Names that a rules module need not have, with their defaults."""


GROUP = "opperf.rules"
"""Entry points of other packages' rules, each under a framework's last name (`torch`)."""


@functools.cache
def rules_module(path: str) -> RulesModule:
    """The rules module of that dotted path, with the tables of its `MODULES`, if it has any, and
    the rules of other packages. Raises `RuleError` for an entry that two tables have."""
    module: RulesModule = importlib.import_module(path)
    modules = (module, *getattr(module, "MODULES", ()))
    for name, default in OPTIONAL.items():
        if isinstance(default, (dict, frozenset)):
            setattr(module, name, type(default)(merged(modules, name)))
        elif not hasattr(module, name):
            setattr(module, name, default)
    for entry in declared(GROUP):
        if entry.name == path.rpartition(".")[2]:
            load_declared(entry)
    return module


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
    return made if isinstance(made, NoInputs) else finish(operator, rules, made, dtype)


def finish(
    operator: Operator, rules: RulesModule, made: Iterable[Configuration], dtype: str
) -> list[Inputs]:
    """Configurations with the output, dtype and phase that an operator needs."""
    phase: Phase = "train" if set(operator.names) & rules.TRAIN_PHASE else "predict"
    inputs: list[Inputs] = []
    for row in made:
        arguments = with_output(operator, rename_arguments(operator, row.arguments), rules)
        if not rules.GRADIENTS:
            arguments = without_gradients(arguments)
        own = "" if dtype else row.dtype
        arguments = with_dtype(operator, arguments, dtype or own or rules.DTYPE)
        source = Made(operator, rules, row.source)
        new = Inputs(arguments, row.origin, row.phase or phase, row.why, own, row.tags, source)
        same = (other for other in inputs if other.arguments == arguments)
        if row.dtype and any(other.phase == new.phase for other in same):
            # In the requested dtype it is what another configuration is.
            continue
        inputs.append(new)
    return inputs


def configurations(
    operator: Operator, rules: RulesModule, preset: Preset
) -> list[Configuration] | NoInputs:
    """The configurations of the first rule that has any, and of further families; or why none."""
    own = own_configurations(operator, rules, preset)
    made = [] if isinstance(own, NoInputs) else own
    if operator.namespace:
        for family in rules.FAMILIES.further_of(operator):
            add_others(made, of_family(family, operator, preset))
    made += list(derived(made, rules.FAMILIES.derivations_of(operator)))
    return made or own


def add_others(made: list[Configuration], found: list[Configuration] | NoInputs) -> None:
    """Adds those configurations that measure something else than the others."""
    for added in [] if isinstance(found, NoInputs) else found:
        if not any(measure_the_same(added, other) for other in made):
            made.append(added)


def own_configurations(
    operator: Operator, rules: RulesModule, preset: Preset
) -> list[Configuration] | NoInputs:
    """The configurations of an operator's shared and own families, else by category or names."""
    families = rules.FAMILIES
    # A callable without tensors is no operator of its name: `np.random.gamma` is not `gamma`.
    registered = bool(operator.namespace or operator.tensors)
    own = families.family_of(operator) if registered else None
    made: list[Configuration] = []
    if registered and not families.replaces_shared(operator):
        made = from_operations(operator, rules, preset)
    if own is None and registered and not made:
        own = families.by_category.get(operator.category)
    if own is not None:
        found = of_family(own, operator, preset)
        add_others(made, found)
        return made or found
    table = [] if made else from_table(operator, rules, preset)
    if isinstance(table, NoInputs):
        return table
    return made or [Configuration(row, BY_NAME, describe_arguments(row), None) for row in table]


def of_family(family: Family, operator: Operator, preset: Preset) -> list[Configuration] | NoInputs:
    """A family's configurations of an operator. Raises `FailedRuleError` if its code fails."""
    made = each_of(family, lambda: family(operator, preset), f"operator {operator.name}")
    if isinstance(made, NoInputs):
        return made
    return [read_configuration(row, RULE + name_of(family), family) for row in made]


def name_of(family: Family | OperationFamily) -> str:
    """`module.function` of a family."""
    module = family.__module__.rpartition(".")[2].removeprefix(PREFIX)
    return f"{module}.{family.__name__}"


def uses_of(
    operator: Operator, table: Mapping[str, Use | Choice]
) -> Iterable[tuple[Use, Arguments]]:
    """Every use of an operator in a table, with the argument that selects it, if it has that."""
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
    """Whether two configurations of an operator are the same, or both measure its call."""
    if TINY in one.tags and TINY in other.tags:
        return True
    return (one.arguments, one.phase, one.dtype) == (other.arguments, other.phase, other.dtype)


def arguments_by_role(
    operator: Operator,
    table: Mapping[str, Use | Choice],
    family: Callable[[CanonicalOperation, Preset], Rows],
    preset: Preset,
) -> Iterable[Arguments]:
    """A shared family's configurations under an operator's own names, for a framework's family."""
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
    """Whether a table must have a value for it. Registries declare optional tensors as required."""
    return parameter.required and parameter.name not in rules.OPTIONAL_TENSORS


OUTPUT = "out"
"""Name of the argument that a call writes to."""


def with_output(operator: Operator, arguments: Arguments, rules: RulesModule) -> Arguments:
    """The arguments with an output shaped as the first tensor, if the operator requires one."""
    if OUTPUT in arguments or not set(operator.names) & rules.NEEDS_OUTPUT:
        return arguments
    first = next(value for value in arguments.values() if isinstance(value, TensorSpec))
    output = TensorSpec(first.shape, first.dtype, ZEROS, array_type=first.array_type)
    return {**arguments, OUTPUT: output}
