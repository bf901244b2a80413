"""Models run by their frameworks: what is measured of a step, and what a step computes."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from opperf.frameworks import is_available, load
from opperf.instruments.prepared import PreparedCase, case_scope
from opperf.instruments.restoring import FreshInputs
from opperf.model import Case, ModelTarget, Settings, Status
from opperf.sources.choices import refusal
from opperf.worker.binding import bound_of
from opperf.worker.measure import measure

FOLDER = Path(__file__).parents[1] / "models"

MODES = [
    ("torch", "eager"),
    ("torch", "compile"),
    ("jax", "eager"),
    ("jax", "jit"),
    ("mxnet", "eager"),
    ("mxnet", "hybridize"),
]


def model_case(framework, name="make", **settings):
    if not is_available(framework):
        pytest.skip(f"{framework} is not installed")
    file = str(FOLDER / f"{framework}_models.py")
    plain = {"profiler": "python", "runs": 3, "warmup": 1, "memory": False}
    own = Settings(**{**plain, **settings})
    passes = ("forward", "backward") if own.phase == "train" else ("forward",)
    return Case(ModelTarget(framework, name, file=file), {}, own, passes)


def with_settings(case, **changed):
    return msgspec.structs.replace(case, settings=msgspec.structs.replace(case.settings, **changed))


def results_of(case):
    framework = load(case.target.framework)
    with case_scope(case, framework):
        model = bound_of(case, framework).function
        found = model.results()
        again = model.results()
    for name, value in found.items():
        np.testing.assert_array_equal(np.asarray(numbers(value)), numbers(again[name]))
    return {name: numbers(value) for name, value in found.items()}


def numbers(value):
    return np.asarray(value.asnumpy() if hasattr(value, "asnumpy") else value)


@pytest.mark.parametrize("framework, mode", MODES)
def test_a_training_step_is_measured_in_its_parts(framework, mode):
    record = measure(model_case(framework, mode=mode, phase="train"), load(framework))
    assert record.status is Status.OK, record.reason
    assert {"forward", "backward", "step", "optimizer"} <= record.summaries.keys()
    assert record.summaries["step"].median > 0 and record.summaries["optimizer"].median > 0


@pytest.mark.parametrize("framework, mode", MODES)
def test_a_mode_computes_what_eager_does(framework, mode):
    if mode == "eager":
        assert [*results_of(model_case(framework))] == ["output"]
        return
    case = model_case(framework, phase="train", mode=mode)
    eager = with_settings(case, mode="eager")
    found, expected = results_of(case), results_of(eager)
    assert {"output", "loss"} < found.keys() == expected.keys()
    gradients = [name for name in found if name.startswith("gradient of ")]
    assert len(gradients) >= 2
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)
        if name.startswith("gradient of "):
            after = f"{name.removeprefix('gradient of ')} after the step"
            assert after in found


def test_a_back_end_of_the_compiler_is_a_mode_that_compiles():
    case = model_case("torch", mode="compile:aot_eager", phase="train")
    record = measure(case, load("torch"))
    assert record.status is Status.OK, record.reason
    assert {"first_call", "graph_breaks", "step"} <= record.summaries.keys()
    eager = results_of(with_settings(case, mode="eager"))
    for name, value in results_of(case).items():
        np.testing.assert_allclose(value, eager[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "mode, message",
    [
        ("compile:aot_eagr", "unknown back end 'aot_eagr'; did you mean aot_eager"),
        ("compile:tvm", "torch.compile: "),
        ("eager:inductor", "mode eager:inductor: eager of torch has no back ends; omit it"),
        ("compil:inductor", "unknown mode 'compil:inductor'; did you mean compile"),
    ],
)
def test_a_back_end_that_is_not_there_is_refused(mode, message):
    model_case("torch")
    assert str(refusal(load("torch"), "mode", mode)).startswith(message)


def test_a_model_in_several_graphs_is_refused_where_one_is_asked_for():
    case = model_case("torch", "with_a_break", mode="compile:aot_eager")
    record = measure(case, load("torch"))
    assert record.status is Status.OK and record.summaries["graph_breaks"].median == 1
    load("torch").processes.option("torch.compile.fullgraph", "true")()
    try:
        record = measure(case, load("torch"))
    finally:
        load("torch").processes.option("torch.compile.fullgraph", "false")()
    assert record.status is Status.SKIPPED and "torch.compile: " in record.reason


def test_each_call_has_other_contents_where_they_are_asked_for():
    case = model_case("torch", fresh_contents=True)
    framework = load("torch")
    with case_scope(case, framework):
        prepared = PreparedCase(case, framework, bound_of(case, framework))
        inputs = FreshInputs(prepared)
        before = prepared.called().clone()
        inputs.restore()
        after = prepared.called()
    assert not np.array_equal(numbers(before.detach()), numbers(after.detach()))
    record = measure(with_settings(case, iterations=4), framework)
    assert record.status is Status.OK and record.summaries["forward"].loops == 4


def test_the_step_is_that_of_the_models_optimizer():
    case = model_case("torch", phase="train")
    found = results_of(case)
    framework = load("torch")
    with case_scope(case, framework):
        model = bound_of(case, framework).function
        before = {name: numbers(one.detach()) for name, one in model._parameters().items()}
        for name, value in before.items():
            expected = value - 0.5 * found[f"gradient of {name}"]
            np.testing.assert_allclose(found[f"{name} after the step"], expected, rtol=1e-6)


@pytest.mark.parametrize("framework", ["torch", "mxnet"])
def test_a_step_is_from_the_beginning_whatever_was_called_before(framework):
    # A forward pass in training updates what batch normalisation keeps.
    case = model_case(framework, phase="train")
    target = ModelTarget(framework, "unet", suite="opperf", size="small", batch_size=1)
    case = msgspec.structs.replace(case, target=target)
    expected = results_of(case)
    with case_scope(case, load(framework)):
        model = bound_of(case, load(framework)).function
        model()
        model.gradient().record()
        model.reset()
        found = model.results()
    for name, value in expected.items():
        np.testing.assert_array_equal(numbers(found[name]), value)


def test_lazy_parameters_are_made_before_the_first_step():
    case = model_case("torch", "lazy", phase="train")
    found = results_of(case)
    assert found["weight after the step"].shape == (4, 3)


def test_a_class_has_its_own_inputs_and_arguments():
    case = model_case("torch", "Net")
    target = msgspec.structs.replace(case.target, arguments={"width": 5})
    case = msgspec.structs.replace(case, target=target)
    assert results_of(case)["output"].shape == (3, 4)
    assert case.label == "Net width=5"


@pytest.mark.parametrize(
    "name, target, message",
    [
        ("without_inputs", {}, "torch_models.py:without_inputs: returned a Net; return (model"),
        ("Net", {"batch_size": 4}, "torch_models.py:Net has no argument batch_size; omit"),
        ("mak", {}, "torch_models.py has no 'mak'; did you mean make?"),
    ],
)
def test_what_is_no_model_is_a_failure_with_a_reason(name, target, message):
    case = model_case("torch", name)
    case = msgspec.structs.replace(case, target=msgspec.structs.replace(case.target, **target))
    record = measure(case, load("torch"))
    assert record.status is not Status.OK
    assert message in record.reason


def test_the_id_depends_on_what_is_built_not_on_where_it_is():
    target = ModelTarget("torch", "make", file="/a/models.py", folder="/b")
    moved = ModelTarget("torch", "make", file="/c/models.py", folder="/d")
    other = ModelTarget("torch", "make", file="/a/models.py", batch_size=2)
    ids = [Case(one, {}).id for one in (target, moved, other)]
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize("framework", ["torch", "jax", "mxnet"])
def test_results_are_those_of_the_last_of_several_steps(framework):
    case = model_case(framework, phase="train")
    with case_scope(case, load(framework)):
        model = bound_of(case, load(framework)).function
        once, thrice, again = (model.results(steps) for steps in (1, 3, 1))
    assert numbers(thrice["loss"]) < numbers(once["loss"]) == numbers(again["loss"])


def test_operations_are_counted_of_modules_that_get_parameters_as_inputs():
    case = model_case("torch", "with_token")
    record = measure(case, load("torch"))
    assert record.status is Status.OK, record.reason
    assert record.summaries["flops"].median == 2 * 3 * 8 * 8


@pytest.mark.parametrize("framework, mode", [("torch", "eager"), ("jax", "jit")])
def test_operations_in_the_phase_train_are_those_of_a_step(framework, mode):
    cases = [model_case(framework, phase=phase, mode=mode) for phase in ("predict", "train")]
    records = [measure(case, load(framework)) for case in cases]
    assert all(record.status is Status.OK for record in records)
    predict, train = (record.summaries["flops"].median for record in records)
    # The gradients of the weights, and of what is not an input.
    assert train >= 2 * predict
