"""Optimizer updates by their formulas, with the state they write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from references import ROUGH_SQUARES, Array, Reference, Written, single

BETA1, BETA2, EPS = single(0.9), single(0.999), 1e-8
"""The defaults of `adam_update` and its like, in MXNet's single precision: 1 - beta2 is
otherwise off by a hundred thousandth."""


def touched(grad: Array) -> Array:
    """Rows that a gradient of few rows has. Updates are lazy: they leave the others alone."""
    return (grad != 0).any(axis=tuple(range(1, grad.ndim)), keepdims=True)


def sgd(weight: Array, grad: Array, lr: float, wd: float, **_: Any) -> Written:
    """Against the gradient."""
    return Written(np.where(touched(grad), weight - lr * (grad + wd * weight), weight))


def sgd_momentum(
    weight: Array, grad: Array, mom: Array, lr: float, wd: float, momentum: float, **_: Any
) -> Written:
    """Along the running sum of the steps."""
    step = np.where(touched(grad), momentum * mom - lr * (grad + wd * weight), mom)
    return Written(np.where(touched(grad), weight + step, weight), {"mom": step})


def nesterov(
    weight: Array, grad: Array, mom: Array, lr: float, wd: float, momentum: float, **_: Any
) -> Written:
    """As momentum, with the gradient of where the momentum leads."""
    slope = grad + wd * weight
    step = momentum * mom - lr * slope
    return Written(weight + momentum * step - lr * slope, {"mom": step})


def sign_sgd(weight: Array, grad: Array, lr: float, wd: float) -> Written:
    """Steps of one length."""
    return Written((1 - lr * wd) * weight - lr * np.sign(grad))


def signum(
    weight: Array, grad: Array, mom: Array, lr: float, wd: float, momentum: float, wd_lh: float
) -> Written:
    """Steps of one length along the momentum."""
    mean = momentum * mom - (1 - momentum) * (grad + wd * weight)
    return Written((1 - lr * wd_lh) * weight + lr * np.sign(mean), {"mom": mean})


def means(grad: Array, mean: Array, var: Array) -> tuple[Array, Array]:
    """The running means of the gradient and of its square."""
    return BETA1 * mean + (1 - BETA1) * grad, BETA2 * var + (1 - BETA2) * grad**2


def adam(
    weight: Array, grad: Array, mean: Array, var: Array, lr: float, wd: float, **_: Any
) -> Written:
    """Steps of about one length, the decay a part of the gradient."""
    rows = touched(grad)
    m, v = means(grad + wd * weight, mean, var)
    made = weight - lr * m / (np.sqrt(v) + EPS)
    return Written(
        np.where(rows, made, weight),
        {"mean": np.where(rows, m, mean), "var": np.where(rows, v, var)},
    )


def adamw(
    weight: Array,
    grad: Array,
    mean: Array,
    var: Array,
    rescale_grad: Array,
    lr: float,
    wd: float,
    eta: float,
) -> Written:
    """As Adam, with the decay beside the gradient."""
    m, v = means(grad * rescale_grad, mean, var)
    step = lr * m / (np.sqrt(v) + EPS) + wd * weight
    return Written(weight - eta * step, {"mean": m, "var": v})


def lamb_step(
    weight: Array, grad: Array, mean: Array, var: Array, t: int, wd: float
) -> tuple[Array, Array, Array]:
    """LAMB's first phase: Adam's direction, without the bias of the means, and the decay."""
    m, v = means(grad, mean, var)
    step = m / (1 - BETA1**t) / (np.sqrt(v / (1 - BETA2**t)) + 1e-6) + wd * weight
    return step, m, v


def lamb_direction(**given: Any) -> Written:
    """LAMB's first phase, and the means it writes."""
    step, m, v = lamb_step(**given)
    return Written(step, {"mean": m, "var": v})


def lamb_move(weight: Array, g: Array, r1: Array, r2: Array, lr: float) -> Written:
    """LAMB's second phase: the rate times the ratio of the norms."""
    return Written(weight - lr * r1 / r2 * g)


def ftml(
    weight: Array,
    grad: Array,
    d: Array,
    v: Array,
    z: Array,
    lr: float,
    t: int,
    wd: float,
) -> Written:
    """Follow the moving leader."""
    beta1, beta2 = single(0.6), BETA2
    slope = grad + wd * weight
    square = beta2 * v + (1 - beta2) * slope**2
    now = (1 - beta1**t) / lr * (np.sqrt(square / (1 - beta2**t)) + EPS)
    leader = beta1 * z + (1 - beta1) * slope - (now - beta1 * d) * weight
    return Written(-leader / now, {"d": now, "v": square, "z": leader})


def ftrl(weight: Array, grad: Array, z: Array, n: Array, lr: float, wd: float) -> Written:
    """Follow the regularised leader, with FTRL-Proximal's defaults."""
    lamda, beta = 0.01, 1.0
    total = n + grad**2
    leader = z + grad - (np.sqrt(total) - np.sqrt(n)) * weight / lr
    made = (np.sign(leader) * lamda - leader) / ((beta + np.sqrt(total)) / lr + wd)
    return Written(np.where(np.abs(leader) > lamda, made, 0), {"z": leader, "n": total})


def rmsprop(weight: Array, grad: Array, n: Array, lr: float, wd: float) -> Written:
    """The gradient over the root of its running square."""
    gamma1 = single(0.95)
    slope = grad + wd * weight
    square = (1 - gamma1) * slope**2 + gamma1 * n
    return Written(weight - lr * slope / np.sqrt(square + EPS), {"n": square})


def rmsprop_alex(
    weight: Array,
    grad: Array,
    n: Array,
    g: Array,
    delta: Array,
    lr: float,
    wd: float,
    momentum: float = 0.9,
) -> Written:
    """As RMSProp, about the running mean and with momentum. The two means begin alike; which
    of them is `n` is not the same in MXNet 1 and 2."""
    gamma1 = single(0.95)
    slope = grad + wd * weight
    square = (1 - gamma1) * slope**2 + gamma1 * n
    mean = (1 - gamma1) * slope + gamma1 * g
    step = single(momentum) * delta - lr * slope / np.sqrt(square - mean**2 + EPS)
    return Written(weight + step, {"delta": step})


def lars(
    lrs: Array, weights_sum_sq: Array, grads_sum_sq: Array, wds: Array, eta: float, eps: float
) -> Written:
    """Rates by the ratio of the norms of weights and gradients."""
    weights, grads = np.sqrt(weights_sum_sq), np.sqrt(grads_sum_sq)
    return Written(lrs * eta * weights / (grads + wds * weights + eps))


def adagrad(weight: Array, grad: Array, history: Array, lr: float, wd: float, out: Any) -> Written:
    """The gradient over the root of the sum of its squares."""
    assert wd == 0
    total = history + grad**2
    made = weight - lr * grad / np.sqrt(total + 1e-7)
    return Written(made, {"history": total, "weight": made})


def group_adagrad(weight: Array, grad: Array, history: Array, lr: float, out: Any) -> Written:
    """As Adagrad, with one sum for each row."""
    total = history + (grad**2).mean(1, keepdims=True)
    made = weight - lr * grad / np.sqrt(total + 1e-5)
    return Written(made, {"history": total, "weight": made})


def mixed(update: Callable[..., Written]) -> Reference:
    """An update of weights of half precision, beside which there are those of single."""

    def updated(weight: Array, weight32: Array, **given: Any) -> Written:
        np.testing.assert_array_equal(weight, weight32.astype(np.float16))
        made = update(weight=weight32, **given)
        return Written(made.output.astype(np.float16), {**made.arguments, "weight32": made.output})

    return updated


def mixed_direction(weight: Array, weight32: Array, **given: Any) -> Written:
    """LAMB's first phase gives a direction in single precision."""
    return lamb_direction(weight=weight32, **given)


def mixed_move(weight: Array, weight32: Array, **given: Any) -> Written:
    """LAMB's second phase leaves the weights of single precision to its caller."""
    return Written(lamb_move(weight=weight32, **given).output.astype(np.float16))


SGD, MOMENTUM, ADAM = (
    ("weight", "grad"),
    ("weight", "grad", "mom"),
    ("weight", "grad", "mean", "var"),
)
MASTER = ("weight32",)


def many(update: Callable[..., Written], names: tuple[str, ...], preloaded: bool = False) -> Any:
    """An update of many weights in one call, the tensors of each in a row. Rates and decays are
    lists, or the last two tensors."""

    def updated(data: list[Array], out: Any, num_weights: int, **given: Any) -> Written:
        common = {"momentum": given["momentum"]} if "momentum" in given else {}
        rates, decays = data[-2:] if preloaded else (given["lrs"], given["wds"])
        if "etas" in given:
            common["rescale_grad"] = data[-1]
        after, outputs = list(data), []
        for i in range(num_weights):
            own = dict(zip(names, data[i * len(names) :], strict=False))
            own |= {"eta": given["etas"][i]} if "etas" in given else {}
            made = update(**own, **common, lr=rates[i], wd=decays[i])
            outputs.append(made.output)
            state = {"weight": made.output, **made.arguments}
            for name, value in state.items():
                after[i * len(names) + names.index(name)] = value
        return Written(tuple(outputs), {"data": after})

    return updated


def many_lamb(
    data: list[Array],
    out: Any,
    num_tensors: int,
    learning_rates: Any,
    wds: Any,
    step_count: Any,
) -> Written:
    """LAMB's two phases, of many weights in one call."""
    after, outputs = [], []
    for i in range(num_tensors):
        weight, grad, mean, var = data[4 * i : 4 * i + 4]
        step, mean, var = lamb_step(weight, grad, mean, var, step_count[i], wds[i])
        norms = np.linalg.norm(weight), np.linalg.norm(step)
        made = lamb_move(weight, step, *norms, learning_rates[i]).output
        outputs.append(made)
        after += [made, grad, mean, var]
    return Written(tuple(outputs), {"data": after})


REFERENCES: dict[str, Reference] = {
    "_adamw_update": adamw,
    "_contrib_group_adagrad_update": group_adagrad,
    "_mp_adamw_update": mixed(adamw),
    "_multi_adamw_update": many(adamw, ADAM),
    "_multi_lamb_update": many_lamb,
    "_multi_mp_adamw_update": many(mixed(adamw), ADAM + MASTER),
    "_sparse_adagrad_update": adagrad,
    "adam_update": adam,
    "ftml_update": ftml,
    "ftrl_update": ftrl,
    "lamb_update_phase1": lamb_direction,
    "lamb_update_phase2": lamb_move,
    "mp_lamb_update_phase1": mixed_direction,
    "mp_lamb_update_phase2": mixed_move,
    "mp_nag_mom_update": mixed(nesterov),
    "mp_sgd_mom_update": mixed(sgd_momentum),
    "mp_sgd_update": mixed(sgd),
    "multi_lars": lars,
    "multi_mp_sgd_mom_update": many(mixed(sgd_momentum), MOMENTUM + MASTER),
    "multi_mp_sgd_update": many(mixed(sgd), SGD + MASTER),
    "multi_sgd_mom_update": many(sgd_momentum, MOMENTUM),
    "multi_sgd_update": many(sgd, SGD),
    "nag_mom_update": nesterov,
    "preloaded_multi_mp_sgd_mom_update": many(mixed(sgd_momentum), MOMENTUM + MASTER, True),
    "preloaded_multi_mp_sgd_update": many(mixed(sgd), SGD + MASTER, True),
    "preloaded_multi_sgd_mom_update": many(sgd_momentum, MOMENTUM, True),
    "preloaded_multi_sgd_update": many(sgd, SGD, True),
    "rmsprop_update": rmsprop,
    "rmspropalex_update": rmsprop_alex,
    "sgd_mom_update": sgd_momentum,
    "sgd_update": sgd,
    "signsgd_update": sign_sgd,
    "signum_update": signum,
}

TOLERANCES = dict.fromkeys(("_multi_adamw_update", "_multi_mp_adamw_update"), ROUGH_SQUARES)
"""For operators that are not as exact as the others."""
