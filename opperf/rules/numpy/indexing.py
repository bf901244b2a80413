"""Functions that pick elements by index or condition, sort them, or take them as sets."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.engine import Families, arguments_by_role
from opperf.rules.families import indexing, sorting
from opperf.rules.families.indexing import indices, mask
from opperf.rules.numpy.names import Variants, alike, own
from opperf.rules.numpy.operations.reductions import SEARCHED
from opperf.rules.numpy.operations.shapes import INDEXING
from opperf.rules.shapes import line, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, Arguments, below, fixed, tensors

FAMILIES = Families()

MASK = "bool"


@FAMILIES.add("where")
def where(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A condition and two arrays, and a condition alone, for the indices where it holds."""
    yield from arguments_by_role(operator, INDEXING, indexing.where, size)
    yield {"condition": mask(square(size))}


@FAMILIES.add("sort", "argsort")
def sort(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays in random order, and one for a stable algorithm."""
    yield from arguments_by_role(operator, SEARCHED, sorting.sort, size)
    stable = fixed(math.prod(sorting.fewer(size)))
    yield {"a": stable, "axis": -1, "kind": "stable", WHY: "A sort that keeps the order of equals"}


PICKED: dict[str, Variants] = {
    "compress": lambda size: [
        {"condition": mask(square(size)[:1]), "a": fixed(*square(size)), "axis": axis}
        for axis in (0, 1)
    ],
    "select": lambda size: [
        {"condlist": alike(square(size), BOOLEAN, MASK), "choicelist": alike(square(size))}
    ],
    "piecewise": lambda size: [
        {
            "x": fixed(*square(size)),
            "condlist": alike(square(size), BOOLEAN, MASK),
            "funclist": (1, 2, 3),
        }
    ],
    "place": lambda size: [
        {"arr": fixed(*square(size)), "mask": mask(square(size)), "vals": fixed(*line(size))}
    ],
    "putmask": lambda size: [
        {"a": fixed(*square(size)), "mask": mask(square(size)), "values": fixed(*line(size))}
    ],
    "copyto": lambda size: [{"dst": fixed(*square(size)), "src": fixed(*square(size))}],
    "ix_": lambda size: [
        {"args": tensors([indices(line(size), line(size)[0]), indices(line(size), line(size)[0])])}
    ],
    **dict.fromkeys(("diag_indices", "triu_indices"), lambda size: [{"n": square(size)[0]}]),
    **dict.fromkeys(
        ("diag_indices_from", "tril_indices_from", "triu_indices_from"),
        lambda size: [{"arr": fixed(*square(size))}],
    ),
    "trim_zeros": lambda size: [{"filt": fixed(*vector(size), fill=BOOLEAN)}],
}


@FAMILIES.add(*PICKED)
def pick(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays with indices within their extents, or with conditions that half the elements meet."""
    return own(PICKED, operator, size)


SORTED: dict[str, Variants] = {
    **dict.fromkeys(
        ("partition", "argpartition"),
        lambda size: [
            {"a": fixed(*shape), "kth": shape[-1] // 2, "axis": -1}
            for shape in (square(size), vector(size))
        ],
    ),
    "lexsort": lambda size: [{"keys": tensors([fixed(math.prod(sorting.fewer(size)))] * 2)}],
    "msort": lambda size: [{"a": fixed(*square(size))}],
    "sort_complex": lambda size: [{"a": fixed(*vector(size))}],
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
    yield {name: fixed(count, fill=below(count)) for name in required}
    yield {name: fixed(*vector(size), fill=below(count)) for name in required}
