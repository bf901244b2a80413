"""Other operators: casts, sums of lists, checks, sparse formats, new tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opperf.model import Fill, Operator
from opperf.rules.configurations import WHY
from opperf.rules.deviations import SCALED
from opperf.rules.engine import OUTPUT
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.mxnet.optimizers import layer_parameters
from opperf.rules.mxnet.sparse import ROWS, WHOLE, few_texts, rows, table_shape, text, text_shape
from opperf.rules.parameters import resnet_50
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import MOSTLY_DISPATCH, Shape, in_cache, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    POSITIVE,
    SEQUENCE,
    SIGNS,
    Arguments,
    below,
    call,
    fixed,
    odds,
    same,
    sparse,
    tensor,
    tensors,
)
from opperf.rules.variants import Row, Variants, add_rows

FAMILIES = Families()

NEEDS_OUTPUT = frozenset({"_copyto"})

DIFFERENCES = {"_contrib_gradientmultiplier": SCALED}

INDEX = "int64"

CHANNELS, SKETCH = 512, 8192
"""Of compact bilinear pooling: channels of VGG-16's last maps, and numbers that they become."""

CASTS = (
    (("float16", "float32"), "between single and half precision, for mixed precision"),
    (("float64", "float32"), "to another precision, as to double for long sums"),
)
"""Dtypes to cast to, the second where the tensor has the first already; and why."""

SINGLE, HALF = "float32", "float16"

PRECISIONS: tuple[tuple[Callable[[Preset], Shape], str, str, str], ...] = (
    (square, SINGLE, HALF, "a square layer's weights to half precision, before the layer"),
    (square, HALF, SINGLE, "a square layer's gradient to single precision, before the update"),
    (in_cache, SINGLE, HALF, "a few samples' features to half precision, which stay in cache"),
    (in_cache, HALF, SINGLE, "a few samples' scores to single precision, which stay in cache"),
)
"""Casts of mixed precision: the tensor's shape and dtype, the dtype to cast to, and why."""


@FAMILIES.add("amp_multicast")
def amp_multicast(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Lists to the widest dtype and to the narrowest; on a CPU they have no float16."""
    types = ("bfloat16", "float32", "bfloat16")
    casts = (
        (square, False, "square matrices to the widest dtype, as before they are added"),
        (tall, True, "samples' features to the narrowest dtype, which takes less memory"),
    )
    for shape, narrow, why in casts:
        data = tensors(tensor(*shape(size), dtype=dtype) for dtype in types)
        yield {"data": data, "num_outputs": len(types), "cast_narrow": narrow, WHY: why}


def in_python(size: Preset) -> Iterable[tuple[Shape, str]]:
    """Shapes of the tensors of operators in Python, and why."""
    yield square(size), "a square matrix to Python and back, for a layer that a user wrote"
    yield in_cache(size), "a few rows to Python and back, for a loss that a user wrote"


LISTS = {
    "multi_all_finite": "all of ResNet-50's gradients, checked before a step in mixed precision",
    "multi_sum_sq": "all of ResNet-50's gradients, for their norms, by which LARS sets its rates",
    "reset_arrays": "all of ResNet-50's gradients, set to zero after a step",
}
"""Operators of many tensors in one call, and why."""


@FAMILIES.add(*LISTS)
def lists(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The gradients of all parameters of ResNet-50."""
    model = resnet_50(size)
    gradients = tensors(fixed(*shape) for shape in model)
    yield {"data": gradients, "num_arrays": len(model), WHY: entry_of(LISTS, operator)}


@FAMILIES.add("_copyto", replaces="it writes to an output, which takes no gradient")
def copyto(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor to copy. The engine adds the array to copy to, here and for all `NEEDS_OUTPUT`."""
    why = "a square layer's weights, as a trainer sends them to each device"
    yield {operator.tensors[0].name: fixed(*square(size)), WHY: why}


def filled(size: Preset) -> Iterable[tuple[Shape, str]]:
    """Shapes of tensors of one number, and why they are made."""
    yield square(size), "a square matrix to fill, as an optimizer's state of a dense layer"
    yield in_cache(size), "a few rows to fill, which stay in cache, as a recurrent layer's state"


@FAMILIES.add("_histogram")
def histogram(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """8001 bins, as calibration for int8 counts a layer's outputs."""
    yield {"data": fixed(*tall(size)), "bin_cnt": 8001, "range": (-4.0, 4.0)}


@FAMILIES.add("amp_cast", replaces="it casts real numbers of one precision to another alone")
def amp_cast(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors of one precision, and the other."""
    for shape, own, wanted, why in PRECISIONS:
        yield {"data": tensor(*shape(size), dtype=own), "dtype": wanted, WHY: why}


@FAMILIES.add("cast_storage", replaces="its tensors are of the storage format to convert from")
def cast_storage(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix in each storage format, to convert to another; most of the dense ones is zeros."""
    counts = tensor(*text_shape(size), fill=odds(99, 1))
    yield {"data": counts, "stype": "csr", WHY: "words that documents have, to compressed rows"}
    gradient = tensor(*table_shape(size), fill=odds(999, 1))
    why = "an embedding's dense gradient, most of whose rows are zeros, to rows"
    yield {"data": gradient, "stype": "row_sparse", WHY: why}
    yield {"data": few_texts(size), "stype": "default", WHY: "text to a dense matrix"}
    yield {"data": rows(size), "stype": "default", WHY: "an embedding's gradient to a dense one"}


FLOAT32 = 0
"""MXNet's number for float32."""


@FAMILIES.add("_identity_with_attr_like_rhs", replaces="it requires a tensor of the result's shape")
def alike(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors of one shape, of the second of which only the shape is used."""
    for shape, form in ((square(size), "square matrices"), (in_cache(size), "matrices in cache")):
        why = f"two {form}, the first copied, with the shape of the second"
        yield {"lhs": tensor(*shape), "rhs": fixed(*shape), WHY: why}


ONE_ROW: dict[str, Row] = {
    "_sparse_retain": lambda size: {
        "data": sparse(ROWS, *table_shape(size), density=WHOLE, gradient=False),
        "indices": fixed(size.extent(1000), fill=SEQUENCE, dtype=INDEX),
        WHY: "an embedding's rows of the most frequent words, as a parameter server sends them",
    },
    "_contrib_fft": lambda size: {
        "data": tensor(size.extent(128), SKETCH),
        WHY: "rows to spectra: the sketches in compact bilinear pooling",
    },
    "_contrib_ifft": lambda size: {
        "data": tensor(size.extent(128), 2 * SKETCH),
        WHY: "spectra back to rows: the products in compact bilinear pooling",
    },
    "_contrib_count_sketch": lambda size: {
        "data": tensor(size.extent(784), CHANNELS),
        "h": fixed(1, CHANNELS, fill=below(SKETCH)),
        "s": fixed(1, CHANNELS, fill=SIGNS),
        "out_dim": SKETCH,
        WHY: "compact bilinear pooling: VGG-16's channels at each place, to 8192 numbers",
    },
    "_npi_fill_diagonal": lambda size: {
        "a": fixed(*square(size)),
        "val": (FACTOR,),
        OUTPUT: same(fixed(*square(size)), "a"),
        WHY: "a diagonal overwritten, as the distance of each point to itself",
    },
}
add_rows(FAMILIES.add, ONE_ROW)


VARIANTS: dict[str, Variants] = {
    # The gradient casts back.
    "Cast": lambda size: [
        {"data": tensor(*square(size)), "dtype": wanted, WHY: why} for wanted, why in CASTS
    ],
    "Custom": lambda size: {
        why: call(data=tensors([tensor(*shape)]), op_type="CustomAddOne")
        for shape, why in in_python(size)
    },
    "_Native _NDArray _CustomFunction": lambda size: {
        why: call(data=tensor(*shape)) for shape, why in in_python(size)
    },
    # A layer's gradient of finite numbers, so that the check cannot end early.
    "all_finite": lambda size: [
        {"data": fixed(*shape), WHY: why} for shape, why in layer_parameters(size)
    ],
    "_zeros_without_dtype": lambda size: {
        why: call(shape=shape, dtype=FLOAT32) for shape, why in filled(size)
    },
    "_contrib_arange_like": lambda size: {
        "a number for each element of a square matrix": call(data=fixed(*square(size))),
        "a number for each row, as positions of tokens": call(data=fixed(*tall(size)), axis=0),
    },
    "_contrib_getnnz": lambda size: {
        "how many words each document has": call(data=text(size), axis=1)
    },
    "_npi_share_memory": lambda size: {
        f"two matrices, of which the addresses are compared: {MOSTLY_DISPATCH}": call(
            a=tensor(*square(size), fill=POSITIVE), b=fixed(*square(size))
        )
    },
    # Set everywhere, so that the check cannot end early.
    "_npx_constraint_check": lambda size: {
        why: call(input=fixed(*shape, fill=Fill("constant", 1.0), dtype="bool"))
        for shape, why in (
            (square(size), "long rows that are all true, as a distribution checks its parameters"),
            (in_cache(size), "a few rows that are all true, which stay in cache"),
        )
    },
}
add_rows(FAMILIES.add, VARIANTS)
