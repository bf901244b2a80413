"""MXNet's optimizer updates, with the state they write: of one weight, of one of half precision
beside one of single precision, and of many weights in one call."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from opperf.model import Operator
from opperf.operations.uses import Array, Gives, Roles, Table, Use, Values, Written, use


def single(value: float) -> Any:
    """A number as MXNet holds it: most of its parameters are in single precision."""
    return struct.unpack("f", struct.pack("f", value))[0]


BETA1, BETA2, EPSILON = single(0.9), single(0.999), 1e-8
"""The defaults of `adam_update` and its like, in MXNet's single precision: 1 - beta2 is
otherwise off by a hundred thousandth."""

GAMMA = single(0.95)
"""RMSProp's default."""

NARROW = "float16"
"""What weights are in beside which there are those of single precision."""


def written(state: dict[str, str], output: str = "weight") -> Gives:
    """One of the new values is given back, and state is written to arguments, by their names the
    roles; the weight as well where the output has its place."""

    def gives(made: dict[str, Array], arguments: Values) -> Written:
        after = {argument: made[role] for argument, role in state.items()}
        own = {"weight": made[output]} if "out" in arguments else {}
        return Written(made[output], after | own)

    return gives


def lazily(gives: Gives) -> Gives:
    """Rows that a gradient of few rows has not are left alone, with their state."""

    def masked(made: dict[str, Array], arguments: Values) -> Written:
        import numpy as np

        full = gives(made, arguments)
        grad = arguments["grad"]
        rows = (grad != 0).any(axis=tuple(range(1, grad.ndim)), keepdims=True)
        return Written(
            np.where(rows, full.output, arguments["weight"]),
            {name: np.where(rows, new, arguments[name]) for name, new in full.arguments.items()},
        )

    return masked


WEIGHT = "weight gradient=grad rate=lr decay=wd -out"
STEP = {"mom": "step"}
MEANS = {"mean": "mean", "var": "variance"}
ADAM: dict[str, Any] = {"beta1": BETA1, "beta2": BETA2, "epsilon": EPSILON}
LAMB: dict[str, Any] = ADAM | {"epsilon": 1e-6}

SGD_ROLES = WEIGHT
MOMENTUM_ROLES = f"{WEIGHT} step=mom momentum"
MEAN_ROLES = "mean variance=var"

SGD = use("sgd_update", SGD_ROLES, lazily(written({})))
MOMENTUM = use("sgd_momentum_update", MOMENTUM_ROLES, lazily(written(STEP)))
NESTEROV = use("nesterov_update", MOMENTUM_ROLES, written(STEP))
ADAMW = use(
    "adamw_update",
    f"{WEIGHT} {MEAN_ROLES} gradient_scale=rescale_grad step_scale=eta",
    written(MEANS),
    **ADAM,
)
DIRECTION = use(
    "lamb_direction",
    f"weight gradient=grad {MEAN_ROLES} step_count=t decay=wd",
    written(MEANS, "direction"),
    **LAMB,
)
MOVE = use("lamb_move", "weight direction=g weight_norm=r1 direction_norm=r2 rate=lr", written({}))
LAMB_UPDATE = use(
    "lamb_update",
    f"weight gradient=grad {MEAN_ROLES} rate=lr decay=wd step_count",
    written(MEANS),
    **LAMB,
)


def adagrad(
    weight: Array, grad: Array, history: Array, lr: float, out: Any, wd: float = 0.0
) -> dict[str, Any]:
    """Without decay, which is refused for gradients of few rows."""
    assert wd == 0
    return {"weight": weight, "gradient": grad, "squares": history, "rate": lr, "epsilon": 1e-7}


ONE: Table = {
    "_adamw_update": ADAMW,
    "_contrib_group_adagrad_update": use(
        "adagrad_by_row_update",
        "weight gradient=grad squares=history rate=lr -out",
        written({"history": "squares"}),
        epsilon=1e-5,
    ),
    "_sparse_adagrad_update": use("adagrad_update", adagrad, written({"history": "squares"})),
    "adam_update": use("adam_update", f"{WEIGHT} {MEAN_ROLES}", lazily(written(MEANS)), **ADAM),
    "ftml_update": use(
        "ftml_update",
        f"{WEIGHT} divisor=d variance=v leader=z step_count=t",
        written({"d": "divisor", "v": "variance", "z": "leader"}),
        beta1=single(0.6),
        beta2=BETA2,
        epsilon=EPSILON,
    ),
    "ftrl_update": use(
        "ftrl_update",
        f"{WEIGHT} leader=z squares=n",
        written({"z": "leader", "n": "squares"}),
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
        written({"n": "squares"}),
        gamma=GAMMA,
        epsilon=EPSILON,
    ),
    # The two means begin alike; which of them is `n` is not the same in MXNet 1 and 2.
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
            "momentum": single(momentum),
            "epsilon": EPSILON,
        },
        written({"delta": "step"}),
    ),
    "sgd_mom_update": MOMENTUM,
    "sgd_update": SGD,
    "signsgd_update": use("sign_sgd_update", WEIGHT, written({})),
    "signum_update": use("signum_update", f"{MOMENTUM_ROLES} separate_decay=wd_lh", written(STEP)),
}


def not_by_role(operator: Operator, roles: Roles) -> None:
    """No arguments: an update of several precisions or weights has inputs that no role is for."""


def mixed(one: Use) -> Use:
    """An update of weights of half precision, beside which there are those of single."""

    def updated(function: Callable[..., Any], arguments: Values) -> Written:
        master = arguments["weight32"]
        assert (arguments["weight"] == master.astype(NARROW)).all()
        given = {name: value for name, value in arguments.items() if name != "weight32"}
        made = one.apply(function, given | {"weight": master})
        return Written(made.output.astype(NARROW), {**made.arguments, "weight32": made.output})

    return Use(one.operation, updated, not_by_role)


def with_master(one: Use, narrow: Callable[[Array], Array]) -> Use:
    """One of LAMB's phases, which reads the weights of single precision and leaves writing them
    to its caller."""

    def updated(function: Callable[..., Any], arguments: Values) -> Written:
        given = {name: value for name, value in arguments.items() if name != "weight32"}
        made = one.apply(function, given | {"weight": arguments["weight32"]})
        return Written(narrow(made.output), made.arguments)

    return Use(one.operation, updated, not_by_role)


HALF: Table = {
    "_mp_adamw_update": mixed(ADAMW),
    "mp_lamb_update_phase1": with_master(DIRECTION, lambda direction: direction),
    "mp_lamb_update_phase2": with_master(MOVE, lambda weight: weight.astype(NARROW)),
    "mp_nag_mom_update": mixed(NESTEROV),
    "mp_sgd_mom_update": mixed(MOMENTUM),
    "mp_sgd_update": mixed(SGD),
}

Own = Callable[[int, list[Array], Values], dict[str, Any]]
"""What is a weight's own beside its tensors: its number among all, the tensors, the arguments."""


def listed(index: int, data: list[Array], arguments: Values) -> dict[str, Any]:
    """Rates and decays from lists."""
    return {"lr": arguments["lrs"][index], "wd": arguments["wds"][index]}


def preloaded(index: int, data: list[Array], arguments: Values) -> dict[str, Any]:
    """Rates and decays from the last two tensors."""
    return {"lr": data[-2][index], "wd": data[-1][index]}


def listed_adamw(index: int, data: list[Array], arguments: Values) -> dict[str, Any]:
    """Scales of the step from a list, that of the gradients is the last tensor."""
    return {
        **listed(index, data, arguments),
        "eta": arguments["etas"][index],
        "rescale_grad": data[-1],
    }


def listed_lamb(index: int, data: list[Array], arguments: Values) -> dict[str, Any]:
    """Counts of steps too, from lists of other names."""
    return {
        "lr": arguments["learning_rates"][index],
        "wd": arguments["wds"][index],
        "step_count": arguments["step_count"][index],
    }


COMMON = ("momentum",)
"""Values that are the same for all weights."""


def many(one: Use, tensors: str, own: Own) -> Use:
    """An update of many weights in one call, the tensors of each in a row."""
    names = tensors.split()

    def updated(function: Callable[..., Any], arguments: Values) -> Written:
        data = arguments["data"]
        common = {name: arguments[name] for name in COMMON if name in arguments}
        after, outputs = list(data), []
        for index in range(arguments.get("num_weights", arguments.get("num_tensors"))):
            first = index * len(names)
            given = dict(zip(names, data[first : first + len(names)], strict=True))
            made = one.apply(function, given | common | own(index, data, arguments))
            outputs.append(made.output)
            for name, value in {"weight": made.output, **made.arguments}.items():
                after[first + names.index(name)] = value
        return Written(tuple(outputs), {"data": after})

    return Use(one.operation, updated, not_by_role)


OF_SGD, OF_MOMENTUM, OF_ADAM = "weight grad", "weight grad mom", "weight grad mean var"

MANY: Table = {
    "_multi_adamw_update": many(ADAMW, OF_ADAM, listed_adamw),
    "_multi_lamb_update": many(LAMB_UPDATE, OF_ADAM, listed_lamb),
    "_multi_mp_adamw_update": many(mixed(ADAMW), f"{OF_ADAM} weight32", listed_adamw),
    "multi_mp_sgd_mom_update": many(mixed(MOMENTUM), f"{OF_MOMENTUM} weight32", listed),
    "multi_mp_sgd_update": many(mixed(SGD), f"{OF_SGD} weight32", listed),
    "multi_sgd_mom_update": many(MOMENTUM, OF_MOMENTUM, listed),
    "multi_sgd_update": many(SGD, OF_SGD, listed),
    "preloaded_multi_mp_sgd_mom_update": many(
        mixed(MOMENTUM), f"{OF_MOMENTUM} weight32", preloaded
    ),
    "preloaded_multi_mp_sgd_update": many(mixed(SGD), f"{OF_SGD} weight32", preloaded),
    "preloaded_multi_sgd_mom_update": many(MOMENTUM, OF_MOMENTUM, preloaded),
    "preloaded_multi_sgd_update": many(SGD, OF_SGD, preloaded),
}

TABLE: Table = ONE | HALF | MANY
