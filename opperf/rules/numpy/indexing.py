"""Functions that pick elements by index or condition, sort them, or take them as sets."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.engine import arguments_by_role
from opperf.rules.families import indexing, sorting
from opperf.rules.families.indexing import indices, mask
from opperf.rules.numpy.names import COMPLEX, alike
from opperf.rules.numpy.operations.reductions import SEARCHED
from opperf.rules.numpy.operations.shapes import INDEXING
from opperf.rules.registering import Families
from opperf.rules.shapes import line, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, Arguments, below, fixed, tensors
from opperf.rules.variants import Variants, own

FAMILIES = Families()

MASK = "bool"


@FAMILIES.add("where")
def where(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A condition and two arrays, and a condition alone, for the indices where it holds."""
    yield from arguments_by_role(operator, INDEXING, indexing.where, size)
    alone = "a condition alone, for the indices where it holds, as the pixels of an object"
    yield {"condition": mask(square(size)), WHY: alone}


@FAMILIES.add("sort", "argsort")
def sort(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays in random order, and one for a stable algorithm."""
    yield from arguments_by_role(operator, SEARCHED, sorting.sort, size)
    stable = fixed(math.prod(sorting.fewer(size)))
    yield {
        "a": stable,
        "axis": -1,
        "kind": "stable",
        WHY: "a stable sort, as of a table by one column, then another",
    }


PICKED: dict[str, Variants] = {
    "compress": lambda size: [
        {"condition": mask(square(size)[:1]), "a": fixed(*square(size)), "axis": axis, WHY: why}
        for axis, why in (
            (0, "half of the rows, as a filter of a table keeps them: whole rows are copied"),
            (1, "half of the columns, as selected features: one element is copied at a time"),
        )
    ],
    "select": lambda size: [
        {
            "condlist": alike(square(size), BOOLEAN, MASK),
            "choicelist": alike(square(size)),
            WHY: "from three matrices, by the first condition that holds, as a tax by brackets",
        }
    ],
    "piecewise": lambda size: [
        {
            "x": fixed(*square(size)),
            "condlist": alike(square(size), BOOLEAN, MASK),
            "funclist": (1, 2, 3),
            WHY: "a step function: a constant where each of three conditions holds",
        }
    ],
    "place": lambda size: [
        {
            "arr": fixed(*square(size)),
            "mask": mask(square(size)),
            "vals": fixed(*line(size)),
            WHY: "values used up in turn, as samples that replace missing numbers",
        }
    ],
    "putmask": lambda size: [
        {
            "a": fixed(*square(size)),
            "mask": mask(square(size)),
            "values": fixed(*line(size)),
            WHY: "values by their own position, repeated, as a background behind a mask",
        }
    ],
    "copyto": lambda size: [
        {
            "dst": fixed(*square(size)),
            "src": fixed(*square(size)),
            WHY: "one matrix over another, as a target network takes the weights",
        }
    ],
    "ix_": lambda size: [
        {
            "args": tensors([indices(line(size), line(size)[0])] * 2),
            WHY: "rows and columns of a submatrix, as of one cluster's distances: views",
        }
    ],
    "diag_indices": lambda size: [
        {"n": square(size)[0], WHY: "a matrix's diagonal, as to add a ridge to it"}
    ],
    "triu_indices": lambda size: [
        {"n": square(size)[0], WHY: "an upper triangle, as each pair of points once"}
    ],
    "diag_indices_from": lambda size: [
        {"arr": fixed(*square(size)), WHY: "a distance matrix's diagonal, as to mask it"}
    ],
    "tril_indices_from": lambda size: [
        {"arr": fixed(*square(size)), WHY: "a Cholesky factor's lower triangle, as its parameters"}
    ],
    "triu_indices_from": lambda size: [
        {"arr": fixed(*square(size)), WHY: "a correlation matrix's upper triangle, as its pairs"}
    ],
    "trim_zeros": lambda size: [
        {
            "filt": fixed(*vector(size), fill=BOOLEAN),
            WHY: "a long vector with few zeros at its ends, as sound with little silence around",
        }
    ],
}


@FAMILIES.add(*PICKED)
def pick(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays with indices within their extents, or with conditions that half the elements meet."""
    return own(PICKED, operator, size)


SORTED: dict[str, Variants] = {
    **dict.fromkeys(
        ("partition", "argpartition"),
        lambda size: [
            {"a": fixed(*shape), "kth": shape[-1] // 2, "axis": -1, WHY: why}
            for shape, why in (
                (square(size), "each row about its median, as in a robust mean: introselect"),
                (vector(size), "one long vector about its median, as a k-d tree splits points"),
            )
        ],
    ),
    "lexsort": lambda size: [
        {
            "keys": tensors([fixed(math.prod(sorting.fewer(size)))] * 2),
            WHY: "a table's rows by two columns, as names by surname: a stable sort by each",
        }
    ],
    "msort": lambda size: [
        {"a": fixed(*square(size)), WHY: "each column sorted, as the quantiles of features"}
    ],
    "sort_complex": lambda size: [
        {
            "a": fixed(*vector(size), dtype=COMPLEX),
            WHY: "complex numbers by their real parts, as a matrix's eigenvalues",
        }
    ],
}


@FAMILIES.add(*SORTED)
def order(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Matrices and long vectors in random order."""
    return own(SORTED, operator, size)


@FAMILIES.category("set")
def sets(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As the shared families of sets, for functions that are no canonical operation."""
    (count,) = line(size)
    required = [parameter.name for parameter in operator.parameters if parameter.required]
    for shape, why in (
        (line(size), "as many possible numbers as elements, as the identifiers of a batch"),
        (vector(size), "each number many times, as a column of categories"),
    ):
        yield {**{name: fixed(*shape, fill=below(count)) for name in required}, WHY: why}
