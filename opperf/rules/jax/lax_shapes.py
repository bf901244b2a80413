"""Families of functions of `jax.lax` that move, slice, broadcast, pad and convert elements: inputs
that only JAX's functions take."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.bert import few_sentences, layer_width, scores
from opperf.rules.configurations import WHY
from opperf.rules.families.shapes import PER_UNIT, heads
from opperf.rules.jax.operations.lax_elementwise import scalar
from opperf.rules.pictures import feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import MOSTLY_DISPATCH, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, Arguments, below, fixed, tensor

FAMILIES = Families()


@FAMILIES.add("lax.broadcast")
def broadcast(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor, and extents of new first axes."""
    rows, columns = square(size)
    yield {"operand": tensor(columns), "sizes": (rows,), WHY: PER_UNIT}
    mask = fixed(*scores(size)[2:], fill=BOOLEAN, dtype="bool")
    why = "one mask of attention to all sentences and heads, as booleans"
    yield {"operand": mask, "sizes": scores(size)[:2], WHY: why}


@FAMILIES.add("lax.broadcast_like")
def broadcast_to_another(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A row or a column, and a matrix of whose shape it becomes."""
    rows, columns = square(size)
    for shape, why in (((1, columns), PER_UNIT), ((rows, 1), "a number of each sample")):
        yield {"arr": tensor(*shape), "like_arr": fixed(rows, columns), WHY: why}


@FAMILIES.also("lax.broadcast_in_dim")
def broadcast_vectors(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Vectors along the last and the first axis of a matrix, as `jax.numpy` broadcasts."""
    rows, columns = square(size)
    for extent, axis, why in (
        (columns, 1, "a vector to all rows: the vector is read for each row"),
        (rows, 0, "a vector to all columns, as each sample's maximum without its axis"),
    ):
        yield {
            "operand": tensor(extent),
            "shape": (rows, columns),
            "broadcast_dimensions": (axis,),
            WHY: why,
        }


@FAMILIES.add("lax.broadcast_to_rank")
def broadcast_to_rank(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor that gains first axes of extent 1."""
    yield {"x": tensor(*square(size)), "rank": 4, WHY: "a matrix to the rank of feature maps"}
    bias = tensor(square(size)[1])
    yield {"x": bias, "rank": 2, WHY: f"a vector to the rank of a matrix: {MOSTLY_DISPATCH}"}


@FAMILIES.also("lax.reshape")
def reshape_transposed(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix read column by column, as from the order of Fortran: a transposition too."""
    rows, columns = square(size)
    yield {"operand": tensor(rows, columns), "new_sizes": (rows * columns,), "dimensions": (1, 0)}


@FAMILIES.add("lax.collapse")
def collapse(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors of which neighbouring axes are joined."""
    for shape, start, stop, why in (
        (few_sentences(size), 0, 2, "sentences and tokens to one axis, before a dense layer"),
        (heads(size), 2, 4, "heads of attention to one vector for each token"),
        (feature_maps(size), 1, 4, "feature maps to one vector for each picture"),
    ):
        yield {
            "operand": tensor(*shape),
            "start_dimension": start,
            "stop_dimension": stop,
            WHY: why,
        }


@FAMILIES.also("lax.pad")
def pad_between(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Zeros between the elements of feature maps, and a border that is cut off."""
    maps = tensor(*feature_maps(size))
    for border, why in (
        ((1, 1, 1), "zeros between pixels, as a strided convolution's backward pass"),
        ((-1, -1, 0), "the outermost pixels cut off: negative widths"),
    ):
        config = ((0, 0, 0), (0, 0, 0), border, border)
        yield {"operand": maps, "padding_value": scalar(0.0), "padding_config": config, WHY: why}


@FAMILIES.add("lax.slice")
def slice_all(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors with the beginning, end and step of a slice of each axis."""
    rows, columns = square(size)
    batch, channels, height, width = feature_maps(size)
    yield {
        "operand": tensor(rows, columns),
        "start_indices": (rows // 4, 0),
        "limit_indices": (3 * rows // 4, columns),
        WHY: "half of the rows, as a device's share of a batch: one block of memory",
    }
    yield {
        "operand": tensor(rows, columns),
        "start_indices": (0, 0),
        "limit_indices": (rows, columns // 2),
        WHY: "half of the columns, as one of a gated layer's halves: a copy for each row",
    }
    yield {
        "operand": tensor(rows, columns),
        "start_indices": (0, 0),
        "limit_indices": (rows, columns),
        "strides": (1, 2),
        WHY: "every other column, as of a rotary embedding's pairs",
    }
    yield {
        "operand": tensor(batch, channels, height, width),
        "start_indices": (0, 0, 1, 1),
        "limit_indices": (batch, channels, height - 1, width - 1),
        WHY: "feature maps without their border, as U-Net crops them",
    }


@FAMILIES.add("lax.slice_in_dim")
def slice_along_one(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and a slice of one axis."""
    rows, columns = square(size)
    for start, limit, stride, axis, why in (
        (rows // 4, 3 * rows // 4, 1, 0, "half of the rows, as a minibatch: one block of memory"),
        (0, columns // 2, 1, 1, "half of the columns, as a gate of a cell: a copy for each row"),
        (0, columns, 2, 1, "every other column, as samples of a signal at half the rate"),
    ):
        yield {
            "operand": tensor(rows, columns),
            "start_index": start,
            "limit_index": limit,
            "stride": stride,
            "axis": axis,
            WHY: why,
        }


@FAMILIES.add("lax.convert_element_type")
def convert(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors and another dtype."""
    matrix = square(size)
    weights = tensor(layer_width(size), 4 * layer_width(size))
    for operand, dtype, why in (
        (weights, "bfloat16", "a layer's weights to bfloat16, as for mixed precision"),
        (tensor(*matrix, dtype="bfloat16"), "float32", "bfloat16 to float32, as before a loss"),
        (
            fixed(*tall(size), fill=below(256), dtype="uint8"),
            "float32",
            "pixels of eight bits to real numbers, as a data loader's pictures",
        ),
        (
            fixed(*matrix, fill=BOOLEAN, dtype="bool"),
            "int32",
            "a mask to whole numbers, as to count the tokens of each sentence",
        ),
    ):
        yield {"operand": operand, "new_dtype": dtype, WHY: why}


@FAMILIES.add("lax.bitcast_convert_type")
def bitcast(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix of single precision, and a dtype for its bits: no NaN can come of whole numbers."""
    for dtype, why in (
        ("int32", "bits as whole numbers of the same width, as to take the exponent out"),
        ("uint16", "each number in two halves, as to split it for bfloat16 products"),
    ):
        yield {"operand": tensor(*square(size), dtype="float32"), "new_dtype": dtype, WHY: why}
