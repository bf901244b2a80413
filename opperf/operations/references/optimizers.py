"""Optimizer updates by their formulas: the new values of weights and state, by their roles. `rate`
is the learning rate, `decay` the weight decay; `step`, `mean`, `variance` and the like are an
update's state."""

from __future__ import annotations

from typing import Any

import numpy as np

from opperf.operations.references.reference import Array, Functions

State = dict[str, Array]


def sgd_momentum_update(
    weight: Array, gradient: Array, step: Array, rate: float, decay: float, momentum: float
) -> State:
    """Stochastic gradient descent with momentum."""
    step = momentum * step - rate * (gradient + decay * weight)
    return {"weight": weight + step, "step": step}


def nesterov_update(
    weight: Array, gradient: Array, step: Array, rate: float, decay: float, momentum: float
) -> State:
    """Stochastic gradient descent with Nesterov's momentum."""
    slope = gradient + decay * weight
    step = momentum * step - rate * slope
    return {"weight": weight + momentum * step - rate * slope, "step": step}


def signum_update(
    weight: Array,
    gradient: Array,
    step: Array,
    rate: float,
    decay: float,
    momentum: float,
    separate_decay: float,
) -> State:
    """Descent by the sign of the momentum."""
    step = momentum * step - (1 - momentum) * (gradient + decay * weight)
    return {"weight": (1 - rate * separate_decay) * weight + rate * np.sign(step), "step": step}


def means(
    gradient: Array, mean: Array, variance: Array, beta1: float, beta2: float
) -> tuple[Array, Array]:
    """The running means of the gradient and of its square."""
    return beta1 * mean + (1 - beta1) * gradient, beta2 * variance + (1 - beta2) * gradient**2


def adam_update(
    weight: Array, gradient: Array, rate: float, decay: float, epsilon: float, **moments: Any
) -> State:
    """Adam, with the decay in the gradient, and the correction of the means' bias in the rate."""
    m, v = means(gradient + decay * weight, **moments)
    return {"weight": weight - rate * m / (np.sqrt(v) + epsilon), "mean": m, "variance": v}


def adamw_update(
    weight: Array,
    gradient: Array,
    rate: float,
    decay: float,
    epsilon: float,
    gradient_scale: Array | float = 1.0,
    step_scale: float = 1.0,
    **moments: Any,
) -> State:
    """Adam, with the decay separate from the gradient."""
    m, v = means(gradient * gradient_scale, **moments)
    step = rate * m / (np.sqrt(v) + epsilon) + decay * weight
    return {"weight": weight - step_scale * step, "mean": m, "variance": v}


def lamb_direction(
    weight: Array,
    gradient: Array,
    mean: Array,
    variance: Array,
    step_count: int,
    decay: float,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> State:
    """LAMB's first phase: Adam's direction, with the means' bias corrected, plus the decay."""
    m, v = means(gradient, mean, variance, beta1, beta2)
    root = np.sqrt(v / (1 - beta2**step_count))
    direction = m / (1 - beta1**step_count) / (root + epsilon) + decay * weight
    return {"direction": direction, "mean": m, "variance": v}


def lamb_move(
    weight: Array, direction: Array, weight_norm: Array, direction_norm: Array, rate: float
) -> State:
    """LAMB's second phase: a step along the direction, by the rate times the ratio of the norms."""
    return {"weight": weight - rate * weight_norm / direction_norm * direction}


def lamb_update(weight: Array, rate: float, **inputs: Any) -> State:
    """Both of LAMB's phases."""
    made = lamb_direction(weight=weight, **inputs)
    direction = made.pop("direction")
    norms: tuple[Any, Any] = np.linalg.norm(weight), np.linalg.norm(direction)
    return {**lamb_move(weight, direction, *norms, rate), **made}


def ftml_update(
    weight: Array,
    gradient: Array,
    divisor: Array,
    variance: Array,
    leader: Array,
    rate: float,
    step_count: int,
    decay: float,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> State:
    """Follow the moving leader."""
    slope = gradient + decay * weight
    square = beta2 * variance + (1 - beta2) * slope**2
    root = np.sqrt(square / (1 - beta2**step_count))
    now = (1 - beta1**step_count) / rate * (root + epsilon)
    leader = beta1 * leader + (1 - beta1) * slope - (now - beta1 * divisor) * weight
    return {"weight": -leader / now, "divisor": now, "variance": square, "leader": leader}


def ftrl_update(
    weight: Array,
    gradient: Array,
    leader: Array,
    squares: Array,
    rate: float,
    decay: float,
    lasso: float,
    beta: float,
) -> State:
    """Follow the regularised leader (FTRL-Proximal)."""
    total = squares + gradient**2
    leader = leader + gradient - (np.sqrt(total) - np.sqrt(squares)) * weight / rate
    made = (np.sign(leader) * lasso - leader) / ((beta + np.sqrt(total)) / rate + decay)
    return {"weight": np.where(np.abs(leader) > lasso, made, 0), "leader": leader, "squares": total}


def rmsprop_update(
    weight: Array,
    gradient: Array,
    squares: Array,
    rate: float,
    decay: float,
    gamma: float,
    epsilon: float,
) -> State:
    """RMSProp: the gradient divided by the root of its running mean square."""
    slope = gradient + decay * weight
    square = (1 - gamma) * slope**2 + gamma * squares
    return {"weight": weight - rate * slope / np.sqrt(square + epsilon), "squares": square}


def rmsprop_centred_update(
    weight: Array,
    gradient: Array,
    squares: Array,
    mean: Array,
    step: Array,
    rate: float,
    decay: float,
    gamma: float,
    momentum: float,
    epsilon: float,
) -> State:
    """RMSProp by the variance in place of the mean square, with momentum (Graves, 2013)."""
    slope = gradient + decay * weight
    square = (1 - gamma) * slope**2 + gamma * squares
    mean = (1 - gamma) * slope + gamma * mean
    step = momentum * step - rate * slope / np.sqrt(square - mean**2 + epsilon)
    return {"weight": weight + step, "step": step, "squares": square, "mean": mean}


def lars_rates(
    rates: Array,
    weight_squares: Array,
    gradient_squares: Array,
    decays: Array,
    eta: float,
    epsilon: float,
) -> Array:
    """LARS's learning rates, by the ratio of the norms of weights and gradients."""
    weights, gradients = np.sqrt(weight_squares), np.sqrt(gradient_squares)
    return rates * eta * weights / (gradients + decays * weights + epsilon)


def adagrad_update(
    weight: Array, gradient: Array, squares: Array, rate: float, epsilon: float
) -> State:
    """Adagrad: the gradient divided by the root of its sum of squares, or of those of a row's
    mean."""
    square = gradient**2
    by_row = squares.shape != square.shape
    total = squares + (square.mean(1, keepdims=True) if by_row else square)
    return {"weight": weight - rate * gradient / np.sqrt(total + epsilon), "squares": total}


REFERENCES: Functions = {
    "adagrad_by_row_update": adagrad_update,
    # Stochastic gradient descent.
    "sgd_update": lambda weight, gradient, rate, decay: (
        {"weight": weight - rate * (gradient + decay * weight)}
    ),
    # Descent by the sign of the gradient.
    "sign_sgd_update": lambda weight, gradient, rate, decay: (
        {"weight": (1 - rate * decay) * weight - rate * np.sign(gradient)}
    ),
}
