"""How a framework's operator is a canonical operation: which one, and what its arguments are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.values.canonical.operation import Tolerance

Arguments = Mapping[str, Any]
"""A case's arguments as NumPy has them, by the framework's names."""


@dataclass(frozen=True)
class Written:
    """What a call gives, and what it has written to arguments: arrays by argument name, lists of
    them where the argument is a list."""

    output: Any
    """An empty tuple where the call gives nothing back; `ANYTHING` in place of an array that is
    not compared."""
    arguments: Mapping[str, Any] = field(default_factory=dict)


ANYTHING = object()
"""An output that nothing is said about."""

Apply = Callable[[Callable[..., Any], Arguments], Any]
"""Calls an operation's function with a case's arguments in their roles, and gives a `Written`, or
the pairs of a property."""


@dataclass(frozen=True)
class Use:
    """One operator of a framework."""

    operation: str
    apply: Apply
    tolerance: Tolerance | None = None
    """In place of the operation's own."""

    def of(self, arguments: Arguments) -> Use:
        """The use in a case, the same in all."""
        return self

    @property
    def operations(self) -> set[str]:
        """The operation that it is."""
        return {self.operation}


@dataclass(frozen=True)
class Choice:
    """One operator of a framework that is another operation by the value of an argument, which is
    None where a case does not give it."""

    argument: str
    uses: Mapping[Any, Use]

    def of(self, arguments: Arguments) -> Use:
        """The use in a case with these arguments."""
        return self.uses[arguments.get(self.argument)]

    @property
    def operations(self) -> set[str]:
        """All the operations that it may be."""
        return {use.operation for use in self.uses.values()}


Table = dict[str, Use | Choice]
"""Uses by the operator's name."""

Roles = Callable[..., dict[str, Any]]
Gives = Callable[[Any, Arguments], Any]


def roles_of(text: str, constants: Mapping[str, Any]) -> Roles:
    """Takes arguments to roles by a list of words: `role=argument`, `role=one|another` where the
    framework has several names for it, `role` where it has that very name, `-argument` for one
    that does not touch the values. An argument that no word has is an error, for nothing may be
    left out of a comparison unnoticed; one that a case does not give has the role's default."""
    roles: dict[str, str | None] = {}
    for word in text.split():
        role, _, names = word.partition("=")
        if role.startswith("-"):
            roles[role[1:]] = None
        for name in () if role.startswith("-") else (names or role).split("|"):
            roles[name] = role

    def taken(**arguments: Any) -> dict[str, Any]:
        named = {roles[name]: value for name, value in arguments.items()}
        return {role: value for role, value in named.items() if role is not None} | constants

    return taken


def use(
    operation: str,
    roles: str | Roles = "",
    gives: Gives | None = None,
    tolerance: Tolerance | None = None,
    **constants: Any,
) -> Use:
    """The use of an operation: `roles` as `roles_of` has them, or a function from arguments to
    roles; `constants` are roles that the framework has no argument for. `gives` makes of what the
    operation gives, and of the arguments, what the framework's call gives."""
    take = roles_of(roles, constants) if isinstance(roles, str) else roles
    give = gives or (lambda made, arguments: made)
    return Use(
        operation,
        lambda function, arguments: give(function(**take(**arguments)), arguments),
        tolerance,
    )


def family(
    names: Iterable[str], roles: str, pattern: str = "{}", other: Mapping[str, str] | None = None
) -> Table:
    """The uses of operators whose names are made of their operations', or of what a framework
    calls them otherwise."""
    return {pattern.format(name): use((other or {}).get(name, name), roles) for name in names}


def written_to(*names: str) -> Gives:
    """The output is written to arguments as well, and given back."""
    return lambda made, arguments: Written(made, dict.fromkeys(names, made))


def only_written_to(name: str) -> Gives:
    """The output is written to an argument, and nothing is given back."""
    return lambda made, arguments: Written((), {name: made})


def merged(*tables: Table) -> Table:
    """All uses of several tables. Raises `ValueError` for an operator that is in two of them."""
    made: Table = {}
    for table in tables:
        twice = made.keys() & table.keys()
        if twice:
            raise ValueError(f"in two tables: {sorted(twice)}")
        made |= table
    return made
