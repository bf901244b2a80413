"""A user's call as a source: which cases its inputs make, and which make none."""

import msgspec
import numpy as np
import pytest

from opperf.api.calls import call_settings, measure_calls
from opperf.errors import UsageError
from opperf.frameworks import load
from opperf.instruments.prepared import PreparedCase
from opperf.model import CallableTarget, Number, OperatorTarget, Settings, TensorSpec
from opperf.sources.call import UserCall

SETTINGS = Settings(profiler="python", warmup=0, runs=1)


@pytest.fixture(scope="module")
def numpy():
    return load("numpy")


def call(framework, function, *inputs, backward=True, **settings):
    changed = msgspec.structs.replace(SETTINGS, **settings)
    return UserCall(framework, function, inputs, changed, backward)


def case_of(framework, function, inputs, **settings):
    """The only case of a call with one set of inputs."""
    made = call(framework, function, inputs, **settings)
    (case,) = made.cases()
    assert made.excluded == {}
    return case


def test_each_of_the_inputs_makes_a_case_in_their_order(numpy):
    made = call(numpy, np.add, {"x1": (2, 3), "x2": (3,)}, {"x1": (4,), "x2": 2.5})
    first, second = made.cases()
    assert first.target == second.target == made.target == OperatorTarget("numpy", "add")
    assert {name: spec.shape for name, spec in first.arguments.items()} == {
        "x1": (2, 3),
        "x2": (3,),
    }
    assert second.arguments["x1"].shape == (4,) and second.arguments["x2"] == 2.5
    assert first.origin == "call:run_performance_test"
    assert msgspec.structs.replace(first.settings, phase=SETTINGS.phase) == SETTINGS
    assert made.bound.arrays == {} and made.bound.function is None


@pytest.mark.parametrize(
    ("function", "inputs", "words"),
    [
        (np.add, "x1", "inputs are a dict of arguments, not str"),
        (np.apply_along_axis, {"func1d": np.sum, "axis": 0, "arr": (4,)}, "the function 'sum'"),
    ],
)
def test_inputs_that_make_no_case_are_excluded_with_the_reason(numpy, function, inputs, words):
    good = {"x1": (2,), "x2": (2,)}
    made = call(numpy, function, good, inputs, good)
    assert len(list(made.cases())) == 2
    ((place, reason),) = made.excluded.items()
    assert place == f"{made.target.label}, inputs 1" and words in reason


class Foreign:
    """An array of a library that the framework does not know."""

    shape, dtype = (3,), "float32"


def test_an_array_that_the_framework_does_not_take_is_excluded(numpy):
    made = call(numpy, np.exp, {"x": Foreign()})
    assert list(made.cases()) == []
    assert made.excluded == {"exp, inputs 0": "numpy does not take arrays of type Foreign"}


@pytest.mark.parametrize("dtype", ["", "float32"])
def test_a_callers_array_is_held_beside_the_case_in_its_own_dtype_or_the_calls(numpy, dtype):
    held = np.arange(4.0)
    settings = msgspec.structs.replace(SETTINGS, dtype=dtype or "float32")
    made = UserCall(numpy, np.exp, [{"x": held}], settings, dtype=dtype)
    (case,) = made.cases()
    wanted = dtype or "float64"
    assert (case.arguments["x"].dtype, case.settings.dtype) == (wanted, wanted)
    computed = PreparedCase(case, numpy, made.bound).call()
    assert computed.tolist() == np.exp(held, dtype=wanted).tolist()
    whole = case_of(numpy, np.exp, {"x": np.arange(4)})
    assert whole.arguments["x"].dtype == "int64"


def test_a_function_that_no_path_leads_to_is_held_beside_the_case(numpy):
    made = call(numpy, lambda x, times: x * times, {"x": (2,), "times": 3})
    (case,) = made.cases()
    assert isinstance(case.target, CallableTarget) and made.bound.function is not None
    prepared = PreparedCase(case, numpy, made.bound)
    assert np.array_equal(prepared.call(), 3 * prepared.arguments["x"])


def test_tensors_are_filled_as_the_rule_of_the_operator_fills_them(numpy):
    case = case_of(numpy, np.take, {"a": (7, 9), "indices": (50,)})
    made = PreparedCase(case, numpy)
    assert made.arguments["indices"].dtype.kind == "i"
    # Without an axis, NumPy counts the elements in their order.
    assert made.arguments["indices"].min() >= 0 and 7 <= made.arguments["indices"].max() < 63


def test_a_function_of_the_users_is_filled_by_no_rule_of_an_operator_of_its_name(numpy):
    def take(a, indices):
        return a

    case = case_of(numpy, take, {"a": (7, 9), "indices": (50,)})
    assert case.arguments["indices"] == TensorSpec((50,))


def test_only_a_framework_with_gradients_has_a_backward_pass_and_tensors_with_one(numpy, fake):
    case = case_of(numpy, np.exp, {"x": (3,)})
    assert case.passes == ("forward",) and not case.arguments["x"].gradient
    relu = OperatorTarget("fake", "relu")
    for backward, passes in ((True, ("forward", "backward")), (False, ("forward",))):
        (case,) = UserCall(fake, len, [{"data": (3,)}], SETTINGS, backward, relu).cases()
        assert case.passes == passes and case.arguments["data"].gradient
    whole = msgspec.structs.replace(SETTINGS, dtype="int32")
    (case,) = UserCall(fake, len, [{"other": (3,)}], whole, True, relu).cases()
    assert case.arguments["other"] == TensorSpec((3,), "int32")


def test_an_operator_that_differs_in_training_runs_as_in_training(fake):
    for name, phase in (("dropout", "train"), ("relu", "predict")):
        target = OperatorTarget("fake", name)
        (case,) = UserCall(fake, len, [{"data": (3,)}], SETTINGS, target=target).cases()
        assert case.settings.phase == phase


def test_an_operator_that_writes_into_its_output_gets_one(fake):
    target = OperatorTarget("fake", "copyto")
    (case,) = UserCall(fake, len, [{"data": (3,)}], SETTINGS, target=target).cases()
    assert case.arguments["out"].shape == (3,)


@pytest.mark.parametrize(
    "inputs",
    [{"args": [(2,), (3,)]}, {"args0": (2,), "args1": (3,)}, {"arg1": (3,), "arg0": (2,)}],
    ids=str,
)
def test_the_tensors_of_a_list_may_be_numbered(fake, inputs):
    target = OperatorTarget("fake", "add_n")
    (case,) = UserCall(fake, len, [inputs], SETTINGS, target=target).cases()
    assert [spec.shape for spec in case.arguments["args"]] == [(2,), (3,)]


def test_values_of_every_kind_are_held_by_the_case(numpy):
    inputs = {
        "a": [[1.0, 2.0]],
        "axis": np.int64(1),
        "dtype": np.float32,
        "initial": float("inf"),
        "keepdims": True,
        "where": None,
    }
    arguments = dict(case_of(numpy, np.sum, inputs).arguments)
    assert arguments.pop("a").fill.data == [[1.0, 2.0]]
    assert arguments == {
        "axis": 1,
        "dtype": "float32",
        "initial": Number.of(float("inf")),
        "keepdims": True,
        "where": None,
    }


def test_nothing_is_measured_where_any_of_the_inputs_is_refused(numpy):
    called = []
    settings = call_settings(numpy, None, np.float32, None, 0, 1)
    assert (settings.profiler, settings.dtype, settings.device) == ("python", "float32", "cpu(0)")
    with pytest.raises(UsageError, match="inputs 1: inputs are a dict of arguments, not int"):
        measure_calls(numpy, [called.append, np.exp], [{"x": (2,)}, 3], settings, False)
    with pytest.raises(UsageError, match="3 is not callable"):
        measure_calls(numpy, [called.append, 3], [{"x": (2,)}], settings, False)
    assert called == []


def test_a_result_for_each_of_the_inputs_of_each_callable(numpy):
    settings = call_settings(numpy, "cpu", "float64", "PYTHON", 0, 1)
    inputs = [{"x": (2,)}, {"y": (2,)}]
    exp, twice = measure_calls(numpy, [np.exp, lambda x: 2 * x], inputs, settings, True)
    for results in (exp["exp"], twice["<lambda>"]):
        assert [one["inputs"] for one in results] == inputs
        assert [one.get("status", "ok") for one in results] == ["ok", "failed"]
    assert exp["exp"][0]["memory_kB"] == 0.016
