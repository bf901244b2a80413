"""Calls of JAX: arrays are arguments of programs, donated ones are fresh, costs are metrics."""

import sys
from functools import partial

import msgspec
import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402  (jax may be missing)

from opperf.errors import UnsupportedError  # noqa: E402
from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.jax import compiling, programs  # noqa: E402
from opperf.instruments.prepared import Bound, PreparedCase  # noqa: E402
from opperf.model import CallableTarget, Case, Fill, NoteCode, Settings, Status, TensorSpec  # noqa: E402
from opperf.worker.answers import script  # noqa: E402
from opperf.worker.measure import measure  # noqa: E402

FRAMEWORK = load("jax")
SQUARE = TensorSpec((8, 8), gradient=True)
COMPILING = {"lowering", "compilation", "compile_cache_misses", "recompilations"}
COSTS = COMPILING | {"flops", "bytes_accessed"}


def compiled(function, *unnamed, **named):
    call = partial(function, *unnamed, **named)
    return programs.MODES["jit"](call, programs.donated_argnums(programs.Flat(call)))


def record(function, arguments=None, passes=("forward",), **settings):
    """The record of an operator by name or of a user's function."""
    plain = {"profiler": "python", "warmup": 0, "runs": 2, "memory": False, "mode": "jit"}
    if isinstance(function, str):
        target, bound = FRAMEWORK.resolve(function).target, None
    else:
        target, bound = CallableTarget("jax", "user.function"), function
    case = Case(target, arguments or {"x": SQUARE}, Settings(**plain | settings), passes)
    return measure(case, FRAMEWORK, Bound(function=bound)) if bound else measure(case, FRAMEWORK)


ONES, ROWS = np.ones((4, 4), np.float32), np.arange(3, dtype=np.int32)

CALLS = [
    # A function, its arguments, and the number of arrays among them.
    (jnp.add, (ONES, ONES), {}, 2),
    (jnp.add, (ONES, 2.0), {}, 1),
    (jnp.concatenate, ([ONES, ONES, ONES],), {"axis": 1}, 3),
    (jnp.take, (ONES, ROWS), {"axis": 0}, 2),
    (jnp.clip, (ONES,), {"min": ONES, "max": 3}, 2),
    (jnp.einsum, ("ij,jk->ik", ONES, ONES), {}, 2),
    (jnp.where, (ONES > 0, ONES, 0.0), {}, 2),
    (jax.lax.dot_general, (ONES, ONES), {"dimension_numbers": (((1,), (0,)), ((), ()))}, 2),
    (jax.nn.softmax, (ONES,), {"axis": 0, "where": ONES > 0}, 2),
    (lambda tree: tree["a"] + tree["b"][0], ({"a": ONES, "b": (ONES, None)},), {}, 2),
]


def in_jax(value):
    """A value with JAX's arrays in place of NumPy's."""
    return jax.tree_util.tree_map(
        lambda one: jnp.array(one) if isinstance(one, np.ndarray) else one, value
    )


@pytest.mark.parametrize("function, unnamed, named, count", CALLS)
def test_every_array_is_an_argument_of_the_program(function, unnamed, named, count):
    call = compiled(function, *in_jax(unnamed), **in_jax(named))
    found = call()
    text = call.program._compiled.as_text()
    entry = text[text.index("ENTRY") :]
    assert entry.count(" parameter(") == len(call.arrays) == count
    # An array that had become a constant would be one of its shape.
    constants = [line for line in text.splitlines() if " constant(" in line]
    assert not [line for line in constants if "[4,4]" in line or "[3]" in line]
    np.testing.assert_allclose(found, function(*in_jax(unnamed), **in_jax(named)), rtol=1e-6)


ODD_DTYPES = ("int4", "uint4", "float8_e3m4", "float4_e2m1fn", "bfloat16")


@pytest.mark.parametrize(
    "value",
    [
        jax.random.key(0),
        jax.random.split(jax.random.key(1), (2, 3)),
        jax.random.key(0, impl="rbg"),
        jax.random.split(jax.random.key(2, impl="unsafe_rbg"), 4),
        *(jnp.ones((2, 3), name) for name in ODD_DTYPES),
    ],
    ids=lambda value: str(value.dtype),
)
def test_arrays_of_extended_dtypes_are_inputs(value):
    spec = FRAMEWORK.arrays.describe(value)
    assert (spec.shape, spec.dtype) == (value.shape, str(value.dtype))
    assert spec.gradient == jnp.issubdtype(value.dtype, jnp.inexact)
    assert spec == msgspec.json.decode(msgspec.json.encode(spec), type=TensorSpec)
    copied = FRAMEWORK.arrays.copy_to_device(value, spec, "cpu(0)")
    made = FRAMEWORK.tensor(msgspec.structs.replace(spec, fill=Fill()), "cpu(0)", 3)
    for one in (copied, made):
        assert (one.shape, one.dtype) == (value.shape, value.dtype)
    assert FRAMEWORK.arrays.describe(copied) == spec
    assert FRAMEWORK.arrays.describe(made) != spec
    assert FRAMEWORK.arrays.describe(value.flatten()[:1]) != spec


def test_keys_of_other_implementations_differ():
    first, second = (
        FRAMEWORK.arrays.describe(jax.random.key(0, impl=one)) for one in ("rbg", "unsafe_rbg")
    )
    assert first.fill.digest != second.fill.digest


def test_a_random_key_is_an_argument_too():
    call = compiled(jax.random.normal, jax.random.key(1), (8,))
    np.testing.assert_array_equal(call(), call())
    assert len(call.arrays) == 1


def test_the_results_are_ready_when_a_call_returns():
    waited = []

    class Result:
        def block_until_ready(self):
            waited.append(self)
            return self

    programs.EagerCall(partial(Result))()
    assert len(waited) == 1


class Box:
    """An object in which JAX sees no array."""

    def __init__(self, held):
        self.held = held


@pytest.fixture
def waits(monkeypatch):
    """The waits by a program of opperf's own."""
    found = []
    monkeypatch.setattr(
        programs, "_last_program", lambda device: lambda: found.append(device) or jnp.zeros(())
    )
    return found


@pytest.mark.parametrize(
    "results, asks",
    [
        (lambda one: (one, {"b": one}), False),
        (lambda one: (one, 3, "word"), False),
        (lambda one: None, True),
        (lambda one: 3.0, True),
        (Box, True),
        (lambda one: [Box(one)], True),
        (lambda one: (one, Box(one)), True),
        (lambda one: lambda: one, True),
    ],
)
def test_what_jax_cannot_wait_for_is_waited_for_by_a_program_of_opperf(waits, results, asks):
    programs.EagerCall(partial(lambda x: results(x + 1), jnp.array(ONES)))()
    assert bool(waits) == asks


def test_a_program_without_results_is_waited_for_too(waits):
    call = compiled(lambda x: jax.debug.callback(lambda one: None, x), jnp.array(ONES))
    call()
    call.repeated()()
    assert len(waits) == 2


def test_programs_of_a_thread_end_in_their_order():
    """A result that nobody waits for is ready once a later program is."""
    large = jnp.ones((700, 700))
    for _ in range(3):
        result = large
        for _ in range(3):
            result = jnp.tanh(result @ large)
        programs.settled(None)
        assert result.is_ready()


def test_a_donated_array_is_a_fresh_one_after_renew():
    data, other = jnp.ones((4, 4)), jnp.ones((4, 4))
    call = compiled(jax.jit(jnp.add, donate_argnums=0), data, other)
    assert call.donated == (0,)
    for _ in range(3):
        np.testing.assert_array_equal(call(), 2.0)
        assert call.arrays[0].is_deleted() and not call.arrays[1].is_deleted()
        call.renew()
    # The user's own array is never overwritten.
    assert not data.is_deleted() and not other.is_deleted()


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
@pytest.mark.parametrize(
    "options, arguments, places",
    [
        ({"donate_argnums": 0}, (ONES, ONES, 2), (0,)),
        ({"donate_argnums": (0, 1)}, (ONES, ONES, 2), (0, 1)),
        ({"donate_argnums": 1, "static_argnums": 2}, (ONES, ONES, 2), (1,)),
        ({"donate_argnums": 1, "static_argnums": 0}, (2, ONES, ONES), (0,)),
        ({"donate_argnums": 0}, ({"w": ONES, "b": ONES}, ONES, 2), (0, 1)),
        ({}, (ONES, ONES, 2), ()),
    ],
)
def test_places_of_donated_arrays(options, arguments, places):
    def function(x, y, z):
        return jax.tree_util.tree_map(lambda one: one * z + y, x)

    call = compiled(jax.jit(function, **options), *in_jax(arguments))
    assert isinstance(call, programs.DonatingCall) == bool(places)
    assert not places or call.donated == places


def test_a_donated_input_of_a_rule_is_overwritten_and_so_in_its_script():
    scalar = TensorSpec((), "int32", Fill("constant", 3.0))
    case = Case(
        FRAMEWORK.resolve("lax.dynamic_update_index_in_dim").target,
        {
            "operand": TensorSpec((8, 4), donated=True),
            "update": TensorSpec((4,)),
            "index": scalar,
            "axis": 0,
        },
        Settings(device="cpu(0)", mode="jit"),
    )
    prepared = PreparedCase(case, FRAMEWORK)
    operand, update = prepared.arguments["operand"], prepared.arguments["update"]
    expected = np.array(operand)
    expected[3] = update
    np.testing.assert_array_equal(prepared.call(), expected)
    assert prepared.call.arrays[0].is_deleted() and not operand.is_deleted()
    source = script(FRAMEWORK, case)
    assert "jax.jit(call, donate_argnums=(0,))(operand, update, index)" in source
    names = {}
    exec(source, names)
    assert names["operand"].is_deleted()
    np.testing.assert_array_equal(names["out"], expected)


@pytest.mark.parametrize("memory", [False, True])
def test_a_function_that_overwrites_its_argument_is_measured(memory):
    function = jax.jit(lambda x: x * 2, donate_argnums=0)
    found = record(function, memory=memory, runs=3, warmup=2)
    assert found.status is Status.OK, found.reason
    assert found.summaries["forward"].n == 3


def test_what_compiling_takes_is_in_the_record():
    found = record("jnp.matmul", {"a": SQUARE, "b": SQUARE}, ("forward", "backward"))
    assert found.status is Status.OK, found.reason
    assert set(found.summaries) >= COSTS | {"first_call"}
    assert found.summaries["lowering"].median > 0
    assert found.summaries["compilation"].median > 0
    assert found.summaries["flops"].median == 2 * 8 * 8 * 8
    assert found.summaries["bytes_accessed"].median == 3 * 8 * 8 * 4
    assert found.summaries["recompilations"].median == 0


def test_programs_that_the_cache_does_not_have_are_counted(monkeypatch, tmp_path):
    monkeypatch.setenv(compiling.CACHE_VARIABLE, str(tmp_path))
    data = TensorSpec((3, 17), gradient=True)
    # The forward pass, and two of the gradient.
    for cache, misses in (("cold", 3), ("warm", 3), ("warm", 0), ("cold", 3)):
        found = record("jnp.tanh", {"x": data}, ("forward", "backward"), compile_cache=cache)
        assert found.status is Status.OK, found.reason
        assert found.summaries["compile_cache_misses"].median == misses


def test_an_eager_call_has_no_compilation():
    found = record("jnp.exp", mode="eager")
    assert found.status is Status.OK, found.reason
    assert not set(found.summaries) & (COSTS - {"flops"} | {"first_call"})


def test_what_xla_does_not_say_is_no_metric(monkeypatch):
    call = compiled(jnp.exp, jnp.ones(4))
    call()

    class Silent:
        def cost_analysis(self):
            raise NotImplementedError

    monkeypatch.setattr(call.program, "_compiled", Silent())
    assert set(programs.costs(call)) == COMPILING and call.program.flops() is None


@pytest.mark.parametrize("found", [[{"flops": 3.0}], {"flops": 3.0}])
def test_the_analysis_may_be_a_list_of_one(monkeypatch, found):
    call = compiled(jnp.exp, jnp.ones(4))

    class Older:
        def cost_analysis(self):
            return found

        def as_text(self):
            return "ENTRY main { ROOT a = f32[] add(b, c) }"

    monkeypatch.setattr(call.program, "_compiled", Older())
    assert call.program.flops() == (3.0, ())


def test_operations_in_a_loop_are_more_than_xla_counts():
    def repeated(x):
        return jax.lax.scan(lambda one, _: (jnp.tanh(one @ one), None), x, None, length=9)[0]

    found = record(jax.jit(repeated))
    (note,) = [note for note in found.notes if note.code == NoteCode.LEAST]
    assert note.metric == "flops" and note.message.endswith("nothing counts all of while")


def compiles_anew(x):
    """A function whose callback compiles a program at each call."""

    def double(value):
        return np.asarray(jax.jit(lambda one: one * 2.0)(np.asarray(value)))

    return jax.pure_callback(double, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def test_programs_that_are_compiled_again_are_counted():
    again = record(compiles_anew, runs=3)
    assert again.status is Status.OK, again.reason
    # Each call after the first ones, and the three that are timed at least.
    assert again.summaries["recompilations"].median >= 3
    call = compiled(compiles_anew, jnp.ones(4))
    call()
    assert programs.costs(call)["recompilations"] == 0
    call(), call()
    assert programs.costs(call)["recompilations"] == 2


def test_what_opperf_computes_is_no_recompilation():
    # Shapes that no other test has, so that the checks for NaN and head gradients are compiled.
    data = TensorSpec((7, 13), gradient=True)
    found = record("jnp.sinh", {"x": data}, ("forward", "backward"), memory=True)
    assert found.status is Status.OK, found.reason
    assert {"backward", "memory"} <= set(found.summaries)
    assert found.summaries["recompilations"].median == 0


def raises(x):
    raise ValueError("not today")


def branches(x):
    return x if x.sum() > 0 else -x


@pytest.mark.parametrize("mode", ["jit", "eager"])
def test_a_function_that_raises_has_failed(mode):
    found = record(raises, mode=mode)
    assert (found.status, found.reason) == (Status.FAILED, "ValueError: not today")


@pytest.mark.parametrize(
    "function, arguments",
    [("jnp.nonzero", {"a": SQUARE}), ("jnp.unique", {"ar": SQUARE}), (branches, {"x": SQUARE})],
)
def test_a_function_that_needs_values_runs_eagerly_only(function, arguments):
    found = record(function, arguments)
    assert found.status is Status.SKIPPED
    assert found.reason.endswith(": use --mode eager")
    assert "\n" not in found.reason
    assert record(function, arguments, mode="eager").status is Status.OK


def test_an_error_of_the_program_is_one_line():
    def call_back(x):
        raise ValueError("no\nsuch luck")

    def function(x):
        return jax.pure_callback(call_back, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    found = record(function)
    assert found.status is Status.FAILED
    assert "such luck" in found.reason and "\n" not in found.reason


def test_cases_of_64_bits_have_them_inside_their_scope_only():
    data = TensorSpec((4,), "float64")
    case = Case(FRAMEWORK.resolve("jnp.exp").target, {"x": data}, Settings(dtype="float64"))
    with FRAMEWORK.scope(case):
        assert PreparedCase(case, FRAMEWORK).call().dtype == "float64"
    assert jnp.ones(2).dtype == "float32"


def test_memory_of_an_eager_call_is_refused():
    call = programs.EagerCall(partial(jnp.exp, jnp.ones(4)))
    with (
        pytest.raises(UnsupportedError, match="use --mode jit$"),
        FRAMEWORK.memory.measure("cpu(0)"),
    ):
        call()


def python_frames(call):
    """The number of Python's functions that a call runs, itself included."""
    entered = []
    sys.setprofile(lambda frame, event, argument: entered.append(event))
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered.count("call")


@pytest.mark.parametrize("function", [jnp.tanh, lambda x: (x + 1, x * 2)])
def test_a_timed_call_is_the_same_call_with_less_around_it(function):
    call = compiled(function, jnp.ones((4, 4)))
    expected = call()
    timed = FRAMEWORK.modes.repeated(call)
    jax.tree_util.tree_map(np.testing.assert_array_equal, timed(), expected)
    assert python_frames(timed) < python_frames(call)


def test_a_timed_call_of_a_single_array_has_one_frame_of_python():
    call = compiled(jnp.tanh, jnp.ones((4, 4)))
    call()
    assert python_frames(FRAMEWORK.modes.repeated(call)) == 1


def test_a_timed_call_overwrites_the_fresh_array():
    call = compiled(jax.jit(jnp.add, donate_argnums=0), jnp.ones((4, 4)), jnp.ones((4, 4)))
    call()
    timed = FRAMEWORK.modes.repeated(call)
    for _ in range(3):
        call.renew()
        np.testing.assert_array_equal(timed(), 2.0)
        assert call.arrays[0].is_deleted()


def test_an_eager_call_is_timed_as_it_is():
    call = programs.EagerCall(partial(jnp.tanh, jnp.ones(3)))
    assert FRAMEWORK.modes.repeated(call) is call


def test_only_the_timed_calls_are_without_what_memory_needs():
    found = record("jnp.tanh", {"x": TensorSpec((8, 8))}, memory=True, runs=3)
    assert found.summaries["memory"].median == 8 * 8 * 4
    assert found.summaries["forward"].n == 3
