"""Operators, iterators and data generators by name: those of opperf, those that a program
registers, and those of other packages, by entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from opperf.errors import UsageError, unknown
from opperf.formats.param.arguments import Arguments
from opperf.formats.param.schema import Raw, Spec

T = TypeVar("T")

Place = str
"""File and key path of what is read, for messages."""

Specs = Iterable[tuple[str, "Spec | UsageError"]]

Iterator = Callable[[Sequence[Raw], "Spec | None", Place], Specs]
"""Yields the specs that a list of them stands for, each with its id in the list; for one that is
wrong, the error in its place. The second value is the spec that the operator was built by; None
while builds are iterated."""

DataGenerator = Callable[[Spec, Place], Arguments]
"""Returns the arguments of a spec."""


class Registry(Generic[T]):
    """Named objects of one kind."""

    def __init__(self, kind: str, group: str) -> None:
        self._kind, self._group = kind, group
        self._own: dict[str, T] = {}

    def add(self, name: str, value: T) -> None:
        """Registers an object. Raises `UsageError` for a name that another one has."""
        if self._own.setdefault(name, value) is not value:
            raise UsageError(f"{self._kind} {name!r} is registered already; choose another name")

    def names(self) -> list[str]:
        """Returns all names."""
        return [*self._own, *(entry_point.name for entry_point in entry_points(group=self._group))]

    def get(self, name: str, place: Place) -> T:
        """Returns the object of a name, which `place` has. Raises `UsageError` with near names."""
        if name in self._own:
            return self._own[name]
        for entry_point in entry_points(group=self._group, name=name):
            found: T = entry_point.load()
            return found
        raise UsageError(f"{place}: {unknown(self._kind, name, self.names())}")


ITERATORS: Registry[Iterator] = Registry("iterator", "opperf.iterators")
DATA_GENERATORS: Registry[DataGenerator] = Registry("data generator", "opperf.data_generators")

OPERATORS_GROUP = "opperf.operators."
"""Beginning of the groups of entry points for operators, before the framework's name. A worker
imports an operator, and the process that plans does not."""


OwnOperator = tuple[str, str]
"""The framework of a registered operator, and the place of its function or class, as
`module:name`."""

_own_operators: dict[str, OwnOperator] = {}


def add_operator(name: str, framework: str, target: Callable[..., Any]) -> None:
    """Registers a function, or a class of which an object is built and then called. Raises
    `UsageError` for one inside a function, which no other process can find."""
    if "<" in target.__qualname__:
        raise UsageError(
            f"operator {name!r}: define {target.__name__} at the top of its module, where workers "
            "can find it"
        )
    made = (framework, f"{target.__module__}:{target.__qualname__}")
    if _own_operators.setdefault(name, made) != made:
        raise UsageError(f"operator {name!r} is registered already; choose another name")


def own_operators(frameworks: Iterable[str]) -> dict[str, OwnOperator]:
    """Returns the registered operators of these frameworks by name."""
    found = {
        entry.name: (framework, entry.value)
        for framework in frameworks
        for entry in entry_points(group=f"{OPERATORS_GROUP}{framework}")
    }
    return {**found, **_own_operators}
