"""Functions that reduce an array along axes, or accumulate along one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Argument, Operator
from opperf.rules.configurations import WHY
from opperf.rules.domains import reduction_fill
from opperf.rules.families.reductions import (
    along_axis,
    along_one,
    reduced_axes,
    reduced_shapes,
    whys_of,
)
from opperf.rules.registering import Families
from opperf.rules.shapes import line, square
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, between, fixed, literal
from opperf.rules.variants import Variants, own

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


QUARTILES = (
    "the quartiles of each column, as features are scaled robustly: a row's length apart",
    "the quartiles of each row, as box plots of groups show: adjacent in memory",
    "the quartiles of the whole matrix, as of a layer's weights",
    "the quartiles of long columns, as a table is described",
    "the quartiles of each of BERT-base's tokens, as to look for outliers",
    "the quartiles of each feature over a sentence's tokens, the middle axis",
    "the quartiles of each channel of feature maps, as to quantise it",
)

"""Why quartiles are computed, in the order of `reduced_shapes`."""

OF_ONE_AXIS = frozenset({"nanargmax", "nanargmin", "nancumprod", "nancumsum"})
"""Functions that do not take several axes."""


@FAMILIES.category("reduction")
@FAMILIES.add("nanargmax", "nanargmin", "nancumprod", "nancumsum", *QUANTILES)
def reduction(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As the shared reductions, for functions that are no canonical operation."""
    also = QUANTILES.get(operator.name, {})
    array = operator.tensors[0].name
    reduced = (
        along_one(size, whys_of(operator.name))
        if operator.name in OF_ONE_AXIS
        else reduced_shapes(size)
    )
    whys = QUARTILES if operator.name in QUANTILES else [one.why for one in reduced]
    for (shape, axis, _), why in zip(reduced, whys, strict=True):
        fill = reduction_fill(operator.name, shape, reduced_axes(axis))
        yield {array: fixed(*shape, fill=fill), **also, **along_axis(axis), WHY: why}


PHASES = between(-math.pi, math.pi)

VARIANTS: dict[str, Variants] = {
    **dict.fromkeys(
        ("trapezoid", "trapz"),
        lambda size: [
            {"y": fixed(*square(size)), WHY: "each row, as the area under each sample's curve"}
        ],
    ),
    "gradient": lambda size: [
        {"f": fixed(*square(size)), WHY: "along both axes, as the edges of a picture"},
        {"f": fixed(*line(size)), WHY: "of one series, as speeds from positions"},
    ],
    "unwrap": lambda size: [
        {
            "p": fixed(*square(size), fill=PHASES),
            WHY: "phases all over the circle, which wrap, as a phase vocoder's",
        }
    ],
}


@FAMILIES.add(*VARIANTS)
def along(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays for sums and differences along an axis."""
    return own(VARIANTS, operator, size)
