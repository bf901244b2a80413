"""Functions that cases pass to functions such as `lax.scan`: small, as those of programs are. Each
stands alone and names nothing but `jax` and `jnp`, as scripts have its source."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def decayed_sum(total: Any, x: Any) -> Any:
    """A running sum that forgets, like that of a linear state-space layer."""
    total = 0.9 * total + x
    return total, total


def recurrent_step(state: Any, x: Any) -> Any:
    """A step of a plain recurrent layer: its state is a dict of the weights and the units."""
    hidden = jnp.tanh(x + state["hidden"] @ state["weight"])
    return {"hidden": hidden, "weight": state["weight"]}, hidden


def has_steps_left(state: Any) -> Any:
    """Whether a loop of twenty steps goes on."""
    return state["step"] < 20


def newton_step(state: Any) -> Any:
    """A step of Newton's method for the square roots of numbers."""
    root = 0.5 * (state["root"] + state["number"] / state["root"])
    return {"root": root, "number": state["number"], "step": state["step"] + 1}


def heat_step(step: Any, field: Any) -> Any:
    """An explicit step of the heat equation on a ring."""
    return field + 0.2 * (jnp.roll(field, 1, -1) - 2 * field + jnp.roll(field, -1, -1))


def power_step(step: Any, state: Any) -> Any:
    """A step of the power method for the largest eigenvalue of a matrix."""
    vector = state["matrix"] @ state["vector"]
    return {"matrix": state["matrix"], "vector": vector / jnp.linalg.norm(vector)}


def gelu_layer(x: Any, weight: Any) -> Any:
    """An expert of one dense layer with GELU."""
    return jax.nn.gelu(x @ weight)


def relu_layer(x: Any, weight: Any) -> Any:
    """An expert of one dense layer with ReLU."""
    return jax.nn.relu(x @ weight)


def tanh_layer(x: Any, weight: Any) -> Any:
    """An expert of one dense layer with tanh."""
    return jnp.tanh(x @ weight)


def clip_by_norm(x: Any) -> Any:
    """A gradient scaled to a norm of one."""
    return x / jnp.linalg.norm(x)


def unchanged(x: Any) -> Any:
    """The same array."""
    return x


def gram_matrix(x: Any) -> Any:
    """Products of all pairs of a sample's rows."""
    return x @ x.T


def linear_recurrence(left: Any, right: Any) -> Any:
    """Two steps of h = a h + b as one, as state-space layers are scanned in parallel."""
    (left_factor, left_term), (right_factor, right_term) = left, right
    return [left_factor * right_factor, right_factor * left_term + right_term]


def log_add(x: Any, y: Any) -> Any:
    """The logarithm of the sum of two exponentials."""
    return jnp.logaddexp(x, y)


def larger_magnitude(x: Any, y: Any) -> Any:
    """The number of two that is further from zero."""
    return jnp.where(jnp.abs(x) >= jnp.abs(y), x, y)


def damped_laplacian(x: Any) -> Any:
    """A symmetric positive definite operator without a matrix: the screened Poisson equation."""
    return 3 * x - jnp.roll(x, 1, 0) - jnp.roll(x, -1, 0)


def conjugate_gradients(operator: Any, right_hand_side: Any) -> Any:
    """The solution of a symmetric positive definite system, in thirty steps."""

    def step(_: Any, state: Any) -> Any:
        x, residual, direction, squared = state
        image = operator(direction)
        # Nothing is left to divide once the residual has vanished.
        length = squared / jnp.maximum(jnp.sum(direction * image), 1e-30)
        x, residual = x + length * direction, residual - length * image
        next_squared = jnp.sum(residual * residual)
        direction = residual + next_squared / jnp.maximum(squared, 1e-30) * direction
        return x, residual, direction, next_squared

    begin = jnp.sum(right_hand_side * right_hand_side)
    state = (jnp.zeros_like(right_hand_side), right_hand_side, right_hand_side, begin)
    return jax.lax.fori_loop(0, 30, step, state)[0]


def cosine_residual(x: Any) -> Any:
    """A function that is zero where x = cos(x)."""
    return x - jnp.cos(x)


def newton_solve(function: Any, guess: Any) -> Any:
    """A root of a function of each element, in eight of Newton's steps."""

    def step(_: Any, x: Any) -> Any:
        value, slope = jax.jvp(function, (x,), (jnp.ones_like(x),))
        return x - value / slope

    return jax.lax.fori_loop(0, 8, step, guess)


def divide_by_slope(linear: Any, y: Any) -> Any:
    """The solution of a linear equation of each element."""
    return y / linear(jnp.ones_like(y))


def centred(x: Any) -> Any:
    """A row without its mean."""
    return x - jnp.mean(x)


def sum_along(x: Any, axis: int) -> Any:
    """The sums along an axis."""
    return jnp.sum(x, axis=axis)


def distance_to_corner(row: Any, column: Any) -> Any:
    """The distance of each place of a grid to its first corner."""
    return jnp.sqrt(row * row + column * column)


def leak(x: Any) -> Any:
    """A hundredth of the numbers."""
    return 0.01 * x


def rosenbrock(x: Any) -> Any:
    """Rosenbrock's function, whose minimum is at the end of a curved valley."""
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
