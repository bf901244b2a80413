"""What a framework's registry says of an operator."""

from __future__ import annotations

import enum

from opperf.model.base import Struct


class Kind(str, enum.Enum):
    """What an operator's parameter takes."""

    TENSOR = "tensor"
    TENSORS = "tensors"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    SHAPE = "shape"
    FLOATS = "floats"
    ENUM = "enum"
    STRING = "string"
    OTHER = "other"


class Parameter(Struct, frozen=True):
    """One declared argument of an operator."""

    name: str
    kind: Kind
    required: bool
    default: str | None = None
    """As the framework prints it; None when the parameter is required."""
    choices: tuple[str, ...] = ()
    """Allowed values of an `ENUM`, else empty."""
    declared: str = ""
    """The framework's own words for the type."""


class Operator(Struct, frozen=True):
    """One distinct operator of a framework: all its aliases name the same kernel."""

    framework: str
    namespace: str
    name: str
    """The name users know it by; among the aliases is the registry's own."""
    aliases: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    """Every namespace that any of its names is in."""
    parameters: tuple[Parameter, ...] = ()
    category: str = ""
    public: bool = True
    """Whether the framework offers it in a namespace meant for users."""
    variadic: str | None = None
    """Name of the parameter that counts a variable number of tensors, if there is one."""
    differentiable: bool | None = None
    """None until it has been tried."""

    @property
    def names(self) -> tuple[str, ...]:
        """The name, then the aliases."""
        return (self.name, *self.aliases)

    @property
    def tensors(self) -> tuple[Parameter, ...]:
        """The parameters that take a tensor or a list of tensors."""
        return tuple(p for p in self.parameters if p.kind in (Kind.TENSOR, Kind.TENSORS))

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, or None."""
        return next((p for p in self.parameters if p.name == name), None)


class ListedOperator(Struct, frozen=True):
    """An operator and where its inputs come from."""

    operator: Operator
    rule: str = ""
    """The rule that makes its inputs; empty where there is none."""
    reason: str = ""
    """Why there is none."""


class Listing(Struct, frozen=True):
    """A framework's registry, as `opperf list` shows it."""

    framework: str
    version: str
    registered: int
    """Names in the registry, whatever they are for."""
    operators: tuple[ListedOperator, ...]
    """Every distinct operator, sorted by name."""
