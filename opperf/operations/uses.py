"""How a framework's operator is a canonical operation: which one, and what its arguments are.

A table of uses serves both ways. A family of rules gives inputs by role, and a use says under
which names the operator takes them; a test has a call's arguments, and a use takes them to the
roles that the operation's reference knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from opperf.model import Argument, Kind, Operator, Parameter, TensorSpec

Array = Any
"""An array of NumPy's, which is not imported for its type: tables are read by what only plans."""

Values = Mapping[str, Any]
"""A case's arguments as NumPy has them, by the framework's names."""

Roles = dict[str, Argument]
"""Inputs of an operation by role: tensors to be made, and plain values."""


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

Apply = Callable[[Callable[..., Any], Values], Any]
"""Calls an operation's function with a case's arguments in their roles, and gives a `Written`, or
the pairs of a property."""

Spell = Callable[[Operator, Roles], "dict[str, Argument] | None"]
"""The arguments of an operator for inputs by role; None where it does not take such inputs."""


@dataclass(frozen=True)
class Use:
    """One operator of a framework."""

    operation: str
    apply: Apply
    spell: Spell

    def of(self, arguments: Values) -> Use:
        """The use in a case, the same in all."""
        return self

    def each(self, operator: Operator) -> Iterator[tuple[Use, dict[str, Argument]]]:
        """Every use that the operator has, with the argument that chooses it."""
        yield self, {}

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

    def of(self, arguments: Values) -> Use:
        """The use in a case with these arguments."""
        return self.uses[arguments.get(self.argument)]

    def each(self, operator: Operator) -> Iterator[tuple[Use, dict[str, Argument]]]:
        """Every use that the operator of this build has, with the argument that chooses it."""
        parameter = operator.parameter(self.argument)
        declared = parameter.choices if parameter is not None else ()
        for value, own in self.uses.items():
            if not declared or value in declared:
                yield own, {} if value is None else {self.argument: value}

    @property
    def operations(self) -> set[str]:
        """All the operations that it may be."""
        return {use.operation for use in self.uses.values()}


Table = dict[str, Use | Choice]
"""Uses by the operator's name."""

TakeRoles = Callable[..., dict[str, Any]]
Gives = Callable[[Any, Values], Any]


NUMBERS = (Kind.INT, Kind.FLOAT)


def is_tensor(value: Argument) -> bool:
    """Whether an input is one tensor."""
    return isinstance(value, TensorSpec)


def _may_be(parameter: Parameter, value: Argument) -> bool:
    """Whether a parameter takes a value, as far as it declares."""
    if parameter.choices and isinstance(value, str):
        return value in parameter.choices
    return not (parameter.kind in NUMBERS and is_tensor(value))


class Words:
    """Roles of a use by a list of words: `role=argument`, `role=one|another` where the framework
    has several names for it, `role` where it has that very name, `-argument` for one that does not
    touch the values."""

    def __init__(self, text: str, constants: Mapping[str, Any]) -> None:
        self.constants = constants
        """Roles that the framework has no argument for."""
        self.names: dict[str, tuple[str, ...]] = {}
        """The framework's names of each role."""
        self.roles: dict[str, str | None] = {}
        """The role of each argument; None for one that does not touch the values."""
        for word in text.split():
            role, _, names = word.partition("=")
            if role.startswith("-"):
                self.roles[role[1:]] = None
            else:
                self.names[role] = tuple((names or role).split("|"))
                self.roles |= dict.fromkeys(self.names[role], role)

    def taken(self, **arguments: Any) -> dict[str, Any]:
        """A case's arguments by role. One that no word has is an error, for nothing may be left
        out of a comparison unnoticed; one that a case does not give has the role's default."""
        named = {self.roles[name]: value for name, value in arguments.items()}
        known = {role: value for role, value in named.items() if role is not None}
        return {**known, **self.constants}

    def spelled(self, operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        """Inputs by role under the operator's names, without those that are what the operator does
        anyway; None if there is one that it has no argument for, or that its argument cannot be: a
        tensor for a number, a word that is none of its choices."""
        made: dict[str, Argument] = {}
        for role, value in roles.items():
            if role in self.names:
                names = self.names[role]
                own = next((name for name in names if operator.parameter(name)), names[0])
                parameter = operator.parameter(own)
                if parameter is not None and not _may_be(parameter, value):
                    return None
                made[own] = value
            elif role not in self.constants or self.constants[role] != value:
                return None
        return made


def use(
    operation: str,
    roles: str | TakeRoles = "",
    gives: Gives | None = None,
    spell: Spell | None = None,
    also: Mapping[str, Argument] | None = None,
    **constants: Any,
) -> Use:
    """The use of an operation: `roles` as `Words` has them, or a function from arguments to
    roles; `constants` are roles that the framework has no argument for. `gives` makes of what the
    operation gives, and of the arguments, what the framework's call gives.

    The other way, `spell` makes arguments of inputs by role where names do not say all, and
    `also` are arguments that only this framework has, and wants.
    """
    words = Words(roles if isinstance(roles, str) else "", constants)
    take: TakeRoles = words.taken if isinstance(roles, str) else roles
    give = gives or (lambda made, arguments: made)
    by_names = spell or words.spelled

    def spelled(operator: Operator, inputs: Roles) -> dict[str, Argument] | None:
        made = by_names(operator, inputs)
        return None if made is None else {**made, **(also or {})}

    return Use(
        operation,
        lambda function, arguments: give(function(**take(**arguments)), arguments),
        spelled,
    )


def family(
    names: Iterable[str], roles: str, pattern: str = "{}", other: Mapping[str, str] | None = None
) -> Table:
    """The uses of operators whose names are made of their operations', or of what a framework
    calls them otherwise."""
    return {pattern.format(name): use((other or {}).get(name, name), roles) for name in names}


def as_list(value: Argument) -> tuple[int, ...]:
    """An axis or extent as a list of one, for operators that take a list."""
    assert isinstance(value, int)
    return (value,)


def written_to(*names: str) -> Gives:
    """The output is written to arguments as well as returned."""
    return lambda made, arguments: Written(made, dict.fromkeys(names, made))


def only_written_to(name: str) -> Gives:
    """The output is written to an argument, and nothing is returned."""
    return lambda made, arguments: Written((), {name: made})


def merged(*tables: Mapping[str, Use | Choice]) -> Table:
    """All uses of several tables. Raises `ValueError` for an operator that is in two of them."""
    made: Table = {}
    for table in tables:
        twice = made.keys() & table.keys()
        if twice:
            raise ValueError(f"in two tables: {sorted(twice)}")
        made |= table
    return made


def names_of(table: Mapping[str, Use | Choice]) -> dict[str, tuple[str, ...]]:
    """The operators that are each operation: what a framework calls it."""
    made: dict[str, tuple[str, ...]] = {}
    for name, entry in table.items():
        for operation in sorted(entry.operations):
            made[operation] = (*made.get(operation, ()), name)
    return made
