"""The memory of JAX's calls, against arithmetic."""

import gc
from functools import partial
from types import SimpleNamespace

import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402  (jax may be missing)

from opperf.errors import UnsupportedError  # noqa: E402
from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.jax import memory, programs  # noqa: E402
from opperf.frameworks.jax.gradient import VectorJacobianProduct  # noqa: E402
from opperf.frameworks.jax.memory import measure  # noqa: E402
from opperf.model import Case, Settings, TensorSpec  # noqa: E402
from opperf.worker.measure import measure as measure_case  # noqa: E402
from tests.listed_jax import is_listed  # noqa: E402

FRAMEWORK = load("jax")

CPU = "cpu(0)"

FLOAT, INT, HALF, BOOL, COMPLEX = 4, 4, 2, 1, 8
"""Bytes of an element."""

ROWS, COLUMNS, OUTPUTS, TAKEN = 64, 32, 16, 20
"""XLA sums rows of more than 32 elements in two steps, with memory between them."""

SIZE = ROWS * COLUMNS
N = SIZE * FLOAT
"""Bytes of the matrix that the operators take."""

MASK = SIZE * BOOL
PRODUCT = ROWS * OUTPUTS * FLOAT
TAKEN_ROWS = TAKEN * COLUMNS * FLOAT


@pytest.fixture(autouse=True)
def no_garbage():
    """Arrays of earlier tests are freed before a reading, not inside one."""
    gc.collect()


@pytest.fixture(scope="module")
def other():
    """The other arguments of the operators."""
    matrix = jax.random.uniform(jax.random.key(1), (ROWS, COLUMNS)) + 1
    return SimpleNamespace(
        matrix=matrix,
        mask=matrix > 1.5,
        weight=jnp.ones((COLUMNS, OUTPUTS)),
        bias=jnp.ones(OUTPUTS),
        taken=jnp.arange(TAKEN),
    )


OPERATORS = [
    # The output; the residuals of the backward pass, whose peak has them, the head gradient, which
    # is as large as the output, and the gradient. None for an operator without a gradient.
    ("negative", lambda a, o: -a, N, 0),
    ("add", lambda a, o: a + o.matrix, N, 0),
    ("subtract", lambda a, o: a - o.matrix, N, 0),
    # The derivative, or what it is the product with.
    ("exp", lambda a, o: jnp.exp(a), N, N),
    ("sin", lambda a, o: jnp.sin(a), N, N),
    ("cos", lambda a, o: jnp.cos(a), N, N),
    ("log", lambda a, o: jnp.log(a), N, N),
    ("sqrt", lambda a, o: jnp.sqrt(a), N, N),
    ("square", lambda a, o: jnp.square(a), N, N),
    ("sigmoid", lambda a, o: jax.nn.sigmoid(a), N, N),
    ("multiply", lambda a, o: a * o.matrix, N, N),
    ("divide", lambda a, o: a / o.matrix, N, N),
    # The output, and the derivative.
    ("tanh", lambda a, o: jnp.tanh(a), N, 2 * N),
    # A mask, and the zeros that take the other elements' places.
    ("relu", lambda a, o: jax.nn.relu(a), N, MASK + N),
    ("where", lambda a, o: jnp.where(o.mask, a, o.matrix), N, MASK + N),
    ("tril", lambda a, o: jnp.tril(a), N, MASK + N),
    ("transpose", lambda a, o: a.T, N, 0),
    ("reshape", lambda a, o: a.reshape(-1), N, 0),
    ("flip", lambda a, o: jnp.flip(a), N, 0),
    ("roll", lambda a, o: jnp.roll(a, 1), N, 0),
    ("repeat", lambda a, o: jnp.repeat(a, 2, axis=0), 2 * N, 0),
    ("tile", lambda a, o: jnp.tile(a, (2, 2)), 4 * N, 0),
    ("broadcast_to", lambda a, o: jnp.broadcast_to(a, (3, *a.shape)), 3 * N, 0),
    ("slice", lambda a, o: a[:TAKEN], TAKEN_ROWS, 0),
    ("float16", lambda a, o: a.astype(jnp.float16), SIZE * HALF, 0),
    ("sum of rows", lambda a, o: a.sum(1), ROWS * FLOAT, 0),
    ("mean of rows", lambda a, o: a.mean(1), ROWS * FLOAT, 0),
    ("matmul", lambda a, o: a @ o.weight, PRODUCT, COLUMNS * OUTPUTS * FLOAT),
    ("linear", lambda a, o: a @ o.weight + o.bias, PRODUCT, COLUMNS * OUTPUTS * FLOAT),
    # The indices.
    ("take", lambda a, o: jnp.take(a, o.taken, axis=0), TAKEN_ROWS, TAKEN * INT),
    ("index", lambda a, o: a[o.taken], TAKEN_ROWS, TAKEN * INT),
    # Zeros in place of the other array's gradient.
    ("concatenate", lambda a, o: jnp.concatenate([a, o.matrix]), 2 * N, N),
    ("stack", lambda a, o: jnp.stack([a, o.matrix]), 2 * N, N),
    ("greater", lambda a, o: a > o.matrix, MASK, None),
    ("isfinite", lambda a, o: jnp.isfinite(a), MASK, None),
    ("int32", lambda a, o: a.astype(jnp.int32), SIZE * INT, None),
    ("zeros_like", lambda a, o: jnp.zeros_like(a), N, None),
    ("max of rows", lambda a, o: a.max(1), ROWS * FLOAT, None),
    ("complex", lambda a, o: jax.lax.complex(a, o.matrix), SIZE * COMPLEX, None),
]
"""Name, call, and bytes by arithmetic. The last is not held to any where it is None."""


def fresh():
    return jax.block_until_ready(jax.random.uniform(jax.random.key(0), (ROWS, COLUMNS)) + 1)


def compiled(function, other):
    """A call with every array an argument, and its first argument."""
    data = fresh()

    def call(data, **others):
        return function(data, SimpleNamespace(**others))

    named = dict(vars(other))
    return programs.CompiledCall(partial(call, data, **named)), data


def test_there_are_enough_operators():
    assert len(OPERATORS) >= 35
    assert len([one for one in OPERATORS if one[-1] is not None]) >= 30


@pytest.mark.parametrize(
    "name, function, output, residuals", OPERATORS, ids=[one[0] for one in OPERATORS]
)
def test_peaks_are_those_of_arithmetic(other, name, function, output, residuals):
    call, data = compiled(function, other)
    call()
    with measure(CPU) as forward:
        call()
    assert forward.peak_bytes == output
    assert forward.kept_bytes == 0
    if residuals is None or not is_listed:
        # Which residuals XLA keeps is another matter in each version.
        return
    # Once before, so that what JAX keeps of it is no part of the peak.
    VectorJacobianProduct(call, [data])
    with measure(CPU) as both:
        VectorJacobianProduct(call, [data])
    assert both.peak_bytes == residuals + output + N


def test_contexts_may_be_nested(other):
    call, _ = compiled(lambda a, o: jnp.exp(a), other)
    call()
    with measure(CPU) as outer:
        kept = call()
        with measure(CPU) as inner:
            call()
    # The inner call's output beside the one that is kept.
    assert (outer.peak_bytes, outer.kept_bytes) == (2 * N, N)
    assert (inner.peak_bytes, inner.kept_bytes) == (N, 0)
    assert kept.nbytes == N


def test_a_context_without_a_call_has_no_memory():
    with measure(CPU) as reading:
        pass
    assert (reading.peak_bytes, reading.kept_bytes) == (0, 0)


def test_a_result_in_the_place_of_an_argument_takes_no_memory():
    own = partial(jax.jit(lambda x: x * 2, donate_argnums=0), fresh())
    call = programs.MODES["jit"](own, programs.donated_argnums(programs.Flat(own)))
    for _ in range(2):
        with measure(CPU) as reading:
            outputs = call()
        assert (reading.peak_bytes, reading.kept_bytes) == (0, 0)
        assert outputs.nbytes == N
        del outputs


def test_an_error_ends_the_reading():
    with pytest.raises(ZeroDivisionError), measure(CPU):
        raise ZeroDivisionError
    assert not memory.open_readings


def test_one_piece_of_memory_counts_once():
    data = fresh()
    before = memory.live_bytes(data.device)
    (same,) = [shard.data for shard in data.addressable_shards]
    assert memory.live_bytes(data.device) == before
    assert same.nbytes == N
    freed = fresh()
    assert memory.live_bytes(data.device) == before + N
    freed.delete()
    assert memory.live_bytes(data.device) == before


def record(mode, name="jnp.exp"):
    data = TensorSpec((ROWS, COLUMNS), gradient=True)
    settings = Settings(mode=mode, profiler="python", warmup=0, runs=2)
    target = FRAMEWORK.resolve(name).target
    (parameter,) = FRAMEWORK.resolve(name).parameters[:1]
    case = Case(target, {parameter.name: data}, settings, ("forward", "backward"))
    return measure_case(case, FRAMEWORK)


def test_the_record_has_both_peaks():
    found = record("jit")
    assert found.summaries["memory_forward"].median == N
    assert found.summaries["memory"].median == 3 * N


def test_a_case_without_a_gradient_has_memory_too():
    found = record("jit", "jnp.isfinite")
    assert found.summaries["memory"].median == MASK


def test_eager_mode_has_no_memory_and_says_so():
    found = record("eager")
    assert not {"memory", "memory_forward"} & set(found.summaries)
    (note,) = [one for one in found.notes if one.metric == "memory"]
    assert note.message == "JAX shows the memory of compiled calls only; use --mode jit"


class Device:
    """A device whose allocator counts."""

    def __init__(self, *counters):
        self._counters = iter(counters)

    def memory_stats(self):
        return next(self._counters)


@pytest.mark.parametrize(
    "begin, end, peak",
    [
        # The calls raised it.
        ((1000, 1200), (1000, 1700), 700),
        # An earlier call had raised it higher.
        ((1000, 5000), (1300, 5000), 0),
        # It has no counters, as a CPU.
        (None, None, 0),
    ],
)
def test_what_the_device_counts_is_part_of_the_peak(monkeypatch, begin, end, peak):
    def counters(pair):
        return pair and {"bytes_in_use": pair[0], "peak_bytes_in_use": pair[1]}

    device = Device(counters(begin), counters(end))
    monkeypatch.setattr(memory, "jax_device", lambda name: device)
    with measure("gpu(0)") as reading:
        pass
    assert reading.peak_bytes == peak


def test_a_backend_that_shows_no_memory_is_unsupported():
    class Silent:
        def memory_analysis(self):
            return None

    with pytest.raises(UnsupportedError, match="does not show the memory of a program"):
        memory.run(Silent(), [])
