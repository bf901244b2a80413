"""Reading and writing by index, by slice and by mask. Indices are in range, and whole numbers
of a dtype of their own: float16 holds none above 2048 exactly."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.engine import Families
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.shapes import Shape, column, cube, shapes, square, tall, vector, wide
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, Arguments, below, fixed, tensor

FAMILIES = Families()

INDEX = "int32"
FLAT_INDEX = "int64"
"""For positions among all elements, which may be more than 32 bits count."""
PERMUTATION = Fill("permutation")
"""Indices of which each occurs once: where two name one place, threads race to it."""


def indices(*shape: int, limit: int, dtype: str = INDEX) -> TensorSpec:
    """Indices below a limit."""
    return fixed(*shape, fill=below(limit), dtype=dtype)


@FAMILIES.add("take")
def take(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Rows, columns, and rows of a table as an embedding looks them up."""
    rows, columns = square(size)
    yield {"a": tensor(rows, columns), "indices": indices(rows, limit=rows), "axis": 0}
    yield {"a": tensor(rows, columns), "indices": indices(columns, limit=columns), "axis": 1}
    words, width = tall(size)
    yield {"a": tensor(words, width), "indices": indices(size.extent(256), 32, limit=words)}


@FAMILIES.add("batch_take")
def batch_take(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One element of each row."""
    for rows, columns in wide(size):
        yield {"a": tensor(rows, columns), "indices": indices(rows, limit=columns)}


@FAMILIES.add("pick")
def pick(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One element of each row, or of each column."""
    for rows, columns in wide(size):
        yield {"data": tensor(rows, columns), "index": indices(rows, limit=columns), "axis": -1}
    rows, columns = square(size)
    yield {"data": tensor(rows, columns), "index": indices(columns, limit=rows), "axis": 0}


@FAMILIES.add("gather_nd")
def gather_nd(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Single elements, and whole rows."""
    rows, columns = square(size)
    count, _ = column(size)
    extent = min(rows, columns)
    yield {"data": tensor(rows, columns), "indices": indices(2, count, limit=extent)}
    yield {"data": tensor(rows, columns), "indices": indices(1, rows, limit=rows)}


def scatter_targets(shape: Shape) -> Iterable[tuple[Shape, TensorSpec]]:
    """Shape of the values, and the indices, of a single element of each row and of each column
    of a matrix, as far as it has both, and of its rows."""
    rows, columns = shape
    both = min(rows, columns)
    yield (both,), fixed(2, both, fill=PERMUTATION, dtype=INDEX)
    yield shape, fixed(1, rows, fill=PERMUTATION, dtype=INDEX)


@FAMILIES.add("scatter_nd")
def scatter_nd(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A single element of each row and of each column, and whole rows."""
    shape = square(size)
    for values, places in scatter_targets(shape):
        yield {"data": tensor(*values), "indices": places, "shape": shape}


@FAMILIES.add("one_hot")
def one_hot(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Class numbers as rows with a single one."""
    for rows, depth in (tall(size), square(size)):
        yield {"indices": indices(rows, limit=depth), "depth": depth}


@FAMILIES.add("where")
def where(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A choice for each element, and one for each row."""
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
    """A choice for each element between a tensor and a number."""
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
    """A choice for each element between two numbers."""
    for shape in shapes(size):
        yield {"condition": fixed(*shape, fill=BOOLEAN), "x": 1.0, "y": FACTOR}


def middle(shape: Shape) -> tuple[Shape, Shape]:
    """Begin and end of the middle half of every axis."""
    return tuple(n // 4 for n in shape), tuple(n // 4 + max(1, n // 2) for n in shape)


def extents(begin: Shape, end: Shape) -> Shape:
    """Shape of a slice."""
    return tuple(stop - start for start, stop in zip(begin, end, strict=True))


@FAMILIES.add("slice")
def slice_of(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The middle of a matrix, whole and every other element of it."""
    for shape in shapes(size):
        begin, end = middle(shape)
        yield {"data": tensor(*shape), "begin": begin, "end": end}
    begin, end = middle(square(size))
    yield {"data": tensor(*square(size)), "begin": begin, "end": end, "step": (2, 2)}


@FAMILIES.add("slice_axis")
def slice_axis(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The first half of the rows, and of the columns."""
    shape = square(size)
    for axis in (0, 1):
        yield {"data": tensor(*shape), "axis": axis, "begin": 0, "end": shape[axis] // 2}


@FAMILIES.add("slice_like")
def slice_like(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The corner of a matrix that has another's shape."""
    rows, columns = square(size)
    yield {"data": tensor(rows, columns), "shape_like": fixed(rows // 2, columns // 2)}
    yield {
        "data": tensor(rows, columns),
        "shape_like": fixed(rows // 2, columns // 2),
        "axes": (0,),
    }


@FAMILIES.add("_slice_assign")
def slice_assign(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The middle of a matrix overwritten by another."""
    begin, end = middle(square(size))
    yield {
        "lhs": tensor(*square(size)),
        "rhs": tensor(*extents(begin, end)),
        "begin": begin,
        "end": end,
    }


@FAMILIES.add("_slice_assign_scalar")
def slice_assign_scalar(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The middle of a matrix overwritten by a number."""
    begin, end = middle(square(size))
    yield {"data": tensor(*square(size)), "scalar": FACTOR, "begin": begin, "end": end}


@FAMILIES.add("fill_element_0index")
def fill_element(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One element of each row overwritten. Data and indices are of one dtype."""
    for rows, columns in wide(size):
        yield {
            "lhs": fixed(rows, columns),
            "mhs": fixed(rows),
            "rhs": fixed(rows, fill=below(columns)),
        }


@FAMILIES.add("_onehot_encode")
def onehot_encode(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Class numbers as rows with a single one, as wide as a given matrix. All of one dtype."""
    for rows, columns in wide(size):
        yield {"lhs": fixed(rows, fill=below(columns)), "rhs": fixed(rows, columns)}


@FAMILIES.add("_contrib_boolean_mask")
def boolean_mask(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The half of the rows that a mask picks."""
    for rows, columns in shapes(size):
        yield {"data": tensor(rows, columns), "index": fixed(rows, fill=BOOLEAN)}


@FAMILIES.add("_contrib_index_array")
def index_array(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The indices of every element, all of them and along one axis."""
    for shape in shapes(size):
        yield {"data": fixed(*shape)}
    yield {"data": fixed(*square(size)), "axes": (1,)}


@FAMILIES.add("_contrib_index_copy")
def index_copy(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Half of a matrix's rows overwritten, each once."""
    for rows, columns in shapes(size):
        half = max(1, rows // 2)
        yield {
            "old_tensor": tensor(rows, columns),
            "index_vector": fixed(half, fill=PERMUTATION, dtype=INDEX),
            "new_tensor": tensor(half, columns),
        }


@FAMILIES.add("ravel_multi_index")
def ravel(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Positions among all elements from indices."""
    rows, columns = square(size)
    yield {
        "data": indices(2, *vector(size), limit=min(rows, columns), dtype=FLAT_INDEX),
        "shape": (rows, columns),
    }


@FAMILIES.add("_npi_delete")
def delete(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A row taken out, and the middle half of the columns."""
    rows, columns = square(size)
    yield {"arr": fixed(rows, columns), "int_ind": rows // 2, "axis": 0}
    (begin, _), (end, _) = middle((columns, 1))
    yield {"arr": fixed(rows, columns), "start": begin, "stop": end, "step": 1, "axis": 1}


@FAMILIES.add("_npi_insert_scalar")
def insert_scalar(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A row put in before the middle one."""
    rows, columns = square(size)
    yield {"arr": fixed(rows, columns), "values": fixed(columns), "int_ind": rows // 2, "axis": 0}


@FAMILIES.add("_npi_insert_slice")
def insert_slice(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A row put in before each of the middle half."""
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
    """A row put in before each of those given."""
    rows, columns = square(size)
    yield {
        "arr": fixed(rows, columns),
        "values": fixed(columns),
        "obj": indices(size.extent(100), limit=rows, dtype=FLAT_INDEX),
        "axis": 0,
    }


@FAMILIES.add("_npi_advanced_indexing")
def advanced_indexing(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Rows by a list of indices."""
    for rows, columns in shapes(size):
        yield {"data": tensor(rows, columns), "indices": indices(rows, limit=rows)}


@FAMILIES.add("_npi_advanced_indexing_multiple")
def advanced_indexing_multiple(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Single elements by a list of indices for each axis."""
    rows, columns = square(size)
    yield {
        "data": tensor(rows, columns),
        "indices": indices(2, rows, limit=min(rows, columns), dtype=FLAT_INDEX),
    }


@FAMILIES.add("_npx_index_add")
def index_add(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A slice of a tensor of three axes for each pair of indices."""
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
    """Half of a matrix's rows overwritten, each once."""
    rows, width = tall(size)
    half = rows // 2
    yield {
        "a": tensor(rows, width),
        "ind": fixed(1, half, fill=PERMUTATION, dtype=INDEX),
        "val": tensor(half, width),
    }
