"""Canonical operations as a framework's own operators: of each row of inputs by role, the call of
the plainest operator that takes it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from opperf.errors import OpperfError, UnknownOperatorError, one_line
from opperf.frameworks import Framework
from opperf.model import (
    Argument,
    Case,
    Operator,
    OperatorTarget,
    Struct,
    Target,
    TensorSpec,
    iter_tensors,
)
from opperf.operations.names import names_of_operation
from opperf.operations.uses import Use
from opperf.rules.configurations import read_configuration
from opperf.rules.engine import RulesModule, exclusion, finish, rules_module, uses_of
from opperf.rules.values import Arguments, with_dtype
from opperf.sources.operation_rows import Row
from opperf.sources.registry import case_of, missing_kernel
from opperf.sources.resolving import check_settings
from opperf.sources.selecting import INTERNAL, Selection, check_known
from opperf.sources.shapes import bounded
from opperf.sources.varying import with_memory_format


class OperationCases(Struct, frozen=True):
    """The calls of rows in a framework, and why others have none, by the row's place."""

    cases: dict[int, Case]
    reasons: dict[int, str]


class _Candidate(NamedTuple):
    """An operator that computes an operation, and the argument that selects it."""

    operator: Operator
    target: Target
    use: Use
    chosen: Arguments


def operation_cases(
    framework: Framework, rows: Sequence[Row], selection: Selection, namespace: str = ""
) -> OperationCases:
    """Returns the cases of rows, of operators of a namespace, or of any. Raises `UsageError` for a
    namespace or setting that the framework lacks."""
    check_settings(framework, selection)
    operators = framework.operators()
    if namespace:
        known = {name for operator in operators for name in operator.namespaces}
        spaces = framework.naming.namespaces_with(namespace)
        check_known("namespace", spaces[:1], sorted(known), framework.name)
    found = _Operators(framework, operators, namespace)
    cases: dict[int, Case] = {}
    reasons: dict[int, str] = {}
    for place, row in enumerate(rows):
        made = _case_of_row(framework, found.of(row.operation, selection), row, selection)
        if isinstance(made, Case):
            cases[place] = made
        else:
            reasons[place] = made
    return OperationCases(cases, reasons)


class _Operators:
    """The operators of operations, the plainest first."""

    def __init__(self, framework: Framework, operators: Iterable[Operator], namespace: str) -> None:
        self._framework, self._namespace = framework, namespace
        self._rules: RulesModule = rules_module(framework.rules)
        self._spaces = framework.naming.namespaces_with(namespace) if namespace else ()
        self._known: dict[str, list[_Candidate]] = defaultdict(list)
        for operator in operators:
            if exclusion(operator, self._rules) is not None:
                continue
            target = self._target(operator)
            if target is None:
                continue
            for use, chosen in uses_of(operator, self._rules.OPERATIONS):
                one = _Candidate(operator, target, use, chosen)
                self._known[use.operation].append(one)

    def _target(self, operator: Operator) -> Target | None:
        """Returns the operator, or its function in the namespace that was asked for; None where it
        is in another namespace."""
        own = [space for space in self._spaces if space in operator.namespaces]
        if not self._spaces or operator.namespace in own:
            return operator.target
        names = [name for name in operator.names if name.isidentifier()]
        for space, name in itertools.product(own, names):
            try:
                path = f"{space}.{name.removeprefix(f'_{space}_')}"
                return self._framework.naming.callable_target(path)
            except UnknownOperatorError:
                continue
        return None

    def of(self, operation: str, selection: Selection) -> list[_Candidate] | str:
        """Returns the operators of an operation, or why there are none."""
        every = self._known.get(operation, [])
        device = selection.settings.device
        lacking: list[str] = []
        found: list[_Candidate] = []
        for candidate in every:
            operator = candidate.operator
            why = missing_kernel(self._framework, operator.target, operator, device)
            (lacking.append(why) if why else found.append(candidate))
        if found:
            words = names_of_operation(operation)
            spaces = self._spaces or self._framework.naming.usual_namespaces
            return sorted(found, key=lambda one: _plainness(one, words, spaces))
        if lacking:
            return lacking[0]
        place = f"{self._framework.name}.{self._namespace}".rstrip(".")
        return f"{place} has no operator of {operation}"


def _plainness(
    one: _Candidate, words: tuple[set[str], set[str]], spaces: Sequence[str]
) -> tuple[object, ...]:
    """Returns the key by which the plainest operator is first: one that users call, of the
    operation's name, or a longer one that ends with it, in the first of the namespaces, with the
    fewest further arguments, and of tensors of any number of axes."""
    operator = one.operator
    whole, of_axes = words
    names = {part for name in operator.names for part in name.split(".")}
    ends = tuple(f"_{word}" for word in whole)
    is_longer = any(name.endswith(ends) for name in names)
    further = len(operator.parameters) - len(one.use.roles) + len(one.chosen)
    own = [place for place, space in enumerate(spaces) if space in operator.namespaces]
    return (
        len(operator.variants),
        operator.on_request or INTERNAL in operator.namespaces,
        not operator.public and not own,
        0 if names & (whole | of_axes) else 1 if is_longer else 2,
        min(own, default=len(spaces)),
        operator.name.count("."),
        one.use.converts,
        further,
        names.isdisjoint(whole),
        len(operator.name),
        operator.label,
    )


def _case_of_row(
    framework: Framework, candidates: list[_Candidate] | str, row: Row, selection: Selection
) -> Case | str:
    """Returns the call of the first operator that takes a row, or why none does."""
    if isinstance(candidates, str):
        return candidates
    refused = ""
    incomplete: Case | None = None
    for candidate in candidates:
        try:
            made = _case(framework, candidate, row, selection)
        except OpperfError as error:
            made = one_line(str(error))
        if isinstance(made, str):
            refused = refused or f"{candidate.operator.label}: {made}"
        elif _is_complete(candidate, made):
            return made
        else:
            incomplete = incomplete or made
    return incomplete or refused


def _is_complete(one: _Candidate, case: Case) -> bool:
    """Whether a call has all that the registry requires, which may be more than it needs."""
    return all(
        parameter.name in case.arguments
        for parameter in one.operator.parameters
        if parameter.required
    )


def _case(framework: Framework, one: _Candidate, row: Row, selection: Selection) -> Case | str:
    rules, operator = rules_module(framework.rules), one.operator
    arguments = one.use.to_arguments(operator, dict(row.roles))
    if arguments is None:
        return "it does not take these inputs"
    if not isinstance(one.target, OperatorTarget):
        operator = framework.signature(one.target)
    configuration = read_configuration({**arguments, **one.chosen, **row.notes}, row.origin)
    # One for all frameworks, whatever the default of each.
    own = "" if selection.dtype_given else configuration.dtype
    dtype = own or selection.settings.dtype
    (inputs,) = finish(operator, rules, [configuration._replace(dtype=dtype)], "")
    if dtype not in framework.dtypes:
        return f"{framework.name} has no {dtype}"
    case = case_of(framework, one.target, operator, inputs, selection)
    limited = bounded(framework, case).arguments
    named = {name: _by_role(value, case.arguments[name]) for name, value in limited.items()}
    case = msgspec.structs.replace(case, arguments=named)
    case = with_memory_format(case, selection.settings.memory_format)
    other = _other_data(with_dtype(operator, row.roles, dtype), case.arguments)
    return other or msgspec.structs.replace(case, point=row.point, tags=(*case.tags, *row.tags))


def _by_role(value: Argument, before: Argument) -> Argument:
    """Returns an argument that is drawn by the role by which it was drawn before."""
    if isinstance(value, tuple) and isinstance(before, tuple):
        return tuple(_by_role(one, own) for one, own in zip(value, before, strict=True))  # type: ignore[misc]
    if not isinstance(value, TensorSpec) or not isinstance(before, TensorSpec):
        return value
    return msgspec.structs.replace(
        value, fill=msgspec.structs.replace(value.fill, of=before.fill.of)
    )


def _other_data(roles: Mapping[str, Argument], arguments: Mapping[str, Argument]) -> str:
    """Returns which tensor of a row a call has not with the same contents, to the bit; empty where
    it has all."""
    wanted, made = (_contents(values) for values in (roles, arguments))
    for role, contents in wanted.items():
        if role not in made:
            return f"it takes no {role}"
        if made[role] != contents:
            own, other = contents[0], made[role][0]
            if own[0] != other[0]:
                return f"it takes {role} as {other[0]}, and not as {own[0]}"
            return f"it takes other contents of {role}"
    return ""


def _contents(values: Mapping[str, Argument]) -> dict[str, list[tuple[str, object]]]:
    """Returns the dtypes and the contents of tensors, by the role that these are drawn by."""
    found: dict[str, list[tuple[str, object]]] = defaultdict(list)
    for value in values.values():
        for spec in iter_tensors(value):
            if spec.fill.of:
                found[spec.fill.of].append((spec.dtype, _drawn(spec)))
    return {role: sorted(own, key=str) for role, own in found.items()}


def _drawn(spec: TensorSpec) -> object:
    return spec.shape, spec.layout, spec.strides, spec.offset, spec.fill
