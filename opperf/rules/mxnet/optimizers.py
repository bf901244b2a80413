"""Optimizer updates: dense and row-sparse, of one tensor and of many, in mixed precision.

The tensors and values of every update follow from the names of its parameters, by tables.
"""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Fill, Kind, Operator, TensorSpec
from opperf.rules.engine import Families
from opperf.rules.mxnet.names import LIST_LENGTH, Shape, shapes, square
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    NORMAL,
    ONES,
    POSITIVE,
    REQUESTED,
    ZEROS,
    Arguments,
    fixed,
    literal,
    tensor,
    tensors,
)

FAMILIES = Families()

MASTER = "float32"
"""Dtype of the state and the weights that are kept beside weights of half precision."""
HALF = "float16"

STATES: dict[str, Fill] = {
    "weight": NORMAL, "weight32": NORMAL, "grad": NORMAL, "g": NORMAL,
    "mean": ZEROS, "mom": ZEROS, "z": ZEROS, "delta": ZEROS,
    # Roots are taken of these.
    "var": POSITIVE, "n": POSITIVE, "d": POSITIVE, "v": POSITIVE, "history": POSITIVE,
    # Norms of the weights and of the update.
    "r1": POSITIVE, "r2": POSITIVE,
    "rescale_grad": ONES,
}
"""What fills each tensor of an update."""

ZERO_AT_START = frozenset({("rmspropalex_update", "g")})
"""Tensors that start at zero where one of the same name elsewhere does not: here `g` is the
mean of the gradients, there the update."""

NUMBERS = frozenset({"r1", "r2", "rescale_grad"})
"""Tensors of one element."""

HALVES = frozenset({"weight", "grad"})
"""Tensors that are of half precision in mixed precision."""

RATE, DECAY = 0.01, 1e-4

VALUES: dict[str, Argument] = {
    "lr": RATE, "wd": DECAY, "momentum": 0.9, "wd_lh": DECAY, "eta": 1.0, "t": 1,
    "eps": 1e-8,
}
"""Plain values that an update gets if it has them. The others keep their defaults."""

LISTS: dict[str, Argument] = {
    "lrs": RATE, "learning_rates": RATE, "wds": DECAY, "etas": 1.0, "step_count": 1,
}
"""Plain values of which each tensor of a list has its own."""

COUNTERS = ("num_weights", "num_tensors")


def given(operator: Operator, values: dict[str, Argument]) -> Arguments:
    """The values that the operator has a parameter for, in the order it declares them."""
    return {
        p.name: values[p.name] for p in operator.parameters
        if p.name in values and p.kind not in (Kind.TENSOR, Kind.TENSORS)
    }


def is_mixed(operator: Operator) -> bool:
    """Whether the update keeps weights of full precision beside those of half."""
    return "mp_" in operator.name


def state(
    operator: Operator, name: str, shape: Shape, mixed: bool, layout: str = "dense"
) -> TensorSpec:
    """One tensor of an update. None takes a gradient."""
    dtype = REQUESTED
    if mixed:
        dtype = HALF if name in HALVES else MASTER
    fill = ZEROS if (operator.name, name) in ZERO_AT_START else STATES[name]
    return tensor(
        *((1,) if name in NUMBERS else shape), fill=fill, dtype=dtype, layout=layout,
        gradient=False)


def update(operator: Operator, shape: Shape) -> Arguments:
    """An update of one tensor."""
    mixed = is_mixed(operator)
    return {
        **{p.name: state(operator, p.name, shape, mixed) for p in operator.tensors},
        **given(operator, VALUES),
    }


@FAMILIES.add(
    "adam_update", "ftml_update", "ftrl_update", "rmsprop_update", "rmspropalex_update",
    "nag_mom_update", "mp_nag_mom_update", "sgd_update", "sgd_mom_update", "mp_sgd_update",
    "mp_sgd_mom_update", "signsgd_update", "signum_update", "lamb_update_phase1",
    "lamb_update_phase2", "mp_lamb_update_phase1", "mp_lamb_update_phase2", "_adamw_update",
    "_mp_adamw_update", "_adabelief_update", "_mp_adabelief_update",
)
def updates(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Weights of each of the usual shapes; with gradients of few rows, as embeddings have
    them, where the operator has a form for these."""
    for shape in shapes(size):
        yield update(operator, shape)
    if any(name.startswith("_sparse_") for name in operator.names):
        yield with_sparse_gradient(operator, update(operator, square(size)))


def with_sparse_gradient(operator: Operator, arguments: Arguments) -> Arguments:
    """The arguments with a gradient that has few rows."""
    gradient = arguments["grad"]
    assert isinstance(gradient, TensorSpec)
    sparse = state(
        operator, "grad", gradient.shape, is_mixed(operator), layout="row_sparse")
    return {**arguments, "grad": sparse}


@FAMILIES.add("_sparse_adagrad_update")
def adagrad(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Gradients of few rows: the operator takes no others."""
    yield with_sparse_gradient(operator, update(operator, square(size)))


@FAMILIES.add("_contrib_group_adagrad_update")
def group_adagrad(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Gradients of few rows, with one rate for each row."""
    rows, columns = square(size)
    arguments = update(operator, (rows, columns))
    history = {"history": state(operator, "history", (rows, 1), mixed=False)}
    yield {**with_sparse_gradient(operator, arguments), **history}


@FAMILIES.add("multi_lars")
def multi_lars(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Learning rates for as many layers as a ResNet-50 has tensors of weights."""
    layers = size.extent(161)
    rates = {p.name: fixed(layers, fill=POSITIVE) for p in operator.tensors}
    yield {**rates, **given(operator, {**VALUES, "eta": 0.001})}


SGD, MOMENTUM, ADAM = ("weight", "grad"), ("weight", "grad", "mom"), (
    "weight", "grad", "mean", "var")

INTERLEAVED: dict[str, tuple[str, ...]] = {
    "multi_sgd_update": SGD, "multi_sgd_mom_update": MOMENTUM,
    "multi_mp_sgd_update": (*SGD, "weight32"),
    "multi_mp_sgd_mom_update": (*MOMENTUM, "weight32"),
    "preloaded_multi_sgd_update": SGD, "preloaded_multi_sgd_mom_update": MOMENTUM,
    "preloaded_multi_mp_sgd_update": (*SGD, "weight32"),
    "preloaded_multi_mp_sgd_mom_update": (*MOMENTUM, "weight32"),
    **{f"_multi_{name}_update": ADAM for name in ("adamw", "adabelief", "lamb", "lans")},
    **{f"_multi_mp_{name}_update": (*ADAM, "weight32")
       for name in ("adamw", "adabelief", "lamb", "lans")},
}
"""Updates of many tensors, and which tensors they take for each of them, in this order."""


def after_all(operator: Operator) -> list[TensorSpec]:
    """Tensors that come once, after those of all weights."""
    if operator.name.startswith("preloaded_"):
        return [
            fixed(LIST_LENGTH, fill=literal((value,) * LIST_LENGTH), dtype=MASTER)
            for value in (RATE, DECAY)
        ]
    if operator.parameter("etas") is not None:
        return [fixed(1, fill=STATES["rescale_grad"], dtype=MASTER)]
    return []


@FAMILIES.add(*INTERLEAVED)
def multi_updates(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Several weights of one shape in one call."""
    names = INTERLEAVED[operator.name]
    counts: dict[str, Argument] = dict.fromkeys(COUNTERS, LIST_LENGTH)
    lists: dict[str, Argument] = {
        name: (value,) * LIST_LENGTH for name, value in LISTS.items()}  # type: ignore[misc]
    for shape in shapes(size):
        one = [state(operator, name, shape, is_mixed(operator)) for name in names]
        yield {
            "data": tensors([*one * LIST_LENGTH, *after_all(operator)]),
            **given(operator, {**VALUES, **lists, **counts}),
        }
