"""Other operators: casts, sums of lists, checks, sparse formats, new tensors."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Fill, Operator
from opperf.rules.configurations import WHY
from opperf.rules.engine import Families
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.mxnet.optimizers import layer_parameters
from opperf.rules.mxnet.sparse import ROWS, WHOLE, few_texts, rows, table_shape, text
from opperf.rules.parameters import resnet_50
from opperf.rules.shapes import shapes, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    NORMAL,
    POSITIVE,
    SEQUENCE,
    SIGNS,
    Arguments,
    below,
    fixed,
    literal,
    sparse,
    tensor,
    tensors,
)

FAMILIES = Families()

INDEX = "int64"

CASTS = (("float16", "float32"), ("int32", "int64"), ("float64", "float32"))
"""Dtypes to cast to: a preferred one, and another where the tensor has that dtype already."""


@FAMILIES.add("Cast")
def cast(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix to cast to a narrower, an integer and a wider dtype. The gradient casts back."""
    for wanted in CASTS:
        yield {"data": tensor(*square(size)), "dtype": wanted}


@FAMILIES.add("amp_cast")
def amp_cast(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors of fixed dtypes to cast to half precision and back, as mixed precision does."""
    for shape in shapes(size):
        yield {"data": tensor(*shape, dtype="float32"), "dtype": "float16"}
        yield {"data": tensor(*shape, dtype="float16"), "dtype": "float32"}


@FAMILIES.add("amp_multicast")
def amp_multicast(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors of different dtypes to cast to the widest, and to the narrowest. On a CPU MXNet casts
    lists with bfloat16 and refuses those with float16."""
    types = ("bfloat16", "float32", "bfloat16")
    for shape, narrow in zip(shapes(size), (False, True), strict=True):
        yield {
            "data": tensors(tensor(*shape, dtype=dtype) for dtype in types),
            "num_outputs": len(types),
            "cast_narrow": narrow,
        }


@FAMILIES.add("Custom")
def custom(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor for the Python operator that opperf registers, whose time is that of the call into
    Python and back."""
    for shape in shapes(size):
        yield {"data": tensors([tensor(*shape)]), "op_type": "CustomAddOne"}


@FAMILIES.add("_Native", "_NDArray", "_CustomFunction")
def python_operator(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `custom`, for MXNet's other interfaces for operators in Python."""
    for shape in shapes(size):
        yield {"data": tensor(*shape)}


@FAMILIES.add("all_finite")
def all_finite(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A layer's gradient of finite numbers, so that the check cannot end early."""
    for shape, why in layer_parameters(size):
        yield {"data": fixed(*shape), WHY: why}


@FAMILIES.add("multi_all_finite", "multi_sum_sq", "reset_arrays")
def lists(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The gradients of all parameters of ResNet-50, which are checked, summed (by LARS) or set to
    zero in one call."""
    model = resnet_50(size)
    yield {"data": tensors(fixed(*shape) for shape in model), "num_arrays": len(model)}


@FAMILIES.add("_contrib_arange_like")
def arange_like(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor to count the elements of, and one to count the rows of."""
    yield {"data": fixed(*square(size))}
    yield {"data": fixed(*tall(size)), "axis": 0}


@FAMILIES.add("_copyto")
def copyto(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor to copy. The engine adds the array to copy to, as for all of `NEEDS_OUTPUT`."""
    for shape in shapes(size):
        yield {operator.tensors[0].name: fixed(*shape)}


@FAMILIES.add("_set_value")
def set_value(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A number, and the array to fill with it."""
    for shape in shapes(size):
        yield {"src": FACTOR, "out": fixed(*shape)}


@FAMILIES.add("_histogram")
def histogram(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors with a number of bins of equal width, and one with the edges of bins."""
    edges = tuple(float(edge) for edge in range(-4, 5))
    for shape in shapes(size):
        yield {"data": fixed(*shape), "bin_cnt": 100, "range": (-4.0, 4.0)}
    yield {"data": fixed(*square(size)), "bins": fixed(len(edges), fill=literal(edges))}


@FAMILIES.add("cast_storage")
def cast_storage(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix in each storage format, to convert to another. The dense one has no zeros: every
    element or row is stored."""
    yield {"data": tensor(*square(size)), "stype": "csr", WHY: "a dense matrix to compressed rows"}
    yield {"data": tensor(*square(size)), "stype": "row_sparse", WHY: "a dense gradient to rows"}
    yield {"data": few_texts(size), "stype": "default", WHY: "text to a dense matrix"}
    yield {
        "data": rows(size),
        "stype": "default",
        WHY: "an embedding's gradient to a dense one",
    }


@FAMILIES.add("_sparse_retain")
def sparse_retain(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """An embedding whose rows are all stored, of which those of a batch are pulled."""
    count, width = table_shape(size)
    yield {
        "data": sparse(ROWS, count, width, density=WHOLE, gradient=False),
        "indices": fixed(size.extent(1000), fill=SEQUENCE, dtype=INDEX),
    }


@FAMILIES.add("_contrib_getnnz")
def getnnz(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A sparse matrix, whose stored elements are counted."""
    yield {"data": text(size)}


@FAMILIES.add("_contrib_fft")
def fft(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, whose rows are transformed."""
    yield {"data": tensor(*square(size))}


@FAMILIES.add("_contrib_ifft")
def ifft(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix of complex numbers, with real and imaginary parts in turn, whose rows are
    transformed."""
    rows, columns = square(size)
    yield {"data": tensor(rows, 2 * columns)}


@FAMILIES.add("_contrib_count_sketch")
def count_sketch(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the random projection of its rows to a quarter of their length, with a sign for
    each of their elements."""
    rows, columns = square(size)
    wanted = columns // 4
    yield {
        "data": tensor(rows, columns),
        "h": fixed(1, columns, fill=below(wanted)),
        "s": fixed(1, columns, fill=SIGNS),
        "out_dim": wanted,
    }


@FAMILIES.add("_zeros", "_ones", "_npi_zeros", "_npi_ones")
def constants(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The shape of a new tensor."""
    for shape in shapes(size):
        yield {"shape": shape}


FLOAT32 = 0
"""MXNet's number for float32."""


@FAMILIES.add("_zeros_without_dtype")
def typed_zeros(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The shape and dtype of a new tensor of zeros; a graph would supply the dtype."""
    for shape in shapes(size):
        yield {"shape": shape, "dtype": FLOAT32}


@FAMILIES.add("_full", "_npi_full")
def full(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The shape and value of a new tensor. MXNet 2's operator for NumPy takes the value in three
    types, and the number of the one to use: 2 for floating point."""
    typed: Arguments = {"double_value": FACTOR, "int_value": 0, "uint_value": 0, "value_type": 2}
    value = typed if operator.parameter("double_value") else {"value": FACTOR}
    for shape in shapes(size):
        yield {"shape": shape, **value}


SAME: dict[str, Fill] = {"_identity_with_attr_like_rhs": NORMAL, "_npi_share_memory": POSITIVE}
"""Fill of the first tensor of operators of two tensors that compute nothing with the second."""


@FAMILIES.add(*SAME)
def same(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors of one shape, of the second of which only shape or address is used."""
    one, other = (parameter.name for parameter in operator.tensors)
    values: dict[str, Argument]
    for shape in shapes(size):
        values = {one: tensor(*shape, fill=SAME[operator.name]), other: fixed(*shape)}
        yield values
