"""JAX's gradients: a backward pass of its own, its values, and what has none."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402  (jax may be missing)

from opperf.errors import NoGradientError  # noqa: E402
from opperf.frameworks.jax import programs  # noqa: E402
from opperf.frameworks.jax.gradient import LEAST_HEAD, VectorJacobianProduct, head  # noqa: E402

DATA = np.linspace(0.5, 2.0, 12, dtype=np.float32).reshape(3, 4)
WEIGHT = np.linspace(-1.0, 1.0, 20, dtype=np.float32).reshape(4, 5)


def call_of(mode, function, *arguments):
    return programs.MODES[mode](partial(function, *arguments), ())


def gradients(product):
    """The gradients of a recorded call."""
    product.record()
    return product.read(product.backward())


ANALYTIC = [
    (jnp.exp, lambda x, y: np.exp(x) * y),
    (jnp.sin, lambda x, y: np.cos(x) * y),
    (jnp.log, lambda x, y: y / x),
    (jnp.square, lambda x, y: 2 * x * y),
    (jnp.tanh, lambda x, y: (1 - np.tanh(x) ** 2) * y),
    (jnp.sum, lambda x, y: np.full_like(x, y)),
    (partial(jnp.mean, axis=1), lambda x, y: np.repeat(y[:, None], 4, axis=1) / 4),
    (jnp.transpose, lambda x, y: y.T),
    (lambda x: x @ WEIGHT, lambda x, y: y @ WEIGHT.T),
    (lambda x: jnp.concatenate([x, x * 3]), lambda x, y: y[:3] + 3 * y[3:]),
]


@pytest.mark.parametrize("mode", programs.MODES)
@pytest.mark.parametrize("function, analytic", ANALYTIC)
def test_gradients_are_those_of_analysis(mode, function, analytic):
    data = jnp.array(DATA)
    product = VectorJacobianProduct(call_of(mode, function, data), [data])
    (found,) = gradients(product)
    expected = analytic(DATA.astype(np.float64), np.asarray(product.heads[0], np.float64))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_gradients_are_of_the_wanted_inputs_only():
    data, other = jnp.array(DATA), jnp.array(DATA) + 1
    product = VectorJacobianProduct(call_of("jit", jnp.multiply, data, other), [other])
    (found,) = gradients(product)
    np.testing.assert_allclose(found, DATA * np.asarray(product.heads[0]), rtol=1e-6)


def test_real_results_beside_whole_numbers_have_gradients():
    data = jnp.array(DATA)
    product = VectorJacobianProduct(call_of("jit", partial(jax.lax.top_k, k=2), data), [data])
    assert len(product.heads) == 1
    (found,) = gradients(product)
    # The two largest of each row are its last.
    assert np.count_nonzero(found) == 6 and not np.asarray(found)[:, :2].any()


def test_the_backward_pass_is_a_program_with_residuals_as_arguments():
    data, weight = jnp.array(DATA), jnp.array(WEIGHT)
    call = call_of("jit", jnp.matmul, data, weight)
    product = VectorJacobianProduct(call, [data, weight])
    forward, backward = product._forward._compiled, product._backward._compiled
    assert forward is not backward
    # The result and, as residuals, both factors; then the head gradient and these.
    assert len(jax.tree_util.tree_leaves(forward.out_info)) == 3
    assert len(jax.tree_util.tree_leaves(backward.args_info)) == 3
    assert "dot(" in backward.as_text()
    assert " constant({" not in backward.as_text()


def test_a_backward_pass_uses_what_the_last_forward_pass_kept():
    data = jnp.array(DATA)
    product = VectorJacobianProduct(call_of("jit", jnp.exp, data), [data])
    assert product._pullback is None
    product.record()
    first = product._pullback
    product.backward()
    product.record()
    assert product._pullback is not first


def test_programs_of_both_passes_are_in_the_costs():
    data = jnp.array(DATA)
    call = call_of("jit", jnp.exp, data)
    call()
    alone = programs.costs(call)
    VectorJacobianProduct(call, [data])
    both = programs.costs(call)
    assert both["compilation"] > alone["compilation"] and both["lowering"] > alone["lowering"]
    assert both["recompilations"] == 0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_head_gradients_are_in_range_and_of_the_outputs_dtype(dtype):
    found = head(jnp.zeros((64,), dtype))
    assert found.dtype == dtype and found.shape == (64,)
    real = np.asarray(found.real.astype("float32"))
    assert (real >= LEAST_HEAD).all() and (real <= LEAST_HEAD + 1).all()
    assert len(set(real.tolist())) > 1
    # A real one would leave the imaginary part of gradients zero.
    assert not jnp.iscomplexobj(found) or found.imag.all()


def count_to(x):
    """A loop whose number of steps is known only when it runs."""
    return jax.lax.while_loop(lambda one: one.sum() < 100, lambda one: one * 2, x)


@pytest.mark.parametrize("mode", programs.MODES)
@pytest.mark.parametrize(
    "function, data, words",
    [
        (jnp.add, jnp.arange(4), "^none of its inputs takes a gradient$"),
        (jnp.argmax, jnp.ones(4), "^its results are no real or complex numbers$"),
        (jnp.isfinite, jnp.ones(4), "^its results are no real or complex numbers$"),
        (count_to, jnp.ones(4), "Reverse-mode differentiation does not work for lax.while_loop"),
    ],
)
def test_what_has_no_gradient_says_why(mode, function, data, words):
    arguments = (data, data) if function is jnp.add else (data,)
    wanted = [data] if jnp.issubdtype(data.dtype, jnp.inexact) else []
    with pytest.raises(NoGradientError, match=words) as refused:
        VectorJacobianProduct(call_of(mode, function, *arguments), wanted)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", [dict, lambda found: [dict(found)]])
def test_what_xla_does_not_know_is_no_figure(kind):
    stage = SimpleNamespace(cost_analysis=lambda: kind({"flops": 3.0, "bytes accessed": -1.0}))
    assert programs._analysis_of(stage) == {"flops": 3.0}
