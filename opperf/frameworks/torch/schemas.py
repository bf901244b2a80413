"""Operators' parameters and variants, from the schemas of PyTorch's dispatcher."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opperf.model import Kind, Parameter

SCHEMA_KINDS: dict[str, Kind] = {
    "Tensor": Kind.TENSOR,
    "List[Tensor]": Kind.TENSORS,
    "List[Optional[Tensor]]": Kind.TENSORS,
    "int": Kind.INT,
    "number": Kind.FLOAT,
    "float": Kind.FLOAT,
    "complex": Kind.FLOAT,
    "bool": Kind.BOOL,
    "List[int]": Kind.SHAPE,
    "List[float]": Kind.FLOATS,
    "List[number]": Kind.FLOATS,
    "str": Kind.STRING,
    "ScalarType": Kind.ENUM,
}
"""Kind of a parameter by its type in a schema, as `str` prints it; others are `OTHER`."""

DTYPE_TYPE, LAYOUT_TYPE = "ScalarType", "Layout"
"""Types of parameters that are a dtype and a layout."""

OF_INPUT = ("x", "a", "x1")
"""NumPy's names of the first input, which PyTorch's functions take."""

ALIASES: Mapping[str, tuple[str, ...]] = {
    "self": ("input", *OF_INPUT),
    "input": OF_INPUT,
    "other": ("x2",),
    "dim": ("axis",),
    "keepdim": ("keepdims",),
}
"""Names of arguments in Python, by the schema's, in PyTorch's parser of arguments."""

OPTIONAL, CLOSING = "Optional[", "]"


def type_of(argument: Any) -> tuple[str, bool]:
    """Returns the type of a schema's argument, and whether it may be None."""
    declared = str(argument.real_type)
    if declared.startswith(OPTIONAL):
        return declared[len(OPTIONAL) : -len(CLOSING)], True
    return declared, False


def parameter(argument: Any, dtypes: tuple[str, ...]) -> Parameter:
    """Returns the parameter of an argument; one that may be None is not required."""
    declared, is_optional = type_of(argument)
    has_default = argument.has_default_value() or is_optional
    return Parameter(
        name=argument.name,
        kind=SCHEMA_KINDS.get(declared, Kind.OTHER),
        required=not has_default,
        default=str(argument.default_value) if has_default else None,
        choices=dtypes if declared == DTYPE_TYPE else (),
        declared=f"{declared}?" if is_optional else declared,
        aliases=ALIASES.get(argument.name, ()),
        length=argument.N or 0,
    )


def written_to(schema: Any) -> tuple[str, ...]:
    """Returns the names of the arguments that an operator writes to."""
    return tuple(
        argument.name
        for argument in schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    )


def is_view(schema: Any) -> bool:
    """Whether a result may share the memory of an argument, without being written."""
    return not written_to(schema) and any(
        argument.alias_info is not None for argument in (*schema.arguments, *schema.returns)
    )


INTERNAL, IN_PLACE, OUT = "internal", "in-place", "out"


def variants(name: str, schema: Any) -> tuple[str, ...]:
    """Returns the variants of an operator; none if it is public and writes to no argument."""
    written = written_to(schema)
    is_out = any(argument.is_out for argument in schema.arguments)
    own = {INTERNAL: name.startswith("_"), OUT: is_out, IN_PLACE: bool(written) and not is_out}
    return tuple(word for word, holds in own.items() if holds)
