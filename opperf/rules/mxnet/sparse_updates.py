"""Sparse tensors drawn at random, reset and copied; and updates in place of an embedding's weights
by a row-sparse gradient, of which a lazy one leaves the other rows and their state as they are."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from opperf.model import Argument, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.engine import OUTPUT
from opperf.rules.mxnet.optimizers import state_tensor, update
from opperf.rules.mxnet.sampling import LIKE, NUMBERS
from opperf.rules.mxnet.sparse import MAKERS, OF_BATCH, ROWS, WHOLE, WHYS, WIDTH, table_shape
from opperf.rules.registering import Families, entry_of
from opperf.rules.sizes import Preset
from opperf.rules.values import REQUESTED, ZEROS, Arguments, same, sparse

FAMILIES = Families()

LAZY = ("sgd_update", "sgd_mom_update", "adam_update")
"""Updates with a kernel for row-sparse gradients of dense weights; others make them dense first."""

STANDARD = ("sgd_mom_update", "adam_update")
"""Updates with another that writes all rows: momentum moves those without a gradient too."""

ROWS_ONLY = ("sgd_update", "sgd_mom_update", "adam_update", "ftrl_update")
"""Updates with a kernel for weights and state that are row-sparse as well."""


def row_sparse(value: Argument, density: float) -> TensorSpec:
    """The tensor as a row-sparse one."""
    assert isinstance(value, TensorSpec)
    return msgspec.structs.replace(value, layout=ROWS, density=density)


def with_layouts(arguments: Arguments, *stored: str) -> Arguments:
    """The arguments with a row-sparse gradient, those named with all rows, weights as output."""
    whole = {name: row_sparse(arguments[name], WHOLE) for name in stored}
    made: Arguments = {**arguments, "grad": row_sparse(arguments["grad"], OF_BATCH), **whole}
    weight = made["weight"]
    assert isinstance(weight, TensorSpec)
    return {**made, OUTPUT: same(weight, "weight")}


def all_sparse(arguments: Arguments) -> Arguments:
    """The arguments of an update whose weights and state are row-sparse too."""
    tensors = (name for name, value in arguments.items() if isinstance(value, TensorSpec))
    return with_layouts(arguments, *(name for name in tensors if name != "grad"))


SERVED = "{} of row-sparse weights, as a parameter server has them"


@FAMILIES.also(*ROWS_ONLY)
def sparse_updates(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A row-sparse gradient, for each combination of layouts that has a kernel."""
    arguments = update(operator, table_shape(size))
    if operator.name in LAZY:
        yield {**with_layouts(arguments), WHY: "lazy update of an embedding"}
    if operator.name in STANDARD:
        own = {**arguments, "lazy_update": False}
        yield {**with_layouts(own), WHY: "update of all rows of an embedding"}
        yield {**with_layouts(own, "weight"), WHY: "update of all rows of row-sparse weights"}
    yield {**all_sparse(arguments), WHY: SERVED.format("update")}


@FAMILIES.add("_sparse_adagrad_update", "_contrib_group_adagrad_update")
def adagrad(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A row-sparse gradient, without a decay of weights, or with a history of each row."""
    rows, width = table_shape(size)
    arguments, what = {**update(operator, (rows, width)), "wd": 0.0}, "AdaGrad"
    if operator.name == "_contrib_group_adagrad_update":
        history = state_tensor(operator, "history", (rows, 1))
        arguments, what = {**update(operator, (rows, width)), "history": history}, "AdaGrad by row"
    yield {**with_layouts(arguments), WHY: f"{what} of an embedding"}
    yield {**all_sparse(arguments), WHY: SERVED.format(what)}


def drawn_weight(size: Preset, dtype: str = REQUESTED) -> TensorSpec:
    """Row-sparse weights of a layer, small as drawing is slow."""
    shape = (size.extent(1024), WIDTH)
    return sparse(ROWS, *shape, density=WHOLE, fill=ZEROS, dtype=dtype, gradient=False)


@FAMILIES.also(*(name for name in NUMBERS if name != "random_binomial"))
def sparse_random(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Row-sparse weights to initialise, all of whose rows are drawn."""
    numbers, *_ = entry_of(NUMBERS, operator)
    weight = drawn_weight(size, str(numbers.get("dtype", REQUESTED)))
    why = "row-sparse weights to initialise, all of whose rows are drawn"
    yield {**numbers, "shape": weight.shape, OUTPUT: weight, WHY: why}


@FAMILIES.also(*LIKE)
def sparse_random_like(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Row-sparse weights, in whose shape numbers are drawn."""
    why = "as many numbers as row-sparse weights have, drawn anew"
    numbers, *_ = NUMBERS[LIKE[operator.name]]
    yield {**numbers, "data": drawn_weight(size), WHY: why}


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
