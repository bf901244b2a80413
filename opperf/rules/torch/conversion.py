"""Families of PyTorch's copies and conversions: to another dtype, order or layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from opperf.model import Device, MemoryFormat, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.families.special import COMPLEX
from opperf.rules.pictures import feature_maps, photographs
from opperf.rules.registering import Families
from opperf.rules.shapes import MOSTLY_DISPATCH, column, square
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, Arguments, below, fixed, sparse, tensor
from opperf.rules.views import every_other_column, transposed

FAMILIES = Families()

LAST = MemoryFormat("channels_last")


@FAMILIES.add("contiguous")
def contiguous(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors that have to be copied, and one that has not."""
    side = square(size)
    maps = tensor(*feature_maps(size))
    yield {"self": transposed(side, gradient=True), WHY: "a transposed matrix, before a view of it"}
    yield {"self": every_other_column(side, gradient=True), WHY: "every other column of a matrix"}
    yield {"self": maps, "memory_format": LAST, WHY: "feature maps, to channels last"}
    yield {"self": tensor(*side), WHY: "a matrix that is contiguous already: no copy"}


@FAMILIES.also("clone")
def clone(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Copies to another order of elements."""
    maps = tensor(*feature_maps(size))
    last = msgspec.structs.replace(maps, memory_format="channels_last")
    contiguous = MemoryFormat("contiguous")
    yield {
        "self": transposed(square(size), gradient=True),
        "memory_format": contiguous,
        WHY: "a transposed matrix, to rows that are adjacent",
    }
    yield {"self": maps, "memory_format": LAST, WHY: "feature maps, to channels last"}
    yield {"self": last, "memory_format": contiguous, WHY: "feature maps, to channels first"}


@FAMILIES.add("copy")
def copy(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Copies to a tensor of another dtype, order or extent, and to one like it."""
    side = square(size)
    rows, columns = side
    own = tensor(*side)
    for source, why in (
        (own, "a matrix, to another of its kind"),
        (fixed(*side, dtype="float64"), "double precision to the tensor's own, as data from NumPy"),
        (transposed(side, gradient=True), "a transposed matrix, to rows that are adjacent"),
        (tensor(1, columns), "a row, to each row of a matrix"),
    ):
        yield {"self": own, "src": source, WHY: why}


OTHER_DTYPES = ("float16", "float32")
"""Dtype to convert to: the first that is not the tensor's own."""

CONVERSIONS: dict[str, Callable[[TensorSpec, str | tuple[str, ...]], Arguments]] = {
    "to.device": lambda one, dtype: {"self": one, "device": Device(), "dtype": dtype},
    "to.dtype": lambda one, dtype: {"self": one, "dtype": dtype},
    "to.dtype_layout": lambda one, dtype: {"self": one, "dtype": dtype},
}
"""Arguments of conversions of a tensor to a dtype."""


@FAMILIES.add(*CONVERSIONS)
def to_dtype(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors that are converted, and one that is of that dtype already."""
    arguments = CONVERSIONS[operator.names[0]]
    own = tensor(*square(size))
    pictures = fixed(*photographs(size), fill=below(256), dtype="uint8")
    yield {
        **arguments(own, OTHER_DTYPES),
        WHY: "a layer's weights to half precision, as autocast converts them in each step",
    }
    yield {**arguments(pictures, "float32"), WHY: "pictures from bytes, before normalisation"}
    yield {
        **arguments(own, OTHER_DTYPES),
        "copy": True,
        "memory_format": MemoryFormat("preserve"),
        "self": transposed(square(size), gradient=True),
        WHY: "a transposed matrix, whose order of elements is kept",
    }
    yield {
        **arguments(fixed(*square(size), dtype="float32"), "float32"),
        WHY: f"a matrix of that dtype already, no copy: {MOSTLY_DISPATCH}",
    }


@FAMILIES.add("to.other", "type_as")
def to_other(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors to the dtype of another one."""
    side = square(size)
    yield {
        "self": fixed(*side, fill=BOOLEAN, dtype="bool"),
        "other": fixed(*side),
        WHY: "a boolean mask to the dtype of scores, which it is to be added to",
    }
    yield {
        "self": fixed(*side, dtype="float64"),
        "other": fixed(*side, dtype="float32"),
        WHY: "double precision to single, as data from NumPy to that of a model's weights",
    }


@FAMILIES.add("lift", "lift_fresh")
def lift(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor that is returned as it is, so that autograd has nothing to record: mostly
    dispatch."""
    yield {"self": fixed(*column(size))}


@FAMILIES.add("chalf")
def to_complex_half(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Complex numbers to half precision, as of a spectrum that is kept."""
    yield {"self": tensor(*square(size), dtype=COMPLEX)}


@FAMILIES.add("pin_memory")
def pin_memory(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A batch of pictures to memory that a GPU can copy from by itself."""
    yield {"self": msgspec.structs.replace(fixed(*photographs(size)), device="cpu")}


DENSITY = 0.1
"""Share of a sparse matrix that is stored, as of pruned weights."""

LAYOUTS = {
    "coo": "pruned weights, a tenth of which is stored by index",
    "csr": "pruned weights, a tenth of which is stored row by row",
    "mkldnn": "a layer's output in oneDNN's layout, to PyTorch's own",
}
"""Layouts that are made dense, and why."""


@FAMILIES.add("to_dense")
def to_dense(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Sparse matrices, and one of oneDNN's."""
    for layout, why in LAYOUTS.items():
        density = 1.0 if layout == "mkldnn" else DENSITY
        yield {"self": sparse(layout, *square(size), density=density), WHY: why}


@FAMILIES.add("to_dense_backward")
def to_dense_backward(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The gradient of a dense matrix, of which a tenth is that of a sparse one."""
    side = square(size)
    yield {"grad": fixed(*side), "input": sparse("coo", *side, density=DENSITY, gradient=False)}


@FAMILIES.also("to_mkldnn")
def maps_to_mkldnn(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps to oneDNN's layout, before its convolutions."""
    yield {"self": tensor(*feature_maps(size))}


@FAMILIES.add("to_mkldnn_backward")
def to_mkldnn_backward(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The gradient of feature maps in oneDNN's layout, to that of dense ones."""
    maps = feature_maps(size)
    yield {
        "grad": sparse("mkldnn", *maps, density=1.0, gradient=False),
        "input": fixed(*maps),
    }
