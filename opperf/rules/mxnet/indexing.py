"""Reading and writing by index, slice and mask. Indices are integers: float16 ends at 2048."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Fill, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.engine import OUTPUT
from opperf.rules.families.indexing import masked
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, column, cube, in_cache, slim, square, tall, vector
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


def of_classes(size: Preset) -> Iterable[tuple[Shape, str]]:
    """Shapes of samples by class, each with what the classes may be."""
    many = "many classes, nearly as those of ImageNet"
    return ((square(size), many), (slim(size), "few classes, as digits"))


RATINGS = "single elements at random places, as the ratings of users for items"
SHUFFLED_ROWS = "whole rows at random places, as samples that a bootstrap draws"


def scatter_targets(shape: Shape) -> Iterable[tuple[Shape, TensorSpec, str]]:
    """Shape of values, their indices, and why: one in each row and column, and for all rows."""
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
    of_elements = [(shape, shape, why) for shape, why in masked(size)]
    for shape, mask, why in (*of_elements, ((rows, columns), (rows,), by_row)):
        condition = fixed(*mask, fill=BOOLEAN)
        yield {"condition": condition, "x": tensor(*shape), "y": tensor(*shape), WHY: why}


@FAMILIES.add("_npi_where_lscalar", "_npi_where_rscalar")
def where_numpy(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A condition for each element, a tensor and a number."""
    for shape, why in masked(size):
        names = [p.name for p in operator.tensors if p.name != "condition"]
        chosen: Arguments = {name: tensor(*shape) for name in names}
        number: Arguments = {"scalar": FACTOR} if operator.parameter("scalar") else {}
        mask = fixed(*shape, fill=BOOLEAN, dtype="bool")
        yield {"condition": mask, **chosen, **number, WHY: why}


@FAMILIES.add("_contrib_boolean_mask", replaces="its mask is of whole rows, and takes no gradient")
def boolean_mask(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and a mask of half of its rows."""
    for (rows, columns), why in (
        (square(size), "half of the rows, long ones, as the tokens that are no padding"),
        (tall(size), "half of the rows, short ones, as the samples that a filter keeps"),
    ):
        yield {"data": tensor(rows, columns), "index": fixed(rows, fill=BOOLEAN), WHY: why}


@FAMILIES.add("ravel_multi_index", replaces="its indices are the rows of one tensor")
def ravel(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Indices, which become positions among all elements."""
    rows, columns = square(size)
    yield {
        "data": indices(2, *vector(size), limit=min(rows, columns), dtype=FLAT_INDEX),
        "shape": (rows, columns),
        WHY: "rows and columns to positions in memory, as coordinates of a sparse matrix",
    }


def inserted(size: Preset, **values: Argument) -> Arguments:
    """A matrix, a row to insert into it, and where."""
    rows, columns = square(size)
    return {"arr": fixed(rows, columns), "values": fixed(columns), **values, "axis": 0}


def half(extent: int) -> Arguments:
    """The slice of the middle half of an axis."""
    return {"start": extent // 4, "stop": extent // 4 + max(1, extent // 2), "step": 1}


ROWS: dict[str, Row] = {
    "_npi_insert_scalar": lambda size: {
        **inserted(size, int_ind=square(size)[0] // 2),
        WHY: "a row before the middle one, as a sample into a sorted table",
    },
    "_npi_insert_slice": lambda size: {
        **inserted(size, **half(square(size)[0])),
        WHY: "a row before each of many that follow each other, as a separator",
    },
    "_npi_insert_tensor": lambda size: {
        **inserted(size, obj=indices(size.extent(100), limit=square(size)[0], dtype=FLAT_INDEX)),
        WHY: "a row before each of some at random, as a series' missing time steps",
    },
    "_npi_advanced_indexing_multiple": lambda size: {
        "data": tensor(*square(size)),
        "indices": indices(2, square(size)[0], limit=min(*square(size)), dtype=FLAT_INDEX),
        WHY: RATINGS,
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
    "take": lambda size: {
        SHUFFLED_ROWS: call(
            a=tensor(*square(size)), indices=indices(square(size)[0], limit=square(size)[0]), axis=0
        ),
        "columns at random places, as features that were selected: element by element": call(
            a=tensor(*square(size)), indices=indices(square(size)[1], limit=square(size)[1]), axis=1
        ),
        "the vectors of sentences' words, from a table of embeddings": call(
            a=tensor(*tall(size)), indices=indices(size.extent(256), 32, limit=tall(size)[0])
        ),
    },
    "pick": lambda size: {
        **{
            f"the right class's probability for a cross-entropy, of {classes}": call(
                data=tensor(rows, columns), index=indices(rows, limit=columns), axis=-1
            )
            for (rows, columns), classes in of_classes(size)
        },
        "one element of each column, as where classes are the first axis": call(
            data=tensor(*square(size)),
            index=indices(square(size)[1], limit=square(size)[0]),
            axis=0,
        ),
    },
    "gather_nd": lambda size: {
        why: call(data=tensor(*square(size)), indices=indices(axes, count, limit=limit))
        for why, axes, count, limit in (
            (RATINGS, 2, column(size)[0], min(square(size))),
            (SHUFFLED_ROWS, 1, square(size)[0], square(size)[0]),
        )
    },
    # All have one dtype.
    "fill_element_0index": lambda size: {
        f"a new score for the right class of each sample, of {classes}": call(
            lhs=fixed(rows, columns), mhs=fixed(rows), rhs=fixed(rows, fill=below(columns))
        )
        for (rows, columns), classes in of_classes(size)
    },
    "_contrib_index_array": lambda size: {
        "each element's row and column, as coordinates": call(data=fixed(*square(size))),
        "each element's column, as tokens' positions": call(data=fixed(*square(size)), axes=(1,)),
    },
    "_npi_delete": lambda size: {
        "one row, an outlier": call(arr=fixed(*square(size)), int_ind=square(size)[0] // 2, axis=0),
        "the middle columns": call(arr=fixed(*square(size)), **half(square(size)[1]), axis=1),
    },
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
            (in_cache(size), "a mask of few rows to two numbers, as labels of several classes"),
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
