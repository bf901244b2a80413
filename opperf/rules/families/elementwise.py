"""Operations that work element by element: of one tensor, and of two."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from opperf.operations import OPERATIONS, CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.domains import BITS, DOMAINS, LOGICAL_PAIR, PAIRS, SOME_BITS, WHOLE_DTYPE, Pair
from opperf.rules.pictures import feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import DISPATCH, LIST_LENGTH, Shape, column, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.slow import SLOW, SLOWEST, largest
from opperf.rules.values import NORMAL, ONES, OPEN_UNIT, REQUESTED, fixed, tensor, tensors

FAMILIES = Families()

OF_ONE = tuple(
    operation.name
    for operation in OPERATIONS.values()
    if operation.module in ("unary", "special")
    and set(operation.inputs) == {"x"}
    # A step of attention, whose family has its inputs.
    and operation.name != "divided_by_root_of_width"
)
OF_TWO = tuple(
    operation.name
    for operation in OPERATIONS.values()
    if operation.module in ("binary", "special") and set(operation.inputs) == {"x", "y"}
)

WHOLE_ONLY = frozenset(
    {
        *("bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "gcd", "lcm"),
        *("leading_zeros", "left_shift", "ones_in_bits", "right_shift"),
    }
)
"""Operations of whole numbers only."""


def dtype_for(operation: str) -> str:
    """The only dtype that an operation takes, else the requested one."""
    return WHOLE_DTYPE if operation in WHOLE_ONLY else REQUESTED


ROWS = (
    "long rows: bound by memory or by arithmetic",
    "about as many elements in many short rows",
)
"""Why a square and a tall matrix are measured."""


def of_one(
    size: Preset, whys: tuple[str, str] = ROWS, name: str = ""
) -> Iterable[tuple[Shape, Roles]]:
    """Shapes for operations that take the same time for every element, each with why; fewer for
    slow functions."""
    if name in SLOW | SLOWEST:
        shapes = {largest(name, size): whys[1]}
        shapes.setdefault(column(size), DISPATCH)
    else:
        shapes = {square(size): whys[0], tall(size): whys[1], column(size): DISPATCH}
    for shape, why in shapes.items():
        yield shape, {WHY: why}


ACTIVATED: dict[str, tuple[str, str]] = {
    "relu": (
        "ReLU after a wide dense layer: one comparison for each element",
        "ReLU after narrow dense layers for many samples, as of a table: short rows",
    ),
    "sigmoid": (
        "the sigmoid of a recurrent cell's gates: an exponential for each element",
        "the sigmoid of several labels' scores for many samples: short rows",
    ),
    "softplus": (
        "softplus in place of ReLU after a wide layer: an exponential and a logarithm",
        "softplus of many samples' deviations, as forecasts of distributions: short rows",
    ),
    "softsign": (
        "softsign in place of tanh after a wide layer: a division for each element",
        "softsign after narrow dense layers for many samples: short rows",
    ),
    "tanh": (
        "tanh of a recurrent cell's candidate state, as wide as its layer",
        "tanh of narrow layers at many points, as physics-informed networks: short rows",
    ),
}
"""Why such matrices are measured with an activation: one operator may have all of these."""


@FAMILIES.operation(*OF_ONE)
def unary(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """One tensor, inside the operation's domain."""
    fill, dtype = DOMAINS.get(operation.name, NORMAL), dtype_for(operation.name)
    for shape, why in of_one(size, ACTIVATED.get(operation.name, ROWS), operation.name):
        yield {"x": tensor(*shape, fill=fill, dtype=dtype), **why}


class ShapePair(NamedTuple):
    """Shapes of two tensors, and why they are measured."""

    left: Shape
    right: Shape
    why: str


ALIKE = "two matrices of one shape: nothing is broadcast"


def alike(size: Preset) -> tuple[ShapePair, ...]:
    """Pairs of equal shapes."""
    return (
        ShapePair(square(size), square(size), ALIKE),
        ShapePair(column(size), column(size), DISPATCH),
    )


def broadcasting(size: Preset) -> tuple[ShapePair, ...]:
    """A pair of equal shapes, and pairs of which one is broadcast in each way that models use."""
    rows, columns = square(size)
    maps = feature_maps(size)
    return (
        ShapePair((rows, columns), (rows, columns), ALIKE),
        ShapePair(
            (rows, columns), (1, columns), "a matrix and a row: the row is read for each row"
        ),
        ShapePair(column(size), tall(size), "a column and a matrix: one number for each row"),
        ShapePair(
            maps,
            (1, maps[1], 1, 1),
            "a tensor of four axes and a number for each channel: one for each plane",
        ),
        ShapePair(
            (rows, columns), (1, 1), "a matrix and a tensor of one element: one number for all"
        ),
    )


def pairs(operation: str, shape_pairs: Iterable[ShapePair]) -> Iterable[Roles]:
    """Two tensors of each pair of shapes, inside the operation's domain."""
    fills, dtype = PAIRS.get(operation, Pair()), dtype_for(operation)
    for left, right, why in shape_pairs:
        is_one_mask = fills.right == BITS and math.prod(right) == 1 < math.prod(left)
        yield {
            "x": tensor(*left, fill=fills.left, dtype=dtype),
            "y": tensor(*right, fill=SOME_BITS if is_one_mask else fills.right, dtype=dtype),
            WHY: why,
        }


@FAMILIES.operation(*(name for name in OF_TWO if name != "same_elements"), "isclose")
def binary(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two tensors, one broadcast to the other's shape where they differ. Of logical operations one
    element would decide every result."""
    *several, of_one_element = broadcasting(size)
    decided = PAIRS.get(operation.name) == LOGICAL_PAIR
    return pairs(operation.name, several if decided else (*several, of_one_element))


@FAMILIES.operation("allclose", "same_elements")
def comparison(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two equal tensors, as others may end the comparison early."""
    for shape, why in (
        (square(size), "two equal matrices, as a result and its reference: no early end"),
        (tall(size), "two equal tables of many short rows, as a file and its copy"),
    ):
        yield {"x": fixed(*shape, fill=ONES), "y": fixed(*shape, fill=ONES), WHY: why}


@FAMILIES.operation("sum_of_many")
def sum_of_many(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Several tensors to sum."""
    for shape, why in of_one(size):
        yield {"tensors": tensors([tensor(*shape)] * LIST_LENGTH), **why}


@FAMILIES.operation("affine_clip")
def affine_clip(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A tensor, and the usual slope and offset of the hard sigmoid."""
    for shape, why in of_one(size):
        yield {"x": tensor(*shape), "slope": 0.2, "offset": 0.5, **why}


@FAMILIES.operation("polynomial")
def polynomial(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The coefficients of a polynomial of degree 4, and a tensor to evaluate it at."""
    for shape, why in of_one(size):
        yield {"coefficients": tensor(5), "x": tensor(*shape, fill=OPEN_UNIT), **why}


@FAMILIES.operation("clip")
def clip(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A tensor, and bounds that many elements exceed on both sides: 0 and 1, which every dtype
    represents."""
    for shape, why in of_one(size):
        yield {"x": tensor(*shape), "low": 0, "high": 1, **why}
