"""Reading and writing by index, by slice and by mask. Indices have an integer dtype, as float16 is
exact up to 2048 only."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.engine import OUTPUT
from opperf.rules.families.indexing import masked
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.mxnet.slicing import middle
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import Shape, column, cube, square, tall, vector, wide
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, Arguments, below, call, fixed, same, tensor
from opperf.rules.variants import Row, Variants, add_rows

FAMILIES = Families()

INDEX = "int32"
FLAT_INDEX = "int64"
"""Dtype of positions among all elements, which may exceed 32 bits."""
PERMUTATION = Fill("permutation")
"""Fill of indices that are written at: no index repeats, as threads would race for the place."""


def indices(*shape: int, limit: int, dtype: str = INDEX) -> TensorSpec:
    """Indices below a limit."""
    return fixed(*shape, fill=below(limit), dtype=dtype)


CLASSES = (
    "many classes, as ImageNet's",
    "a few classes, as those of digits",
    "a hundred classes, as CIFAR-100's",
)
"""Data whose columns the shapes `wide` may have, at the default size."""


def of_classes(size: Preset) -> Iterable[tuple[Shape, str]]:
    """Shapes of samples by class, each with what the classes may be."""
    return zip(wide(size), CLASSES, strict=True)


SHUFFLED_ROWS = "whole rows at random places, as samples that are shuffled"


@FAMILIES.add("take")
def take(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Indices of rows, of columns, and of rows of a table, for an embedding."""
    rows, columns = square(size)
    matrix, chosen = tensor(rows, columns), indices(columns, limit=columns)
    yield {"a": matrix, "indices": indices(rows, limit=rows), "axis": 0, WHY: SHUFFLED_ROWS}
    features = "columns at random places, as features that were selected: element by element"
    yield {"a": matrix, "indices": chosen, "axis": 1, WHY: features}
    words, width = tall(size)
    sentences = indices(size.extent(256), 32, limit=words)
    why = "the vectors of sentences' words, from a table of embeddings"
    yield {"a": tensor(words, width), "indices": sentences, WHY: why}


@FAMILIES.add("pick")
def pick(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the index of one element of each row, or of each column."""
    for (rows, columns), classes in of_classes(size):
        yield {
            "data": tensor(rows, columns),
            "index": indices(rows, limit=columns),
            "axis": -1,
            WHY: f"the right class's probability for a cross-entropy, of {classes}",
        }
    rows, columns = square(size)
    why = "one element of each column, as where classes are the first axis"
    yield {
        "data": tensor(rows, columns),
        "index": indices(columns, limit=rows),
        "axis": 0,
        WHY: why,
    }


@FAMILIES.add("gather_nd")
def gather_nd(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the indices of single elements, and of whole rows."""
    rows, columns = square(size)
    count, _ = column(size)
    extent = min(rows, columns)
    single = "single elements at random places, as the ratings of users for items"
    matrix = tensor(rows, columns)
    yield {"data": matrix, "indices": indices(2, count, limit=extent), WHY: single}
    yield {"data": matrix, "indices": indices(1, rows, limit=rows), WHY: SHUFFLED_ROWS}


def scatter_targets(shape: Shape) -> Iterable[tuple[Shape, TensorSpec, str]]:
    """Shape of the values, their indices in a matrix, and why: for single elements, one in each row
    and column as far as there are both, and for all rows."""
    rows, columns = shape
    both = min(rows, columns)
    single = "an element in each row and column, as pairs in an assignment of tasks"
    yield (both,), fixed(2, both, fill=PERMUTATION, dtype=INDEX), single
    whole = "whole rows put in another order, as samples that were sorted by length"
    yield shape, fixed(1, rows, fill=PERMUTATION, dtype=INDEX), whole


@FAMILIES.add("where", replaces="it does not broadcast")
def where(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors, and a condition for each element or for each row."""
    rows, columns = square(size)
    by_row = "whole rows by a condition each, as states of sentences that have ended or not"
    for shape, mask, why in (
        *((shape, shape, why) for shape, why in masked(size)),
        ((rows, columns), (rows,), by_row),
    ):
        condition = fixed(*mask, fill=BOOLEAN)
        yield {"condition": condition, "x": tensor(*shape), "y": tensor(*shape), WHY: why}


@FAMILIES.add("_npi_where_lscalar", "_npi_where_rscalar")
def where_numpy(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A condition for each element, a tensor and a number."""
    for shape, why in masked(size):
        chosen: Arguments = {
            parameter.name: tensor(*shape)
            for parameter in operator.tensors
            if parameter.name != "condition"
        }
        number: Arguments = {"scalar": FACTOR} if operator.parameter("scalar") else {}
        yield {"condition": fixed(*shape, fill=BOOLEAN), **chosen, **number, WHY: why}


@FAMILIES.add("fill_element_0index")
def fill_element(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the index and the new value of one element of each row. All have one dtype."""
    for (rows, columns), classes in of_classes(size):
        yield {
            "lhs": fixed(rows, columns),
            "mhs": fixed(rows),
            "rhs": fixed(rows, fill=below(columns)),
            WHY: f"a new score for the right class of each sample, of {classes}",
        }


@FAMILIES.add("_contrib_boolean_mask", replaces="its mask is of whole rows, and takes no gradient")
def boolean_mask(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and a mask of half of its rows."""
    for (rows, columns), why in (
        (square(size), "half of the rows, long ones, as the tokens that are no padding"),
        (tall(size), "half of the rows, short ones, as the samples that a filter keeps"),
    ):
        yield {"data": tensor(rows, columns), "index": fixed(rows, fill=BOOLEAN), WHY: why}


@FAMILIES.add("_contrib_index_array")
def index_array(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors, whose elements' indices are computed, along all axes and along one."""
    for shape, axes, why in (
        (square(size), {}, "each element's row and column, as coordinates beside features"),
        (tall(size), {}, "rows and columns of a table's elements, as a sparse format stores them"),
        (square(size), {"axes": (1,)}, "each element's column alone, as positions of tokens"),
    ):
        yield {"data": fixed(*shape), **axes, WHY: why}


@FAMILIES.add("ravel_multi_index", replaces="its indices are the rows of one tensor")
def ravel(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Indices, which become positions among all elements."""
    rows, columns = square(size)
    yield {
        "data": indices(2, *vector(size), limit=min(rows, columns), dtype=FLAT_INDEX),
        "shape": (rows, columns),
        WHY: "rows and columns to positions in memory, as coordinates of a sparse matrix",
    }


@FAMILIES.add("_npi_delete")
def delete(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, from which a row is deleted, and the middle half of the columns."""
    rows, columns = square(size)
    matrix = fixed(rows, columns)
    sample = "one row deleted from the middle, as an outlier: two large copies"
    yield {"arr": matrix, "int_ind": rows // 2, "axis": 0, WHY: sample}
    (begin, _), (end, _) = middle((columns, 1))
    features = "the middle half of the columns deleted, as features of no use: two copies a row"
    yield {"arr": matrix, "start": begin, "stop": end, "step": 1, "axis": 1, WHY: features}


def row_to_insert(size: Preset) -> Arguments:
    """A matrix, and a row to insert into it."""
    rows, columns = square(size)
    return {"arr": fixed(rows, columns), "values": fixed(columns)}


@FAMILIES.add("_npi_insert_scalar")
def insert_scalar(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and a row to insert before the middle one."""
    why = "a row before the middle one, as a sample into a sorted table"
    yield {**row_to_insert(size), "int_ind": square(size)[0] // 2, "axis": 0, WHY: why}


@FAMILIES.add("_npi_insert_slice")
def insert_slice(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and a row to insert before each of the middle half."""
    (begin, _), (end, _) = middle((square(size)[0], 1))
    why = "a row before each of many that follow each other, as a separator"
    yield {**row_to_insert(size), "start": begin, "stop": end, "step": 1, "axis": 0, WHY: why}


@FAMILIES.add("_npi_insert_tensor")
def insert_tensor(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and a row to insert before each row of a tensor of indices."""
    before = indices(size.extent(100), limit=square(size)[0], dtype=FLAT_INDEX)
    why = "a row before each of some at random, as a series' missing time steps"
    yield {**row_to_insert(size), "obj": before, "axis": 0, WHY: why}


VALUES: Arguments = {
    "_npi_boolean_mask_assign_scalar": 0.5,
    "_npi_boolean_mask_assign_tensor": fixed(1),
}
"""By operator, a number or a tensor of one element to write."""


@FAMILIES.add(*VALUES)
def mask_assign(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A value, written to half of the elements."""
    for shape, why in masked(size):
        written = fixed(*shape)
        yield {
            "data": written,
            "mask": fixed(*shape, fill=BOOLEAN, dtype="bool"),
            "value": entry_of(VALUES, operator),
            "start_axis": 0,
            OUTPUT: same(written, "data"),
            WHY: why,
        }


ROWS: dict[str, Row] = {
    "_npi_advanced_indexing_multiple": lambda size: {
        "data": tensor(*square(size)),
        "indices": indices(2, square(size)[0], limit=min(*square(size)), dtype=FLAT_INDEX),
        WHY: "single elements at random places, as the ratings of users for items",
    },
    "_npx_index_add": lambda size: {
        "a": tensor(*cube(size)),
        "ind": indices(2, size.extent(1000), limit=min(cube(size)[0], cube(size)[1])),
        "val": tensor(size.extent(1000), cube(size)[2]),
        WHY: "vectors added at places that may repeat, as messages to a graph's vertices",
    },
    "_npx_index_update": lambda size: {
        "a": tensor(*tall(size)),
        "ind": fixed(1, tall(size)[0] // 2, fill=PERMUTATION, dtype=INDEX),
        "val": tensor(tall(size)[0] // 2, tall(size)[1]),
        WHY: "half of the rows overwritten, as the older half of a replay buffer",
    },
}
add_rows(FAMILIES.add, ROWS)


VARIANTS: dict[str, Variants] = {
    "batch_take": lambda size: {
        f"the right class's score of each sample, of {classes}": call(
            a=tensor(rows, columns), indices=indices(rows, limit=columns)
        )
        for (rows, columns), classes in of_classes(size)
    },
    "scatter_nd": lambda size: [
        {"data": tensor(*values), "indices": targets, "shape": square(size), WHY: why}
        for values, targets, why in scatter_targets(square(size))
    ],
    "_npi_where_scalar2": lambda size: [
        {"condition": fixed(*shape, fill=BOOLEAN), "x": 1.0, "y": FACTOR, WHY: why}
        for shape, why in (
            (square(size), "a mask in long rows to two numbers, as weights of elements in a loss"),
            (tall(size), "a mask in many short rows to two numbers, as labels of several classes"),
        )
    ],
    # Both have one dtype.
    "_onehot_encode": lambda size: {
        f"labels of {classes}": call(lhs=fixed(rows, fill=below(columns)), rhs=fixed(rows, columns))
        for (rows, columns), classes in of_classes(size)
    },
    "_contrib_index_copy": lambda size: {
        why: call(
            old_tensor=tensor(rows, columns),
            index_vector=fixed(max(1, rows // 2), fill=PERMUTATION, dtype=INDEX),
            new_tensor=tensor(max(1, rows // 2), columns),
        )
        for (rows, columns), why in (
            (square(size), "long rows overwritten, as the memory of a graph's updated vertices"),
            (tall(size), "short rows overwritten, as the older half of a replay buffer"),
        )
    },
    "_npi_advanced_indexing": lambda size: [
        {"data": tensor(rows, columns), "indices": indices(rows, limit=rows), WHY: why}
        for (rows, columns), why in (
            (square(size), SHUFFLED_ROWS),
            (tall(size), "short rows at random places, as word vectors from a table"),
        )
    ],
    "_scatter_set_nd": lambda size: [
        {
            "lhs": fixed(*square(size)),
            "rhs": fixed(*values),
            "indices": indices,
            "shape": square(size),
            OUTPUT: same(fixed(*square(size)), "lhs"),
            WHY: why,
        }
        for values, indices, why in scatter_targets(square(size))
    ],
}
add_rows(FAMILIES.add, VARIANTS)
