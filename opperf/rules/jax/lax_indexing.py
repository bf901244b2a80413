"""Inputs of the functions of `jax.lax` that read and write at indices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Fill, Function, Operator, TensorSpec
from opperf.model import Mapping as Fields
from opperf.rules.bert import HEADS, WIDTH, layer_width
from opperf.rules.configurations import DTYPE, WHY
from opperf.rules.families.indexing import FEATURES, mask, nodes
from opperf.rules.jax.properties import INDEX, body
from opperf.rules.llama import HALF, prompt
from opperf.rules.registering import Families, Rows, entry_of
from opperf.rules.shapes import line, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    POSITIVE,
    Arguments,
    below,
    call,
    donated,
    fixed,
    literal,
    named,
    tensor,
    tensors,
    zipf,
)
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

IN_RANGE = "promise_in_bounds"
"""Mode without a check of the indices."""


def indices(*shape: int, limit: int, fill: Fill | None = None) -> TensorSpec:
    """Indices below a limit."""
    return fixed(*shape, fill=fill or below(limit), dtype=INDEX)


def place(limit: int) -> TensorSpec:
    """One index, an array of its own, as a loop has it."""
    return indices(limit=limit)


gathering = named("offset_dims collapsed_slice_dims start_index_map")
BATCHES = "operand_batching_dims start_indices_batching_dims"
ROWS, ELEMENTS = gathering((1,), (0,), (0,)), gathering((), (0, 1), (0, 1))
"""Whole rows of a matrix, each at an index of one element, and single elements at two."""


def gathered(size: Preset) -> Rows:
    """Rows of a table, single elements, and windows."""
    rows, columns = tall(size)
    (count,) = line(size)
    side = square(size)[0]
    words, width = size.extent(32_000), layer_width(size, 2048)
    batch, length, window = size.batch, size.extent(16000, least=640), 400
    table = call(
        operand=tensor(rows, columns),
        start_indices=indices(count, 1, limit=rows),
        dimension_numbers=Fields(ROWS),
        slice_sizes=(1, columns),
    )
    return {
        "rows of a table at random, such as word vectors: short copies": table,
        "TinyLlama 1.1B, vectors of 2048 tokens as often as in text: no check of the indices": {
            "operand": fixed(words, width),
            "start_indices": indices(prompt(size), 1, limit=words, fill=zipf(words)),
            "dimension_numbers": Fields(ROWS),
            **call(slice_sizes=(1, width), mode=IN_RANGE),
            DTYPE: HALF,
        },
        "single elements at rows and columns, as x[i, j]": call(
            operand=tensor(side, side),
            start_indices=indices(count, 2, limit=side),
            dimension_numbers=Fields(ELEMENTS),
            slice_sizes=(1, 1),
        ),
        "frames of sound that begin anywhere, of each recording its own": call(
            operand=tensor(batch, length),
            start_indices=indices(batch, 100, 1, limit=length - window + 1),
            dimension_numbers=Fields(gathering((2,), (), (1,)) | named(BATCHES)((0,), (0,))),
            slice_sizes=(1, window),
        ),
    }


scattering = named("update_window_dims inserted_window_dims scatter_dims_to_operand_dims")
TO_ROWS, TO_ELEMENTS = scattering((1,), (0,), (0,)), scattering((), (0, 1), (0, 1))
"""Whole rows to a matrix, each at an index of one element, and single elements at two."""


def messages(size: Preset, fill: Fill = POSITIVE) -> Arguments:
    """Features of nodes, and a message along each of their edges, several to a node."""
    edges = 4 * nodes(size)
    return {
        "operand": tensor(nodes(size), FEATURES, fill=fill),
        "scatter_indices": indices(edges, 1, limit=nodes(size)),
        "updates": tensor(edges, FEATURES, fill=fill),
        "dimension_numbers": Fields(TO_ROWS),
    }


def distinct_rows(size: Preset) -> Arguments:
    """Rows of a matrix, each at an index that does not recur."""
    rows, columns = square(size)
    return {
        "operand": tensor(rows, columns, fill=POSITIVE),
        "scatter_indices": at_places([[row] for row in range(0, rows - 1, 2)], rows),
        "updates": tensor(rows // 2, columns, fill=POSITIVE),
        "dimension_numbers": Fields(TO_ROWS),
        "unique_indices": True,
    }


def diagonal(size: Preset) -> Arguments:
    """The elements of a diagonal, each at a row and a column."""
    side = square(size)[0]
    return {
        "operand": tensor(side, side, fill=POSITIVE),
        "scatter_indices": at_places([[place, place] for place in range(side)], side),
        "updates": tensor(side, fill=POSITIVE),
        "dimension_numbers": Fields(TO_ELEMENTS),
        "unique_indices": True,
    }


def at_places(places: list[list[int]], limit: int) -> TensorSpec:
    """Indices that do not recur."""
    return indices(len(places), len(places[0]), limit=limit, fill=literal(places))


def elements(size: Preset) -> Arguments:
    """Numbers at rows and columns."""
    side = square(size)[0]
    (count,) = line(size)
    return {
        "operand": tensor(side, side, fill=POSITIVE),
        "scatter_indices": indices(count, 2, limit=side),
        "updates": tensor(count, fill=POSITIVE),
        "dimension_numbers": Fields(TO_ELEMENTS),
    }


SCATTERED = {
    "lax.scatter": ("replaced", "x.at[rows].set(values), as results put back in their order"),
    "lax.scatter_add": ("summed", "x.at[rows].add(values), as a sparse gradient of word vectors"),
    "lax.scatter_sub": ("subtracted", "x.at[rows].subtract(values), as a sparse update"),
    "lax.scatter_mul": ("multiplied", "x.at[rows].mul(values), as decay of the rows that are used"),
    "lax.scatter_min": ("compared, the minimum kept", "x.at[rows].min(values), as distances relax"),
    "lax.scatter_max": ("compared, the maximum kept", "x.at[rows].max(values), as the best so far"),
}
"""How messages are combined at their nodes, and what is done with rows that are distinct."""


@FAMILIES.add(*SCATTERED)
def scattered(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Messages, rows at distinct indices, and single numbers."""
    verb, rows_why = entry_of(SCATTERED, operator)
    yield {**distinct_rows(size), WHY: rows_why}
    if operator.name not in ("lax.scatter", "lax.scatter_mul"):
        # The gradient of these two is defined for distinct indices alone.
        yield {**messages(size), WHY: f"messages {verb} at their nodes: whole rows at one index"}
        yield {**elements(size), WHY: f"numbers {verb} at rows and columns, which may recur"}
    else:
        yield {**diagonal(size), WHY: f"a diagonal {verb}, as a covariance's: single elements"}


def applied(size: Preset) -> Iterable[Arguments]:
    """A function of some rows of a matrix, and of its diagonal."""
    for made, why, function in (
        (distinct_rows(size), "x.at[rows].apply(tanh), rows squashed", Function("jax.lax.tanh")),
        (diagonal(size), "x.at[i, i].apply(leak), a diagonal nearly masked", body("leak")),
    ):
        updates = made.pop("updates")
        assert isinstance(updates, TensorSpec)
        yield {**made, "func": function, "update_shape": updates.shape, WHY: why}


def cache(size: Preset) -> tuple[int, int, int, int]:
    """Shape of a decoder's cache of keys or values: by sentence, place and head."""
    return (size.images, size.extent(1024, least=32), HEADS, WIDTH)


def sliced(size: Preset) -> Rows:
    """Crops and blocks at places that a program finds."""
    rows, columns = square(size)
    side = size.side(256)
    crop = 7 * side // 8
    corner = place(side - crop + 1)
    return {
        "a block of a matrix at an index that a loop counts, for blocked attention": call(
            operand=tensor(rows, columns),
            start_indices=tensors([place(rows // 2), place(columns // 2)]),
            slice_sizes=(rows // 2, columns // 2),
        ),
        "images cropped at random, all at the same place, channels last": call(
            operand=tensor(size.images, side, side, 3),
            start_indices=tensors([place(1), corner, corner, place(1)]),
            slice_sizes=(size.images, crop, crop, 3),
        ),
    }


def updated(size: Preset) -> Rows:
    """A part of an array that is replaced."""
    batch, length, heads, width = cache(size)
    rows, columns = square(size)
    return {
        "a decoder's cache, donated, with one token more: a small write to a large array": call(
            operand=donated(batch, length, heads, width),
            update=fixed(batch, 1, heads, width),
            start_indices=tensors([place(1), place(length), place(1), place(1)]),
        ),
        "a block of a matrix, for a blocked factorisation": call(
            operand=tensor(rows, columns),
            update=tensor(rows // 2, columns // 2),
            start_indices=tensors([place(rows // 2), place(columns // 2)]),
        ),
    }


def updated_along(size: Preset) -> Rows:
    """A part of one axis that is replaced."""
    batch, length, heads, width = cache(size)
    prompt = length // 4
    return {
        "a decoder's cache, donated, filled with a prompt of a quarter of its length": call(
            operand=donated(batch, length, heads, width),
            update=fixed(batch, prompt, heads, width),
            start_index=place(length - prompt),
            axis=1,
        ),
        "a step's results among those of all steps, as a loop collects them": call(
            operand=tensor(length, heads * width),
            update=tensor(1, heads * width),
            start_index=place(length),
            axis=0,
        ),
    }


def updated_at(size: Preset) -> Iterable[Arguments]:
    """One index of an axis that is replaced."""
    batch, length, heads, width = cache(size)
    for why, (whole, part), shape, axis in (
        ("a decoder's cache, donated, with one token more", (donated, fixed), cache(size), 1),
        ("a step's results among all steps': a copy of all", (tensor, tensor), (length, width), 0),
    ):
        rest = shape[:axis] + shape[axis + 1 :]
        made = call(operand=whole(*shape), update=part(*rest), index=place(shape[axis]), axis=axis)
        yield {**made, WHY: why}


def at_one(is_dynamic: bool, size: Preset) -> Iterable[Arguments]:
    """One index of an axis, an array if a loop counts it."""
    batch, length, heads, width = cache(size)
    for why, axis, keeps in (
        ("one token of a sequence in the middle, as a recurrent step reads it", 1, True),
        ("one sample of a batch, with one axis less: a contiguous copy", 0, False),
    ):
        shape = (batch, length, heads * width)
        at = place(shape[axis]) if is_dynamic else shape[axis] // 2
        yield {"operand": tensor(*shape), "index": at, "axis": axis, "keepdims": keeps, WHY: why}


def taken(size: Preset) -> Rows:
    """Slices at indices of several axes."""
    side = square(size)[0]
    (count,) = line(size)
    rows, columns = tall(size)
    return {
        "single elements at rows and columns, as x[i, j]": call(
            src=tensor(side, side), idxs=tensors([indices(count, limit=side)] * 2), axes=(0, 1)
        ),
        "rows of a table at random, such as word vectors": call(
            src=tensor(rows, columns), idxs=tensors([indices(count, limit=rows)]), axes=(0,)
        ),
    }


VARIANTS: Mapping[str, Variants] = {
    "lax.dynamic_index_in_dim": lambda size: at_one(True, size),
    "lax.dynamic_slice": sliced,
    "lax.dynamic_slice_in_dim": lambda size: {
        why: call(operand=matrix, start_index=place(start), slice_size=rows // 4, axis=axis)
        for matrix, (rows, columns) in [(tensor(*square(size)), square(size))]
        for why, axis, start in (
            ("a batch of a data set in memory, at a step that a loop counts", 0, rows // 4),
            ("columns in the middle of long rows: strided copies", 1, columns // 8),
        )
    },
    "lax.dynamic_update_index_in_dim": updated_at,
    "lax.dynamic_update_slice": updated,
    "lax.dynamic_update_slice_in_dim": updated_along,
    "lax.gather": gathered,
    "lax.index_in_dim": lambda size: at_one(False, size),
    "lax.index_take": taken,
    "lax.scatter_apply": applied,
}
add_rows(FAMILIES.add, VARIANTS)


FURTHER: Mapping[str, Variants] = {
    "lax.select_n": lambda size: {
        "a mask of two arrays, which is what jnp.where becomes": call(
            which=mask(square(size)), cases=tensors([tensor(*square(size))] * 2)
        )
    }
}
add_rows(FAMILIES.also, FURTHER)
