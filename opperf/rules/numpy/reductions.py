"""Functions that reduce an array along axes, or run along one."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Operator
from opperf.rules.domains import reduced
from opperf.rules.engine import Families
from opperf.rules.numpy.names import Variants, own
from opperf.rules.shapes import cube, line, shapes, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    ONES,
    POSITIVE,
    Arguments,
    fixed,
    literal,
)

FAMILIES = Families()

AXES = (0, 1, None)
"""The first axis, the second, and all of them."""


def along_axis(axis: int | None) -> dict[str, Argument]:
    """The axis argument, which is left out for all of them."""
    return {} if axis is None else {"axis": axis}


QUARTERS = (0.25, 0.5, 0.75)

QUANTILES: dict[str, dict[str, Argument]] = {
    **dict.fromkeys(
        ("quantile", "nanquantile"), {"q": fixed(3, fill=literal(QUARTERS), dtype="float64")}
    ),
    **dict.fromkeys(
        ("percentile", "nanpercentile"),
        {"q": fixed(3, fill=literal([100 * q for q in QUARTERS]), dtype="float64")},
    ),
}
"""The quartiles, in the unit each function has for them."""


@FAMILIES.category("reduction")
@FAMILIES.add("cumprod", "cumsum", "nancumprod", "nancumsum")
def reduction(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Along the first axis, the second and both of one matrix, which shows what the order of
    memory costs, and of the other shapes."""
    also = QUANTILES.get(operator.name, {})
    array = operator.tensors[0].name
    first, *others = shapes(size)
    for shape, axis in (*((first, axis) for axis in AXES), *((shape, 0) for shape in others)):
        fill = reduced(operator.name, shape, () if axis is None else (axis,))
        yield {array: fixed(*shape, fill=fill), **also, **along_axis(axis)}


CUMULATIVE = {"cumulative_prod": "cumprod", "cumulative_sum": "cumsum"}
"""What NumPy 2 has under a standard's names, and the function of the same values. They flatten
nothing: an array of several axes needs one named."""


@FAMILIES.add(*CUMULATIVE)
def cumulative(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Along each axis of a matrix, and along the first one of other shapes."""
    first, *others = shapes(size)
    for shape, axis in ((first, 0), (first, 1), *((shape, 0) for shape in others)):
        fill = reduced(CUMULATIVE[operator.name], shape, (axis,))
        yield {"x": fixed(*shape, fill=fill), "axis": axis}


@FAMILIES.add("average")
def average(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """With a weight for each element, and with none."""
    for axis in AXES:
        yield {
            "a": fixed(*square(size)),
            **along_axis(axis),
            "weights": fixed(*square(size), fill=POSITIVE),
        }
    yield {"a": fixed(*square(size))}


@FAMILIES.add("allclose", "array_equal", "array_equiv")
def comparison(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two arrays that are equal, as only then all elements are looked at."""
    left, right = (parameter.name for parameter in operator.tensors[:2])
    for shape in shapes(size):
        yield {left: fixed(*shape, fill=ONES), right: fixed(*shape, fill=ONES)}


VARIANTS: dict[str, Variants] = {
    "trace": lambda size: [{"a": fixed(*square(size))}, {"a": fixed(*cube(size))}],
    **dict.fromkeys(("trapezoid", "trapz"), lambda size: [{"y": fixed(*square(size))}]),
    "diff": lambda size: [{"a": fixed(*square(size)), "n": 1, "axis": axis} for axis in (0, 1)],
    "ediff1d": lambda size: [{"ary": fixed(*vector(size))}],
    "gradient": lambda size: [{"f": fixed(*square(size))}, {"f": fixed(*line(size))}],
    "unwrap": lambda size: [{"p": fixed(*square(size))}],
}


@FAMILIES.add(*VARIANTS)
def along(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Sums and differences along an axis or a diagonal."""
    return own(VARIANTS, operator, size)
