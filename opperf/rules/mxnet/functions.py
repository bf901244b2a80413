"""MXNet's Python functions whose inputs are no operator's and none of NumPy's functions, by place.

A few cannot be measured, each with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Fill, Operator, TensorSpec, iter_tensors
from opperf.rules.configurations import WHY
from opperf.rules.families.linalg import matrix_to_diagonalise
from opperf.rules.mxnet import matrices
from opperf.rules.mxnet.miscellany import FILLED
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.mxnet.sampling import FORMS
from opperf.rules.registering import Family
from opperf.rules.shapes import LIST_LENGTH, Shape, line, shapes, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, NORMAL, REQUESTED, Arguments, below, fixed, tensor


def new_of_shape(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The shape of a new array, and its value; where it has none, integers, as floating ones that
    were never written may be NaN."""
    also: Arguments = {"val": FACTOR} if operator.parameter("val") else {"dtype": "int32"}
    for shape, why in zip(shapes(size), FILLED, strict=True):
        yield {"shape": shape, **also, WHY: why}


def batch_of_draws(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The shape of a batch of draws of one distribution."""
    for shape, form in zip(shapes(size), FORMS, strict=True):
        yield {"batch_shape": shape, WHY: f"{form} of draws, one for each element of a batch"}


def drawn_matrix(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix of draws of the standard normal distribution, its extents as a list."""
    yield {"shape": square(size), WHY: "a square matrix of standard normal noise"}


def einsum(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The operator's operands behind the subscripts, all in one list of positions."""
    for row in matrices.einsum(operator, size):
        yield {"operands": (str(row["subscripts"]), *iter_tensors(row["data"])), WHY: row[WHY]}


def ravel(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix to make a vector of, row by row, the only order that MXNet has."""
    why = "a matrix as one vector, as a solver takes all parameters"
    yield {operator.parameters[0].name: tensor(*square(size)), WHY: why}


def identity(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The side of an identity matrix."""
    yield {"n": square(size)[0], WHY: "a square identity matrix, as a kernel's ridge"}


# MXNet has the functions below from the host's NumPy, and finds the device of its arrays among the
# arguments but not in a list: an array of one more axis stands for the list.


def stacked(shape: Shape, fill: Fill = NORMAL, dtype: str = REQUESTED) -> TensorSpec:
    """Several arrays of one shape, stacked."""
    return fixed(LIST_LENGTH, *shape, fill=fill, dtype=dtype)


def choose(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A choice among stacked matrices for each element."""
    choice = fixed(*square(size), fill=below(LIST_LENGTH), dtype="int64")
    why = "one of several matrices for each element, by its number"
    yield {"a": choice, "choices": stacked(square(size)), WHY: why}


def select(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Stacked conditions, and stacked matrices to choose from."""
    conditions = stacked(square(size), BOOLEAN, "bool")
    why = "for each element the matrix whose condition is the first to hold"
    yield {"condlist": conditions, "choicelist": stacked(square(size)), WHY: why}


def piecewise(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, stacked conditions, and a number for each."""
    conditions = stacked(square(size), BOOLEAN, "bool")
    values = tuple(range(1, LIST_LENGTH + 1))
    why = "a step function: a number for each condition that holds"
    yield {"x": fixed(*square(size)), "condlist": conditions, "funclist": values, WHY: why}


def chain(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Stacked matrices, of whose product the order is chosen."""
    why = "a product of several square matrices, whose order is chosen first"
    yield {"arrays": stacked(matrix_to_diagonalise(size)), WHY: why}


def lexsort(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Stacked keys to sort by, the last one first."""
    yield {"keys": stacked(vector(size)), WHY: "the order of a table's rows by several columns"}


CLASSES_SEEN = 10_000
"""Classes of the sampled softmax of a language model."""


def sampled_classes(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Labels and as many candidates, for a softmax over some of a language model's classes."""
    (count,) = line(size)
    labels = fixed(count, dtype="int32", fill=below(CLASSES_SEEN))
    yield {
        "true_classes": labels,
        "num_sampled": count,
        "range_max": CLASSES_SEEN,
        WHY: "labels and candidates of a language model's sampled softmax",
    }


def dense_to_sparse(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A dense matrix to convert to a sparse one."""
    yield {"arg1": fixed(*square(size)), WHY: "a dense matrix to a sparse one, all of it stored"}


_OF_PYTHON = "takes Python functions, which rules cannot make; its operator is measured by its name"
_FILES = "reads or writes files"
_STATE = "gets or sets MXNet's state and computes nothing"
_CALLS_BACK = "calls a Python function for each part of an array, whose time would be measured"
_TYPES = "computes on dtypes, not on arrays"

FUNCTIONS: Mapping[str, Family | str] = {
    **dict.fromkeys(("ndarray.ndarray.full", "ndarray.utils.empty"), new_of_shape),
    **dict.fromkeys(
        ("numpy_extension.random.normal_n", "numpy_extension.random.uniform_n"), batch_of_draws
    ),
    "ndarray.random.randn": drawn_matrix,
    "ndarray.contrib.rand_zipfian": sampled_classes,
    **dict.fromkeys(
        ("ndarray.sparse.csr_matrix", "ndarray.sparse.row_sparse_array"), dense_to_sparse
    ),
    "numpy.choose": choose,
    "numpy.einsum": einsum,
    "numpy.identity": identity,
    "numpy.lexsort": lexsort,
    "numpy.linalg.multi_dot": chain,
    "numpy.piecewise": piecewise,
    "numpy.ravel": ravel,
    "numpy.select": select,
    **dict.fromkeys(
        ("ndarray.contrib.cond", "ndarray.contrib.foreach", "ndarray.contrib.while_loop"),
        _OF_PYTHON,
    ),
    **dict.fromkeys(("numpy.apply_along_axis", "numpy.apply_over_axes"), _CALLS_BACK),
    **dict.fromkeys(("numpy.min_scalar_type", "numpy.promote_types", "numpy.result_type"), _TYPES),
    **dict.fromkeys(("numpy.io.genfromtxt", "ndarray.utils.load", "ndarray.utils.save"), _FILES),
    **dict.fromkeys(("ndarray.ndarray.waitall", "numpy.set_printoptions"), _STATE),
    "numpy.roots": "its results are complex numbers, which MXNet does not have",
}
