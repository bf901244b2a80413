"""Arrays that are views of others: transposed, strided, and offset, beside contiguous ones.

NumPy computes on a view without a copy, and elements that are not adjacent cost it its vector
instructions and the caches' lines. The functions here stand for the kinds of loops that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from opperf.model import Operator, TensorSpec
from opperf.rules.configurations import ROWS, WHY
from opperf.rules.deriving import in_layout
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import Shape, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import REQUESTED, Arguments, every_other_column, transposed

FAMILIES = Families()

WHOLE = "whole"
"""The storage of which two arguments are views."""


def contiguous(shape: Shape, storage: str = "") -> TensorSpec:
    """`a` of this shape."""
    return TensorSpec(shape, REQUESTED, storage=storage)


def shifted(shape: Shape, offset: int) -> TensorSpec:
    """`a[offset : offset + n]` of a longer vector, which has that name as storage."""
    return TensorSpec(shape, REQUESTED, strides=(1,), offset=offset, storage=WHOLE)


Views = Callable[[Preset], Iterable[tuple[tuple[TensorSpec, ...], str]]]
"""The tensors of a call, and why it is measured with them."""


def of_two(size: Preset) -> Iterable[tuple[tuple[TensorSpec, ...], str]]:
    """Two arrays, at least one a view."""
    rows, _ = square(size)
    side = contiguous((rows, rows), WHOLE)
    yield (side, transposed(side)), "a with a.T: one operand against the order of memory"
    ends = shifted(vector(size), 1), shifted(vector(size), 0)
    yield ends, "a[1:] with a[:-1]: one operand at an odd address"


def of_a_product(size: Preset) -> Iterable[tuple[tuple[TensorSpec, ...], str]]:
    """Two factors of a product of matrices."""
    rows, columns = square(size)
    factors = contiguous((rows, columns)), transposed(contiguous((columns, rows)))
    yield factors, "a @ b.T, as scores of queries and keys: BLAS reads it as it is"
    # Thousands of times slower than BLAS: a matrix of 1024 rows takes half a minute.
    small = (size.extent(128, least=8),) * 2
    factors = contiguous(small), every_other_column(contiguous(small))
    yield factors, "a @ b[:, ::2], half of the units: NumPy's own loop, as BLAS takes no such b"


LAYOUTS: Mapping[str, Views] = {
    **dict.fromkeys(("add", "subtract", "multiply", "maximum", "greater"), of_two),
    "matmul": of_a_product,
}
"""Views for functions of two arrays with vector instructions, and for BLAS. They are defined for
every number, as both operands of some are of the same elements."""


@FAMILIES.also(*LAYOUTS)
def with_views(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two arrays that are views."""
    names = [parameter.name for parameter in operator.tensors]
    for tensors, why in entry_of(LAYOUTS, operator)(size):
        yield {**dict(zip(names, tensors, strict=False)), WHY: why}


def block(spec: TensorSpec) -> TensorSpec:
    """The matrix as `a[1:-1, 1:-1]`, the inside of one with a border."""
    columns = spec.shape[-1]
    return msgspec.structs.replace(spec, strides=(columns + 2, 1), offset=columns + 3)


TURNED = in_layout("of a.T", transposed)
SPREAD = in_layout("of a[:, ::2]", every_other_column)
INSIDE = in_layout("of a[1:-1, 1:-1]", block)
FAMILIES.derive(SPREAD, "negative exp add subtract multiply maximum greater")
# NumPy's sums and extremes of a.T are those along the other axis.
FAMILIES.derive(TURNED, "negative exp")
FAMILIES.derive(TURNED, "argmax cumsum", ROWS)
FAMILIES.derive(SPREAD, "sum max argmax mean cumsum", ROWS)
FAMILIES.derive(INSIDE, "sum max argmax mean", ROWS)
