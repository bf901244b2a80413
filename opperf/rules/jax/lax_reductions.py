"""Families of functions of `jax.lax` that reduce, accumulate, sort, or make arrays from nothing:
inputs that only JAX's functions take."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.bert import scores, tokens
from opperf.rules.configurations import WHY
from opperf.rules.domains import BITS, FEW_INTEGERS
from opperf.rules.families.sorting import fewer
from opperf.rules.jax.operations.lax_elementwise import scalar
from opperf.rules.jax.operations.lax_reductions import INDEX
from opperf.rules.pictures import feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import MOSTLY_DISPATCH, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, tensor

FAMILIES = Families()


@FAMILIES.also("lax.cumlogsumexp", "lax.cummax", "lax.cummin", "lax.cumprod", "lax.cumsum")
def from_the_end(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """From the end of each row to its beginning, as the returns of an episode's steps."""
    yield {"operand": tensor(*square(size)), "axis": 1, "reverse": True}


@FAMILIES.also("lax.sort")
def sort_by_two_keys(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Rows of a table by two keys, of which the first has few values, with their places."""
    shape = fewer(size)
    yield {
        "operand": (
            fixed(*shape, fill=FEW_INTEGERS, dtype=INDEX),
            tensor(*shape),
            fixed(*shape, fill=BITS, dtype=INDEX),
        ),
        "dimension": 1,
        "num_keys": 2,
    }


@FAMILIES.also("lax.sort", "lax.sort_key_val")
def sort_unstably(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores without regard to the order of equal ones, as `jax.numpy.sort` may."""
    one = tensor(*fewer(size))
    tensors = {"operand": one} if operator.name == "lax.sort" else {"keys": one, "values": one}
    yield {**tensors, "dimension": 1, "is_stable": False}


@FAMILIES.also("lax.approx_max_k", "lax.approx_min_k")
def of_lower_recall(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The ten nearest of many neighbours, of which a tenth may be missed."""
    yield {
        "operand": tensor(size.batch, vector(size)[0] // 16),
        "k": 10,
        "recall_target": 0.9,
    }


@FAMILIES.add("lax.full")
def full(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps and a matrix of one number."""
    for shape, value, why in (
        (feature_maps(size), 0.0, "feature maps of zeros, as of a padded border"),
        (square(size), -10_000.0, "a square matrix of a mask's number for excluded scores"),
    ):
        yield {"shape": shape, "fill_value": scalar(value), WHY: why}


@FAMILIES.add("lax.iota")
def iota(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The count of numbers, as of positions."""
    for count, dtype, why in (
        (vector(size)[0], INDEX, "positions of all samples, as an epoch's order before a shuffle"),
        (vector(size)[0], "float32", "real numbers counted up, as the times of a signal's samples"),
        (tokens(size)[1], INDEX, f"positions of a sentence's tokens: {MOSTLY_DISPATCH}"),
    ):
        yield {"dtype": dtype, "size": count, WHY: why}


@FAMILIES.add("lax.broadcasted_iota")
def broadcasted_iota(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The shape, and the axis along which numbers count up."""
    for shape, axis, why in (
        (square(size), 0, "each element's row, as one side of a causal mask"),
        (square(size), 1, "each element's column, as the other side of a causal mask"),
        (scores(size), 3, "each attention score's key, as for masks of a window"),
    ):
        yield {"dtype": INDEX, "shape": shape, "dimension": axis, WHY: why}
