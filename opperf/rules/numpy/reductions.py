"""Functions that reduce an array along axes, or accumulate along one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Argument, Operator
from opperf.rules.configurations import WHY
from opperf.rules.domains import reduction_fill
from opperf.rules.engine import Families
from opperf.rules.families.reductions import along_axis, along_one, reduced_axes, reduced_shapes
from opperf.rules.numpy.names import Variants, own
from opperf.rules.shapes import line, square
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, between, fixed, literal

FAMILIES = Families()

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
"""The quartiles, as shares or percentages."""


OF_ONE_AXIS = frozenset({"nanargmax", "nanargmin", "nancumprod", "nancumsum"})
"""Functions that do not take several axes."""


@FAMILIES.category("reduction")
@FAMILIES.add("nanargmax", "nanargmin", "nancumprod", "nancumsum", *QUANTILES)
def reduction(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As the shared reductions, for functions that are no canonical operation."""
    also = QUANTILES.get(operator.name, {})
    array = operator.tensors[0].name
    reduced = along_one(size) if operator.name in OF_ONE_AXIS else reduced_shapes(size)
    for shape, axis, why in reduced:
        fill = reduction_fill(operator.name, shape, reduced_axes(axis))
        yield {array: fixed(*shape, fill=fill), **also, **along_axis(axis), WHY: why}


PHASES = between(-math.pi, math.pi)

VARIANTS: dict[str, Variants] = {
    **dict.fromkeys(("trapezoid", "trapz"), lambda size: [{"y": fixed(*square(size))}]),
    "gradient": lambda size: [{"f": fixed(*square(size))}, {"f": fixed(*line(size))}],
    "unwrap": lambda size: [
        {"p": fixed(*square(size), fill=PHASES), WHY: "Phases all over the circle, which wrap"}
    ],
}


@FAMILIES.add(*VARIANTS)
def along(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays for sums and differences along an axis."""
    return own(VARIANTS, operator, size)
