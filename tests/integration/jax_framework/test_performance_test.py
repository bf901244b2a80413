"""JAX's functions and a user's, measured by a call from Python."""

from __future__ import annotations

import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402  (jax may be missing)

from opperf.utils.benchmark_utils import run_performance_test  # noqa: E402

SQUARE = {"x": (8, 8)}


def measured(function, inputs, **options):
    """The one result of a call, and its name."""
    options = {"warmup": 1, "runs": 3, "framework": "jax"} | options
    (by_name,) = run_performance_test(function, inputs=[inputs], **options)
    ((name, (one,)),) = by_name.items()
    return name, one


def test_a_function_of_jax_is_its_operator():
    name, found = measured(jnp.add, {"x": (8, 8), "y": (8, 8)})
    assert name == "jnp.add"
    assert found["forward_mean_ms"] > 0
    assert found["backward_mean_ms"] >= 0


def test_a_jitted_function_of_a_user():
    @jax.jit
    def product(x):
        return x @ x

    name, found = measured(product, SQUARE)
    assert found.get("status", "ok") == "ok"
    assert found["forward_mean_ms"] > 0


def test_a_lambda():
    name, found = measured(lambda x: jnp.tanh(x) * 2, SQUARE, run_backward=False)
    assert found.get("status", "ok") == "ok"
    assert found["forward_mean_ms"] > 0


def test_an_array_of_the_user_is_measured_and_left_alone():
    data = jnp.arange(16.0)
    name, found = measured(jax.jit(lambda x: x * 2, donate_argnums=0), {"x": data})
    assert found["forward_mean_ms"] > 0
    assert not data.is_deleted() and float(data.sum()) == 120.0


def test_a_function_that_raises_has_failed():
    def refuse(x):
        raise ValueError("not today")

    _, found = measured(refuse, SQUARE)
    assert (found["status"], found["reason"]) == ("failed", "ValueError: not today")
