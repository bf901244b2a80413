"""Operations that work element by element: of one tensor, and of two."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import Fill
from opperf.operations import OPERATIONS, CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.domains import (
    ANGLES,
    BITS,
    BITWISE_PAIR,
    BOUND_BY_ARITHMETIC,
    DIVISORS,
    DOMAINS,
    LOGICAL_PAIR,
    PAIRS,
    SLOW,
    SLOWEST,
    SOME_BITS,
    WHOLE_DTYPE,
    Pair,
    fewest,
    largest,
    notes_of_fewest,
)
from opperf.rules.image_shapes import feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import FEW, LIST_LENGTH, Shape, in_cache, square, tiny
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, NORMAL, ONES, OPEN_UNIT, REQUESTED, fixed, tensor, tensors
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

OF_ONE = tuple(
    operation.name
    for operation in OPERATIONS.values()
    if operation.module in ("unary", "special")
    and set(operation.inputs) == {"x"}
    # A step of attention, and an activation of one network, whose families have their inputs.
    and operation.name not in ("divided_by_root_of_width", "mish")
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


def dtype_for(operation: str) -> str:
    """The only dtype that an operation takes, else the requested one."""
    return WHOLE_DTYPE if operation in WHOLE_ONLY else REQUESTED


ROWS = ("a large matrix, beyond a core's own cache", "a smaller matrix, within a core's cache")
"""Why a matrix and a part of it are measured."""
TO_TENTHS = (f"rounded to tenths, {ROWS[0]}", f"rounded to tenths, {ROWS[1]}")
"""The same of an operation that rounds to a number of decimals."""
BOUND = "a large matrix: bound by arithmetic, in cache or not"
OF_SLOW = "fewer elements, as each takes long: bound by arithmetic"


def of_one(
    size: Preset, whys: tuple[str, str] = ROWS, name: str = ""
) -> Iterable[tuple[Shape, Roles]]:
    """Shapes for operations of one time for every element, each with why; fewer for slow ones."""
    if name in SLOW | SLOWEST:
        shapes: dict[Shape, Roles] = {largest(name, size): {WHY: OF_SLOW}}
        shapes.setdefault(fewest(name, size), notes_of_fewest(name))
    elif name in BOUND_BY_ARITHMETIC:
        shapes = {square(size): {WHY: BOUND}, fewest(name, size): FEW}
    else:
        large, small = square(size), in_cache(size)
        shapes = {large: {WHY: whys[0]}, small: {WHY: whys[1]}, fewest(name, size): FEW}
    yield from shapes.items()


ACTIVATED: dict[str, tuple[str, str]] = {
    "log_sigmoid": (
        "log-sigmoids of true and corrupted triples' scores, as embeddings of graphs learn by",
        "log-sigmoids of a few triples' scores, which stay in cache",
    ),
    "relu": (
        "ReLU after a wide dense layer: one comparison for each element",
        "ReLU after a wide layer for a few samples, which stay in cache",
    ),
    "sigmoid": (
        "the sigmoid of a recurrent cell's gates: an exponential for each element",
        "the sigmoid of the gates of a few sequences, which stay in cache",
    ),
    "softplus": (
        "softplus in place of ReLU after a wide layer: an exponential and a logarithm",
        "softplus of a few samples' deviations, as forecasts of distributions: in cache",
    ),
    "softsign": (
        "softsign in place of tanh after a wide layer: a division for each element",
        "softsign after a wide layer for a few samples, which stay in cache",
    ),
    "tanh": (
        "tanh of a recurrent cell's candidate state, as wide as its layer",
        "tanh of the candidate states of a few sequences, which stay in cache",
    ),
}
"""Why such matrices are measured with an activation: one operator may have all of these."""

MASK = "bool"
OTHERWISE: dict[str, tuple[Fill, str, str]] = {
    **dict.fromkeys(("cos", "sin"), (ANGLES, REQUESTED, "angles up to 2048, as positions")),
    **dict.fromkeys(("bitwise_not", "logical_not"), (BOOLEAN, MASK, "booleans: a byte for each")),
}
"""Fill, dtype and why of a matrix that takes another path, in place of one that stays in cache."""


@FAMILIES.operation(*OF_ONE)
def unary(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """One tensor, inside the operation's domain."""
    name = operation.name
    fill, dtype = DOMAINS.get(name, NORMAL), dtype_for(name)
    large, *others = of_one(size, ACTIVATED.get(name, ROWS), name)
    for shape, why in (large, *(others[1:] if name in OTHERWISE else others)):
        yield {"x": tensor(*shape, fill=fill, dtype=dtype), **why}
    if name in OTHERWISE:
        fill, dtype, other = OTHERWISE[name]
        yield {"x": tensor(*square(size), fill=fill, dtype=dtype), WHY: other}


class ShapePair(NamedTuple):
    """Shapes of two tensors, and why they are measured."""

    left: Shape
    right: Shape
    notes: Roles


ALIKE: Roles = {WHY: "two matrices of one shape: nothing is broadcast"}
CONDITIONS: Roles = {WHY: "boolean masks, as conditions that are combined: a byte for each element"}


def alike(size: Preset) -> tuple[ShapePair, ...]:
    """Pairs of equal shapes."""
    return (ShapePair(square(size), square(size), ALIKE), ShapePair(tiny(size), tiny(size), FEW))


def broadcasting(size: Preset) -> tuple[ShapePair, ...]:
    """A pair of equal shapes, and pairs broadcast in each way that models use."""
    rows, columns = square(size)
    maps = feature_maps(size)
    return (
        ShapePair((rows, columns), (rows, columns), ALIKE),
        ShapePair((rows, columns), (1, columns), {WHY: "a matrix and a row, read for each row"}),
        ShapePair((rows, 1), (1, columns), {WHY: "a column and a row: each with each"}),
        ShapePair(maps, (1, maps[1], 1, 1), {WHY: "four axes and a number for each channel"}),
        ShapePair((rows, columns), (1, 1), {WHY: "a matrix and a tensor of one element, for all"}),
    )


def pairs(
    operation: str, shape_pairs: Iterable[ShapePair], fills: Pair | None = None, dtype: str = ""
) -> Iterable[Roles]:
    """Two tensors of each pair of shapes, inside the operation's domain."""
    fills, dtype = fills or PAIRS.get(operation, Pair()), dtype or dtype_for(operation)
    for left, right, notes in shape_pairs:
        is_one_mask = fills.right == BITS and math.prod(right) == 1 < math.prod(left)
        x = tensor(*left, fill=fills.left, dtype=dtype)
        y = tensor(*right, fill=SOME_BITS if is_one_mask else fills.right, dtype=dtype)
        yield {"x": x, "y": y, **notes}


@FAMILIES.operation(*(name for name in OF_TWO if name != "same_elements"), "isclose")
def binary(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two tensors, one broadcast to the other's shape where they differ."""
    name = operation.name
    alike, *others, of_channels, of_one_element = broadcasting(size)
    if name in DIVISORS:
        # Its steps take longer than any order of elements.
        yield from pairs(name, [alike])
        large = alike._replace(notes={WHY: "two matrices of large integers: more steps for each"})
        yield from pairs(name, [large], Pair(DIVISORS[name], DIVISORS[name]))
    elif name in BOUND_BY_ARITHMETIC:
        yield from pairs(name, [alike, others[0]])
    elif name == "isclose":
        # Its several passes take longer than any broadcast.
        yield from pairs(name, [alike, of_one_element, ShapePair(tiny(size), tiny(size), FEW)])
    elif PAIRS.get(name) in (LOGICAL_PAIR, BITWISE_PAIR):
        # One element would decide every result of a logical operation.
        few = [] if PAIRS[name] == LOGICAL_PAIR else [of_one_element]
        yield from pairs(name, [alike, *others, *few])
        yield from pairs(name, [alike._replace(notes=CONDITIONS)], LOGICAL_PAIR, MASK)
    else:
        yield from pairs(name, [alike, *others, of_channels, of_one_element])


VARIANTS: dict[str, Variants] = {
    "allclose same_elements": lambda size: [
        {"x": fixed(*shape, fill=ONES), "y": fixed(*shape, fill=ONES), WHY: why}
        for shape, why in (
            (square(size), "two equal matrices, as a result and its reference: no early end"),
            (in_cache(size), "two equal results of a test, which stay in cache: no early end"),
        )
    ],
    "sum_of_many": lambda size: [
        {"tensors": tensors([tensor(*shape)] * LIST_LENGTH), **why}
        for shape, why in of_one(size, ("outputs of branches, added", "few of them, in cache"))
    ],
    "affine_clip": lambda size: [
        {"x": tensor(*shape), "slope": 0.2, "offset": 0.5, **why}
        for shape, why in of_one(size, ("an LSTM's gates, as Keras's", "those of few, in cache"))
    ],
    "polynomial": lambda size: [
        {"coefficients": tensor(5), "x": tensor(*shape, fill=OPEN_UNIT), **why}
        for shape, why in of_one(size, ("a fitted quartic at many places", "at few, in cache"))
    ],
    "clip": lambda size: [
        {"x": tensor(*shape), "low": 0, "high": 1, **why}
        for shape, why in of_one(size, ("intensities kept from 0 to 1", "few of them, in cache"))
    ],
}
add_rows(FAMILIES.operation, VARIANTS)
