"""Fresh inputs for each call of a user's function, whatever it writes to them."""

from __future__ import annotations

import numpy as np
import pytest

from opperf.frameworks import is_available, load
from opperf.instruments.restoring import FreshInputs
from opperf.model import NoteCode, Settings, Status
from opperf.sources.call import UserCall
from opperf.worker.measure import measure

DATA = np.arange(8, dtype=np.float32)[::-1].copy()
COUNT = 4
"""Calls: the first, a warm-up call, and two that are timed."""


def record_of(name, function, inputs, mode="", backward=False):
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    framework = load(name)
    settings = Settings(
        profiler="python",
        device=framework.devices()[0],
        mode=mode or framework.modes.names[0],
        warmup=1,
        runs=2,
        memory=False,
    )
    call = UserCall(framework, function, [inputs], settings, backward)
    (case,) = call.cases()
    return measure(case, framework, call.bound)


def torch_in_place(x):
    x.copy_(x.sort().values)


def torch_through_a_view(x):
    x[2:].neg_()


def torch_through_numpy(x):
    x.numpy().sort()


def torch_without_a_version(x):
    x.data.add_(1)


def torch_in_another_shape(x):
    x.unsqueeze_(0).add_(1)


def torch_elsewhere(x):
    x.data = x + 1


def numpy_in_place(x):
    x.sort()


def numpy_through_a_view(x):
    x[2:] *= -1


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("torch", torch_in_place),
        ("torch", torch_through_a_view),
        ("torch", torch_through_numpy),
        ("torch", torch_without_a_version),
        ("torch", torch_in_another_shape),
        ("torch", torch_elsewhere),
        ("numpy", numpy_in_place),
        ("numpy", numpy_through_a_view),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_each_call_has_the_inputs_that_were_given(name, write, nested):
    seen = []

    def function(x):
        arrays = x if nested else [x]
        seen.append([np.array(one).tolist() for one in arrays])
        for one in arrays:
            write(one)

    function.__module__, function.__qualname__ = "mine", "function"
    record = record_of(name, function, {"x": [DATA, DATA + 1] if nested else DATA})
    assert record.status is Status.OK, record.reason
    given = [DATA.tolist(), (DATA + 1).tolist()] if nested else [DATA.tolist()]
    assert seen == [given] * COUNT
    assert not [one for one in record.notes if one.code is NoteCode.WRITTEN]
    assert DATA[0] == 7


def test_lists_have_the_elements_that_were_given():
    seen = []

    def function(x):
        seen.append(len(x))
        x.append(x.pop(0) + 1)
        x.append(None)

    record = record_of("numpy", function, {"x": [DATA, DATA]})
    assert record.status is Status.OK, record.reason
    assert seen == [2] * COUNT


def test_a_backward_pass_follows_a_function_that_writes():
    """What is restored between the two passes would be an error of autograd's."""
    torch = pytest.importorskip("torch")

    def function(x, seen):
        seen.add_(1)
        return (x * seen.float()).sum()

    inputs = {"x": DATA, "seen": torch.ones(8, dtype=torch.int64)}
    record = record_of("torch", function, inputs, backward=True)
    assert len(record.samples["backward"]) == 2


def test_an_array_that_an_eager_call_donates_is_made_again():
    jax = pytest.importorskip("jax")
    donating = jax.jit(lambda x: x + 1, donate_argnums=0)

    def function(x):
        return donating(x) * 2

    record = record_of("jax", function, {"x": jax.numpy.arange(8.0)}, mode="eager")
    assert record.status is Status.OK, record.reason
    assert len(record.samples["forward"]) == 2


def test_what_is_not_written_to_is_not_restored(fake, make_case):
    from opperf.instruments.prepared import PreparedCase

    fresh = FreshInputs(PreparedCase(make_case("relu"), fake))
    assert fresh.look() is None
    assert fresh.restore is None


def test_inputs_that_cannot_be_restored_are_noted(fake, make_case, monkeypatch):
    class Fixed:
        def is_changed(self):
            return True

        def restore(self, contents):
            raise RuntimeError("it is fixed")

    monkeypatch.setattr(fake.restoring, "watch", lambda target, value, call: Fixed(), raising=False)
    record = measure(make_case("relu", runs=2), fake)
    (note,) = (one for one in record.notes if one.code is NoteCode.WRITTEN)
    assert "writes to data" in note.message and "it is fixed" in note.message
