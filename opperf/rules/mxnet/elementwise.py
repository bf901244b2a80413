"""Operators that work element by element: of one tensor, of two, of a tensor and a number."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.domains import (
    BITS,
    FEW_INTEGERS,
    MANTISSAS,
    POSITIVE_INTEGERS,
    SHIFTS,
    WHOLE_DTYPE,
)
from opperf.rules.engine import arguments_by_role
from opperf.rules.families import elementwise as shared
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.mxnet.operations.elementwise import BINARY
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, NORMAL, POSITIVE, REQUESTED, Arguments, tensor

FAMILIES = Families()

ALIKE = tuple(
    name
    for name, entry in BINARY.items()
    if entry.operations <= set(shared.OF_TWO)
    and not name.startswith(("broadcast_", "_npi_"))
    and not name.endswith("_scalar")
)
"""Operators of two tensors that require them to have one shape."""


def two_alike(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two tensors of one shape."""
    return shared.pairs(operation.name, shared.alike(size))


@FAMILIES.add(*ALIKE)
def elementwise(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors of one shape."""
    return arguments_by_role(operator, BINARY, two_alike, size)


WHOLE_ONLY = ("bitwise", "gcd", "lcm")
"""Prefixes of operators of whole numbers."""


def scalar_name(name: str) -> str:
    """The name of an operator of a tensor and a number without prefix and suffix."""
    return name.removeprefix("_npi").removeprefix("_").removesuffix("_scalar")


SCALAR_DOMAINS: dict[str, Fill] = {
    **dict.fromkeys(("rdiv", "rtrue_divide", "rfloor_divide", "rmod", "rfmod", "power"), POSITIVE),
    **dict.fromkeys(("equal", "not_equal"), FEW_INTEGERS),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), BOOLEAN),
    **dict.fromkeys(
        ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"),
        BITS,
    ),
    **dict.fromkeys(("rbitwise_left_shift", "rbitwise_right_shift", "rldexp"), SHIFTS),
    "ldexp": MANTISSAS,
    **dict.fromkeys(("lcm", "gcd"), POSITIVE_INTEGERS),
}
"""Fill of the tensor of an operator of a tensor and a number, by name without prefix and suffix.
A leading `r` means that the number is the left operand."""

AMONG = 0.5
"""A number that many normal random ones are above, and many below."""

SCALARS: dict[str, float] = {
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal"), AMONG),
    **dict.fromkeys(("lesser", "lesser_equal", "maximum", "minimum", "fmax", "fmin"), AMONG),
    # With any other number the result is true everywhere.
    "logical_or": 0.0,
}
"""The number, by name without prefix and suffix, where with `FACTOR` nearly all results would be
the same."""


@FAMILIES.category("binary_scalar")
def scalar(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor and a number."""
    base = scalar_name(operator.name)
    dtype = WHOLE_DTYPE if base.removeprefix("r").startswith(WHOLE_ONLY) else REQUESTED
    for shape, why in shared.of_one(size):
        yield {
            "data": tensor(*shape, fill=SCALAR_DOMAINS.get(base, NORMAL), dtype=dtype),
            "scalar": SCALARS.get(base, FACTOR),
            **why,
        }


@FAMILIES.add("_contrib_gradientmultiplier")
def gradientmultiplier(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor, which the forward pass copies, and the factor of its gradient."""
    for shape, why in shared.of_one(size):
        yield {"data": tensor(*shape), "scalar": FACTOR, **why}


@FAMILIES.add("_contrib_quadratic")
def quadratic(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor, and the coefficients of a quadratic polynomial, none of them zero."""
    for shape, why in shared.of_one(size):
        yield {"data": tensor(*shape), "a": 1.0, "b": -2.0, "c": 0.5, **why}
