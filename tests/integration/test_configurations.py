"""Configurations of the frameworks beside PyTorch."""

from __future__ import annotations

import pytest

from opperf.configurations import configure, load, measure, spec, tensor
from opperf.errors import UsageError
from opperf.model import ObjectTarget, OperatorTarget, Status

FEW = {"warmup": 0, "runs": 1}


def record_of(name, *args, builds=(), **kwargs):
    (record,) = measure(load(configure(name, [spec(*args, **kwargs)], builds)), **FEW)
    assert record.status is Status.OK, record.reason
    return record


def test_numpy_is_called_by_position_and_name_without_gradients():
    record = record_of("numpy.clip", tensor(4), 0.0, a_max=1.0)
    assert record.case.target == OperatorTarget("numpy", "clip")
    assert record.case.passes == ("forward",)
    assert not any(one.gradient for _, one in record.case.tensors())


def test_a_list_of_arrays_is_one_argument():
    record = record_of("numpy.concatenate", [tensor(2, 3), tensor(4, 3)], axis=0)
    assert record.summaries["memory"].median == 6 * 3 * 4


def test_jax_has_both_passes():
    pytest.importorskip("jax")
    record = record_of("jax.numpy.matmul", tensor(4, 8), tensor(8, 2))
    assert {"forward", "backward"} <= record.summaries.keys()


@pytest.mark.parametrize("name", ["mxnet.nd.broadcast_add", "mxnet.np.add"])
def test_mxnet_has_both_kinds_of_arrays(name):
    pytest.importorskip("mxnet")
    record = record_of(name, tensor(4, 8), tensor(4, 8))
    assert {"forward", "backward"} <= record.summaries.keys()


def test_a_layer_of_mxnet_is_built_with_its_arguments():
    pytest.importorskip("mxnet")
    record = record_of("mxnet.gluon.nn.Dense", tensor(4, 8), builds=[spec(3, use_bias=False)])
    assert record.case.target == ObjectTarget(
        "mxnet", "mxnet.gluon.nn.Dense", {"0": 3, "use_bias": False}
    )
    assert {"forward", "backward"} <= record.summaries.keys()


@pytest.mark.parametrize(
    ("name", "message"),
    [("numpy.ad", "did you mean add"), ("numpy.linalg.nrm", "did you mean norm")],
)
def test_an_unknown_function_has_near_names(name, message):
    with pytest.raises(UsageError, match=rf"{name}.config\[0\].input\[0\]: .*{message}"):
        measure(load(configure(name, [spec(tensor(4))])))
