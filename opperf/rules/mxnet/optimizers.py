"""Optimizer updates: of one weight and of many, in single and in mixed precision.

Tables have the tensors and plain values of every update by the names of its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from opperf.model import Argument, Fill, Kind, Operator, TensorSpec
from opperf.rules.engine import OUTPUT, Families
from opperf.rules.shapes import LIST_LENGTH, Shape, shapes
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
    rounded_copy,
    same,
    tensors,
)

FAMILIES = Families()

MASTER = "float32"
"""Dtype of the state and of the master copy of weights in mixed precision."""
HALF = "float16"

GRADIENT_SCALE = "rescale_grad"
"""A scale of the gradient, whose dtype is `MASTER` in updates of one weight of any dtype."""

FILLS: dict[str, Fill] = {
    "weight": NORMAL,
    "weight32": NORMAL,
    "grad": NORMAL,
    "g": NORMAL,
    "mean": ZEROS,
    "mom": ZEROS,
    "z": ZEROS,
    "delta": ZEROS,
    # The updates take roots of these.
    "var": POSITIVE,
    "n": POSITIVE,
    "d": POSITIVE,
    "v": POSITIVE,
    "history": POSITIVE,
    # Norms of the weights and of the update.
    "r1": POSITIVE,
    "r2": POSITIVE,
    GRADIENT_SCALE: ONES,
}
"""Fill of each tensor of an update."""

MOMENTS = dict.fromkeys(("n", "g"), Fill("constant", 0.5))
"""Fills of the running means of the gradient and of its square in `rmspropalex_update`. The update
takes the root of the latter minus the square of the former. The two tensors' names are exchanged
between MXNet 1 and 2, so that each has to exceed the square of the other."""

SINGLE_ELEMENTS = frozenset({"r1", "r2", GRADIENT_SCALE})
"""Tensors of one element."""

HALF_PRECISION = frozenset({"weight", "grad"})
"""Tensors whose dtype is `HALF` in mixed precision."""

MASTER_COPIES = {"weight": "weight32"}
"""Tensors that are a rounded copy of another one in mixed precision."""

RATE, DECAY = 0.01, 1e-4

VALUES: dict[str, Argument] = {
    "lr": RATE,
    "wd": DECAY,
    "momentum": 0.9,
    "wd_lh": DECAY,
    "eta": 1.0,
    "t": 1,
    "eps": 1e-8,
}
"""Plain values of an update, for the arguments that it has. Other arguments keep their defaults."""

LIST_VALUES: dict[str, Argument] = {
    "lrs": RATE,
    "learning_rates": RATE,
    "wds": DECAY,
    "etas": 1.0,
    "step_count": 1,
}
"""Plain values that are lists, with one for each weight."""

COUNTERS = ("num_weights", "num_tensors")


def select_values(operator: Operator, values: dict[str, Argument]) -> Arguments:
    """The plain values that the operator has a parameter for, in the parameters' order."""
    return {
        p.name: values[p.name]
        for p in operator.parameters
        if p.name in values and p.kind not in (Kind.TENSOR, Kind.TENSORS)
    }


def is_mixed(operator: Operator) -> bool:
    """Whether the update is in mixed precision."""
    return "mp_" in operator.name


def state_tensor(
    operator: Operator, name: str, shape: Shape, place: Callable[[str], str] = str
) -> TensorSpec:
    """One tensor of an update, which takes no gradient. `place` returns the position of a named
    tensor among the arguments; by default its name."""
    fills = FILLS | MOMENTS if operator.name == "rmspropalex_update" else FILLS
    fill, dtype = fills[name], MASTER if name == GRADIENT_SCALE else REQUESTED
    if is_mixed(operator):
        dtype = HALF if name in HALF_PRECISION else MASTER
        fill = rounded_copy(fill, place(MASTER_COPIES[name])) if name in MASTER_COPIES else fill
    return fixed(*((1,) if name in SINGLE_ELEMENTS else shape), fill=fill, dtype=dtype)


def update(operator: Operator, shape: Shape) -> Arguments:
    """The arguments of an update of one weight."""
    return {
        **{p.name: state_tensor(operator, p.name, shape) for p in operator.tensors},
        **select_values(operator, VALUES),
    }


@FAMILIES.add(
    "adam_update",
    "ftml_update",
    "ftrl_update",
    "rmsprop_update",
    "rmspropalex_update",
    "nag_mom_update",
    "mp_nag_mom_update",
    "sgd_update",
    "sgd_mom_update",
    "mp_sgd_update",
    "mp_sgd_mom_update",
    "signsgd_update",
    "signum_update",
    "lamb_update_phase1",
    "lamb_update_phase2",
    "mp_lamb_update_phase1",
    "mp_lamb_update_phase2",
    "_adamw_update",
    "_mp_adamw_update",
    "_adabelief_update",
    "_mp_adabelief_update",
)
def updates(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Weights of each of the usual shapes."""
    for shape in shapes(size):
        yield update(operator, shape)


@FAMILIES.add("multi_lars")
def multi_lars(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Learning rates of as many layers as ResNet-50 has tensors of weights."""
    layers = size.extent(161)
    rates = {p.name: fixed(layers, fill=POSITIVE, dtype=MASTER) for p in operator.tensors}
    yield {**rates, **select_values(operator, {**VALUES, "eta": 0.001})}


SGD, MOMENTUM, ADAM = (
    ("weight", "grad"),
    ("weight", "grad", "mom"),
    ("weight", "grad", "mean", "var"),
)

INTERLEAVED: dict[str, tuple[str, ...]] = {
    "multi_sgd_update": SGD,
    "multi_sgd_mom_update": MOMENTUM,
    "multi_mp_sgd_update": (*SGD, "weight32"),
    "multi_mp_sgd_mom_update": (*MOMENTUM, "weight32"),
    "preloaded_multi_sgd_update": SGD,
    "preloaded_multi_sgd_mom_update": MOMENTUM,
    "preloaded_multi_mp_sgd_update": (*SGD, "weight32"),
    "preloaded_multi_mp_sgd_mom_update": (*MOMENTUM, "weight32"),
    **{f"_multi_{name}_update": ADAM for name in ("adamw", "adabelief", "lamb", "lans")},
    **{
        f"_multi_mp_{name}_update": (*ADAM, "weight32")
        for name in ("adamw", "adabelief", "lamb", "lans")
    },
}
"""Tensors of each weight, in their order, of updates of many weights."""


def trailing_tensors(operator: Operator) -> list[TensorSpec]:
    """The tensors that follow those of all weights."""
    if operator.name.startswith("preloaded_"):
        return [
            fixed(LIST_LENGTH, fill=literal((value,) * LIST_LENGTH), dtype=MASTER)
            for value in (RATE, DECAY)
        ]
    if operator.parameter("etas") is not None:
        dtype = MASTER if is_mixed(operator) else REQUESTED
        return [fixed(1, fill=FILLS[GRADIENT_SCALE], dtype=dtype)]
    return []


@FAMILIES.add(*INTERLEAVED)
def multi_updates(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Several weights of one shape in one call, updated in place, as the operator cannot infer the
    shapes of outputs."""
    names = INTERLEAVED[operator.name]
    counts: dict[str, Argument] = dict.fromkeys(COUNTERS, LIST_LENGTH)
    lists: dict[str, Argument] = {
        name: (value,) * LIST_LENGTH  # type: ignore[misc]
        for name, value in LIST_VALUES.items()
    }
    for shape in shapes(size):
        made = {
            position_of(names, name, i): state_tensor(
                operator, name, shape, partial(position_of, names, i=i)
            )
            for i in range(LIST_LENGTH)
            for name in names
        }
        yield {
            "data": tensors([*made.values(), *trailing_tensors(operator)]),
            **select_values(operator, {**VALUES, **lists, **counts}),
            OUTPUT: tensors(
                same(made[place], place)
                for place in (position_of(names, "weight", i) for i in range(LIST_LENGTH))
            ),
        }


def position_of(names: tuple[str, ...], name: str, i: int) -> str:
    """The position of a tensor of the i-th weight in the list of all tensors."""
    return f"data.{i * len(names) + names.index(name)}"
