"""The helpers that users import by name."""

from __future__ import annotations

import json

import mxnet as mx
import numpy as np
import pytest
from mxnet import nd

from opperf.errors import OutputError, UnknownOperatorError, UsageError
from opperf.rules import default_params
from opperf.utils import (
    benchmark_utils,
    common_utils,
    ndarray_utils,
    op_registry_utils,
    profiler_utils,
)

GETTERS = {
    "get_all_unary_operators": "exp",
    "get_all_broadcast_binary_operators": "broadcast_add",
    "get_all_elemen_wise_binary_operators": "elemwise_add",
    "get_all_misc_binary_operators": None,
    "get_all_random_sampling_operators": "random_uniform",
    "get_all_linalg_operators": "linalg_det",
    "get_all_reduction_operators": "sum",
    "get_all_nn_activation_operators": "softmax",
    "get_all_nn_basic_operators": "FullyConnected",
    "get_all_optimizer_operators": "sgd_update",
    "get_all_sorting_searching_operators": "topk",
    "get_all_rearrange_operators": "transpose",
    "get_all_shape_operators": "Reshape",
    "get_all_expanding_operators": "tile",
    "get_all_rounding_operators": "round",
    "get_all_join_split_operators": "Concat",
    "get_all_indexing_routines": "take",
    "get_all_loss_operators": "smooth_l1",
    "get_all_gemm_operators": "dot",
    "get_all_convolution_operators": "Convolution",
    "get_all_transpose_convolution_operators": "Deconvolution",
    "get_all_pooling_operators": "Pooling",
    "get_remaining_miscellaneous_operators": "add_n",
}


@pytest.mark.parametrize("getter", GETTERS)
def test_operators_of_a_category(getter):
    found = getattr(op_registry_utils, getter)()
    assert found
    assert GETTERS[getter] is None or GETTERS[getter] in found
    for described in found.values():
        assert set(described) == {"has_backward", "nd_op_handle", "params"}
        assert callable(described["nd_op_handle"])
        parameters = described["params"]
        assert parameters["narg"] == len(parameters["arg_names"]) == len(parameters["arg_types"])


def test_no_operator_is_in_two_categories():
    # Two names of one getter are one category.
    found = [name for getter in GETTERS for name in getattr(op_registry_utils, getter)()]
    assert len(found) == len(set(found))


def test_operators_with_excluded_are_those_without_inputs():
    without = op_registry_utils.get_operators_with_excluded()
    assert without == sorted(without)
    assert "relu" not in without
    assert "Convolution" not in without


def test_operators_with_excluded_among_those_given():
    everything = op_registry_utils.get_operators_with_excluded([])
    some = op_registry_utils.get_operators_with_excluded(["relu", "_copy"])
    assert set(everything) - set(some) == {"relu", "identity"}


def test_runtime_features():
    features = op_registry_utils.get_current_runtime_features()["runtime_features"]
    assert features["CPU_SSE"].enabled in (True, False)
    assert set(features) == {feature.name for feature in mx.runtime.feature_list()}


def test_inputs_of_an_operator():
    inputs = op_registry_utils.prepare_op_inputs("broadcast_add")
    assert {"lhs", "rhs"} == set(inputs[0])
    assert (1024, 1024) in [one["lhs"] for one in inputs]
    assert all(isinstance(shape, tuple) for one in inputs for shape in one.values())


def test_inputs_of_a_variadic_operator_are_lists_of_shapes():
    inputs = op_registry_utils.prepare_op_inputs("add_n")
    assert all(isinstance(shape, tuple) for shape in inputs[0]["args"])


def test_inputs_are_what_the_performance_test_takes():
    for name in ("exp", "dot", "add_n"):
        inputs = op_registry_utils.prepare_op_inputs(name)[:1]
        results = benchmark_utils.run_performance_test(
            getattr(nd, name), inputs=inputs, run_backward=False, warmup=0, runs=1
        )
        assert "status" not in results[0][name][0], results


def test_inputs_of_no_operator():
    with pytest.raises(UnknownOperatorError, match="relu"):
        op_registry_utils.prepare_op_inputs("relux")


def test_benchmarks_of_operators_by_name():
    results = benchmark_utils.run_op_benchmarks(["relu", "exp"], warmup=0, runs=1)
    assert list(results) == ["exp", "relu"]
    assert len(results["relu"]) > 1
    assert benchmark_utils.run_op_benchmarks([]) == {}


def test_merging_keeps_every_configuration():
    merged = common_utils.merge_map_list(
        [{"b": [{"n": 1}], "c": [{"n": 2}]}, {"b": [{"n": 3}], "a": [{"n": 4}, {"n": 5}]}]
    )
    assert list(merged) == ["a", "b", "c"]
    assert merged == {"a": [{"n": 4}, {"n": 5}], "b": [{"n": 1}, {"n": 3}], "c": [{"n": 2}]}


def test_merging_changes_none_of_its_arguments():
    first, second = {"a": [1]}, {"a": [2]}
    common_utils.merge_map_list([first, second])
    assert (first, second) == ({"a": [1]}, {"a": [2]})
    assert common_utils.merge_map_list([]) == {}


@pytest.fixture
def results():
    return benchmark_utils.run_performance_test(
        nd.relu, inputs=[{"data": (8, 8)}], warmup=0, runs=1
    )[0]


def test_results_saved_as_json(tmp_path, results):
    path = tmp_path / "results.json"
    common_utils.save_to_file(results, path)
    saved = json.loads(path.read_text())
    assert saved["relu"][0]["inputs"] == {"data": [8, 8]}
    assert {k: v for k, v in saved["relu"][0].items() if k != "inputs"} == {
        k: v for k, v in results["relu"][0].items() if k != "inputs"
    }


@pytest.mark.parametrize(
    "as_given",
    [
        lambda: op_registry_utils.get_current_runtime_features(),
        lambda: mx.runtime.feature_list(),
        lambda: {"CUDA": False},
    ],
    ids=["runtime_features", "feature_list", "dict"],
)
def test_results_saved_as_markdown(tmp_path, results, as_given):
    path = tmp_path / "results.md"
    common_utils.save_to_file(results, str(path), "md", runtime_features=as_given())
    text = path.read_text()
    assert "Runtime Features" in text
    assert "CUDA" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| relu")]
    assert "(8, 8)" in row
    assert "0.768" in row
    assert "Forward (ms)" in text
    assert "p50" not in text


def test_markdown_of_the_python_profiler_has_percentiles(tmp_path):
    results = benchmark_utils.run_performance_test(
        nd.relu, inputs=[{"data": (8, 8)}], profiler="python", warmup=0, runs=1
    )[0]
    common_utils.save_to_file(results, tmp_path / "r.md", "md", profiler="python")
    text = (tmp_path / "r.md").read_text().lower()
    assert all(f"p{n}" in text for n in (50, 90, 99))


def test_an_unknown_format_and_a_folder_that_is_not_there(tmp_path, results):
    with pytest.raises(UsageError, match="md"):
        common_utils.save_to_file(results, tmp_path / "r", "xml")
    with pytest.raises(OutputError):
        common_utils.save_to_file(results, tmp_path / "none" / "r.json")


@pytest.mark.parametrize(
    ("maker", "kind"),
    [
        (ndarray_utils.get_mx_ndarray, mx.nd.NDArray),
        (ndarray_utils.get_mx_np_ndarray, mx.np.ndarray),
    ],
)
@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ((3, 4), (3, 4)),
        ([1.0, 2.0], (2,)),
        ([[1, 2], [3, 4]], (2, 2)),
        (np.ones((2, 3)), (2, 3)),
        (mx.nd.ones((5,)), (5,)),
    ],
    ids=["shape", "list", "nested list", "numpy", "NDArray"],
)
def test_arrays_from_each_kind_of_input(maker, kind, given, shape):
    array = maker(mx.cpu(), given, "float32")
    assert isinstance(array, kind)
    assert array.shape == shape
    assert np.dtype(array.dtype) == np.float32
    assert array.grad is not None


def test_arrays_have_the_data_given():
    array = ndarray_utils.get_mx_ndarray(mx.cpu(), [[1, 2], [3, 4]], "float64")
    assert array.asnumpy().tolist() == [[1, 2], [3, 4]]
    assert np.dtype(array.dtype) == np.float64


def test_a_list_of_shapes_gives_a_list_of_arrays():
    arrays = ndarray_utils.get_mx_ndarray(mx.cpu(), [(2, 3), (4,)], "float32")
    assert [array.shape for array in arrays] == [(2, 3), (4,)]


def test_a_number_stays_a_number():
    assert ndarray_utils.get_mx_ndarray(mx.cpu(), 3, "float32") == 3


def test_an_initializer_fills_and_gradients_may_be_left_out():
    array = ndarray_utils.get_mx_ndarray(
        mx.cpu(), (4, 4), "float32", initializer=nd.ones, attach_grad=False
    )
    assert (array.asnumpy() == 1).all()
    assert array.grad is None
    assert ndarray_utils.get_mx_ndarray(mx.cpu(), (4, 4), "int32").grad is None


def test_anything_else_is_refused():
    with pytest.raises(ValueError, match="set"):
        ndarray_utils.get_mx_ndarray(mx.cpu(), {1, 2}, "float32")


def test_an_arrays_gradient_is_not_attached_to_the_callers():
    given = nd.ones((2, 2))
    ndarray_utils.get_mx_ndarray(mx.cpu(), given, "float32")
    assert given.grad is None


def test_calls_to_be_profiled():
    data = ndarray_utils.get_mx_ndarray(mx.cpu(), (4, 4), "float32")
    forward = ndarray_utils.nd_forward_and_profile(nd.square, 3, data=data)
    assert np.allclose(forward.asnumpy(), data.asnumpy() ** 2)
    ndarray_utils.nd_forward_backward_and_profile(nd.square, 3, data=data)
    assert np.allclose(data.grad.asnumpy(), 2 * data.asnumpy())


def add(a, b):
    return a + b


@pytest.mark.parametrize("decorator", ["cpp_profile", "python_profile"])
def test_a_profiled_function_gives_its_result_and_its_time(decorator):
    profiled = getattr(profiler_utils, decorator)(add)
    result, times = profiled(nd.ones((64, 64)), b=nd.ones((64, 64)))
    assert (result.asnumpy() == 2).all()
    assert profiled.__name__ == "add"
    assert times["avg_time_add"] >= 0
    percentiles = {"p50_time_add", "p90_time_add", "p99_time_add"}
    assert set(times) - {"avg_time_add"} == (percentiles if "python" in decorator else set())


def test_what_a_function_raises_is_not_swallowed():
    with pytest.raises(mx.base.MXNetError):
        profiler_utils.python_profile(lambda: nd.dot(nd.ones((2, 3)), nd.ones((2, 3))))()


def test_default_inputs():
    defaults = default_params.DEFAULTS_INPUTS
    assert (1024, 1024) in defaults["data"]
    assert (1024, 1024) in defaults["lhs"]
    assert all(isinstance(values, list) and values for values in defaults.values())
    assert set(default_params.DEFAULTS_INPUTS_LARGE_TENSOR) == set(defaults)
    assert {"data", "lhs", "rhs"} <= set(default_params.PARAMS_OF_TYPE_NDARRAY)
    assert "axis" not in default_params.PARAMS_OF_TYPE_NDARRAY


def test_large_defaults_need_64_bit_indices():
    assert (
        max(
            np.prod(shape, dtype=float)
            for shape in default_params.DEFAULTS_INPUTS_LARGE_TENSOR["data"]
        )
        > 2**31
    )
