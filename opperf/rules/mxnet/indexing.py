"""Reading and writing by index, by slice and by mask. Indices have an integer dtype, as float16 is
exact up to 2048 only."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.bert import few_sentences
from opperf.rules.configurations import WHY
from opperf.rules.engine import Families
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.pictures import feature_maps
from opperf.rules.shapes import Shape, column, cube, shapes, square, tall, vector, wide
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, Arguments, below, fixed, tensor

FAMILIES = Families()

INDEX = "int32"
FLAT_INDEX = "int64"
"""Dtype of positions among all elements, which may exceed 32 bits."""
PERMUTATION = Fill("permutation")
"""Fill of indices that are written at: no index repeats, as threads would race for the place."""


def indices(*shape: int, limit: int, dtype: str = INDEX) -> TensorSpec:
    """Indices below a limit."""
    return fixed(*shape, fill=below(limit), dtype=dtype)


@FAMILIES.add("take")
def take(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Indices of rows, of columns, and of rows of a table, as for an embedding."""
    rows, columns = square(size)
    yield {"a": tensor(rows, columns), "indices": indices(rows, limit=rows), "axis": 0}
    yield {"a": tensor(rows, columns), "indices": indices(columns, limit=columns), "axis": 1}
    words, width = tall(size)
    yield {"a": tensor(words, width), "indices": indices(size.extent(256), 32, limit=words)}


@FAMILIES.add("batch_take")
def batch_take(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the index of one element of each row."""
    for rows, columns in wide(size):
        yield {"a": tensor(rows, columns), "indices": indices(rows, limit=columns)}


@FAMILIES.add("pick")
def pick(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the index of one element of each row, or of each column."""
    for rows, columns in wide(size):
        yield {"data": tensor(rows, columns), "index": indices(rows, limit=columns), "axis": -1}
    rows, columns = square(size)
    yield {"data": tensor(rows, columns), "index": indices(columns, limit=rows), "axis": 0}


@FAMILIES.add("gather_nd")
def gather_nd(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the indices of single elements, and of whole rows."""
    rows, columns = square(size)
    count, _ = column(size)
    extent = min(rows, columns)
    yield {"data": tensor(rows, columns), "indices": indices(2, count, limit=extent)}
    yield {"data": tensor(rows, columns), "indices": indices(1, rows, limit=rows)}


def scatter_targets(shape: Shape) -> Iterable[tuple[Shape, TensorSpec]]:
    """Shape of the values and their indices in a matrix: for single elements, one in each row and
    column as far as there are both, and for all rows."""
    rows, columns = shape
    both = min(rows, columns)
    yield (both,), fixed(2, both, fill=PERMUTATION, dtype=INDEX)
    yield shape, fixed(1, rows, fill=PERMUTATION, dtype=INDEX)


@FAMILIES.add("scatter_nd")
def scatter_nd(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Values and indices of single elements, one in each row and column, and of whole rows."""
    shape = square(size)
    for values, places in scatter_targets(shape):
        yield {"data": tensor(*values), "indices": places, "shape": shape}


@FAMILIES.add("one_hot")
def one_hot(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Class numbers, which become rows with a single one."""
    for rows, depth in (tall(size), square(size)):
        yield {"indices": indices(rows, limit=depth), "depth": depth}


@FAMILIES.add("where")
def where(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors, and a condition for each element or for each row."""
    for shape in shapes(size):
        yield {"condition": fixed(*shape, fill=BOOLEAN), "x": tensor(*shape), "y": tensor(*shape)}
    rows, columns = square(size)
    yield {
        "condition": fixed(rows, fill=BOOLEAN),
        "x": tensor(rows, columns),
        "y": tensor(rows, columns),
    }


@FAMILIES.add("_npi_where_lscalar", "_npi_where_rscalar")
def where_numpy(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A condition for each element, a tensor and a number."""
    for shape in shapes(size):
        chosen: Arguments = {
            parameter.name: tensor(*shape)
            for parameter in operator.tensors
            if parameter.name != "condition"
        }
        number: Arguments = {"scalar": FACTOR} if operator.parameter("scalar") else {}
        yield {"condition": fixed(*shape, fill=BOOLEAN), **chosen, **number}


@FAMILIES.add("_npi_where_scalar2")
def where_scalars(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A condition for each element, and two numbers."""
    for shape in shapes(size):
        yield {"condition": fixed(*shape, fill=BOOLEAN), "x": 1.0, "y": FACTOR}


def middle(shape: Shape) -> tuple[Shape, Shape]:
    """Begin and end of the middle half along every axis."""
    return tuple(n // 4 for n in shape), tuple(n // 4 + max(1, n // 2) for n in shape)


def extents(begin: Shape, end: Shape) -> Shape:
    """Shape of a slice."""
    return tuple(stop - start for start, stop in zip(begin, end, strict=True))


@FAMILIES.add("slice")
def slice_of(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Matrices, of which the middle is taken, every other element of it, and the middle of feature
    maps."""
    for shape in shapes(size):
        begin, end = middle(shape)
        yield {"data": tensor(*shape), "begin": begin, "end": end}
    begin, end = middle(square(size))
    yield {"data": tensor(*square(size)), "begin": begin, "end": end, "step": (2, 2)}
    batch, channels, *extent = feature_maps(size)
    top, bottom = middle(tuple(extent))
    yield {
        "data": tensor(batch, channels, *extent),
        "begin": (0, 0, *top),
        "end": (batch, channels, *bottom),
        WHY: "The middle of feature maps, as U-Net crops those that it joins",
    }


@FAMILIES.add("slice_axis")
def slice_axis(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, of which half of the rows is taken, and half of the columns, the first token of
    sentences, and half of the channels."""
    shape = square(size)
    for axis in (0, 1):
        yield {"data": tensor(*shape), "axis": axis, "begin": 0, "end": shape[axis] // 2}
    first = "The first token of BERT-base's sentences, which its classifier reads"
    yield {"data": tensor(*few_sentences(size)), "axis": 1, "begin": 0, "end": 1, WHY: first}
    maps = feature_maps(size)
    half = "Half of the channels of feature maps, as in ShuffleNet's blocks"
    yield {"data": tensor(*maps), "axis": 1, "begin": 0, "end": maps[1] // 2, WHY: half}


@FAMILIES.add("slice_like")
def slice_like(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, of which the corner of another's shape is taken, along both axes and along one, and
    feature maps along height and width."""
    rows, columns = square(size)
    yield {"data": tensor(rows, columns), "shape_like": fixed(rows // 2, columns // 2)}
    yield {
        "data": tensor(rows, columns),
        "shape_like": fixed(rows // 2, columns // 2),
        "axes": (0,),
    }
    batch, channels, height, width = feature_maps(size)
    yield {
        "data": tensor(batch, channels, height, width),
        "shape_like": fixed(batch, channels, height // 2, width // 2),
        "axes": (2, 3),
        WHY: "Feature maps to another's height and width, as in fully convolutional networks",
    }


@FAMILIES.add("_slice_assign")
def slice_assign(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, whose middle another matrix overwrites."""
    begin, end = middle(square(size))
    yield {
        "lhs": tensor(*square(size)),
        "rhs": tensor(*extents(begin, end)),
        "begin": begin,
        "end": end,
    }


@FAMILIES.add("_slice_assign_scalar")
def slice_assign_scalar(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, whose middle a number overwrites."""
    begin, end = middle(square(size))
    yield {"data": tensor(*square(size)), "scalar": FACTOR, "begin": begin, "end": end}


@FAMILIES.add("fill_element_0index")
def fill_element(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the index and the new value of one element of each row. All have one dtype."""
    for rows, columns in wide(size):
        yield {
            "lhs": fixed(rows, columns),
            "mhs": fixed(rows),
            "rhs": fixed(rows, fill=below(columns)),
        }


@FAMILIES.add("_onehot_encode")
def onehot_encode(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Class numbers, and the matrix that is as wide as their rows with a single one. Both have one
    dtype."""
    for rows, columns in wide(size):
        yield {"lhs": fixed(rows, fill=below(columns)), "rhs": fixed(rows, columns)}


@FAMILIES.add("_contrib_boolean_mask")
def boolean_mask(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and a mask of half of its rows."""
    for rows, columns in shapes(size):
        yield {"data": tensor(rows, columns), "index": fixed(rows, fill=BOOLEAN)}


@FAMILIES.add("_contrib_index_array")
def index_array(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors, whose elements' indices are computed, along all axes and along one."""
    for shape in shapes(size):
        yield {"data": fixed(*shape)}
    yield {"data": fixed(*square(size)), "axes": (1,)}


@FAMILIES.add("_contrib_index_copy")
def index_copy(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the indices and new values of half of its rows; no index repeats."""
    for rows, columns in shapes(size):
        half = max(1, rows // 2)
        yield {
            "old_tensor": tensor(rows, columns),
            "index_vector": fixed(half, fill=PERMUTATION, dtype=INDEX),
            "new_tensor": tensor(half, columns),
        }


@FAMILIES.add("ravel_multi_index")
def ravel(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Indices, which become positions among all elements."""
    rows, columns = square(size)
    yield {
        "data": indices(2, *vector(size), limit=min(rows, columns), dtype=FLAT_INDEX),
        "shape": (rows, columns),
    }


@FAMILIES.add("_npi_delete")
def delete(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, from which a row is deleted, and the middle half of the columns."""
    rows, columns = square(size)
    yield {"arr": fixed(rows, columns), "int_ind": rows // 2, "axis": 0}
    (begin, _), (end, _) = middle((columns, 1))
    yield {"arr": fixed(rows, columns), "start": begin, "stop": end, "step": 1, "axis": 1}


@FAMILIES.add("_npi_insert_scalar")
def insert_scalar(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and a row to insert before the middle one."""
    rows, columns = square(size)
    yield {"arr": fixed(rows, columns), "values": fixed(columns), "int_ind": rows // 2, "axis": 0}


@FAMILIES.add("_npi_insert_slice")
def insert_slice(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and a row to insert before each of the middle half."""
    rows, columns = square(size)
    (begin, _), (end, _) = middle((rows, 1))
    yield {
        "arr": fixed(rows, columns),
        "values": fixed(columns),
        "start": begin,
        "stop": end,
        "step": 1,
        "axis": 0,
    }


@FAMILIES.add("_npi_insert_tensor")
def insert_tensor(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and a row to insert before each row of a tensor of indices."""
    rows, columns = square(size)
    yield {
        "arr": fixed(rows, columns),
        "values": fixed(columns),
        "obj": indices(size.extent(100), limit=rows, dtype=FLAT_INDEX),
        "axis": 0,
    }


@FAMILIES.add("_npi_advanced_indexing")
def advanced_indexing(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the indices of rows."""
    for rows, columns in shapes(size):
        yield {"data": tensor(rows, columns), "indices": indices(rows, limit=rows)}


@FAMILIES.add("_npi_advanced_indexing_multiple")
def advanced_indexing_multiple(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the indices of single elements along each axis."""
    rows, columns = square(size)
    yield {
        "data": tensor(rows, columns),
        "indices": indices(2, rows, limit=min(rows, columns), dtype=FLAT_INDEX),
    }


@FAMILIES.add("_npx_index_add")
def index_add(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor of three axes, and pairs of indices with the values to add there."""
    rows, columns, width = cube(size)
    count = size.extent(1000)
    extent = min(rows, columns)
    yield {
        "a": tensor(rows, columns, width),
        "ind": indices(2, count, limit=extent),
        "val": tensor(count, width),
    }


@FAMILIES.add("_npx_index_update")
def index_update(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the indices and new values of half of its rows; no index repeats."""
    rows, width = tall(size)
    half = rows // 2
    yield {
        "a": tensor(rows, width),
        "ind": fixed(1, half, fill=PERMUTATION, dtype=INDEX),
        "val": tensor(half, width),
    }
