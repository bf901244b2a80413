"""Arrays that are views of others: transposed, strided, and offset, beside contiguous ones.

NumPy computes on a view without a copy, and elements that are not adjacent cost it its vector
instructions and the caches' lines. The functions here stand for the kinds of loops that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from opperf.model import Operator, TensorSpec
from opperf.operations.uses import Table, merge
from opperf.rules.configurations import WHY
from opperf.rules.engine import arguments_by_role, uses_of
from opperf.rules.families import FAMILIES as SHARED
from opperf.rules.numpy.operations import elementwise, matrices, reductions
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import Shape, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import REQUESTED, Arguments
from opperf.rules.views import every_other_column, transposed

FAMILIES = Families()

WHOLE = "whole"
"""The storage of which two arguments are views."""


def contiguous(shape: Shape, storage: str = "") -> TensorSpec:
    """`a` of this shape."""
    return TensorSpec(shape, REQUESTED, storage=storage)


def block(shape: Shape) -> TensorSpec:
    """`a[1:-1, 1:-1]` of this shape, the inside of a matrix with a border."""
    rows, columns = shape
    return TensorSpec((rows, columns), REQUESTED, strides=(columns + 2, 1), offset=columns + 3)


def shifted(shape: Shape, offset: int) -> TensorSpec:
    """`a[offset : offset + n]` of a longer vector, which has that name as storage."""
    return TensorSpec(shape, REQUESTED, strides=(1,), offset=offset, storage=WHOLE)


Views = Callable[[Preset], Iterable[tuple[tuple[TensorSpec, ...], str]]]
"""The tensors of a call, and why it is measured with them."""


def of_one(size: Preset) -> Iterable[tuple[tuple[TensorSpec, ...], str]]:
    """One view."""
    shape = square(size)
    yield (
        (transposed(shape),),
        "a.T, as features by samples: a row's elements are a column's length apart",
    )
    yield (
        (every_other_column(shape),),
        "a[:, ::2], as one channel of stereo sound: every other element, without a copy",
    )


def of_a_block(size: Preset) -> Iterable[tuple[tuple[TensorSpec, ...], str]]:
    """A view of each kind, the inside of a matrix too."""
    yield from of_one(size)
    yield (
        (block(square(size)),),
        "a[1:-1, 1:-1], as a grid without its border: rows begin at odd addresses",
    )


def of_two(size: Preset) -> Iterable[tuple[tuple[TensorSpec, ...], str]]:
    """Two arrays, at least one a view."""
    rows, _ = square(size)
    side = (rows, rows)
    yield (
        (contiguous(side, WHOLE), transposed(side, WHOLE)),
        "a with a.T, as to make a matrix symmetric: one operand against the order of memory",
    )
    shape = square(size)
    thinned = every_other_column(shape)
    yield (thinned, thinned), "a[:, ::2] with b[:, ::2], as real parts stored beside imaginary ones"
    yield (
        (shifted(vector(size), 1), shifted(vector(size), 0)),
        "a[1:] with a[:-1], as finite differences: one operand at an odd address",
    )


def of_a_product(size: Preset) -> Iterable[tuple[tuple[TensorSpec, ...], str]]:
    """Two factors of a product of matrices."""
    rows, columns = square(size)
    factors = contiguous((rows, columns)), transposed((columns, rows))
    yield factors, "a @ b.T, as scores of queries and keys: BLAS reads it as it is"
    # Thousands of times slower than BLAS: a matrix of 1024 rows takes half a minute.
    small = (size.extent(128, least=8),) * 2
    factors = contiguous(small), every_other_column(small)
    yield (
        factors,
        "a @ b[:, ::2], as by half of the units: NumPy's own loop, as BLAS takes no such b",
    )


LAYOUTS: Mapping[str, Views] = {
    **dict.fromkeys(("add", "subtract", "multiply", "maximum", "greater"), of_two),
    **dict.fromkeys(("negative", "exp"), of_one),
    **dict.fromkeys(("sum", "max", "argmax", "mean"), of_a_block),
    "cumsum": of_one,
    "matmul": of_a_product,
}
"""Views for one function of each kind of loop: of two arrays with vector instructions, of one,
reductions, along an axis, and BLAS. All are defined for every number, as both operands of some are
of the same elements."""

USES: Table = merge(
    elementwise.UNARY,
    elementwise.BINARY,
    reductions.REDUCED,
    matrices.PRODUCTS,
)


@FAMILIES.add(*LAYOUTS)
def with_views(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As the shared family of the operation, and with views."""
    for use, _ in uses_of(operator, USES):
        yield from arguments_by_role(operator, USES, SHARED.by_operation[use.operation], size)
    names = [parameter.name for parameter in operator.tensors]
    axis: Arguments = {"axis": -1} if operator.parameter("axis") else {}
    for tensors, why in entry_of(LAYOUTS, operator)(size):
        yield {**dict(zip(names, tensors, strict=False)), **axis, WHY: why}
