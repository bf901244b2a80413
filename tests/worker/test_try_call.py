"""One call of a case: what the framework made of it, or why it did not take it."""

import pytest

from opperf.errors import UnsupportedError
from opperf.frameworks import load
from opperf.model import UNKNOWN, CallableTarget, Case, OperatorTarget, Settings, TensorSpec
from opperf.worker.answers import try_call


def case(name="relu", *, shape=(4, 4), target=None, **arguments):
    arguments = arguments or {"data": TensorSpec(shape)}
    return Case(target or OperatorTarget("fake", name), arguments, Settings(), ("forward",))


def test_what_was_taken_has_its_outputs_bytes_and_its_time(fake):
    trial = try_call(case(), fake)
    assert (trial.refusal, trial.has_nan, trial.ended) == ("", False, False)
    assert trial.output_bytes == 4 * 4 * 4 and 0 < trial.seconds < 60
    assert trial.arguments == {"data": TensorSpec((4, 4))}


def test_the_time_ends_when_the_device_is_done(fake, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("opperf.worker.measure.time.perf_counter", lambda: clock[0])

    def waits(device):
        clock[0] += 2.5

    monkeypatch.setattr(fake, "synchronize", waits)
    assert try_call(case(), fake).seconds == 2.5


def test_nan_is_told(fake, monkeypatch):
    monkeypatch.setattr(fake.arrays, "has_nan", lambda outputs: True)
    assert try_call(case(), fake).has_nan


@pytest.mark.parametrize(
    "name, refusal",
    [("refuses", "shapes do not match"), ("fails", "RuntimeError: bad luck, over two lines")],
)
def test_whatever_is_raised_is_a_refusal(fake, name, refusal):
    trial = try_call(case(name), fake)
    assert (trial.refusal, trial.ended, trial.arguments) == (refusal, False, {})
    assert (trial.seconds, trial.output_bytes) == (0, 0)


def test_what_opperf_refuses_is_refused_in_its_words(fake, monkeypatch):
    def refuses(spec, device, seed):
        raise UnsupportedError("no such array; use another")

    monkeypatch.setattr(fake, "tensor", refuses)
    assert try_call(case(), fake).refusal == "no such array; use another"


def test_only_more_than_a_mebibyte_is_asked_whether_it_fits(fake):
    fake.free = 0
    # 512 x 512 of four bytes are a mebibyte.
    assert try_call(case(shape=(512, 512)), fake).refusal == ""
    assert "needs about" in try_call(case(shape=(512, 513)), fake).refusal
    pair = {name: TensorSpec((512, 257)) for name in ("lhs", "rhs")}
    assert "needs about" in try_call(case("add", **pair), fake).refusal


def test_shapes_that_are_unknown_are_the_frameworks_to_tell(fake, monkeypatch):
    asked = []

    def told(made):
        asked.append(made)
        return case("add", lhs=TensorSpec((4, 4)), rhs=TensorSpec((4, 4)))

    monkeypatch.setattr(fake.inference, "with_inferred_shapes", told, raising=False)
    unknown = case("add", lhs=TensorSpec((4, 4)), rhs=TensorSpec(UNKNOWN))
    assert try_call(unknown, fake).arguments["rhs"].shape == (4, 4) and asked == [unknown]
    try_call(case(), fake)
    assert len(asked) == 1


def test_tensors_are_of_the_targets_array_type(fake):
    trial = try_call(case(target=CallableTarget("fake", "fake.relu")), fake)
    assert trial.arguments["data"].array_type == "np"


def test_a_trial_does_not_compile(fake, make_case, monkeypatch):
    fake.modes.names = ("eager", "compile")
    tried = []
    bind = fake.bind
    monkeypatch.setattr(
        fake, "bind", lambda case, *given: tried.append(case.settings.mode) or bind(case, *given)
    )
    assert not try_call(make_case("relu", mode="compile"), fake).refusal
    assert tried == ["eager"]


def test_a_users_function_that_cannot_be_compiled_may_run_eagerly():
    pytest.importorskip("jax")
    jax = load("jax")
    target = jax.naming.callable_target("tests.worker.test_try_call:boxed")
    assert not try_call(Case(target, {"x": TensorSpec((2,))}), jax).refusal


def boxed(x):
    """Returns what no program of JAX can."""
    return object() if x.sum() > -1 else None
