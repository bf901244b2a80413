"""The canonical operation of a framework's operator, and the operator's argument names. A use
converts both ways: a family's inputs by role to the operator's arguments, and, for tests, the
arguments of a call to inputs by role, which the operation's reference takes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from opperf.model import Argument, Kind, Operator, Parameter, TensorSpec

if TYPE_CHECKING:
    from opperf.operations.references.reference import Property, Reference

Array = Any
"""A NumPy array. NumPy is not imported for its type: planning does not need it."""

Values = Mapping[str, Any]
"""A case's arguments as NumPy arrays and plain values, by the framework's names."""

Roles = dict[str, Argument]
"""Inputs of an operation by role: specs of tensors, and plain values."""


@dataclass(frozen=True)
class Written:
    """Outputs of a call, and the arrays that it wrote to arguments, by argument name."""

    output: Any
    """An empty tuple if nothing is returned; `ANYTHING` for what is not compared."""
    arguments: Mapping[str, Any] = field(default_factory=dict)


ANYTHING = object()
"""Stands for an output that is not compared."""

Apply = Callable[[Callable[..., Any], Values], Any]
"""Calls an operation's function by role. Returns a `Written`, or a property's pairs."""

ToArguments = Callable[[Operator, Roles], "dict[str, Argument] | None"]
"""Converts inputs by role to an operator's arguments; None if the operator takes no such inputs."""


ToRoles = Callable[..., dict[str, Any]]
"""Converts a case's arguments to inputs by role."""


def _no_roles(**arguments: Any) -> dict[str, Any]:
    raise KeyError("no roles")


@dataclass(frozen=True)
class Use:
    """The operation of one operator of a framework."""

    operation: str
    apply: Apply
    to_arguments: ToArguments
    roles: Mapping[str, str] = field(default_factory=dict)
    """Roles of its arguments, by their names, where renaming is enough; some may be other names."""
    to_roles: ToRoles = _no_roles
    """Raises `KeyError` and the like for arguments that the conversion is not written for."""
    converts: bool = False
    """Whether the operator returns more or something else than the operation's result."""

    def of(self, arguments: Values) -> Use:
        return self

    def each(self, operator: Operator) -> Iterator[tuple[Use, dict[str, Argument]]]:
        yield self, {}

    @property
    def operations(self) -> set[str]:
        return {self.operation}


@dataclass(frozen=True)
class Choice:
    """An operator whose operation depends on an argument's value, None without the argument."""

    argument: str
    uses: Mapping[Any, Use]

    def of(self, arguments: Values) -> Use:
        """The use in a case with these arguments."""
        return self.uses[arguments.get(self.argument)]

    def each(self, operator: Operator) -> Iterator[tuple[Use, dict[str, Argument]]]:
        parameter = operator.parameter(self.argument)
        declared = parameter.choices if parameter is not None else ()
        for value, own in self.uses.items():
            if not declared or value in declared:
                yield own, {} if value is None else {self.argument: value}

    @property
    def operations(self) -> set[str]:
        return {use.operation for use in self.uses.values()}


Table = dict[str, Use | Choice]
"""Uses by the operator's name."""

ToOutput = Callable[[Any, Values], Any]
"""Converts the output of an operation's function, with a case's arguments, to that of the call."""


NUMBERS = (Kind.INT, Kind.FLOAT)


def is_tensor(value: Argument) -> bool:
    """Whether an input is one tensor."""
    return isinstance(value, TensorSpec)


def _may_be(parameter: Parameter, value: Argument) -> bool:
    if parameter.choices and isinstance(value, str):
        return value in parameter.choices
    return not (parameter.kind in NUMBERS and is_tensor(value))


class Words:
    """Roles and argument names of a use, from text: `role=argument`, `role=one|another` for several
    names, `role` for an argument of the same name, `-argument` for one that does not affect the
    values."""

    def __init__(self, text: str, constants: Values) -> None:
        self.constants = constants
        """Roles without an argument: the operator's constant values of them."""
        self.names: dict[str, tuple[str, ...]] = {}
        """Argument names of each role."""
        self.roles: dict[str, str | None] = {}
        """The role of each argument; None for one that does not affect the values."""
        for word in text.split():
            role, _, names = word.partition("=")
            if role.startswith("-"):
                self.roles[role[1:]] = None
            else:
                self.names[role] = tuple((names or role).split("|"))
                self.roles |= dict.fromkeys(self.names[role], role)

    def to_roles(self, /, **arguments: Any) -> dict[str, Any]:
        """A case's arguments by role. Raises `KeyError` for one that the text does not name."""
        named = {self.roles[name]: value for name, value in arguments.items()}
        known = {role: value for role, value in named.items() if role is not None}
        return {**known, **self.constants}

    def to_arguments(self, operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        """Inputs by role under the operator's names, without those equal to its constants; None if
        it has no argument for one or the argument does not take the value."""
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
    roles: str | ToRoles = "",
    to_output: ToOutput | None = None,
    to_arguments: ToArguments | str | None = None,
    also: Mapping[str, Argument] | None = None,
    **constants: Any,
) -> Use:
    """The use of an operation. `roles` is text for `Words`, or a function from arguments to inputs
    by role; `constants` are roles without an argument. `to_arguments` converts inputs by role to
    arguments where that renaming is not enough, or is text of another; `also` are further
    arguments, which only this framework has."""
    words = Words(roles if isinstance(roles, str) else "", constants)
    to_roles: ToRoles = words.to_roles if isinstance(roles, str) else roles
    own = Words(to_arguments, {}).to_arguments if isinstance(to_arguments, str) else to_arguments
    rename = own or words.to_arguments

    def apply(function: Callable[..., Any], arguments: Values) -> Any:
        output = function(**to_roles(**arguments))
        return output if to_output is None else to_output(output, arguments)

    def convert(operator: Operator, inputs: Roles) -> dict[str, Argument] | None:
        made = rename(operator, inputs)
        return None if made is None else {**made, **(also or {})}

    named = {name: role for name, role in words.roles.items() if role is not None}
    return Use(operation, apply, convert, named, to_roles, to_output is not None)


def uses(
    names: Iterable[str], roles: str, pattern: str = "{}", other: Mapping[str, str] | None = None
) -> Table:
    """The uses of several operators: the operation of each has its name, or the one in `other`."""
    return {pattern.format(name): use((other or {}).get(name, name), roles) for name in names}


def only_if(entry: Use, holds: Callable[[Roles], bool]) -> Use:
    """Returns the use with the inputs of which something holds."""

    def to_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        return entry.to_arguments(operator, roles) if holds(roles) else None

    return replace(entry, to_arguments=to_arguments)


def of_ranks(entry: Use, **axes: int) -> Use:
    """Returns the use with tensors of these numbers of axes, by role."""

    def holds(roles: Roles) -> bool:
        return all(
            isinstance(spec := roles[role], TensorSpec) and len(spec.shape) == count
            for role, count in axes.items()
        )

    return only_if(entry, holds)


def if_complete(entry: Use) -> Use:
    """Returns the use with the inputs that are all an operator requires."""

    def to_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        made = entry.to_arguments(operator, roles)
        required = {parameter.name for parameter in operator.parameters if parameter.required}
        return made if made is not None and required <= made.keys() else None

    return replace(entry, to_arguments=to_arguments)


def as_list(value: Argument) -> tuple[int, ...]:
    """An axis or extent as a list of one, for operators that take a list; a list as it is."""
    made = value if isinstance(value, tuple) else (value,)
    assert all(isinstance(value, int) for value in made)
    return made  # type: ignore[return-value]


def written_to(*names: str) -> ToOutput:
    """The conversion of an output that is written to arguments as well as returned."""
    return lambda made, arguments: Written(made, dict.fromkeys(names, made))


def only_written_to(name: str) -> ToOutput:
    """The conversion of an output that is written to an argument, where nothing is returned."""
    return lambda made, arguments: Written((), {name: made})


def merge(*tables: Mapping[str, Use | Choice]) -> Table:
    """The uses of several tables. Raises `ValueError` for an operator that is in two of them."""
    made: Table = {}
    for table in tables:
        twice = made.keys() & table.keys()
        if twice:
            raise ValueError(f"in two tables: {sorted(twice)}")
        made |= table
    return made


def names_of(table: Mapping[str, Use | Choice]) -> dict[str, tuple[str, ...]]:
    """The names of the operators of each operation."""
    made: dict[str, tuple[str, ...]] = {}
    for name, entry in table.items():
        for operation in sorted(entry.operations):
            made[operation] = (*made.get(operation, ()), name)
    return made


Input = Literal[
    "tensor", "tensors", "int", "float", "bool", "shape", "axis", "axes", "enum", "dtype"
]
"""The kind of an input. An operator may take a `float` in place of a `tensor`; `axes` are one axis
or several."""

REFERENCES = "opperf.operations.references"


@dataclass(frozen=True)
class CanonicalOperation:
    """One operation: its inputs and its reference."""

    name: str
    inputs: Mapping[str, Input]
    """Kinds of the inputs by role, required ones first."""
    module: str
    """Module of `opperf.operations.references` with the operation's reference."""

    @property
    def reference(self) -> Reference | Property:
        """The reference, in float64, or a property of outputs. Imports NumPy and SciPy."""
        import numpy as np

        from opperf.operations.references.reference import Property, Reference

        module = importlib.import_module(f"{REFERENCES}.{self.module}")
        properties = getattr(module, "PROPERTIES", {})
        if self.name in properties:
            return Property(properties[self.name])
        function = getattr(module, "REFERENCES", {}).get(self.name) or getattr(module, self.name)
        # Ufuncs take no keywords, which roles are.
        if isinstance(function, np.ufunc):
            return Reference(lambda **inputs: function(*(inputs[role] for role in self.inputs)))
        return Reference(function)


def operations(module: str, table: Mapping[str, str]) -> Iterable[CanonicalOperation]:
    """The operations of a module: names, separated by spaces, by their inputs as `role:kind`, or as
    `role` for a tensor. Raises `ValueError` for another kind."""
    for words, names in table.items():
        inputs: dict[str, Any] = {}
        for word in words.split():
            role, _, kind = word.partition(":")
            if kind and kind not in get_args(Input):
                raise ValueError(f"{word!r} of {names}: write role:kind")
            inputs[role] = kind or "tensor"
        for name in names.split():
            yield CanonicalOperation(name, inputs, module)
