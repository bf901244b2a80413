"""Functions that pick elements by index or condition, sort them, or take them as sets."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.domains import WHOLE_DTYPE
from opperf.rules.families import sorting
from opperf.rules.families.indexing import indices, mask
from opperf.rules.numpy.names import alike
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import line, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, COMPLEX, Arguments, below, call, fixed, odds, tensors
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

NOT_BENCHMARKED = dict.fromkeys(
    ("apply_along_axis", "apply_over_axes", "fromfunction", "mask_indices"),
    "calls a Python function for each part of an array, whose time would be measured",
)

MASK = "bool"


@FAMILIES.add("where")
def where(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A condition alone, for the indices where it holds."""
    alone = "a condition alone, for the indices where it holds, as the pixels of an object"
    yield {"condition": mask(square(size)), WHY: alone}


@FAMILIES.add("sort", "argsort")
def sort(operator: Operator, size: Preset) -> Rows:
    """An array for a stable algorithm."""
    stable = fixed(math.prod(sorting.fewer(size)))
    return {"a stable algorithm, which merges sorted runs": call(a=stable, axis=-1, kind="stable")}


@FAMILIES.category("set")
def sets(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As the shared families of sets, for functions that are no canonical operation."""
    (count,) = line(size)
    required = [parameter.name for parameter in operator.parameters if parameter.required]
    for shape, why in (
        (line(size), "as many possible numbers as elements, as the identifiers of a batch"),
        (vector(size), "each number many times, as a column of categories"),
    ):
        whole = fixed(*shape, fill=below(count), dtype=WHOLE_DTYPE)
        yield {**dict.fromkeys(required, whole), WHY: why}


ROWS: dict[str, Variants] = {
    "select": lambda size: {
        "from three matrices, by the first condition that holds, as a tax by brackets": call(
            condlist=alike(square(size), BOOLEAN, MASK), choicelist=alike(square(size))
        )
    },
    "piecewise": lambda size: {
        "a step function: a constant where each of three conditions holds": call(
            x=fixed(*square(size)), condlist=alike(square(size), BOOLEAN, MASK), funclist=(1, 2, 3)
        )
    },
    "place": lambda size: {
        "values used up in turn, as samples that replace missing numbers": call(
            arr=fixed(*square(size)), mask=mask(square(size)), vals=fixed(*line(size))
        )
    },
    "putmask": lambda size: {
        "values by their own position, repeated, as a background behind a mask": call(
            a=fixed(*square(size)), mask=mask(square(size)), values=fixed(*line(size))
        )
    },
    "copyto": lambda size: {
        "weights to a target network": call(dst=fixed(*square(size)), src=fixed(*square(size)))
    },
    "ix_": lambda size: {
        "a cluster's distances: views": call(args=tensors([indices(line(size), line(size)[0])] * 2))
    },
    "diag_indices": lambda size: {"a matrix's diagonal, to add a ridge": call(n=square(size)[0])},
    "triu_indices": lambda size: {"an upper triangle, as pairs of points": call(n=square(size)[0])},
    "diag_indices_from": lambda size: {"a diagonal, to mask it": call(arr=fixed(*square(size)))},
    "tril_indices_from": lambda size: {"Cholesky's lower triangle": call(arr=fixed(*square(size)))},
    "triu_indices_from": lambda size: {"an upper triangle's pairs": call(arr=fixed(*square(size)))},
    "trim_zeros": lambda size: {
        "a neuron's spikes, rest around them": call(filt=fixed(*vector(size), fill=odds(199, 1)))
    },
    "partition argpartition": lambda size: [
        {"a": fixed(*shape), "kth": shape[-1] // 2, "axis": -1, WHY: why}
        for shape, why in (
            (square(size), "each row about its median, for a robust mean: introselect"),
            (vector(size), "one long vector about its median, as a k-d tree splits points"),
        )
    ],
    "lexsort": lambda size: {
        "rows by two columns": call(keys=tensors([fixed(math.prod(sorting.fewer(size)))] * 2)),
        "days and months, integers of which many are equal, as a log is sorted": call(
            keys=tensors([fixed(*line(size), fill=below(n), dtype="int64") for n in (31, 12)])
        ),
    },
    "msort": lambda size: {"each column, as quantiles of features": call(a=fixed(*square(size)))},
    "sort_complex": lambda size: {
        "eigenvalues, by their real parts": call(a=fixed(*vector(size), dtype=COMPLEX))
    },
    "compress": lambda size: [
        {"condition": mask(square(size)[:1]), "a": fixed(*square(size)), "axis": axis, WHY: why}
        for axis, why in (
            (0, "half of the rows, as a filter of a table keeps them: whole rows are copied"),
            (1, "half of the columns, as selected features: one element is copied at a time"),
        )
    ],
}
add_rows(FAMILIES.add, ROWS)
