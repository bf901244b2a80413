"""MXNet's Python functions by place, with inputs of their own or why they cannot be measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from opperf.model import Fill, TensorSpec, iter_tensors
from opperf.rules.configurations import WHY
from opperf.rules.families.linalg import matrix_to_diagonalise
from opperf.rules.families.sorting import LEVELS
from opperf.rules.mxnet import matrices
from opperf.rules.mxnet.miscellany import filled
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.registering import Family
from opperf.rules.shapes import LIST_LENGTH, Shape, in_cache, line, square, vector
from opperf.rules.values import (
    BOOLEAN,
    NORMAL,
    REQUESTED,
    below,
    between,
    call,
    fixed,
    odds,
    tensor,
)
from opperf.rules.variants import Row, Variants, add_rows

MADE: dict[str, Family] = {}


def place(*places: str) -> Callable[[Family], None]:
    """Decorator: the family of the functions at these places."""
    return lambda family: MADE.update(dict.fromkeys(places, family))


def stacked(shape: Shape, fill: Fill = NORMAL, dtype: str = REQUESTED) -> TensorSpec:
    """Several arrays of one shape, stacked: in a list, MXNet finds the device of none."""
    return fixed(LIST_LENGTH, *shape, fill=fill, dtype=dtype)


CLASSES_SEEN = 10_000
"""Classes of the sampled softmax of a language model."""

ROWS: dict[str, Row | Variants] = {
    "ndarray.ndarray.full": lambda size: {
        why: call(shape=shape, val=FACTOR) for shape, why in filled(size)
    },
    # Floating-point numbers that were never written may be NaN.
    "ndarray.utils.empty": lambda size: {
        why: call(shape=shape, dtype="int32") for shape, why in filled(size)
    },
    "numpy_extension.random.normal_n numpy_extension.random.uniform_n": lambda size: {
        f"{form} of draws, one for each element of a batch": call(batch_shape=shape)
        for shape, form in ((square(size), "a square matrix"), (in_cache(size), "a few rows"))
    },
    "ndarray.random.randn": lambda size: {"standard normal noise": call(shape=square(size))},
    "ndarray.contrib.rand_zipfian": lambda size: {
        "labels and candidates of a language model's sampled softmax": call(
            true_classes=fixed(*line(size), dtype="int32", fill=below(CLASSES_SEEN)),
            num_sampled=line(size)[0],
            range_max=CLASSES_SEEN,
        )
    },
    "ndarray.sparse.csr_matrix ndarray.sparse.row_sparse_array": lambda size: {
        "a dense matrix, of which a tenth are ones as words of texts, to a sparse one": call(
            arg1=fixed(*square(size), fill=odds(9, 1))
        )
    },
    "numpy.choose": lambda size: {
        "one of several matrices for each element, by its number": call(
            a=fixed(*square(size), fill=below(LIST_LENGTH), dtype="int64"),
            choices=stacked(square(size)),
        )
    },
    # All operands behind the subscripts, in one list of positions.
    "numpy.einsum": lambda size: {
        str(row[WHY]): call(operands=(str(row["subscripts"]), *iter_tensors(row["data"])))
        for row in matrices.einsum(size)
    },
    # In a list of edges, MXNet finds the device of none.
    "numpy.histogramdd": lambda size: {
        "colours of pixels, in eight boxes along each axis": call(
            sample=fixed(size.extent(65536), 3, fill=between(0, 1)),
            bins=(LEVELS,) * 3,
            range=((0.0, 1.0),) * 3,
        )
    },
    "numpy.identity": lambda size: {"an identity, as a kernel's ridge": call(n=square(size)[0])},
    "numpy.lexsort": lambda size: {
        "rows by several columns, each of a thousand values": call(
            keys=stacked(vector(size), below(1000), "int64")
        )
    },
    "numpy.linalg.multi_dot": lambda size: {
        "square matrices in the best order": call(arrays=stacked(matrix_to_diagonalise(size)))
    },
    "numpy.piecewise": lambda size: {
        "a step function: a number for each condition that holds": call(
            x=fixed(*square(size)),
            condlist=stacked(square(size), BOOLEAN, "bool"),
            funclist=tuple(range(1, LIST_LENGTH + 1)),
        )
    },
    "numpy.ravel": lambda size: {"all of a solver's parameters": call(x=tensor(*square(size)))},
    "numpy.select": lambda size: {
        "for each element the matrix whose condition is the first to hold": call(
            condlist=stacked(square(size), BOOLEAN, "bool"), choicelist=stacked(square(size))
        )
    },
}
add_rows(place, ROWS)


_OF_PYTHON = "takes Python functions, which rules cannot make; its operator is measured by its name"
_FILES = "reads or writes files"
_STATE = "gets or sets MXNet's state and computes nothing"
_CALLS_BACK = "calls a Python function for each part of an array, whose time would be measured"
_TYPES = "computes on dtypes, not on arrays"

FUNCTIONS: Mapping[str, Family | str] = {
    **MADE,
    **{f"ndarray.contrib.{name}": _OF_PYTHON for name in ("cond", "foreach", "while_loop")},
    **dict.fromkeys(("numpy.apply_along_axis", "numpy.apply_over_axes"), _CALLS_BACK),
    **dict.fromkeys(("numpy.min_scalar_type", "numpy.promote_types", "numpy.result_type"), _TYPES),
    **dict.fromkeys(("numpy.io.genfromtxt", "ndarray.utils.load", "ndarray.utils.save"), _FILES),
    **dict.fromkeys(("ndarray.ndarray.waitall", "numpy.set_printoptions"), _STATE),
    "numpy.roots": "its results are complex numbers, which MXNet does not have",
}
