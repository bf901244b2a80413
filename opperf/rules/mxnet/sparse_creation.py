"""Sparse tensors that are written whole: drawn at random, reset and copied."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.engine import OUTPUT
from opperf.rules.mxnet.sampling import NUMBERS, WITHOUT_LIKE
from opperf.rules.mxnet.sparse_tensors import MAKERS, ROWS, WHOLE, WHYS, WIDTH
from opperf.rules.registering import Families, entry_of
from opperf.rules.sizes import Preset
from opperf.rules.values import REQUESTED, ZEROS, Arguments, sparse

FAMILIES = Families()

DRAWN = tuple(name for name in NUMBERS if name not in WITHOUT_LIKE)
"""Generators that fill a row-sparse tensor."""


def drawn_weight(size: Preset, dtype: str = REQUESTED) -> TensorSpec:
    """Row-sparse weights of a layer, small as drawing is slow."""
    shape = (size.extent(1024), WIDTH)
    return sparse(ROWS, *shape, density=WHOLE, fill=ZEROS, dtype=dtype, gradient=False)


@FAMILIES.also(*DRAWN, "random_randint")
def sparse_random(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Row-sparse weights to initialise, all of whose rows are drawn."""
    numbers = entry_of(NUMBERS, operator)
    weight = drawn_weight(size, str(numbers.get("dtype", REQUESTED)))
    why = "row-sparse weights to initialise, all of whose rows are drawn"
    yield {**numbers, "shape": weight.shape, OUTPUT: weight, WHY: why}


@FAMILIES.also(*(f"_{name}_like" for name in DRAWN))
def sparse_random_like(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Row-sparse weights, as which new ones are initialised."""
    numbers = NUMBERS[operator.name.removeprefix("_").removesuffix("_like")]
    yield {
        **numbers,
        "data": drawn_weight(size),
        WHY: "new weights, in the shape of row-sparse ones",
    }


@FAMILIES.also("_zeros")
def sparse_zeros(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A sparse gradient to reset."""
    for layout, make in MAKERS.items():
        made = make(size)
        yield {"shape": made.shape, OUTPUT: made, WHY: f"to reset {WHYS[layout]}"}


@FAMILIES.also("_copyto")
def sparse_copyto(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A sparse tensor to copy."""
    for layout, make in MAKERS.items():
        made = make(size)
        yield {operator.tensors[0].name: made, OUTPUT: made, WHY: WHYS[layout]}
