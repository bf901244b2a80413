"""Hand-written rules: families of operators, by name, operation or category, of all modules."""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, GeneratorType, ModuleType
from typing import Any, TypeVar, cast

from opperf.decoding import place_in
from opperf.errors import FailedRuleError, OpperfError, RuleError, one_line, suggest
from opperf.model import Operator
from opperf.operations import OPERATIONS, CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import ROW, WHY, inputs_of
from opperf.rules.deriving import Derivation, Form
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments

Rows = Iterable[Arguments] | Mapping[str, Arguments]
"""Configurations, or those by their lines of why."""
Family = Callable[[Operator, Preset], "Rows | NoInputs"]
"""A rule: an operator's configurations, or the reason why it has none."""
OperationFamily = Callable[[CanonicalOperation, Preset], Iterable[Roles]]
"""A rule for a canonical operation of any framework: inputs by role, a dict per configuration."""
F = TypeVar("F", bound=Family)
G = TypeVar("G", bound=OperationFamily)


@dataclass(frozen=True)
class NoInputs:
    """Why an operator has no inputs."""

    reason: str
    searchable: bool = False
    """Whether a search may find some."""
    is_fault: bool = False
    """Whether the code that makes them failed."""


@dataclass
class Families:
    """Hand-written rules: by operator name, by canonical operation, or by category."""

    by_name: dict[str, Family] = field(default_factory=dict)
    by_operation: dict[str, OperationFamily] = field(default_factory=dict)
    by_category: dict[str, Family] = field(default_factory=dict)
    replaces: dict[str, str] = field(default_factory=dict)
    """By operator name, why its family replaces its operation's shared one; others add to it."""
    further: dict[str, list[Family]] = field(default_factory=dict)
    """By operator name, families whose configurations follow those of any other family."""
    derivations: dict[str, list[Derivation]] = field(default_factory=dict)
    """By operator name, the forms that are derived of its configurations."""
    places: dict[Family, int] = field(default_factory=dict)
    """The order in which these were registered."""
    are_last: bool = False
    """Whether they follow those of a framework's other modules."""

    def also(self, *names: str) -> Callable[[F], F]:
        """Decorator: a family that adds to these operators' configurations, as other layouts."""

        def register(family: F) -> F:
            self.places.setdefault(family, len(self.places))
            for name in names:
                self.further.setdefault(name, []).append(family)
            return family

        return register

    def derive(self, form: Form, names: str, tag: str = "", each: bool = False) -> None:
        """Has a form made of a configuration of each operator of these names, or of each of its
        configurations: of one that has the tag, if that is not empty. Raises `RuleError` for an
        operator that has the derivation already."""
        caller = sys._getframe(1)
        place = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        for name in names.split():
            self._add_derivation(name, Derivation(form, tag, each, place))

    def _add_derivation(self, name: str, added: Derivation) -> None:
        there = self.derivations.setdefault(name, [])
        for earlier in there:
            if earlier[:2] == added[:2]:
                raise RuleError(
                    f"{added.place}: {name!r} has this derivation already, by {earlier.place}: "
                    "leave one of them out"
                )
        there.append(added)

    def derivations_of(self, operator: Operator) -> Iterable[Derivation]:
        """The derivations of an operator's configurations; none if it has a user's family."""
        if self.has_users(operator):
            return ()
        named = (self.derivations.get(name, ()) for name in operator.names)
        return {made[:2]: made for several in named for made in several}.values()

    @property
    def count(self) -> int:
        """How many names, operations and categories have families."""
        named = (self.by_name, self.by_operation, self.by_category)
        tables: list[Sized] = [*named, *self.further.values()]
        return sum(len(table) for table in tables)

    def add(self, *names: str, replaces: str = "") -> Callable[[F], F]:
        """Decorator: the family of the operators of these names, canonical or alias. A user's
        replaces all of opperf's; others add to the shared family of the operator's operation,
        unless `replaces` says why that does not fit."""

        def register(family: F) -> F:
            for name in names:
                if name in self.by_name and is_users(family) == is_users(self.by_name[name]):
                    raise _second("operator", name, self.by_name[name], family)
                self.by_name[name] = family
                if replaces:
                    self.replaces[name] = replaces
            return family

        return register

    def operation(self, *names: str) -> Callable[[G], G]:
        """Decorator: the family of the operators that are one of these operations, by role."""

        def register(family: G) -> G:
            for name in names:
                if name not in OPERATIONS:
                    raise RuleError(
                        f"{place_of(family)}: no canonical operation is called {name!r}"
                        f"{suggest(name, OPERATIONS)}"
                    )
                if name in self.by_operation:
                    raise _second("operation", name, self.by_operation[name], family)
                self.by_operation[name] = family
            return family

        return register

    def category(self, *names: str) -> Callable[[F], F]:
        """Decorator: the family of all operators of these categories without one by name."""

        def register(family: F) -> F:
            for name in names:
                if name in self.by_category:
                    raise _second("category", name, self.by_category[name], family)
                self.by_category[name] = family
            return family

        return register

    def merge(self, other: Families) -> None:
        """Add the families of another module."""
        for name, family in other.by_name.items():
            self.add(name, replaces=other.replaces.get(name, ""))(family)
        for name, by_role in other.by_operation.items():
            self.operation(name)(by_role)
        for name, family in other.by_category.items():
            self.category(name)(family)
        for name, several in other.further.items():
            for family in several:
                self.also(name)(family)
        for name, derivations in other.derivations.items():
            for derivation in derivations:
                self._add_derivation(name, derivation)

    def further_of(self, operator: Operator) -> list[Family]:
        """The families that add to an operator's configurations, in order; or a user's alone."""
        named = {family for name in operator.names for family in self.further.get(name, ())}
        of_user = self.has_users(operator)
        ordered = sorted(named, key=self.places.__getitem__)
        return [family for family in ordered if is_users(family) or not of_user]

    def replaces_shared(self, operator: Operator) -> bool:
        """Whether an operator's own family stands in place of the shared one."""
        return self.has_users(operator) or not self.replaces.keys().isdisjoint(operator.names)

    def has_users(self, operator: Operator) -> bool:
        """Whether an operator has a user's family."""
        own = self.family_of(operator)
        return own is not None and is_users(own)

    def family_of(self, operator: Operator) -> Family | None:
        """The family registered under any of an operator's names; a user's first."""
        found = [self.by_name[name] for name in operator.names if name in self.by_name]
        return next(filter(is_users, found), found[0] if found else None)


T = TypeVar("T")


def entry_of(table: Mapping[str, T], operator: Operator) -> T:
    """Returns an operator's entry in a table by name, under whatever of its names that is there:
    NumPy before 1.25 has `max` as an alias of `amax`. Raises `KeyError` for an operator without."""
    return table[next((name for name in operator.names if name in table), operator.name)]


AnyFamily = Callable[..., object]


def _second(kind: str, name: str, first: AnyFamily, second: AnyFamily) -> RuleError:
    """The error for a family of what has one; where a family may add to another, the advice."""
    advice = "; `also` adds to its configurations" if kind == "operator" else ""
    where = f"the first in {place_of(first)}{advice}"
    return RuleError(f"{place_of(second)}: two families for the {kind} {name!r}, {where}")


def place_of(family: AnyFamily) -> str:
    """Returns `FILE:LINE` of a family's definition."""
    code = code_of(family)
    return f"{code.co_filename}:{code.co_firstlineno}"


PACKAGE = str(Path(__file__).parents[1]) + os.sep


def is_users(family: AnyFamily) -> bool:
    """Whether a family is a user's or another package's, and not opperf's."""
    return not code_of(family).co_filename.startswith(PACKAGE)


def code_of(family: AnyFamily) -> CodeType:
    """Returns the code of the function that a family was defined as."""
    while isinstance(family, functools.partial) or hasattr(family, "__wrapped__"):
        family = family.func if isinstance(family, functools.partial) else family.__wrapped__
    code: CodeType = family.__code__
    return code


def with_rows(family: AnyFamily, made: Iterable[Arguments]) -> Iterable[Arguments]:
    """Yields a family's configurations with file and line: of the innermost `yield`, or its own."""
    own = place_of(family)
    for row in made:
        place, inner = own, cast("Any", made)
        while isinstance(inner, GeneratorType):
            frame = cast("Any", inner).gi_frame
            place, inner = f"{frame.f_code.co_filename}:{frame.f_lineno}", inner.gi_yieldfrom
        # What is no mapping is an error of `each_of`; a family may make some of another's.
        yield {**row, ROW: place} if isinstance(row, Mapping) and ROW not in row else row


def each_of(
    family: AnyFamily, made: Callable[[], Rows | NoInputs], subject: str
) -> list[Arguments] | NoInputs:
    """Returns what a family makes for a subject, as `operator relu`.

    Raises `FailedRuleError`, with file and line, if its code fails, or makes something else than
    dictionaries.
    """
    try:
        found = made()
        if isinstance(found, NoInputs):
            return found
        configurations = list(with_rows(family, listed(found)))
    except OpperfError:
        raise
    except Exception as error:
        file = code_of(family).co_filename
        place = place_in(error, file)
        # What it returns was read outside it.
        place = place_of(family) if place == file else place
        raise FailedRuleError(
            f"{place}: {one_line(f'{type(error).__name__}: {error}')}, in a rule for the {subject}"
        ) from error
    for row in configurations:
        if not isinstance(row, Mapping):
            raise FailedRuleError(
                f"{place_of(family)}: the rule for the {subject} makes "
                f"{one_line(repr(row), 80)}, not a dict of arguments"
            )
    return configurations


def listed(rows: Rows | Arguments) -> Iterable[Arguments]:
    """Returns configurations: those by their lines of why each with its own, and one alone as a
    list. No argument is a dictionary. Raises `ValueError` for a row with two such lines."""
    if not isinstance(rows, Mapping):
        return rows
    if not all(isinstance(row, dict) for row in rows.values()):
        return [cast(Arguments, rows)]
    by_why = cast("Mapping[str, Arguments]", rows)
    for why, row in by_why.items():
        if WHY in row:
            raise ValueError(f"a row has two lines of why, {why!r} and {row[WHY]!r}")
    return [{**row, WHY: why} for why, row in by_why.items()]


def of_operation(
    family: Callable[[CanonicalOperation, Preset], Rows], operation: str, preset: Preset
) -> Iterable[Roles]:
    """A shared family's configurations of an operation. Raises `FailedRuleError` if its code fails,
    or has an input by a role that the operation does not have."""
    canonical = OPERATIONS[operation]
    made = each_of(family, lambda: family(canonical, preset), f"operation {operation}")
    assert not isinstance(made, NoInputs)
    for roles in made:
        for role in inputs_of(roles).keys() - canonical.inputs.keys():
            raise FailedRuleError(
                f"{roles[ROW]}: the operation {operation} has no role {role!r}"
                f"{suggest(role, canonical.inputs)}: {', '.join(canonical.inputs)}"
            )
    return made


def modules_in(package: str) -> tuple[ModuleType, ...]:
    """Imports the modules of a package and of packages in it, in the order of their names."""
    found = pkgutil.walk_packages(sys.modules[package].__path__, f"{package}.")
    return tuple(importlib.import_module(name) for name in sorted(module.name for module in found))


def families_in(modules: Iterable[ModuleType], *shared: Families) -> Families:
    """Returns the families of all modules. Raises `RuleError` for two of one operator."""
    found = (vars(module).get("FAMILIES") for module in modules)
    own = [made for made in found if isinstance(made, Families)]
    families = Families()
    for made in (*shared, *sorted(own, key=lambda made: made.are_last)):
        families.merge(made)
    return families


def tables_in(modules: Iterable[ModuleType], name: str) -> dict[str, Any]:
    """Returns the tables of that name, by module; each once, where it is defined."""
    found: dict[str, Any] = {}
    for module in sorted(modules, key=lambda one: one.__name__.count("."), reverse=True):
        table = vars(module).get(name)
        if table is not None and not any(table is other for other in found.values()):
            found[module.__name__] = table
    return dict(sorted(found.items()))


def merged(modules: Iterable[ModuleType], name: str) -> dict[Any, Any]:
    """Returns modules' tables, or sets, of that name as one. Raises `RuleError` for a second."""
    made: dict[Any, Any] = {}
    origins: dict[Any, str] = {}
    for module, table in tables_in(modules, name).items():
        for key in table:
            if key in made:
                raise RuleError(
                    f"{module}: {name} has an entry of {key!r}, as {origins[key]} has: leave one "
                    "of them out"
                )
            made[key] = table[key] if isinstance(table, Mapping) else None
            origins[key] = module
    return made
