"""Operators' parameters and variants, from the schemas of PyTorch's dispatcher."""

from __future__ import annotations

from collections.abc import Callable
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

DTYPE_TYPE = "ScalarType"
"""Type of a parameter that is a dtype."""

OPTIONAL, CLOSING = "Optional[", "]"


def type_of(argument: Any) -> tuple[str, bool]:
    """Returns the type of a schema's argument, and whether it may be None."""
    declared = str(argument.real_type)
    if declared.startswith(OPTIONAL):
        return declared[len(OPTIONAL) : -len(CLOSING)], True
    return declared, False


def parameter(argument: Any, dtypes: tuple[str, ...]) -> Parameter:
    """Returns the parameter of a schema's argument. One without a default that may be None is not
    required: calls pass None."""
    declared, is_optional = type_of(argument)
    has_default = argument.has_default_value() or is_optional
    return Parameter(
        name=argument.name,
        kind=SCHEMA_KINDS.get(declared, Kind.OTHER),
        required=not has_default,
        default=str(argument.default_value) if has_default else None,
        choices=dtypes if declared == DTYPE_TYPE else (),
        declared=f"{declared}?" if is_optional else declared,
    )


def written_to(schema: Any) -> tuple[str, ...]:
    """Returns the names of the arguments that an operator writes to."""
    return tuple(
        one.name
        for one in schema.arguments
        if one.alias_info is not None and one.alias_info.is_write
    )


def is_view(schema: Any) -> bool:
    """Whether a result may share the memory of an argument, without being written."""
    return not written_to(schema) and any(
        one.alias_info is not None for one in (*schema.arguments, *schema.returns)
    )


INTERNAL, IN_PLACE, OUT = "internal", "in-place", "out"

VARIANTS: dict[str, Callable[[str, Any], bool]] = {
    INTERNAL: lambda name, schema: name.startswith("_"),
    OUT: lambda name, schema: any(one.is_out for one in schema.arguments),
    IN_PLACE: lambda name, schema: bool(written_to(schema)),
}
"""Whether an operator is of a variant; the first one counts."""


def variant(name: str, schema: Any) -> str:
    """Returns the variant of an operator; empty if it is public and writes to no argument."""
    return next((word for word, holds in VARIANTS.items() if holds(name, schema)), "")


def has_tensors(schema: Any) -> bool:
    """Whether an operator takes or returns a tensor."""
    return any("Tensor" in str(one.type) for one in (*schema.arguments, *schema.returns))
