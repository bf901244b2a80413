"""Hand-written rules: families of operators, registered by name, operation or category."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeVar

from opperf.decoding import place_in
from opperf.errors import FailedRuleError, OpperfError, RuleError, one_line, suggest
from opperf.model import Operator
from opperf.operations import OPERATIONS, CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments

Family = Callable[[Operator, Preset], "Iterable[Arguments] | NoInputs"]
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


@dataclass(frozen=True)
class Repetition:
    """One of an operator's configurations, in another dtype."""

    dtype: str
    beginning: str = ""
    """Of the line of why of the configuration; empty for the first."""


@dataclass
class Families:
    """Hand-written rules: by operator name, by canonical operation, or by category."""

    by_name: dict[str, Family] = field(default_factory=dict)
    by_operation: dict[str, OperationFamily] = field(default_factory=dict)
    by_category: dict[str, Family] = field(default_factory=dict)
    further: dict[str, list[Family]] = field(default_factory=dict)
    """By operator name, families whose configurations follow those of any other family."""
    repeated: dict[str, Repetition] = field(default_factory=dict)
    """By operator name, the configuration that is repeated in another dtype."""
    places: dict[Family, int] = field(default_factory=dict)
    """The order in which these were registered."""

    def also(self, *names: str) -> Callable[[F], F]:
        """Decorator: a family that adds to the configurations of the operators of these names, such
        as tensors of other layouts."""

        def register(family: F) -> F:
            self.places.setdefault(family, len(self.places))
            for name in names:
                self.further.setdefault(name, []).append(family)
            return family

        return register

    def repeat(self, dtype: str, beginnings: Mapping[str, str]) -> None:
        """Has a configuration of each operator repeated in a dtype that models run it in: that
        whose line of why begins so, or the first if that is empty."""
        for name, beginning in beginnings.items():
            self.repeated[name] = Repetition(dtype, beginning)

    def repetition_of(self, operator: Operator) -> Repetition | None:
        """What is repeated of an operator; nothing of one that has a user's family."""
        if self.has_users(operator):
            return None
        return next((self.repeated[one] for one in operator.names if one in self.repeated), None)

    @property
    def count(self) -> int:
        """How many names, operations and categories have families."""
        named = (self.by_name, self.by_operation, self.by_category)
        of: list[Sized] = [*named, *self.further.values()]
        return sum(len(one) for one in of)

    def add(self, *names: str) -> Callable[[F], F]:
        """Decorator: the family of the operators of these names, canonical or alias. A user's
        replaces opperf's."""

        def register(family: F) -> F:
            for name in names:
                if name in self.by_name and is_users(family) == is_users(self.by_name[name]):
                    raise _second("operator", name, self.by_name[name], family)
                self.by_name[name] = family
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
            self.add(name)(family)
        for name, by_role in other.by_operation.items():
            self.operation(name)(by_role)
        for name, family in other.by_category.items():
            self.category(name)(family)
        for name, several in other.further.items():
            for family in several:
                self.also(name)(family)
        self.repeated |= other.repeated

    def further_of(self, operator: Operator) -> list[Family]:
        """The families that add to the configurations of an operator, each once, in the order of
        their registration; of an operator that has a user's family, the user's alone."""
        named = {one for name in operator.names for one in self.further.get(name, ())}
        of_user = self.has_users(operator)
        ordered = sorted(named, key=self.places.__getitem__)
        return [one for one in ordered if is_users(one) or not of_user]

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
"""A family of either kind."""


def _second(kind: str, name: str, first: AnyFamily, second: AnyFamily) -> RuleError:
    """The error for a family of what has one; where a family may add to another, the advice."""
    advice = "; `also` adds to its configurations" if kind == "operator" else ""
    return RuleError(
        f"{place_of(second)}: two families for the {kind} {name!r}, the first in "
        f"{place_of(first)}{advice}"
    )


def place_of(family: AnyFamily) -> str:
    """Returns `FILE:LINE` of a family's definition."""
    code = _code_of(family)
    return f"{code.co_filename}:{code.co_firstlineno}"


PACKAGE = str(Path(__file__).parents[1]) + os.sep


def is_users(family: AnyFamily) -> bool:
    """Whether a family is a user's or another package's, and not opperf's."""
    return not _code_of(family).co_filename.startswith(PACKAGE)


def _code_of(family: AnyFamily) -> CodeType:
    while isinstance(family, functools.partial):
        family = family.func
    code: CodeType = inspect.unwrap(family).__code__
    return code


DEFINITION = "\nFAMILIES = Families()\n"
"""In a module that has rules. It is looked for in the text of those that are not listed, as an
import of them may need another package."""


def check_listed(package: ModuleType) -> None:
    """Raises `RuleError` for a module in the folder of a package of rules that has families, and is
    not among its `MODULES`: they would not be used."""
    if not hasattr(package, "MODULES"):
        return
    own = Path(str(package.__file__))
    listed = {own, *(Path(module.__file__) for module in package.MODULES)}
    for path in sorted(set(own.parent.glob("*.py")) - listed):
        if DEFINITION in path.read_text(encoding="utf-8"):
            raise RuleError(
                f"{path}: its rules are not used: add {path.stem} to MODULES in {own.name} there"
            )


def each_of(
    family: AnyFamily, made: Callable[[], Iterable[T] | NoInputs], subject: str
) -> list[T] | NoInputs:
    """Returns what a family makes for a subject, as `operator relu`.

    Raises `FailedRuleError`, with file and line, if its code fails, or makes something else than
    dictionaries.
    """
    try:
        found = made()
        if isinstance(found, NoInputs):
            return found
        configurations = list(found)
    except OpperfError:
        raise
    except Exception as error:
        file = _code_of(family).co_filename
        place = place_in(error, file)
        # What it returns was read outside it.
        place = place_of(family) if place == file else place
        raise FailedRuleError(
            f"{place}: {one_line(f'{type(error).__name__}: {error}')}, in a rule for the {subject}"
        ) from error
    for one in configurations:
        if not isinstance(one, Mapping):
            raise FailedRuleError(
                f"{place_of(family)}: the rule for the {subject} makes "
                f"{one_line(repr(one), 80)}, not a dict of arguments"
            )
    return configurations
