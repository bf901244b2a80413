"""`run_performance_test`: every kind of callable and of input, and what it refuses."""

from __future__ import annotations

import mxnet as mx
import numpy as np
import pytest
from mxnet import nd

from opperf.errors import DeviceError, OpperfError, UsageError
from opperf.model import PASSES
from opperf.utils.benchmark_utils import run_performance_test

MEMORY = "max_storage_mem_alloc_cpu/0"
SQUARE = (8, 8)


def scaled(data, factor=2):
    """A plain Python function of an array."""
    return nd.relu(data) * factor


# What is called, its name in the results, and its inputs.
CALLABLES = {
    "nd": (nd.add, "add", {"lhs": SQUARE, "rhs": SQUARE}),
    "nd alias": (nd.concat, "concat", {"data": [SQUARE, SQUARE], "dim": 0}),
    "nd.linalg": (nd.linalg.potrf, "potrf", {"A": (2, 8, 8)}),
    "nd.linalg.gemm2": (nd.linalg.gemm2, "gemm2", {"A": SQUARE, "B": SQUARE}),
    "nd.contrib": (nd.contrib.div_sqrt_dim, "div_sqrt_dim", {"data": SQUARE}),
    "nd.random": (nd.random.normal, "normal", {"loc": 0, "scale": 1, "shape": SQUARE}),
    "nd.random.randint": (nd.random.randint, "randint", {"low": 0, "high": 5, "shape": SQUARE}),
    "nd.sparse": (nd.sparse.dot, "dot", {"lhs": SQUARE, "rhs": SQUARE}),
    "nd.image": (nd.image.to_tensor, "to_tensor", {"data": (8, 8, 3)}),
    "nd.image.normalize": (
        nd.image.normalize,
        "normalize",
        {"data": (3, 8, 8), "mean": (0.5, 0.5, 0.5), "std": (1.0, 1.0, 1.0)},
    ),
    "nd._internal": (nd._internal._copyto, "_copyto", {"data": SQUARE}),
    "nd._internal with out": (
        nd._internal._copyto,
        "_copyto",
        {"data": SQUARE, "out": nd.zeros(SQUARE)},
    ),
    "nd._internal with out shape": (
        nd._internal._copyto,
        "_copyto",
        {"data": SQUARE, "out": SQUARE},
    ),
    "np": (mx.np.add, "add", {"x1": SQUARE, "x2": SQUARE}),
    "np.sum": (mx.np.sum, "sum", {"a": SQUARE, "axis": 0}),
    "np.concatenate": (mx.np.concatenate, "concatenate", {"seq": [SQUARE, SQUARE], "axis": 0}),
    "np.reshape": (mx.np.reshape, "reshape", {"a": SQUARE, "newshape": (4, 16)}),
    "np.matmul": (mx.np.matmul, "matmul", {"x1": SQUARE, "x2": SQUARE}),
    "np.matmul as its help has it": (mx.np.matmul, "matmul", {"a": SQUARE, "b": SQUARE}),
    "np.squeeze": (mx.np.squeeze, "squeeze", {"a": (1, 8)}),
    "np.einsum": (mx.np.einsum, "einsum", {"operands": ["ij,jk->ik", SQUARE, SQUARE]}),
    "np.bitwise_and": (mx.np.bitwise_and, "bitwise_and", {"x1": SQUARE, "x2": SQUARE}),
    "np.linalg.cholesky": (mx.np.linalg.cholesky, "cholesky", {"a": SQUARE}),
    "np.linalg": (mx.np.linalg.norm, "norm", {"x": SQUARE}),
    "np.linalg.svd": (mx.np.linalg.svd, "svd", {"a": SQUARE}),
    "np.linalg.inv": (mx.np.linalg.inv, "inv", {"a": SQUARE}),
    "np.random": (mx.np.random.normal, "normal", {"loc": 0.0, "scale": 1.0, "size": SQUARE}),
    "np.random.uniform": (
        mx.np.random.uniform,
        "uniform",
        {"low": 0.0, "high": 1.0, "size": SQUARE},
    ),
    "np.random.gamma": (mx.np.random.gamma, "gamma", {"shape": 2.0, "size": SQUARE}),
    "np.random.randn": (mx.np.random.randn, "randn", {"size": SQUARE}),
    "nd.random.randn": (nd.random.randn, "randn", {"shape": SQUARE}),
    "nd alias of a reduction": (nd.sum_axis, "sum_axis", {"data": SQUARE, "axis": 0}),
    "npx": (mx.npx.relu, "relu", {"data": SQUARE}),
    "npx.softmax": (mx.npx.softmax, "softmax", {"data": SQUARE}),
    "function": (scaled, "scaled", {"data": SQUARE}),
    "function with a value": (scaled, "scaled", {"data": SQUARE, "factor": 3}),
    "lambda": (lambda x: x * 2 + 1, "<lambda>", {"x": SQUARE}),
}


@pytest.mark.parametrize("kind", CALLABLES)
def test_any_callable_works(kind):
    function, name, inputs = CALLABLES[kind]
    ((by_name),) = run_performance_test(function, inputs=[inputs], warmup=0, runs=2)
    assert list(by_name) == [name]
    (shown,) = by_name[name]
    assert "status" not in shown, shown
    assert shown["inputs"] is inputs or shown["inputs"].keys() == inputs.keys()
    assert shown[MEMORY] >= 0
    assert shown[f"avg_time_forward_{name}"] >= 0


def test_a_lambda_of_an_npx_function_takes_np_arrays():
    # Builds differ in what `npx.one_hot` calls its input.
    shown = run_performance_test(
        lambda indices: mx.npx.one_hot(indices, 10),
        inputs=[{"indices": mx.np.array([1, 2])}],
        run_backward=False,
        warmup=0,
        runs=1,
    )[0]["<lambda>"][0]
    assert "status" not in shown, shown


INPUTS = {
    "shapes": (nd.add, {"lhs": SQUARE, "rhs": SQUARE}),
    "a shape and a number": (nd.add, {"lhs": SQUARE, "rhs": 2}),
    "a list of shapes": (nd.add_n, {"args": [SQUARE, SQUARE]}),
    "numbers": (nd.sum, {"data": SQUARE, "axis": 1, "keepdims": True}),
    "a tuple of axes": (nd.sum, {"data": SQUARE, "axis": (0, 1)}),
    "strings": (nd.Activation, {"data": SQUARE, "act_type": "tanh"}),
    "numpy": (nd.add, {"lhs": np.ones(SQUARE), "rhs": np.ones(SQUARE, "float32")}),
    "numpy scalar": (nd.add, {"lhs": SQUARE, "rhs": np.float32(3)}),
    "NDArray": (nd.add, {"lhs": nd.ones(SQUARE), "rhs": nd.ones(SQUARE)}),
    "list of NDArray": (nd.add_n, {"args": [nd.ones(SQUARE), nd.ones(SQUARE)]}),
    "mixed": (nd.add, {"lhs": nd.ones(SQUARE), "rhs": np.ones(SQUARE)}),
    "mx.np": (mx.np.add, {"x1": mx.np.ones(SQUARE), "x2": mx.np.ones(SQUARE)}),
    "numpy to np": (mx.np.add, {"x1": np.ones(SQUARE), "x2": SQUARE}),
    "data": (nd.relu, {"data": [[1.0, -2.0], [3.0, 4.0]]}),
    "None": (nd.sum, {"data": SQUARE, "axis": None}),
    "bool": (nd.topk, {"data": SQUARE, "is_ascend": True}),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_any_kind_of_input_works(result, kind):
    function, inputs = INPUTS[kind]
    shown = result(function, inputs)
    assert "status" not in shown, shown
    assert set(shown["inputs"]) == set(inputs)
    assert shown[f"avg_time_forward_{function.__name__}"] >= 0


def joined(*parts, axis=0):
    """A function of any number of arrays."""
    return nd.concat(*parts, dim=axis)


NUMBERED = {
    "nd.concat": (nd.concat, {"args0": (2, 3), "args1": (2, 4), "dim": 1}),
    "nd.concat in another order": (nd.concat, {"dim": 1, "args1": (2, 4), "args0": (2, 3)}),
    "as MXNet's symbols have them": (nd.concat, {"arg0": (2, 3), "arg1": (2, 4), "dim": 1}),
    "by the argument's name": (nd.concat, {"data0": (2, 3), "data1": (2, 4), "dim": 1}),
    "nd.add_n": (nd.add_n, {"args0": SQUARE, "args1": SQUARE}),
    "np.concatenate": (mx.np.concatenate, {"seq0": SQUARE, "seq1": SQUARE}),
    "arrays": (nd.concat, {"args0": nd.ones((2, 3)), "args1": np.ones((2, 3))}),
    "a function": (joined, {"parts0": SQUARE, "parts1": SQUARE}),
}


@pytest.mark.parametrize("kind", NUMBERED)
def test_tensors_of_a_list_may_be_numbered(result, kind):
    function, inputs = NUMBERED[kind]
    shown = result(function, inputs)
    assert "status" not in shown, shown
    assert shown["inputs"].keys() == inputs.keys()


def test_numbered_tensors_come_in_the_order_of_their_numbers():
    seen = []

    def function(*parts):
        seen.append([part.shape[0] for part in parts])
        return parts[0]

    inputs = {f"args{i}": (i + 1, 2) for i in (10, 2, 1, 0, 3, 4, 5, 6, 7, 8, 9)}
    run_performance_test(function, inputs=[inputs], run_backward=False, warmup=0, runs=1)
    assert seen
    assert all(one == list(range(1, 12)) for one in seen)


def test_a_function_of_the_users_is_no_operator_of_its_name(result):
    def sum(values):
        return nd.relu(values)

    def gamma(scale):
        return nd.relu(nd.ones(SQUARE)) * scale

    assert "status" not in result(sum, {"values": SQUARE})
    assert "status" not in result(gamma, {"scale": 2.0})


def test_values_reach_the_operator():
    seen = []

    def function(data, axis, mode):
        seen.append((data.shape, axis, mode))
        return data

    run_performance_test(
        function,
        inputs=[{"data": (3, 4), "axis": (0, 1), "mode": "clip"}],
        warmup=0,
        runs=1,
        run_backward=False,
    )
    assert set(seen) == {((3, 4), (0, 1), "clip")}


def test_the_contents_of_arrays_reach_each_call_whatever_it_writes():
    seen = []

    def function(x, y, z):
        seen.append((x.asnumpy(), y.asnumpy(), z.asnumpy()))
        y[:] = x
        z[1] = 0
        return x

    given = np.arange(6.0).reshape(2, 3)
    run_performance_test(
        function,
        inputs=[{"x": given, "y": nd.array(given + 1), "z": mx.np.array(given + 2)}],
        warmup=1,
        runs=2,
        run_backward=False,
    )
    assert seen
    for x, y, z in seen:
        assert np.array_equal(x, given)
        assert np.array_equal(y, given + 1)
        assert np.array_equal(z, given + 2)


def test_several_inputs_give_as_many_results_in_order():
    inputs = [{"lhs": (n, n), "rhs": (n, n)} for n in (16, 8, 4)]
    ((by_name),) = run_performance_test(nd.add, inputs=inputs, run_backward=False, warmup=0, runs=1)
    assert [shown["inputs"] for shown in by_name["add"]] == inputs
    assert [shown[MEMORY] for shown in by_name["add"]] == [1.024, 0.256, 0.064]


def test_inputs_may_be_one_dict():
    ((by_name),) = run_performance_test(nd.relu, {"data": SQUARE}, warmup=0, runs=1)
    assert len(by_name["relu"]) == 1


def test_several_callables_give_as_many_dicts_in_order():
    results = run_performance_test(
        [nd.subtract, nd.add, lambda lhs, rhs: lhs],
        inputs=[{"lhs": SQUARE, "rhs": SQUARE}] * 2,
        run_backward=False,
        warmup=0,
        runs=1,
    )
    assert [list(by_name) for by_name in results] == [["subtract"], ["add"], ["<lambda>"]]
    assert [len(shown) for by_name in results for shown in by_name.values()] == [2, 2, 2]


def test_the_example_of_the_documentation():
    ((by_name),) = run_performance_test(
        nd.add,
        run_backward=True,
        dtype="float32",
        ctx=mx.cpu(),
        inputs=[{"lhs": (1024, 1024), "rhs": (1024, 1024)}],
        warmup=1,
        runs=2,
    )
    (shown,) = by_name["add"]
    times = [f"{name}_time_{phase}_add" for name in ("avg", "p50") for phase in PASSES]
    assert list(shown) == ["inputs", MEMORY, *times]
    assert shown[MEMORY] == 4 * 4194.304


def test_the_python_profilers_keys(result):
    shown = result(nd.exp, {"data": SQUARE}, profiler="python")
    phases = ("", "forward_", "backward_")
    assert set(shown) == {"inputs", MEMORY} | {
        f"{statistic}_time_{phase}exp"
        for statistic in ("avg", "p50", "p90", "p99")
        for phase in phases
    }
    assert shown["avg_time_exp"] >= shown["avg_time_backward_exp"] >= 0
    assert shown["p50_time_exp"] <= shown["p90_time_exp"] <= shown["p99_time_exp"]


def test_the_python_profilers_keys_without_a_backward_pass(result):
    shown = result(nd.exp, {"data": SQUARE}, profiler="python", run_backward=False)
    assert set(shown) == {"inputs", MEMORY} | {
        f"{statistic}_time_{phase}exp"
        for statistic in ("avg", "p50", "p90", "p99")
        for phase in ("", "forward_")
    }
    assert shown["avg_time_exp"] == shown["avg_time_forward_exp"]


def test_no_warmup_and_one_run(result):
    shown = result(nd.relu, {"data": SQUARE}, warmup=0, runs=1, profiler="python")
    assert shown["avg_time_forward_relu"] == shown["p99_time_forward_relu"] >= 0


@pytest.mark.parametrize("ctx", [None, "cpu", "cpu(0)", mx.cpu(), mx.cpu(0)], ids=str)
def test_devices(result, ctx):
    if ctx is None and mx.context.num_gpus():
        pytest.skip("the default device of this machine is a GPU")
    assert MEMORY in result(nd.relu, {"data": SQUARE}, ctx=ctx)


@pytest.mark.parametrize(
    "dtype", ["float16", "FLOAT64", "float64", np.float64, np.dtype("float64")], ids=str
)
def test_dtypes(result, dtype):
    shown = result(nd.relu, {"data": (64, 64)}, dtype=dtype, run_backward=False)
    itemsize = np.dtype(dtype.lower() if isinstance(dtype, str) else dtype).itemsize
    assert shown[MEMORY] == pytest.approx(64 * 64 * itemsize / 1000, abs=5e-4)


def raising(x):
    raise RuntimeError("no way")


WRONG = {
    "shapes that do not go together": (
        nd.dot,
        {"lhs": (8, 8), "rhs": (7, 8)},
        "failed",
        "shape error",
    ),
    "a value that is none": (
        nd.Activation,
        {"data": SQUARE, "act_type": "nosuch"},
        "failed",
        "nosuch",
    ),
    "a name that is none": (nd.relu, {"nosuch": SQUARE}, "failed", "relu"),
    "nothing": (nd.relu, {}, "failed", "relu"),
    "text for a tensor": (nd.relu, {"data": "text"}, "failed", "text"),
    "a function that raises": (raising, {"x": SQUARE}, "failed", "no way"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_call_that_does_not_work_says_why(result, kind):
    function, inputs, status, words = WRONG[kind]
    shown = result(function, inputs)
    assert set(shown) == {"inputs", "status", "reason"}
    assert shown["status"] == status
    assert words in shown["reason"]
    assert "\n" not in shown["reason"]


def test_a_dtype_an_operator_does_not_take_is_skipped(result):
    shown = result(nd.linalg.potrf, {"A": SQUARE}, dtype="int32")
    assert shown["status"] == "skipped"
    assert "does not take int32" in shown["reason"]


def test_one_bad_input_leaves_the_others_alone():
    inputs = [
        {"lhs": SQUARE, "rhs": SQUARE},
        {"lhs": SQUARE, "rhs": (7, 7)},
        {"lhs": SQUARE, "rhs": SQUARE},
    ]
    ((by_name),) = run_performance_test(nd.dot, inputs=inputs, warmup=0, runs=1)
    assert [shown.get("status", "ok") for shown in by_name["dot"]] == ["ok", "failed", "ok"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"dtype": "flaot32"},
        {"profiler": "nativ"},
        {"runs": 0},
        {"runs": -1},
        {"warmup": -1},
        {"ctx": "tpu"},
        {"ops": 3},
        {"ops": "relu"},
        {"inputs": ["data"]},
        {"inputs": None},
        {"runs": "ten"},
        {"profiler": 3},
        {"framework": "nonsense"},
    ],
    ids=str,
)
def test_wrong_usage_is_refused(wrong):
    options = {"ops": nd.relu, "inputs": [{"data": SQUARE}]} | wrong
    with pytest.raises(UsageError) as raised:
        run_performance_test(**options)
    assert "\n" not in str(raised.value)


def test_a_gpu_that_is_not_there_is_refused():
    with pytest.raises(DeviceError, match="gpu"):
        run_performance_test(nd.relu, inputs=[{"data": SQUARE}], ctx=mx.gpu(99))
    assert issubclass(DeviceError, OpperfError)
