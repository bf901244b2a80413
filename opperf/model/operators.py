"""Operators, as a framework's registry describes them."""

from __future__ import annotations

import enum

from opperf.model.declaring import Struct
from opperf.model.targets import OperatorTarget
from opperf.model.values import Argument


class Kind(str, enum.Enum):
    """Type of an operator's parameter."""

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
    choices: tuple[str, ...] = ()
    declared: str = ""
    aliases: tuple[str, ...] = ()
    """Other names of the argument, which functions of the framework take in its place."""
    length: int = 0
    """Elements of a list for which users may write one number; 0 if there is none."""


class Operator(Struct, frozen=True):
    """One distinct operator of a framework: all its aliases name the same kernel."""

    framework: str
    namespace: str
    name: str
    """The name users know it by; the registry's own is among the aliases."""
    aliases: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    category: str = ""
    public: bool = True
    """Whether the framework offers it in a namespace meant for users."""
    variadic: str | None = None
    """Name of the parameter that is the number of tensors, for a variadic operator."""
    differentiable: bool | None = None
    variants: tuple[str, ...] = ()
    """How it differs from a public operator that returns its result: `in-place`, `out`, `internal`.
    A run has such operators only if all of these are asked for, or if they have a caller."""
    caller: str = ""
    """The function of users that calls it, where it has no public name of its own."""
    on_request: bool = False
    """Whether a run has it only if its namespace or name is asked for."""
    tags: tuple[str, ...] = ()
    """The framework's own classes of operators that it is in."""
    overload: str = ""
    """Its own name among those of one name; empty where a framework has no overloads."""
    prefixes: tuple[str, ...] = ()
    """Texts that users may write in front of any of its names: `aten::`."""

    @property
    def is_usual(self) -> bool:
        """Whether a run without names has it."""
        return not self.on_request and (bool(self.caller) or not self.variants)

    @property
    def target(self) -> OperatorTarget:
        return OperatorTarget(framework=self.framework, name=self.name, overload=self.overload)

    @property
    def label(self) -> str:
        """Its name in results, unique among the operators of a framework."""
        return self.target.label

    @property
    def names(self) -> tuple[str, ...]:
        """The name, that with the overload first if it has one, then the aliases."""
        own = (f"{self.name}.{self.overload}",) if self.overload else ()
        return (*own, self.name, *self.aliases)

    @property
    def tensors(self) -> tuple[Parameter, ...]:
        """The parameters that take a tensor or a list of tensors."""
        return tuple(p for p in self.parameters if p.kind in (Kind.TENSOR, Kind.TENSORS))

    def parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.parameters if p.name == name), None)

    def own_name(self, name: str) -> str:
        """Returns the operator's own name of an argument, which may be an alias."""
        if self.parameter(name) is not None:
            return name
        return next((p.name for p in self.parameters if name in p.aliases), name)

    def expanded(self, name: str, value: Argument) -> Argument:
        """Returns the value of an argument, of one number a list of as many as it takes."""
        parameter = self.parameter(name)
        if (
            parameter is None
            or not parameter.length
            or isinstance(value, bool)
            or not isinstance(value, (int, float))
        ):
            return value
        made: tuple[int | float, ...] = (value,) * parameter.length
        return made


class RulePlace(Struct, frozen=True):
    """A place that made cases of an operator."""

    layer: str
    """The kind of what is there: a family, an entry of a table, a row, a search ..."""
    file: str
    line: int
    text: str = ""
    """In one line, what the place says."""
    tags: tuple[str, ...] = ()
    """Of a row, by which it is selected."""


class RuleUse(Struct, frozen=True):
    """A place, and the cases of an operator that it made."""

    operator: str
    place: RulePlace
    cases: tuple[str, ...] = ()
    """Their ids; none of what excludes an operator, or has its inputs searched for."""


class ListedOperator(Struct, frozen=True):
    """An operator and the rule that makes its inputs."""

    operator: Operator
    rule: str = ""
    reason: str = ""
    has_kernel: bool = True
    cases: int | None = 0
    """Number of cases at the default size; None if inputs have to be searched for first."""
    whys: tuple[str, ...] = ()


class Listing(Struct, frozen=True):
    """A framework's registry, as `opperf list` prints it."""

    framework: str
    version: str
    registered: int
    operators: tuple[ListedOperator, ...]
    functions: tuple[str, ...] = ()
