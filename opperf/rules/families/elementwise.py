"""Operations that work element by element: of one tensor, and of two."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.operations import OPERATIONS, CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.domains import DOMAINS, PAIRS, WHOLE_DTYPE, Pair
from opperf.rules.engine import Families
from opperf.rules.shapes import LIST_LENGTH, Shape, column, shapes, slim, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import NORMAL, ONES, OPEN_UNIT, REQUESTED, fixed, tensor, tensors

FAMILIES = Families()

OF_ONE = tuple(
    operation.name
    for operation in OPERATIONS.values()
    if operation.module == "unary"
    and set(operation.inputs) == {"x"}
    # A step of attention, whose family has its inputs.
    and operation.name != "divided_by_root_of_width"
)
OF_TWO = tuple(
    operation.name
    for operation in OPERATIONS.values()
    if operation.module == "binary" and set(operation.inputs) == {"x", "y"}
)

WHOLE_ONLY = frozenset(
    {
        *("bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "gcd", "lcm"),
        *("left_shift", "right_shift"),
    }
)
"""Operations of whole numbers only."""


def dtype_for(operation: str) -> str:
    """The only dtype that an operation takes, else the requested one."""
    return WHOLE_DTYPE if operation in WHOLE_ONLY else REQUESTED


@FAMILIES.operation(*OF_ONE)
def unary(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """One tensor, inside the operation's domain."""
    fill, dtype = DOMAINS.get(operation.name, NORMAL), dtype_for(operation.name)
    for shape in shapes(size):
        yield {"x": tensor(*shape, fill=fill, dtype=dtype)}


def alike(size: Preset) -> tuple[tuple[Shape, Shape], ...]:
    """Pairs of equal shapes."""
    return tuple((shape, shape) for shape in (square(size), slim(size), column(size)))


def broadcasting(size: Preset) -> tuple[tuple[Shape, Shape], ...]:
    """Two pairs of equal shapes, and one that broadcasts along the last axis."""
    return (*alike(size)[:2], (column(size), tall(size)))


def pairs(operation: str, shape_pairs: Iterable[tuple[Shape, Shape]]) -> Iterable[Roles]:
    """Two tensors of each pair of shapes, inside the operation's domain."""
    fills, dtype = PAIRS.get(operation, Pair()), dtype_for(operation)
    for left, right in shape_pairs:
        yield {
            "x": tensor(*left, fill=fills.left, dtype=dtype),
            "y": tensor(*right, fill=fills.right, dtype=dtype),
        }


@FAMILIES.operation(*(name for name in OF_TWO if name != "same_elements"), "isclose")
def binary(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two tensors, one broadcast to the other's shape where they differ."""
    return pairs(operation.name, broadcasting(size))


@FAMILIES.operation("allclose", "same_elements")
def comparison(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two equal tensors, as others may end the comparison early."""
    for shape in shapes(size):
        yield {"x": fixed(*shape, fill=ONES), "y": fixed(*shape, fill=ONES)}


@FAMILIES.operation("sum_of_many")
def sum_of_many(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Several tensors to sum."""
    for shape in shapes(size):
        yield {"tensors": tensors([tensor(*shape)] * LIST_LENGTH)}


@FAMILIES.operation("affine_clip")
def affine_clip(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A tensor, and the usual slope and offset of the hard sigmoid."""
    for shape in shapes(size):
        yield {"x": tensor(*shape), "slope": 0.2, "offset": 0.5}


@FAMILIES.operation("polynomial")
def polynomial(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The coefficients of a polynomial of degree 4, and a tensor to evaluate it at."""
    for shape in shapes(size):
        yield {"coefficients": tensor(5), "x": tensor(*shape, fill=OPEN_UNIT)}


@FAMILIES.operation("clip")
def clip(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A tensor, and bounds that many elements exceed on both sides: 0 and 1, which every dtype
    represents."""
    for shape in shapes(size):
        yield {"x": tensor(*shape), "low": 0, "high": 1}
