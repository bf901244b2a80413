"""Work that XLA removes of a user's function, and work that it does."""

from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402  (jax may be missing)

from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.jax import dead_code, programs  # noqa: E402
from opperf.instruments.prepared import Bound  # noqa: E402
from opperf.model import CallableTarget, Case, NoteCode, Settings, TensorSpec  # noqa: E402
from opperf.worker.measure import measure  # noqa: E402

FRAMEWORK = load("jax")
X = TensorSpec((64, 64), gradient=True)
WEIGHTS = np.ones((64, 64), np.float32)


def work(x):
    for _ in range(4):
        x = jnp.tanh(x @ x)
    return x


def nothing(x):
    work(x)


def besides(x):
    work(x)
    return x + 1


def within(x):
    jax.jit(work)(x)
    return x + 1


def loop(x):
    jax.lax.scan(lambda carry, _: (jnp.tanh(carry @ carry), None), x, None, length=50)
    return x + 1


def unknown_loop(x):
    jax.lax.while_loop(lambda one: one.sum() < 0, lambda one: one @ one, x)
    return x + 1


def carried(x):
    def step(carry, _):
        return (carry[0] @ carry[0], carry[1] + 1), None

    return jax.lax.scan(step, (x, x[0]), None, length=50)[0][1]


def solved(x):
    jnp.linalg.inv(x + 64 * jnp.eye(64))
    return x + 1


def never(x):
    return jnp.where(jnp.zeros(x.shape, bool), work(x), x)


def repeated(x):
    return sum(jnp.tanh(x @ x) for _ in range(40))


REMOVED = (nothing, besides, within, loop, unknown_loop, carried, solved, never, repeated)


def closed_over(x):
    return work(jnp.asarray(WEIGHTS)) @ x


def printed(x):
    jax.debug.callback(lambda one: None, work(x))
    return x + 1


def scaled(x):
    # XLA multiplies the numbers, and x once; that is no less time.
    return x * 2.0 * 3.0 * 4.0 * 5.0


def twice(x):
    return work(x) + work(x)


def updated(x):
    return x.at[jnp.arange(64)].add(1.0)


def diagonal(x):
    return jnp.diag(jnp.diagonal(x))


def branches(x):
    return jax.lax.cond(x.sum() > 0, work, lambda one: one, x)


def searched(x):
    return jax.lax.fori_loop(0, 9, lambda _, one: jnp.sort(one @ one), x)


def drawn(x):
    return x + jax.random.normal(jax.random.key(0), x.shape)


def part(x):
    jnp.tanh(x)
    return work(x)


KEPT = (
    *(work, closed_over, printed, scaled, twice, updated, diagonal, branches, searched, drawn),
    *(jnp.linalg.inv, jnp.linalg.svd, jnp.cumsum, jax.nn.softmax, jnp.median, jnp.histogram, part),
)


def noted(function, passes=("forward",), mode="jit"):
    """The codes of notes on removed work, by metric."""
    settings = Settings(profiler="python", warmup=0, runs=2, memory=False, mode=mode)
    case = Case(CallableTarget("jax", "user.function"), {"x": X}, settings, passes)
    record = measure(case, FRAMEWORK, Bound(function=function))
    assert record.status.value == "ok", record.reason
    codes = (NoteCode.DEAD_CODE, NoteCode.CONSTANT)
    return {note.metric: note.code for note in record.notes if note.code in codes}


@pytest.mark.parametrize("function", REMOVED)
def test_removed_work_is_noted(function):
    assert noted(function) == dict.fromkeys(("forward", "total"), NoteCode.DEAD_CODE)


@pytest.mark.parametrize("function", KEPT)
def test_work_that_is_done_is_not(function):
    call = programs.MODES["jit"](partial(function, jnp.full((64, 64), 0.01)), ())
    call()
    assert dead_code.notes(call) == []


def test_eager_mode_does_all_work():
    assert noted(besides, mode="eager") == {}


def test_an_operator_of_jax_does_its_work_as_it_likes():
    record = measure(
        Case(FRAMEWORK.resolve("jnp.ones_like").target, {"a": X}, Settings(mode="jit", runs=2)),
        FRAMEWORK,
    )
    codes = {note.code for note in record.notes}
    assert not codes & {NoteCode.DEAD_CODE, NoteCode.CONSTANT}


@jax.custom_vjp
def wasting(x):
    return x + 1


def wasting_backward(_, head):
    work(head)
    return (head,)


wasting.defvjp(lambda x: (x + 1, None), wasting_backward)


def test_a_backward_pass_has_notes_of_its_own():
    both = ("forward", "backward")
    assert noted(wasting, both) == {"backward": NoteCode.DEAD_CODE}
    # The backward pass is as small in eager mode.
    assert set(noted(besides, both)) == {"forward", "total"}
    assert noted(work, both) == {}
