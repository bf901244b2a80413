"""Functions that pick elements by index or condition, sort them, or take them as sets."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator, TensorSpec
from opperf.rules.engine import Families
from opperf.rules.numpy.names import Variants, alike, own
from opperf.rules.shapes import LIST_LENGTH, Shape, line, shapes, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, SEQUENCE, Arguments, below, fixed, tensors

FAMILIES = Families()

INDEX = "int64"
"""The dtype that NumPy indexes with: another would be cast first."""
MASK = "bool"


def mask(shape: Shape) -> TensorSpec:
    """A condition that half the elements meet."""
    return fixed(*shape, fill=BOOLEAN, dtype=MASK)


def indices(shape: Shape, limit: int) -> TensorSpec:
    """Indices below a limit."""
    return fixed(*shape, fill=below(limit), dtype=INDEX)


def chosen(size: Preset) -> Iterable[Arguments]:
    """From one array or the other, and the indices of where a condition is met."""
    for shape in shapes(size):
        yield {"condition": mask(shape), "x": fixed(*shape), "y": fixed(*shape)}
    yield {"condition": mask(square(size))}


PICKED: dict[str, Variants] = {
    **dict.fromkeys(
        ("argwhere", "flatnonzero", "nonzero"),
        lambda size: [{"a": fixed(*shape, fill=BOOLEAN)} for shape in shapes(size)],
    ),
    "where": chosen,
    "extract": lambda size: [{"condition": mask(square(size)), "arr": fixed(*square(size))}],
    "compress": lambda size: [
        {"condition": mask(square(size)[:1]), "a": fixed(*square(size)), "axis": axis}
        for axis in (0, 1)
    ],
    "choose": lambda size: [
        {"a": indices(square(size), LIST_LENGTH), "choices": alike(square(size))}
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
    "take": lambda size: [
        {"a": fixed(*tall(size)), "indices": indices(line(size), tall(size)[0]), "axis": 0},
        {"a": fixed(*vector(size)), "indices": indices(line(size), vector(size)[0])},
    ],
    "take_along_axis": lambda size: [
        {"arr": fixed(*square(size)), "indices": indices(square(size), square(size)[0]), "axis": 1}
    ],
    "put_along_axis": lambda size: [
        {
            "arr": fixed(*square(size)),
            "indices": indices(square(size), square(size)[0]),
            "values": fixed(*square(size)),
            "axis": 1,
        }
    ],
    "put": lambda size: [
        {
            "a": fixed(*vector(size)),
            "ind": indices(line(size), vector(size)[0]),
            "v": fixed(*line(size)),
        }
    ],
    "place": lambda size: [
        {"arr": fixed(*square(size)), "mask": mask(square(size)), "vals": fixed(*line(size))}
    ],
    "putmask": lambda size: [
        {"a": fixed(*square(size)), "mask": mask(square(size)), "values": fixed(*line(size))}
    ],
    "copyto": lambda size: [{"dst": fixed(*square(size)), "src": fixed(*square(size))}],
    "delete": lambda size: [
        {"arr": fixed(*tall(size)), "obj": indices(line(size), tall(size)[0]), "axis": 0}
    ],
    "fill_diagonal": lambda size: [{"a": fixed(*square(size)), "val": 1}],
    "ix_": lambda size: [
        {"args": tensors([indices(line(size), line(size)[0]), indices(line(size), line(size)[0])])}
    ],
    **dict.fromkeys(
        ("diag_indices", "tril_indices", "triu_indices"), lambda size: [{"n": square(size)[0]}]
    ),
    **dict.fromkeys(
        ("diag_indices_from", "tril_indices_from", "triu_indices_from"),
        lambda size: [{"arr": fixed(*square(size))}],
    ),
    "ravel_multi_index": lambda size: [
        {
            "multi_index": tensors([indices(vector(size), extent) for extent in square(size)]),
            "dims": square(size),
        }
    ],
    "unravel_index": lambda size: [
        {"indices": indices(vector(size), vector(size)[0]), "shape": square(size)}
    ],
    "trim_zeros": lambda size: [{"filt": fixed(*vector(size), fill=BOOLEAN)}],
}


@FAMILIES.add(*PICKED)
def picked(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Indices within the extents, and conditions that half the elements meet."""
    return own(PICKED, operator, size)


SORTED: dict[str, Variants] = {
    **dict.fromkeys(
        ("sort", "argsort"),
        lambda size: [
            {"a": fixed(*square(size)), "axis": 0},
            {"a": fixed(*square(size)), "axis": 1},
            {"a": fixed(*vector(size)), "axis": -1},
            {"a": fixed(*vector(size)), "axis": -1, "kind": "stable"},
        ],
    ),
    **dict.fromkeys(
        ("partition", "argpartition"),
        lambda size: [
            {"a": fixed(*shape), "kth": shape[-1] // 2, "axis": -1}
            for shape in (square(size), vector(size))
        ],
    ),
    "lexsort": lambda size: [{"keys": tensors([fixed(*vector(size)), fixed(*vector(size))])}],
    "msort": lambda size: [{"a": fixed(*square(size))}],
    "sort_complex": lambda size: [{"a": fixed(*vector(size))}],
    # The first array rises, as it must to be searched.
    "searchsorted": lambda size: [
        {
            "a": fixed(*line(size), fill=SEQUENCE),
            "v": fixed(*vector(size), fill=below(line(size)[0])),
            "side": side,
        }
        for side in ("left", "right")
    ],
}


@FAMILIES.add(*SORTED)
def ordered(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Rows, columns and a long vector, in random order."""
    return own(SORTED, operator, size)


@FAMILIES.category("set")
def sets(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Whole numbers of which most occur, and many more than once."""
    (count,) = line(size)
    required = [parameter.name for parameter in operator.parameters if parameter.required]
    yield {name: fixed(count, fill=below(count)) for name in required}
    yield {name: fixed(*vector(size), fill=below(count)) for name in required}
