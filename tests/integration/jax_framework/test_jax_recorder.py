"""Recordings of programs that use JAX."""

import pytest

import opperf
from tests.recorded_functions import call_each, calls, record
from tests.shared_workers import replace_workers

jax = pytest.importorskip("jax")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def shared(monkeypatch, shared_worker):
    replace_workers(monkeypatch, shared_worker)


def net(weights, x):
    for index, weight in enumerate(weights):
        with jax.named_scope(f"layer{index}"):
            x = jnp.tanh(x @ weight)
    x, _ = jax.lax.scan(lambda carry, _: (jnp.sin(carry), None), x, None, length=5)
    return x.sum()


LINE = net.__code__.co_firstlineno + 3


def test_primitives_of_compiled_programs_have_counts_modules_and_lines(tmp_path):
    weights = [jnp.ones((4, 4)), jnp.ones((4, 4))]
    step = jax.jit(jax.grad(net))

    def program():
        for _ in range(3):
            step(weights, jnp.ones((2, 4)))
            opperf.step()

    run = record(tmp_path, program, timed=True, steps="1:3")
    assert run.header.program.steps == 2
    # In the loop as often as it runs, forward; backward it is a cosine.
    (sine,) = calls(run, "primitive.sin")
    assert sine.count == 2 * 5
    forward, *_ = (
        case for case in calls(run, "primitive.dot_general") if case.sites[0].phase == "forward"
    )
    assert [(site.module, site.line, site.count) for site in forward.sites] == [
        ("layer0", LINE, 2),
        ("layer1", LINE, 2),
    ]
    backward = [site for case in calls(run, "primitive.dot_general") for site in case.sites]
    assert {site.module for site in backward if site.phase == "backward"} == {"layer0", "layer1"}
    (compiled,) = run.header.program.compiled
    assert compiled.name == f"net (test_jax_recorder.py:{net.__code__.co_firstlineno})"
    assert compiled.runs == 2 and compiled.time_ns > 0
    assert compiled.kernels and all(time >= 0 for time in compiled.kernels.values())
    fused = [site for case in run.cases for site in case.sites if site.time_ns is None]
    assert {site.program for site in fused} == {compiled.name}
    call_each(run, "jax")


def test_calls_outside_of_a_program_have_the_line_and_time_of_each(tmp_path):
    def program():
        x = jnp.ones(3)
        for _ in range(2):
            x = jax.lax.mul(x, x)

    run = record(tmp_path, program, timed=True)
    (product,) = calls(run, "primitive.mul")
    assert product.count == 2 == len(product.recorded)
    (site,) = product.sites
    assert site.file == __file__ and site.line == program.__code__.co_firstlineno + 3
    assert not site.program and not run.header.program.compiled


def test_what_runs_an_unknown_number_of_times_is_said(tmp_path):
    loop = jax.jit(lambda x: jax.lax.while_loop(lambda y: y < 9, lambda y: y * 2, x))
    run = record(tmp_path, lambda: loop(1.0))
    assert [program.time_ns for program in run.header.program.compiled] == [None]
    assert any("`while`" in note for note in run.header.program.notes)
    assert calls(run, "primitive.mul")


def test_indices_are_of_the_whole_axis_that_they_index(tmp_path):
    table, rows = jnp.ones((900, 7)), jnp.arange(5)
    step = jax.jit(lambda table, rows: (table[rows], table[rows, 0], table.at[rows].add(1.0)))
    run = record(tmp_path, lambda: step(table, rows))
    for name in ("primitive.gather", "primitive.scatter_add"):
        highs = [case.arguments["x1"].fill.high for case in calls(run, name)]
        # Beside the axis of 900, that of 7.
        assert highs and set(highs) <= {900.0, 7.0} and 900.0 in highs


def test_afterwards_nothing_is_recorded_or_changed(tmp_path):
    from jax._src import pjit

    before = pjit._pjit_call_impl_python, pjit._get_fastpath_data
    record(tmp_path, lambda: jnp.ones(3) + 1)
    assert (pjit._pjit_call_impl_python, pjit._get_fastpath_data) == before


def test_a_gradient_outside_of_a_program_has_the_lines_of_what_is_differentiated(tmp_path):
    def square(x):
        return jnp.vdot(x, x)

    run = record(tmp_path, lambda: jax.grad(square)(jnp.ones(3)))
    sites = [site for case in run.cases for site in case.sites if site.phase == "backward"]
    assert sites and {site.line for site in sites} == {square.__code__.co_firstlineno + 1}


def test_keys_of_other_implementations_and_small_integers_are_recorded(tmp_path):
    keys = jax.random.split(jax.random.key(0, impl="rbg"), 4)
    step = jax.jit(lambda keys, x: (jax.vmap(jax.random.bits)(keys), x.astype("float32")))
    run = record(tmp_path, lambda: step(keys, jnp.ones((2, 4), "int4")))
    (bits,) = calls(run, "primitive.random_bits")
    assert [(spec.shape, spec.dtype) for _, spec in bits.tensors()] == [((4,), "key<rbg>")]
    converted = calls(run, "primitive.convert_element_type")
    specs = [spec for case in converted for _, spec in case.tensors()]
    assert ((2, 4), "int4") in [(spec.shape, spec.dtype) for spec in specs]
    call_each(run, "jax")
