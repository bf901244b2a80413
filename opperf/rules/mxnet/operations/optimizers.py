"""MXNet's optimizer updates, with the state that they write: of one weight, of one in mixed
precision, and of many weights in one call.

In mixed precision, weights of half precision have a master copy of single precision.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from opperf.model import Operator
from opperf.operations.uses import Array, Roles, Table, ToOutput, Use, Values, Written, use


def to_single(value: float) -> Any:
    """The number rounded to single precision, in which MXNet holds most parameters."""
    return struct.unpack("f", struct.pack("f", value))[0]


BETA1, BETA2, EPSILON = to_single(0.9), to_single(0.999), 1e-8
"""The defaults of `adam_update` and its like, in MXNet's single precision: 1 - beta2 is
otherwise off by a hundred thousandth."""

GAMMA = to_single(0.95)
"""RMSProp's default."""

NARROW = "float16"
"""Dtype of weights that have a master copy."""


def write_state(state: dict[str, str], output: str = "weight") -> ToOutput:
    """The conversion of an update's new values: the one of the role `output` is returned, and the
    state written to arguments; `state` has the role of each argument. The weight is written too
    where it is the call's output."""

    def to_output(made: dict[str, Array], arguments: Values) -> Written:
        after = {argument: made[role] for argument, role in state.items()}
        own = {"weight": made[output]} if "out" in arguments else {}
        return Written(made[output], after | own)

    return to_output


def skip_rows_without_gradient(to_output: ToOutput) -> ToOutput:
    """The conversion of an update that leaves rows with a gradient of zero, and their state, as
    they are, unless it is not to be lazy."""

    def convert(made: dict[str, Array], arguments: Values) -> Written:
        import numpy as np

        full: Written = to_output(made, arguments)
        if not arguments.get("lazy_update", True):
            return full
        grad = arguments["grad"]
        rows = (grad != 0).any(axis=tuple(range(1, grad.ndim)), keepdims=True)
        return Written(
            np.where(rows, full.output, arguments["weight"]),
            {name: np.where(rows, new, arguments[name]) for name, new in full.arguments.items()},
        )

    return convert


WEIGHT = "weight gradient=grad rate=lr decay=wd -out -lazy_update"
STEP = {"mom": "step"}
MEANS = {"mean": "mean", "var": "variance"}
ADAM: dict[str, Any] = {"beta1": BETA1, "beta2": BETA2, "epsilon": EPSILON}
LAMB: dict[str, Any] = ADAM | {"epsilon": 1e-6}

SGD_ROLES = WEIGHT
MOMENTUM_ROLES = f"{WEIGHT} step=mom momentum"
MEAN_ROLES = "mean variance=var"

SGD = use("sgd_update", SGD_ROLES, skip_rows_without_gradient(write_state({})))
MOMENTUM = use("sgd_momentum_update", MOMENTUM_ROLES, skip_rows_without_gradient(write_state(STEP)))
NESTEROV = use("nesterov_update", MOMENTUM_ROLES, write_state(STEP))
ADAMW = use(
    "adamw_update",
    f"{WEIGHT} {MEAN_ROLES} gradient_scale=rescale_grad step_scale=eta",
    write_state(MEANS),
    **ADAM,
)


def corrected_steps(steps: int, bias_correction: bool = True) -> float:
    """The number of steps that the correction of the means' bias counts: without it they are as
    after infinitely many."""
    return steps if bias_correction else math.inf


def direction_roles(
    weight: Array,
    grad: Array,
    mean: Array,
    var: Array,
    t: int,
    wd: float,
    bias_correction: bool = True,
) -> dict[str, Any]:
    """The inputs of LAMB's direction."""
    return {
        **{"weight": weight, "gradient": grad, "mean": mean, "variance": var, "decay": wd},
        "step_count": corrected_steps(t, bias_correction),
        **LAMB,
    }


DIRECTION = use("lamb_direction", direction_roles, write_state(MEANS, "direction"))
MOVE = use(
    "lamb_move", "weight direction=g weight_norm=r1 direction_norm=r2 rate=lr", write_state({})
)
LAMB_UPDATE = use(
    "lamb_update",
    f"weight gradient=grad {MEAN_ROLES} rate=lr decay=wd step_count",
    write_state(MEANS),
    **LAMB,
)


def adagrad_roles(
    weight: Array, grad: Array, history: Array, lr: float, out: Any, wd: float = 0.0
) -> dict[str, Any]:
    """The update's inputs without decay, which MXNet refuses for row-sparse gradients."""
    assert wd == 0
    return {"weight": weight, "gradient": grad, "squares": history, "rate": lr, "epsilon": 1e-7}


ONE: Table = {
    "_adamw_update": ADAMW,
    "_contrib_group_adagrad_update": use(
        "adagrad_by_row_update",
        "weight gradient=grad squares=history rate=lr -out",
        write_state({"history": "squares"}),
        epsilon=1e-5,
    ),
    "_sparse_adagrad_update": use(
        "adagrad_update", adagrad_roles, write_state({"history": "squares"})
    ),
    "adam_update": use(
        "adam_update",
        f"{WEIGHT} {MEAN_ROLES}",
        skip_rows_without_gradient(write_state(MEANS)),
        **ADAM,
    ),
    "ftml_update": use(
        "ftml_update",
        f"{WEIGHT} divisor=d variance=v leader=z step_count=t",
        write_state({"d": "divisor", "v": "variance", "z": "leader"}),
        beta1=to_single(0.6),
        beta2=BETA2,
        epsilon=EPSILON,
    ),
    "ftrl_update": use(
        "ftrl_update",
        f"{WEIGHT} leader=z squares=n",
        skip_rows_without_gradient(write_state({"z": "leader", "n": "squares"})),
        lasso=0.01,
        beta=1.0,
    ),
    "lamb_update_phase1": DIRECTION,
    "lamb_update_phase2": MOVE,
    "multi_lars": use(
        "lars_rates",
        "rates=lrs weight_squares=weights_sum_sq gradient_squares=grads_sum_sq decays=wds "
        "eta epsilon=eps",
    ),
    "nag_mom_update": NESTEROV,
    "rmsprop_update": use(
        "rmsprop_update",
        f"{WEIGHT} squares=n",
        write_state({"n": "squares"}),
        gamma=GAMMA,
        epsilon=EPSILON,
    ),
    # The two means are equal at first: `n` is one of them in MXNet 1, and the other in MXNet 2.
    "rmspropalex_update": use(
        "rmsprop_centred_update",
        lambda weight, grad, n, g, delta, lr, wd, momentum=0.9: {
            "weight": weight,
            "gradient": grad,
            "squares": n,
            "mean": g,
            "step": delta,
            "rate": lr,
            "decay": wd,
            "gamma": GAMMA,
            "momentum": to_single(momentum),
            "epsilon": EPSILON,
        },
        write_state({"delta": "step"}),
    ),
    "sgd_mom_update": MOMENTUM,
    "sgd_update": SGD,
    "signsgd_update": use("sign_sgd_update", WEIGHT, write_state({})),
    "signum_update": use(
        "signum_update", f"{MOMENTUM_ROLES} separate_decay=wd_lh", write_state(STEP)
    ),
}


def no_arguments(operator: Operator, roles: Roles) -> None:
    """None: an update in mixed precision, or of many weights, has inputs without a role."""


def narrowed(made: Array) -> Array:
    """Values in the dtype of weights that have a master copy."""
    return made.astype(NARROW)


def mixed_precision(
    one: Use, narrow: Callable[[Array], Array] = narrowed, writes_master: bool = True
) -> Use:
    """The use of an update in mixed precision, which reads the master copy of the weights; LAMB's
    phases do not write it."""

    def update(function: Callable[..., Any], arguments: Values) -> Written:
        master = arguments["weight32"]
        assert (arguments["weight"] == master.astype(NARROW)).all()
        others = {name: value for name, value in arguments.items() if name != "weight32"}
        made = one.apply(function, others | {"weight": master})
        own = {"weight32": made.output} if writes_master else {}
        return Written(narrow(made.output), {**made.arguments, **own})

    return Use(one.operation, update, no_arguments)


HALF: Table = {
    "_mp_adamw_update": mixed_precision(ADAMW),
    "mp_lamb_update_phase1": mixed_precision(DIRECTION, lambda direction: direction, False),
    "mp_lamb_update_phase2": mixed_precision(MOVE, writes_master=False),
    "mp_nag_mom_update": mixed_precision(NESTEROV),
    "mp_sgd_mom_update": mixed_precision(MOMENTUM),
    "mp_sgd_update": mixed_precision(SGD),
}

WeightValues = Callable[[int, list[Array], Values], dict[str, Any]]
"""Plain values of one of many weights, from its number, all tensors and all arguments."""


def list_values(index: int, data: list[Array], arguments: Values) -> dict[str, Any]:
    """Rate and decay, from lists."""
    return {"lr": arguments["lrs"][index], "wd": arguments["wds"][index]}


def preloaded_values(index: int, data: list[Array], arguments: Values) -> dict[str, Any]:
    """Rate and decay, from the last two tensors."""
    return {"lr": data[-2][index], "wd": data[-1][index]}


def adamw_values(index: int, data: list[Array], arguments: Values) -> dict[str, Any]:
    """Rate, decay and scale of the step, from lists, and the gradients' scale, the last tensor."""
    return {
        **list_values(index, data, arguments),
        "eta": arguments["etas"][index],
        "rescale_grad": data[-1],
    }


def lamb_values(index: int, data: list[Array], arguments: Values) -> dict[str, Any]:
    """Rate, decay and count of steps, from lists."""
    corrected = arguments.get("bias_correction", True)
    return {
        "lr": arguments["learning_rates"][index],
        "wd": arguments["wds"][index],
        "step_count": corrected_steps(arguments["step_count"][index], corrected),
    }


COMMON = ("momentum",)
"""Values that are the same for all weights."""


def many_weights(one: Use, tensors: str, own: WeightValues) -> Use:
    """The use of an update of many weights in one call, which takes the tensors of one weight after
    those of another; `tensors` are the names of one weight's."""
    names = tensors.split()

    def update(function: Callable[..., Any], arguments: Values) -> Written:
        data = arguments["data"]
        common = {name: arguments[name] for name in COMMON if name in arguments}
        after, outputs = list(data), []
        for index in range(arguments.get("num_weights", arguments.get("num_tensors"))):
            first = index * len(names)
            one_weight = dict(zip(names, data[first : first + len(names)], strict=True))
            made = one.apply(function, one_weight | common | own(index, data, arguments))
            outputs.append(made.output)
            for name, value in {"weight": made.output, **made.arguments}.items():
                after[first + names.index(name)] = value
        return Written(tuple(outputs), {"data": after})

    return Use(one.operation, update, no_arguments)


OF_SGD, OF_MOMENTUM, OF_ADAM = "weight grad", "weight grad mom", "weight grad mean var"


def both_precisions(pattern: str, one: Use, tensors: str, own: WeightValues) -> Table:
    """The uses of an update of many weights in single and in mixed precision."""
    return {
        pattern.format(""): many_weights(one, tensors, own),
        pattern.format("mp_"): many_weights(mixed_precision(one), f"{tensors} weight32", own),
    }


MANY: Table = {
    "_multi_lamb_update": many_weights(LAMB_UPDATE, OF_ADAM, lamb_values),
    **both_precisions("_multi_{}adamw_update", ADAMW, OF_ADAM, adamw_values),
    **both_precisions("multi_{}sgd_mom_update", MOMENTUM, OF_MOMENTUM, list_values),
    **both_precisions("multi_{}sgd_update", SGD, OF_SGD, list_values),
    **both_precisions("preloaded_multi_{}sgd_mom_update", MOMENTUM, OF_MOMENTUM, preloaded_values),
    **both_precisions("preloaded_multi_{}sgd_update", SGD, OF_SGD, preloaded_values),
}

OPERATIONS: Table = ONE | HALF | MANY
