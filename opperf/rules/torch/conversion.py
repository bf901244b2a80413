"""Families of PyTorch's copies and conversions: to another dtype, order or layout."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import msgspec

from opperf.model import Argument, Device, Kind, MemoryFormat, Operator, TensorSpec
from opperf.operations.uses import Array, Table, merge, use, uses
from opperf.rules.configurations import WHY
from opperf.rules.families.special import COMPLEX
from opperf.rules.image_shapes import feature_maps, photographs
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import FEW, MOSTLY_DISPATCH, column, square, tiny
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.convolutions import channels_last
from opperf.rules.values import (
    BOOLEAN,
    Arguments,
    below,
    call,
    every_other_column,
    fixed,
    sparse,
    tensor,
    transposed,
)
from opperf.rules.variants import Row, Variants, add_rows

COPIES = (
    *("clone", "contiguous", "lift", "lift_fresh", "lift_fresh_copy", "resolve_conj"),
    *("resolve_neg", "to_dense", "to_mkldnn"),
)
"""Operators whose results have the elements of their tensor, in whatever order or layout."""

OPTIONS = "-memory_format -dtype -layout -device -pin_memory -non_blocking -copy -masked_grad"


def cast_roles(self: Array, dtype: Any, **others: Any) -> dict[str, Any]:
    """A tensor, and the dtype of integers that it is cast to: real numbers keep their values."""
    name = str(dtype).removeprefix("torch.")
    return {"x": self, "dtype": "float64" if "float" in name else name}


OPERATIONS: Table = merge(
    uses(COPIES, f"x=self {OPTIONS}", other=dict.fromkeys(COPIES, "identity")),
    {
        # Its own rows write to a tensor that takes a gradient.
        "copy": use(
            "broadcast_like", "x=src like=self -non_blocking", to_arguments=lambda _, roles: None
        ),
        "to": use("identity", f"x=self -other {OPTIONS}"),
        "to.dtype": use("cast", cast_roles, to_arguments="x=self dtype"),
        "type_as": use("identity", "x=self -other"),
    },
)

FAMILIES = Families()

FIRST, LAST, KEPT = map(MemoryFormat, ("contiguous", "channels_last", "preserve"))

OTHER_DTYPES = ("bfloat16", "float32")
"""Dtype to convert to: the first that is not the tensor's own."""


@FAMILIES.add("to.dtype")
@FAMILIES.add("to.device", "to.dtype_layout", replaces="it depends on both dtypes")
def to_dtype(operator: Operator, size: Preset) -> Rows:
    """Tensors that are converted, and one that is of that dtype already."""
    own = tensor(*square(size))
    images = fixed(*photographs(size), fill=below(256), dtype="uint8")
    arguments = call if operator.names[0] != "to.device" else partial(call, device=Device())
    return {
        "weights to bfloat16, as autocast does": arguments(self=own, dtype=OTHER_DTYPES),
        "images from bytes, before normalisation": arguments(self=images, dtype="float32"),
        "a transposed matrix, whose order of elements is kept": arguments(
            self=transposed(own), dtype=OTHER_DTYPES, copy=True, memory_format=KEPT
        ),
        f"a matrix of that dtype already, no copy: {MOSTLY_DISPATCH}": arguments(
            self=fixed(*square(size), dtype="float32"), dtype="float32"
        ),
    }


DENSITY = 0.1
"""Share of a sparse matrix that is stored, for pruned weights."""

OWN: dict[str, Row | Variants] = {
    "contiguous": lambda size: {
        "a transposed matrix, before a view of it": call(self=transposed(tensor(*square(size)))),
        "every other column of a matrix": call(self=every_other_column(tensor(*square(size)))),
        "feature maps to channels last": call(self=tensor(*feature_maps(size)), memory_format=LAST),
        f"a matrix that is contiguous already, no copy: {MOSTLY_DISPATCH}": call(
            self=tensor(*square(size))
        ),
    },
    "lift lift_fresh": lambda size: {"no copy: mostly dispatch": call(self=tensor(*column(size)))},
    "positive resolve_conj resolve_neg": lambda size: {"self": tensor(*tiny(size)), **FEW},
    "conj imag real": lambda size: {"self": tensor(*tiny(size), dtype=COMPLEX), **FEW},
    "to.other type_as": lambda size: {
        "a boolean mask to the dtype of scores, which it is to be added to": call(
            self=fixed(*square(size), fill=BOOLEAN, dtype="bool"), other=fixed(*square(size))
        ),
        "double precision to single, as data from NumPy to that of a model's weights": call(
            self=fixed(*square(size), dtype="float64"), other=fixed(*square(size), dtype="float32")
        ),
    },
    "to_dense": lambda size: {
        why: call(self=sparse(layout, *square(size), density=density))
        for layout, density, why in (
            ("coo", DENSITY, "pruned weights, a tenth of which is stored by index"),
            ("csr", DENSITY, "pruned weights, a tenth of which is stored row by row"),
            ("mkldnn", 1.0, "a layer's output in oneDNN's layout, to PyTorch's own"),
        )
    },
}
add_rows(FAMILIES.add, OWN, replaces="what it does depends on its tensors' layouts and dtypes")

PLAIN: dict[str, Argument] = {
    **{"dim": 0, "min": 2, "size": 8, "memory_format": FIRST},
    **{"other": 2.0, "scalar": 2.0, "scalar1": 2.0, "scalar2": 3},
    **{"from_": "float32", "to": "float64", "type1": "float16", "type2": "float32"},
}
"""Values of the arguments of queries that are no tensors."""

BOUNDED = ("sym_constrain_range", "sym_constrain_range_for_size")
"""Queries whose optional bound is what they check."""

ASKED = {
    name: why
    for names, why in (
        ("can_cast", "whether numbers of one type may be written to an output of another"),
        ("promote_types result_type", "the type of a result, which arithmetic finds first"),
        ("dim numel size stride storage_offset", "an extent or a stride, as kernels read them"),
        ("sym_numel sym_size sym_storage_offset sym_stride", "an extent or a stride, dynamic"),
        ("is_contiguous sym_is_contiguous", "whether elements are side by side, before a view"),
        ("is_complex is_floating_point is_signed", "the kind of numbers, to choose a kernel by"),
        ("is_conj is_neg", "whether a conjugate or a negative has yet to be computed"),
        ("is_inference is_leaf output_nr retains_grad", "what autograd knows of a tensor"),
        ("data", "a tensor outside of the graph, as old optimizers wrote to parameters"),
        ("get_device is_distributed", "where a tensor is"),
        ("cudnn_is_acceptable", "whether cuDNN has a kernel for a tensor"),
        ("is_vulkan_available", "whether the build has kernels of Vulkan"),
        ("is_set_to", "whether two tensors are one view of one storage"),
        ("is_nonzero", "the truth of one number, as a branch of a program waits for it"),
        ("item", "a loss as a number of Python, as training logs it"),
        ("sym_constrain_range", "the bounds of a dynamic number, in an exported graph"),
        ("sym_constrain_range_for_size", "the bounds of a dynamic extent, in an exported graph"),
    )
    for name in names.split()
}
"""The questions that queries answer."""


@FAMILIES.category("query")
def query(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One call, of a small tensor if it takes any."""
    shape = (1,) if operator.name in ("is_nonzero", "item") else column(size)
    yield {
        WHY: f"{ASKED[operator.name]}: {MOSTLY_DISPATCH}",
        **{
            parameter.name: fixed(*shape)
            if parameter.kind is Kind.TENSOR
            else PLAIN[parameter.name]
            for parameter in operator.parameters
            if parameter.required or (operator.name in BOUNDED and parameter.name == "min")
        },
    }


def on_host(size: Preset) -> TensorSpec:
    """A batch of images on the CPU, whatever the case's device."""
    return msgspec.structs.replace(fixed(*photographs(size)), device="cpu")


ROWS: dict[str, Variants] = {
    "copy": lambda size: {
        why: call(self=own, src=source)
        for own, double in [(tensor(*square(size)), fixed(*square(size), dtype="float64"))]
        for source, why in (
            (own, "a matrix, to another of its kind"),
            (double, "double precision to the tensor's own, as data from NumPy"),
            (transposed(own), "a transposed matrix, to rows that are adjacent"),
            (tensor(1, square(size)[1]), "a row, to each row of a matrix"),
        )
    },
    "chalf": lambda size: {
        "a spectrum to complex half precision": call(self=tensor(*square(size), dtype=COMPLEX))
    },
    "pin_memory": lambda size: {"images to memory that a GPU reads": call(self=on_host(size))},
    "is_pinned": lambda size: {
        f"whether a copy to a GPU may be asynchronous: {MOSTLY_DISPATCH}": call(self=on_host(size))
    },
    "to_dense_backward": lambda size: {
        "The gradient of a dense matrix, of which a tenth is that of a sparse one": call(
            grad=fixed(*square(size)),
            input=sparse("coo", *square(size), density=DENSITY, gradient=False),
        )
    },
    "to_mkldnn_backward": lambda size: {
        "The gradient of feature maps in oneDNN's layout, to that of dense ones": call(
            grad=sparse("mkldnn", *feature_maps(size), density=1.0, gradient=False),
            input=fixed(*feature_maps(size)),
        )
    },
}
add_rows(FAMILIES.add, ROWS)

FURTHER: dict[str, Variants] = {
    "clone": lambda size: {
        why: call(self=source, memory_format=order)
        for matrix, maps in [(tensor(*square(size)), tensor(*feature_maps(size)))]
        for source, order, why in (
            (transposed(matrix), FIRST, "a transposed matrix, to rows that are adjacent"),
            (maps, LAST, "feature maps to channels last"),
            (channels_last(maps), FIRST, "feature maps to channels first"),
        )
    },
    "to_mkldnn": lambda size: {"maps to oneDNN's layout": call(self=tensor(*feature_maps(size)))},
}
add_rows(FAMILIES.also, FURTHER)
