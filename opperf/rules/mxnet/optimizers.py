"""Optimizer updates: of one weight and of many, in single and in mixed precision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from opperf.model import Argument, Fill, Kind, Operator, TensorSpec
from opperf.rules.configurations import OUTSIDE, TAGS, WHY
from opperf.rules.engine import OUTPUT
from opperf.rules.parameters import bert_layer, feed_forward, mini_layers, resnet_50
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import MOSTLY_DISPATCH, Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    NORMAL,
    ONES,
    POSITIVE,
    REQUESTED,
    ZEROS,
    Arguments,
    call,
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
    **dict.fromkeys(("weight", "weight32", "grad", "g"), NORMAL),
    **dict.fromkeys(("mean", "mom", "z", "delta"), ZEROS),
    # The updates take roots of these; `r1` and `r2` are norms of the weights and of the update.
    **dict.fromkeys(("var", "n", "d", "v", "history", "r1", "r2"), POSITIVE),
    GRADIENT_SCALE: ONES,
}
"""Fill of each tensor of an update."""

MOMENTS = dict.fromkeys(("n", "g"), Fill("constant", 0.5))
"""Of running means in `rmspropalex_update`, which takes the root of one minus the other's square.
MXNet 1 and 2 exchange their names, so that each has to exceed the square of the other."""

SINGLE_ELEMENTS = frozenset({"r1", "r2", GRADIENT_SCALE})
"""Tensors of one element."""

HALF_PRECISION = frozenset({"weight", "grad"})
"""Tensors whose dtype is `HALF` in mixed precision."""

MASTER_COPIES = {"weight": "weight32"}
"""Tensors that are a rounded copy of another one in mixed precision."""

RATE, DECAY = 0.01, 1e-4

VALUES = call(lr=RATE, wd=DECAY, momentum=0.9, wd_lh=DECAY, eta=1.0, t=1, eps=1e-8)
"""Plain values of an update, for the arguments that it has. Other arguments keep their defaults."""

LIST_VALUES = {"lrs": RATE, "learning_rates": RATE, "wds": DECAY, "etas": 1.0, "step_count": 1}
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
    """One tensor of an update. `place` returns a named tensor's position, by default its name."""
    fills = FILLS | MOMENTS if operator.name == "rmspropalex_update" else FILLS
    fill, dtype = fills[name], MASTER if name == GRADIENT_SCALE else REQUESTED
    if is_mixed(operator):
        dtype = HALF if name in HALF_PRECISION else MASTER
        fill = rounded_copy(fill, place(MASTER_COPIES[name])) if name in MASTER_COPIES else fill
    return fixed(*((1,) if name in SINGLE_ELEMENTS else shape), fill=fill, dtype=dtype)


def update(operator: Operator, shape: Shape) -> Arguments:
    """The arguments of an update of one weight."""
    states = {p.name: state_tensor(operator, p.name, shape) for p in operator.tensors}
    return {**states, **select_values(operator, VALUES)}


ONE_WEIGHT = """
adam_update ftml_update ftrl_update rmsprop_update rmspropalex_update nag_mom_update
mp_nag_mom_update sgd_update sgd_mom_update mp_sgd_update mp_sgd_mom_update signsgd_update
signum_update lamb_update_phase1 lamb_update_phase2 mp_lamb_update_phase1 mp_lamb_update_phase2
_adamw_update _mp_adamw_update _adabelief_update _mp_adabelief_update
"""


@FAMILIES.add(*ONE_WEIGHT.split())
def updates(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Parameters of real layers."""
    for shape, why in layer_parameters(size):
        yield {**update(operator, shape), WHY: why}
    made = update(operator, feed_forward(size)[0])
    yield from uncorrected(operator, made, "BERT's feed-forward weights")


def uncorrected(operator: Operator, made: Arguments, why: str) -> Iterator[Arguments]:
    """The update without the correction of the means' bias, where the operator has one."""
    if operator.parameter("bias_correction") is not None:
        plain = f"{why}, the means taken as they are: no correction of their bias"
        yield {**made, "bias_correction": False, WHY: plain}


def layer_parameters(size: Preset) -> tuple[tuple[Shape, str], ...]:
    """Shapes of parameters: a large one, one that caches hold, and a very small one."""
    weights, bias, *_ = feed_forward(size)
    early = resnet_50(size)[CONVOLUTION]
    return (
        (weights, "BERT's feed-forward weights"),
        (early, "a 3 x 3 layer of ResNet-50's first stage, which caches hold"),
        (bias, f"the bias inside BERT's feed-forward block: {MOSTLY_DISPATCH}"),
    )


CONVOLUTION = 6
"""Position of ResNet-50's first 3 x 3 layer among its parameters."""
LAYERS = 54
"""Its layers with weights."""


@FAMILIES.add("multi_lars")
def multi_lars(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Learning rates of the weights of ResNet-50: LARS scales no biases and no scales of norms."""
    layers = size.extent(LAYERS)
    rates = {p.name: fixed(layers, fill=POSITIVE, dtype=MASTER) for p in operator.tensors}
    why = "the learning rates of all of ResNet-50's layers, where one call may have as many"
    made = {**rates, **select_values(operator, {**VALUES, "eta": 0.001})}
    yield {**made, WHY: why, TAGS: (OUTSIDE,)}


AGGREGATED = 4
"""Parameters that MXNet's optimizers update in one call, by default."""
LAMB_AGGREGATED = 45
"""Parameters that LAMB and LANS update in one call, at most and by default."""
LAST_CONVOLUTION = 8
"""Position of ResNet-50's last 3 x 3 layer among its parameters, from the end."""

Group = tuple[tuple[Shape, ...], str]
"""Shapes of parameters that are updated in one call, and why."""


def convolution_groups(size: Preset) -> tuple[Group, ...]:
    """Parameters of a network for images."""
    model = resnet_50(size)
    first, last = CONVOLUTION, len(model) - LAST_CONVOLUTION
    return (
        (model[last : last + AGGREGATED], "two layers and a norm of ResNet-50's last stage"),
        (model[first : first + AGGREGATED], "two layers and a norm of ResNet-50's first stage"),
    )


def layer_groups(size: Preset) -> tuple[Group, ...]:
    """Layers of it in half precision, in which MXNet keeps no norm's parameters."""
    layers = [shape for shape in resnet_50(size) if len(shape) > 2]
    return (
        (tuple(layers[-AGGREGATED:]), "the last four layers of ResNet-50's last stage"),
        (tuple(layers[1 : 1 + AGGREGATED]), "the first four layers of ResNet-50's first stage"),
    )


def transformer_groups(size: Preset) -> tuple[Group, ...]:
    """Parameters of a network for text."""
    projections = bert_layer(size)[:AGGREGATED]
    return (
        (feed_forward(size), "a feed-forward block of BERT, with biases"),
        (projections, "two projections of BERT's attention, with biases"),
    )


def many_layers(size: Preset) -> tuple[Group, ...]:
    """As many parameters of a network for text as fit in a call."""
    return ((mini_layers(size)[-LAMB_AGGREGATED:], "the last 45 parameters of BERT-mini's layers"),)


GROUPS: dict[str, Callable[[Preset], tuple[Group, ...]]] = {
    "mp_sgd": layer_groups,
    "sgd": convolution_groups,
    **dict.fromkeys(("adamw", "adabelief"), transformer_groups),
    **dict.fromkeys(("lamb", "lans"), many_layers),
}
"""Groups of parameters by a word of the operator's name, the first that it has."""

SGD = ("weight", "grad")
MOMENTUM, ADAM = (*SGD, "mom"), (*SGD, "mean", "var")

INTERLEAVED: dict[str, tuple[str, ...]] = {
    **{
        f"{start}multi_{mixed}{name}_update": (*names, *copies)
        for start in ("", "preloaded_")
        for mixed, copies in (("", ()), ("mp_", ("weight32",)))
        for name, names in (("sgd", SGD), ("sgd_mom", MOMENTUM))
    },
    **{
        f"_multi_{mixed}{name}_update": (*ADAM, *copies)
        for mixed, copies in (("", ()), ("mp_", ("weight32",)))
        for name in ("adamw", "adabelief", "lamb", "lans")
    },
}
"""Tensors of each weight, in their order, of updates of many weights."""


def trailing_tensors(operator: Operator, count: int) -> list[TensorSpec]:
    """The tensors that follow those of all weights, of which there are `count`."""
    if operator.name.startswith("preloaded_"):
        return [fixed(count, fill=literal((rate,) * count), dtype=MASTER) for rate in (RATE, DECAY)]
    if operator.parameter("etas") is not None:
        dtype = MASTER if is_mixed(operator) else REQUESTED
        return [fixed(1, fill=FILLS[GRADIENT_SCALE], dtype=dtype)]
    return []


@FAMILIES.add(*INTERLEAVED)
def multi_updates(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As many parameters as MXNet's optimizers pass in one call, in place: it infers no outputs."""
    groups = next(made for word, made in GROUPS.items() if word in operator.name)
    for parameters, why in groups(size):
        made = multi_update(operator, parameters)
        yield {**made, WHY: why}
        yield from uncorrected(operator, made, why)


def multi_update(operator: Operator, parameters: tuple[Shape, ...]) -> Arguments:
    """The arguments of an update of parameters of these shapes."""
    names, count = entry_of(INTERLEAVED, operator), len(parameters)
    counts: dict[str, Argument] = dict.fromkeys(COUNTERS, count)
    lists: dict[str, Argument] = {name: (one,) * count for name, one in LIST_VALUES.items()}
    made = {
        place_of(names, name, i): state_tensor(operator, name, shape, partial(place_of, names, i=i))
        for i, shape in enumerate(parameters)
        for name in names
    }
    weights = [place_of(names, "weight", i) for i in range(count)]
    return {
        "data": tensors([*made.values(), *trailing_tensors(operator, count)]),
        **select_values(operator, {**VALUES, **lists, **counts}),
        OUTPUT: tensors(same(made[place], place) for place in weights),
    }


def place_of(names: tuple[str, ...], name: str, i: int) -> str:
    """The position of a tensor of the i-th weight in the list of all tensors."""
    return f"data.{i * len(names) + names.index(name)}"
