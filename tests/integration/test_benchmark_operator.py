"""`run_benchmark_operator`: one operator in every namespace that has it."""

from __future__ import annotations

import math

import mxnet as mx
import numpy as np
import pytest

from opperf.api import selections
from opperf.errors import UnknownOperatorError, UsageError
from opperf.frameworks.mxnet.functions import fallback_module
from opperf.model import Settings
from opperf.mxnet_api.namespaces import inputs_of_size
from opperf.sources.call import UserCall
from opperf.utils.benchmark_utils import run_benchmark_operator

ND, NP, NPX = "mxnet.ndarray", "mxnet.numpy", "mxnet.numpy_extension"
FEW = {"warmup": 0, "runs": 2}


def single(results):
    (by_name,) = results
    ((name, (shown,)),) = by_name.items()
    return name, shown


def test_add_in_both_namespaces_with_its_backward_pass(capsys):
    found = run_benchmark_operator(name="add", run_backward=True, **FEW)
    assert list(found) == [ND, NP]
    for results in found.values():
        name, shown = single(results)
        assert name == "add"
        assert "status" not in shown, shown
        assert shown["avg_time_forward_add"] >= 0
        assert "avg_time_backward_add" in shown
        # Output, head gradient and two gradients of 128 x 128 floats.
        assert shown["max_storage_mem_alloc_cpu/0"] == 4 * 65.536
    printed = capsys.readouterr().out
    for namespace, results in found.items():
        assert f"{namespace}: {results}" in printed


def test_without_asking_there_is_no_backward_pass():
    _, shown = single(run_benchmark_operator(name="exp", **FEW)[ND])
    assert "avg_time_forward_exp" in shown
    assert "avg_time_backward_exp" not in shown


def test_the_size_is_the_first_tensors():
    for results in run_benchmark_operator(name="exp", size=(32, 16), **FEW).values():
        _, shown = single(results)
        assert list(shown["inputs"].values()) == [(32, 16)]
        assert shown["max_storage_mem_alloc_cpu/0"] == 2.048


def test_additional_inputs_replace_what_would_be_made():
    found = run_benchmark_operator(
        name="pick", size=(128, 128), additional_inputs={"index": (128, 1)}, **FEW
    )
    assert list(found) == [ND, NPX]
    for results in found.values():
        name, shown = single(results)
        assert name == "pick"
        assert "status" not in shown, shown
        assert shown["inputs"]["data"] == (128, 128)
        assert shown["inputs"]["index"] == (128, 1)


@pytest.mark.parametrize("name", ["batch_norm", "BatchNorm"])
def test_batch_norm_by_either_name(name):
    found = run_benchmark_operator(name=name, size=(8, 4, 16, 16), run_backward=True, **FEW)
    assert [single(results)[0] for results in found.values()] == ["BatchNorm", "batch_norm"]
    for results in found.values():
        label, shown = single(results)
        assert "status" not in shown, shown
        assert f"avg_time_backward_{label}" in shown


@pytest.mark.parametrize("name", ["fully_connected", "FullyConnected"])
def test_fully_connected_by_either_name(name):
    found = run_benchmark_operator(name=name, size=(16, 32), **FEW)
    assert {namespace: single(results)[0] for namespace, results in found.items()} == {
        ND: "FullyConnected",
        NPX: "fully_connected",
    }
    for results in found.values():
        _, shown = single(results)
        assert "status" not in shown, shown
        assert (16, 32) in shown["inputs"].values()


@pytest.mark.parametrize(
    "name",
    [
        "softmax",
        "relu",
        "leaky_relu",
        "layer_norm",
        "dropout",
        "one_hot",
        "topk",
        "batch_dot",
        "concatenate",
        "sum",
        "dot",
    ],
)
def test_common_operators_run_wherever_they_are(name):
    found = (
        run_benchmark_operator(name=name, additional_inputs={"depth": 4}, **FEW)
        if (name == "one_hot")
        else run_benchmark_operator(
            name=name, size=(4, 16, 16) if name == "batch_dot" else (16, 16), **FEW
        )
    )
    assert found
    for results in found.values():
        _, shown = single(results)
        assert "status" not in shown, shown


def test_one_namespaces_name_does_not_leak_into_the_next():
    run_benchmark_operator(name="batch_norm", size=(4, 2, 8, 8), **FEW)
    found = run_benchmark_operator(name="add", **FEW)
    assert [single(results)[0] for results in found.values()] == ["add", "add"]
    found = run_benchmark_operator(name="FullyConnected", size=(4, 8), **FEW)
    for results in found.values():
        name, shown = single(results)
        assert all(name in key for key in shown if key.startswith("avg_time"))


def test_a_namespace_without_the_operator_is_left_out():
    assert list(run_benchmark_operator(name="sgd_update", size=(8, 8), **FEW)) == [ND]


def test_the_dtype_is_used():
    for results in run_benchmark_operator(
        name="exp", size=(32, 16), dtype="float64", **FEW
    ).values():
        assert single(results)[1]["max_storage_mem_alloc_cpu/0"] == 2 * 2.048


def test_a_dtype_may_be_written_in_any_case():
    for results in run_benchmark_operator(
        name="exp", size=(32, 16), dtype="FLOAT64", **FEW
    ).values():
        assert single(results)[1]["max_storage_mem_alloc_cpu/0"] == 2 * 2.048
    with pytest.raises(UsageError, match="float32"):
        run_benchmark_operator(name="exp", dtype="FLOAT33", **FEW)


@pytest.mark.parametrize("dtype", [np.float64, np.dtype("float64")], ids=str)
def test_the_dtype_may_be_numpys(dtype):
    _, shown = single(run_benchmark_operator(name="zeros", size=(8, 8), dtype=dtype, **FEW)[ND])
    assert shown["inputs"]["dtype"] == "float64"


def test_an_unknown_name_suggests_near_ones():
    with pytest.raises(UnknownOperatorError, match="softmax"):
        run_benchmark_operator(name="sofmax", **FEW)


# Builds differ in what falls back; what does has its home in NumPy.
FALLBACKS = [
    name
    for name in ("ptp", "cov", "median", "trapz", "nanmax", "nanmean", "corrcoef")
    if getattr(getattr(mx.np, name, None), "__module__", "") == "numpy"
]


def test_there_are_fallbacks_to_try():
    assert len(FALLBACKS) > 2


@pytest.mark.parametrize("name", FALLBACKS)
def test_what_falls_back_to_the_hosts_numpy_is_labelled(name):
    found = run_benchmark_operator(name=name, size=(16, 16), **FEW)
    _, shown = single(found[NP])
    assert "NumPy" in shown["fallback"]
    assert "status" not in shown, shown


@pytest.mark.skipif(
    not hasattr(mx.np, "fallback"), reason="this build does not offer the module of its fallbacks"
)
def test_numpys_own_function_is_labelled_wherever_it_is_offered():
    _, shown = single(run_benchmark_operator(name="fallback.nansum", size=(16, 16), **FEW)[NP])
    assert "NumPy" in shown["fallback"]


@pytest.mark.parametrize("name", ["add", "exp", "sum", "dot"])
def test_what_does_not_is_not(name):
    found = run_benchmark_operator(name=name, size=(16, 16), **FEW)
    assert all("fallback" not in single(results)[1] for results in found.values())
    assert not fallback_module(getattr(mx.np, name))


SQUARE = (16, 16)


def test_a_vector_stays_a_vector_of_as_many_elements():
    for results in run_benchmark_operator(name="unravel_index", size=SQUARE, **FEW).values():
        _, shown = single(results)
        assert "status" not in shown, shown
        assert (256,) in shown["inputs"].values()


# Calls that end the process they are made in, by the build.
CRASH = (
    {"name": "unravel_index", "size": (256,), "additional_inputs": {"data": (64, 64)}}
    if mx.__version__.startswith("1.")
    else {"name": "linalg.vecdot", "size": SQUARE}
)


def test_a_crash_costs_its_own_result():
    found = run_benchmark_operator(**CRASH, **FEW)
    shown = [single(results)[1] for results in found.values()]
    crashed = [one for one in shown if one.get("status") == "crashed"]
    assert crashed
    assert all("process" in one["reason"] for one in crashed)
    _, shown = single(run_benchmark_operator(name="exp", size=SQUARE, **FEW)[ND])
    assert "status" not in shown, shown


def test_only_what_needs_the_callers_arrays_is_measured_in_its_process(monkeypatch):
    here = []

    def measured(cases, executor, *progress):
        if isinstance(executor, selections.InProcess):
            here.extend(case.label for case in cases)
        return measure_cases(cases, executor, *progress)

    measure_cases = selections.measure_cases
    monkeypatch.setattr(selections, "measure_cases", measured)
    run_benchmark_operator(name="exp", size=SQUARE, **FEW)
    assert here == []
    found = run_benchmark_operator(
        name="exp", additional_inputs={"data": np.ones(SQUARE), "x": np.ones(SQUARE)}, **FEW
    )
    assert here == ["exp", "exp"]
    assert all("status" not in single(results)[1] for results in found.values())


# Functions whose rule has other axes than the size, that call their arguments otherwise than
# they say, or that require more than tensors.
PARTICULAR = [
    "BilinearSampler",
    "Convolution",
    "Crop",
    "RNN",
    "UpSampling",
    "argpartition",
    "array",
    "array_split",
    "batch_take",
    "bitwise_and",
    "blackman",
    "broadcast_to",
    "depth_to_space",
    "diag",
    "diagflat",
    "divmod",
    "einsum",
    "empty",
    "full",
    "heaviside",
    "hsplit",
    "identity",
    "insert",
    "interp",
    "invert",
    "lcm",
    "matmul",
    "moveaxis",
    "pad",
    "percentile",
    "polyadd",
    "polyval",
    "preloaded_multi_sgd_update",
    "ravel_multi_index",
    "reshape",
    "resize",
    "scatter_nd",
    "slice",
    "softmax_cross_entropy",
    "split",
    "split_v2",
    "squeeze",
    "swapaxes",
    "union1d",
]

IN_SUBMODULES = [
    "contrib.adamw_update",
    "contrib.box_iou",
    "contrib.multi_adamw_update",
    "contrib.multi_lamb_update",
    "contrib.multi_mp_adamw_update",
    "contrib.multi_mp_lamb_update",
    "contrib.quantize",
    "contrib.quantized_concat",
    "contrib.rand_zipfian",
    "image.center_crop",
    "image.fixed_crop",
    "image.imdecode",
    "image.imresize",
    "image.imrotate",
    "image.random_crop",
    "image.random_rotate",
    "image.random_size_crop",
    "image.resize_short",
    "image.to_tensor",
    "linalg.cholesky",
    "linalg.matrix_power",
    "linalg.pinv",
    "linalg.svd",
    "random.beta",
    "random.gamma",
    "random.multivariate_normal",
    "random.randint",
    "random.randn",
]


@pytest.mark.parametrize("name", PARTICULAR + IN_SUBMODULES)
def test_particular_functions_run(name):
    found = run_benchmark_operator(name=name, size=SQUARE, warmup=0, runs=1)
    assert found
    for results in found.values():
        _, shown = single(results)
        assert "status" not in shown, shown


def scattered(framework, inputs):
    """Data, indices and shape that `scatter_nd` is called with, as NumPy arrays and a tuple."""
    (case,) = UserCall(framework, mx.nd.scatter_nd, [inputs], Settings(), False).cases()
    with framework.scope(case):
        made = [
            framework.tensor(case.arguments[name], "cpu(0)", 0).asnumpy()
            for name in ("data", "indices")
        ]
    return *made, case.arguments["shape"]


@pytest.mark.parametrize("size", [(16, 16), (5, 7), (7, 5), (2, 3, 4, 5), (100,), (5000,)], ids=str)
def test_shape_indices_and_data_of_a_size_belong_together(framework, size):
    inputs = inputs_of_size(framework, mx.nd.scatter_nd, size, {}, "float32")
    data, indices, shape = scattered(framework, inputs)
    assert data.size == math.prod(size)
    assert data.shape == indices.shape[1:] + shape[len(indices) :]
    # NumPy refuses an index that is out of range.
    np.zeros(shape)[tuple(indices)] = data
    assert indices.min() >= 0


def test_indices_made_for_a_users_shapes_are_in_range(framework):
    data, indices, shape = scattered(
        framework, {"data": (100,), "indices": (2, 100), "shape": (9, 8)}
    )
    np.zeros(shape)[tuple(indices)] = data


def test_several_tensors_are_updated_at_once_and_written_behind():
    found = run_benchmark_operator(name="contrib.multi_lamb_update", size=SQUARE, **FEW)
    _, shown = single(found[ND])
    assert shown["inputs"]["weights"] == shown["inputs"]["out"] == [SQUARE, SQUARE]


@pytest.mark.parametrize(
    "name",
    ["diag", "einsum", "interp", "matmul", "reshape_like", "resize", "slice", "slice_like"]
    + ["batch_take", "split", "linalg.svd"],
)
def test_particular_functions_take_the_size(name):
    for results in run_benchmark_operator(name=name, size=SQUARE, warmup=0, runs=1).values():
        _, shown = single(results)
        assert "status" not in shown, shown
        listed = [v for v in shown["inputs"].values() if isinstance(v, list)]
        assert SQUARE in [*shown["inputs"].values(), *sum(listed, [])]


@pytest.mark.parametrize("name", ["zeros", "ones", "full", "eye", "empty", "random_normal"])
def test_what_takes_no_tensor_makes_one_of_the_size(name):
    for results in run_benchmark_operator(name=name, size=(32, 16), **FEW).values():
        _, shown = single(results)
        assert "status" not in shown, shown
        assert shown["max_storage_mem_alloc_cpu/0"] == pytest.approx(2.048, abs=0.02)


@pytest.mark.parametrize("name", ["random.normal", "random.uniform", "random.gamma"])
def test_what_draws_numbers_draws_as_many_as_the_size(name):
    for results in run_benchmark_operator(name=name, size=(32, 16), **FEW).values():
        _, shown = single(results)
        assert "status" not in shown, shown
        assert (32, 16) in (shown["inputs"].get("shape"), shown["inputs"].get("size"))


def test_other_tensors_follow_from_additional_inputs():
    found = run_benchmark_operator(
        name="FullyConnected", size=(16, 32), additional_inputs={"num_hidden": 10}, **FEW
    )
    for results in found.values():
        _, shown = single(results)
        assert "status" not in shown, shown
        assert (10, 32) in shown["inputs"].values()


def test_more_axes_than_the_rule_has_are_taken_where_they_can_be():
    size = (2, 3, 4, 5)
    for results in run_benchmark_operator(name="relu", size=size, **FEW).values():
        assert single(results)[1]["inputs"] == {"data": size}
    _, shown = single(run_benchmark_operator(name="softmax_cross_entropy", size=size, **FEW)[ND])
    assert "status" not in shown, shown
    assert shown["inputs"] == {"data": (24, 5), "label": (24,)}
