"""Operators that work element by element: of one tensor, of two, of a tensor and a number."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator
from opperf.rules.domains import (
    BITS,
    COUNTING,
    DOMAINS,
    FEW,
    PAIRS,
    RATIO,
    SHIFTING,
    SHIFTS,
    WHOLE,
    Pair,
)
from opperf.rules.engine import Families
from opperf.rules.mxnet.names import FACTOR, base_name
from opperf.rules.shapes import Shape, column, shapes, slim, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    BOOLEAN,
    NORMAL,
    OPEN_UNIT,
    POSITIVE,
    REQUESTED,
    Arguments,
    tensor,
)

FAMILIES = Families()

ONE: dict[str, Fill] = {
    **DOMAINS,
    **dict.fromkeys(("rsqrt", "rcbrt", "gamma", "gammaln", "digamma"), POSITIVE),
    "erfinv": OPEN_UNIT,
    "bitwise_not": BITS,
}
"""What fills the tensor of an operator of one, by name without prefix. One that is not here is
defined everywhere."""

WHOLE_ONLY = frozenset(
    {
        "bitwise_not",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "bitwise_left_shift",
        "bitwise_right_shift",
        "rbitwise_left_shift",
        "rbitwise_right_shift",
        "lcm",
        "gcd",
    }
)
"""Operators that take whole numbers only."""


def dtype_for(base: str) -> str:
    """The dtype an operator insists on, else the one requested."""
    return WHOLE if base in WHOLE_ONLY else REQUESTED


@FAMILIES.add(*(name for name in ONE if name not in WHOLE_ONLY))
@FAMILIES.category("unary", "rounding")
def unary(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One tensor, inside the operator's domain."""
    base = base_name(operator.name)
    name = operator.tensors[0].name
    for shape in shapes(size):
        yield {name: tensor(*shape, fill=ONE.get(base, NORMAL), dtype=dtype_for(base))}


TWO: dict[str, Pair] = {
    **PAIRS,
    **dict.fromkeys(("div", "true_divide", "mod"), RATIO),
    # A negative base has no power by a fraction.
    "power": Pair(POSITIVE, NORMAL),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), SHIFTING),
}
"""What fills the two tensors of an operator, by its name without prefix."""


def pair_name(name: str) -> str:
    """A two-tensor operator's name without the prefixes of its variants."""
    for prefix in ("broadcast_", "_scatter_elemwise_", "elemwise_", "_npi_", "_"):
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def alike(size: Preset) -> tuple[tuple[Shape, Shape], ...]:
    """Pairs of one shape."""
    return tuple((shape, shape) for shape in (square(size), slim(size), column(size)))


def broadcasting(size: Preset) -> tuple[tuple[Shape, Shape], ...]:
    """Pairs of one shape and one that really broadcasts, along the last axis."""
    return (*alike(size)[:2], (column(size), tall(size)))


def pairs(operator: Operator, shape_pairs: Iterable[tuple[Shape, Shape]]) -> Iterable[Arguments]:
    """Two tensors of each pair of shapes, inside the operator's domain."""
    base = pair_name(operator.name)
    fills = TWO.get(base, Pair())
    dtype = dtype_for(base)
    left, right = (parameter.name for parameter in operator.tensors[:2])
    for left_shape, right_shape in shape_pairs:
        yield {
            left: tensor(*left_shape, fill=fills.left, dtype=dtype),
            right: tensor(*right_shape, fill=fills.right, dtype=dtype),
        }


@FAMILIES.category("binary_broadcast")
def broadcast(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors, one broadcast to the other's shape where they differ."""
    return pairs(operator, broadcasting(size))


@FAMILIES.category("binary_elementwise")
def elementwise(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors of one shape."""
    return pairs(operator, alike(size))


@FAMILIES.category("binary_misc")
def binary(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors: NumPy's operators broadcast, the others want one shape."""
    chosen = broadcasting if operator.name.startswith("_npi_") else alike
    return pairs(operator, chosen(size))


SCALAR_DOMAINS: dict[str, Fill] = {
    **dict.fromkeys(("rdiv", "rtrue_divide", "rfloor_divide", "rmod", "rfmod", "power"), POSITIVE),
    **dict.fromkeys(("equal", "not_equal"), FEW),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), BOOLEAN),
    **dict.fromkeys(
        ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"),
        BITS,
    ),
    **dict.fromkeys(("rbitwise_left_shift", "rbitwise_right_shift", "ldexp", "rldexp"), SHIFTS),
    **dict.fromkeys(("lcm", "gcd"), COUNTING),
}
"""What fills the tensor of an operator of a tensor and a number, by name without prefix and
without `_scalar`. `r` in front: the number is the left operand."""

AMONG = 0.5
"""A number that many normal ones are above, and many below."""

SCALARS: dict[str, float] = {
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal"), AMONG),
    **dict.fromkeys(("lesser", "lesser_equal", "maximum", "minimum", "fmax", "fmin"), AMONG),
    # Anything or a number that is not zero is true.
    "logical_or": 0.0,
}
"""The number, where with `FACTOR` nearly all elements would come out alike; by name without
prefix and without `_scalar`."""


@FAMILIES.category("binary_scalar")
def scalar(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor and a number."""
    base = pair_name(operator.name).removesuffix("_scalar")
    for shape in shapes(size):
        yield {
            "data": tensor(*shape, fill=SCALAR_DOMAINS.get(base, NORMAL), dtype=dtype_for(base)),
            "scalar": SCALARS.get(base, FACTOR),
        }


@FAMILIES.add("_contrib_gradientmultiplier")
def gradientmultiplier(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Copies forward, scales the gradient backward."""
    for shape in shapes(size):
        yield {"data": tensor(*shape), "scalar": FACTOR}


@FAMILIES.add("_contrib_quadratic")
def quadratic(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A quadratic polynomial with no coefficient zero."""
    for shape in shapes(size):
        yield {"data": tensor(*shape), "a": 1.0, "b": -2.0, "c": 0.5}


@FAMILIES.add("_npi_polyval")
def polyval(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A polynomial of the fourth degree at every element."""
    for shape in shapes(size):
        yield {"p": tensor(5), "x": tensor(*shape, fill=OPEN_UNIT)}


@FAMILIES.add("clip")
def clip(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Bounds that cut off about a third of the elements."""
    for shape in shapes(size):
        yield {operator.tensors[0].name: tensor(*shape), "a_min": -1.0, "a_max": 1.0}
