"""`run_benchmark_operator`: one operator in every namespace that has it."""

from __future__ import annotations

import mxnet as mx
import pytest

from opperf.errors import UnknownOperatorError
from opperf.frameworks.mxnet.functions import falls_back_to_numpy
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
        assert shown["avg_time_forward_add"] > 0
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


@pytest.mark.parametrize("name", ["add", "exp", "sum", "dot"])
def test_what_does_not_is_not(name):
    found = run_benchmark_operator(name=name, size=(16, 16), **FEW)
    assert all("fallback" not in single(results)[1] for results in found.values())
    assert not falls_back_to_numpy(getattr(mx.np, name))
