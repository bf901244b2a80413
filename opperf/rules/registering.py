"""Hand-written rules: families of operators, registered by name, operation or category."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

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


@dataclass
class Families:
    """Hand-written rules: by operator name, by canonical operation, or by category."""

    by_name: dict[str, Family] = field(default_factory=dict)
    by_operation: dict[str, OperationFamily] = field(default_factory=dict)
    by_category: dict[str, Family] = field(default_factory=dict)
    further: dict[str, list[Family]] = field(default_factory=dict)
    """By operator name, families whose configurations follow those of any other family."""

    def also(self, *names: str) -> Callable[[F], F]:
        """Decorator: a family that adds to the configurations of the operators of these names, such
        as tensors of other layouts."""

        def register(family: F) -> F:
            for name in names:
                self.further.setdefault(name, []).append(family)
            return family

        return register

    def add(self, *names: str) -> Callable[[F], F]:
        """Decorator: the family of the operators of these names, canonical or alias."""

        def register(family: F) -> F:
            for name in names:
                if name in self.by_name:
                    raise ValueError(f"two families for the operator {name!r}")
                self.by_name[name] = family
            return family

        return register

    def operation(self, *names: str) -> Callable[[G], G]:
        """Decorator: the family of the operators that are one of these operations, by role."""

        def register(family: G) -> G:
            for name in names:
                if name not in OPERATIONS:
                    raise ValueError(f"no canonical operation {name!r}")
                if name in self.by_operation:
                    raise ValueError(f"two families for the operation {name!r}")
                self.by_operation[name] = family
            return family

        return register

    def category(self, *names: str) -> Callable[[F], F]:
        """Decorator: the family of all operators of these categories without one by name."""

        def register(family: F) -> F:
            for name in names:
                if name in self.by_category:
                    raise ValueError(f"two families for the category {name!r}")
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

    def family_of(self, operator: Operator) -> Family | None:
        """The family registered under any of an operator's names."""
        return next((self.by_name[name] for name in operator.names if name in self.by_name), None)
