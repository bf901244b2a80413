"""Other tensors follow the shapes and values that a user sets, in real frameworks."""

import pytest

from opperf.execution.planning import plan_cases
from opperf.execution.searching import TRIAL_TIMEOUT_S
from opperf.model import Settings, TensorSpec, display_arguments
from opperf.sources.plain import WHY_PLAIN, is_laid_out
from opperf.sources.selecting import Selection


def planned(worker, framework, name, shapes, values, size="small", configurations=None):
    chosen = Settings(device="", profiler="")
    selection = worker.resolve_selection(
        Selection(
            patterns=(name,),
            size=size,
            shapes=shapes,
            values=values,
            configurations=configurations,
            settings=chosen,
        )
    )
    return plan_cases(worker, framework, selection, lambda text: None)


FITTED = [
    ("mxnet", "LayerNorm", {"data": (16, 51, 102)}, {}, {"gamma": [102], "beta": [102]}),
    ("mxnet", "LayerNorm", {"data": (16, 51, 102)}, {"axis": 1}, {"gamma": [51]}),
    ("mxnet", "LayerNorm", {}, {"axis": 1}, {"gamma": [8], "axis": 1}),
    ("mxnet", "BatchNorm", {"data": (4, 7, 14, 14)}, {}, {"moving_var": [7]}),
    ("mxnet", "GroupNorm", {"data": (2, 32, 14, 14)}, {}, {"gamma": [32]}),
    ("mxnet", "InstanceNorm", {"data": (2, 30, 14, 14)}, {}, {"gamma": [30]}),
    ("mxnet", "FullyConnected", {"data": (32, 300)}, {}, {"weight": [1000, 300], "bias": [1000]}),
    ("mxnet", "FullyConnected", {"weight": (50, 300)}, {}, {"num_hidden": 50, "bias": [50]}),
    ("mxnet", "FullyConnected", {}, {"num_hidden": 100}, {"bias": [100]}),
    ("mxnet", "Convolution", {"data": (2, 24, 30, 31)}, {}, {"weight": [64, 24, 7, 7]}),
    ("mxnet", "Convolution", {"weight": (24, 5, 3, 3)}, {}, {"num_filter": 24}),
    ("mxnet", "Convolution", {}, {"kernel": (5, 5)}, {"weight": [64, 3, 5, 5]}),
    ("mxnet", "Deconvolution", {"data": (2, 24, 10, 11)}, {}, {"weight": [24, 256, 4, 4]}),
    ("mxnet", "dot", {"lhs": (30, 40)}, {}, {"rhs": [40, 30]}),
    ("mxnet", "batch_dot", {"lhs": (3, 30, 40)}, {}, {"rhs": [3, 40, 1000]}),
    ("mxnet", "linalg_gemm2", {"A": (30, 40)}, {}, {"B": [40, 64]}),
    ("mxnet", "linalg_gemm2", {"A": (3, 30, 40)}, {}, {"B": [3, 40, 64]}),
    ("mxnet", "Embedding", {"data": (16, 20)}, {}, {"data": [16, 20]}),
    ("mxnet", "Embedding", {"weight": (100, 20)}, {}, {"input_dim": 100, "output_dim": 20}),
    ("mxnet", "softmax", {"length": (6, 7)}, {}, {"data": [6, 7, 8]}),
    ("mxnet", "broadcast_add", {"lhs": (3, 30, 40)}, {}, {"rhs": [3, 30, 40]}),
    ("mxnet", "elemwise_add", {"lhs": (3, 30, 40)}, {}, {"rhs": [3, 30, 40]}),
    ("mxnet", "where", {"condition": (3, 4, 5)}, {}, {"x": [3, 4, 5], "y": [3, 4, 5]}),
    ("mxnet", "concat", {"data": (30, 40)}, {}, {"data": [[30, 40]] * 3}),
    ("mxnet", "RNN", {"data": (7, 3, 40)}, {}, {"state": [2, 3, 256]}),
    ("mxnet", "take", {"a": (30, 40)}, {}, {"a": [30, 40]}),
    ("mxnet", "take", {"indices": (7,)}, {}, {"a": [64, 64]}),
    ("mxnet", "sgd_update", {"weight": (30, 40)}, {}, {"grad": [30, 40]}),
    ("numpy", "add", {"x1": (30, 40)}, {}, {"x2": [30, 40]}),
    ("numpy", "add", {"x1": (1, 64)}, {}, {"x2": [1, 64]}),
    ("numpy", "matmul", {"x1": (30, 40)}, {}, {"x2": [40, 30]}),
    ("numpy", "matmul", {"x1": (3, 30, 40)}, {}, {"x2": [3, 40, 128]}),
    ("numpy", "dot", {"a": (30, 40)}, {}, {"b": [40, 30]}),
    ("numpy", "where", {"condition": (30, 40)}, {}, {"x": [30, 40], "y": [30, 40]}),
    ("numpy", "take_along_axis", {"arr": (30, 40)}, {}, {"indices": [30, 40]}),
    ("numpy", "linalg.solve", {"a": (30, 30)}, {}, {"b": [30]}),
    ("numpy", "linalg.solve", {"b": (30, 7)}, {}, {"a": [30, 30]}),
    ("numpy", "sum", {"a": (3, 4)}, {"axis": 1}, {"axis": 1}),
]


@pytest.mark.parametrize(("framework", "name", "shapes", "values", "expected"), FITTED)
def test_others_follow(shared_worker, framework, name, shapes, values, expected):
    worker = shared_worker(framework)
    made = planned(worker, framework, name, shapes, values)
    shown = [display_arguments(case) for case in made.cases]
    assert any(expected.items() <= one.items() for one in shown), shown
    for case in made.cases:
        for argument, shape in shapes.items():
            own = case.arguments[argument]
            for spec in own if isinstance(own, tuple) else (own,):
                assert isinstance(spec, TensorSpec) and spec.shape == shape
        assert {n: case.arguments[n] for n in values} == values
        assert not worker.try_call(case, TRIAL_TIMEOUT_S).refusal


PLAIN = [
    ("torch", "gelu", {"self": (64, 128)}),
    ("torch", "cat", {"tensors": (8, 6)}),
    ("torch", "add.Tensor", {"self": (8, 6)}),
    ("torch", "conv2d.default", {"": (2, 3, 32, 32)}),
    ("torch", "layer_norm", {"": (2, 3, 32)}),
    ("mxnet", "relu", {"": (8, 6)}),
    ("mxnet", "Convolution", {"": (2, 24, 30, 31)}),
    ("numpy", "add", {"x1": (8, 6)}),
    ("numpy", "exp", {"": (8, 6)}),
    ("jax", "jnp.exp", {"": (8, 6)}),
]
"""Operators whose rules have other layouts or options, and some without."""


@pytest.mark.parametrize(("framework", "name", "shapes"), PLAIN)
def test_the_plain_form_comes_first(shared_worker, framework, name, shapes):
    """At the default size, whose inputs have the layouts of models."""
    worker = shared_worker(framework)
    cases = planned(worker, framework, name, shapes, {}, "default").cases
    (own,) = planned(worker, framework, name, shapes, {}, "default", configurations=1).cases
    assert own == cases[0] and own.why == WHY_PLAIN
    (shape,) = shapes.values()
    specs = [spec for _, spec in own.tensors()]
    assert specs[0].shape == shape
    assert not any(map(is_laid_out, specs))
    assert {spec.dtype for spec in specs} == {"float64" if framework == "numpy" else "float32"}
    assert len({case.id for case in cases}) == len(cases)
    assert not worker.try_call(own, TRIAL_TIMEOUT_S).refusal


def test_other_layouts_follow(shared_worker):
    cases = planned(
        shared_worker("torch"), "torch", "relu", {"self": (64, 128)}, {}, "default"
    ).cases
    assert [case.arguments["self"].strides for case in cases] == [(), (256, 2)]


def test_indices_stay_in_range(shared_worker):
    made = planned(shared_worker("mxnet"), "mxnet", "Embedding", {}, {"input_dim": 5})
    assert made.cases
    assert all(case.arguments["data"].fill.high <= 5 for case in made.cases)


@pytest.mark.sweep
def test_a_layer_at_the_default_size(shared_worker):
    made = planned(
        shared_worker("mxnet"), "mxnet", "LayerNorm", {"data": (16, 512, 1024)}, {}, "default"
    )
    assert {case.arguments["gamma"].shape for case in made.cases} == {(1024,)}
