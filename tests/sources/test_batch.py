"""The batch of recorded calls: found, and scaled where the framework accepts it."""

from __future__ import annotations

import math

import pytest

from opperf.model import Case, OperatorTarget, TensorSpec
from opperf.sources.batch import find_batch, outermost, scale


def call(name, **arguments):
    return Case(OperatorTarget("torch", name), arguments)


def spec(*shape, strides=()):
    return TensorSpec(shape, strides=strides)


def infer(case):
    """Shapes of the results of three operators; None for what they refuse."""
    made = case.arguments
    if case.target.name == "mm":
        (rows, inner), (other, columns) = made["self"].shape, made["mat2"].shape
        return [(rows, columns)] if inner == other else None
    if case.target.name == "view":
        same = math.prod(made["self"].shape) == math.prod(made["size"])
        return [made["size"]] if same else None
    if case.target.name == "layer_norm":
        return [made["input"].shape] if made["input"].shape[1:] == made["weight"].shape else None
    return [made["self"].shape]


ACTIVATIONS = [call("relu", self=spec(64, 128, 768)) for _ in range(3)]
WEIGHTS = [call("relu", self=spec(768, 3072)), call("relu", self=spec(30522, 768))]
BATCH = find_batch([*ACTIVATIONS, *WEIGHTS])


def test_the_batch_is_what_most_tensors_have_outermost():
    assert BATCH.extent == 64
    assert BATCH.inner == {128, 768, 3072}
    assert find_batch([call("relu", self=spec(8))]) is None
    assert find_batch([call("relu", self=spec(32, 10)), *WEIGHTS]).extent == 32


def test_the_batch_of_attention_is_of_sentences_not_of_heads():
    calls = [call("bmm", self=spec(80, 22, 64))] * 3 + [call("relu", self=spec(10, 22, 512))] * 2
    assert find_batch(calls).extent == 10


def test_the_outermost_axis_is_that_of_the_largest_step():
    assert outermost(spec(768, 8192, strides=(1, 768))) == 1
    assert outermost(spec(1, 128)) == 0
    assert outermost(spec()) is None


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (
            call("mm", self=spec(8192, 768), mat2=spec(768, 768)),
            {"self": (2048, 768), "mat2": (768, 768)},
        ),
        (
            call("mm", self=spec(768, 8192, strides=(1, 768)), mat2=spec(8192, 3072)),
            {"self": (768, 2048), "mat2": (2048, 3072)},
        ),
        (
            call("layer_norm", input=spec(64, 768), weight=spec(768)),
            {"input": (16, 768), "weight": (768,)},
        ),
        (
            call("view", self=spec(768, 128, 64), size=(64, 12, 128, 64)),
            {"self": (192, 128, 64), "size": (16, 12, 128, 64)},
        ),
        (call("relu", self=spec(64, 7, strides=(0, 0))), {"self": (16, 7)}),
    ],
    ids=["rows", "gradient of a weight", "parameters stay", "sizes follow", "expanded"],
)
def test_the_batch_is_scaled(made, expected):
    scaled = scale(made, BATCH, 0.25, infer)
    shapes = {
        name: value.shape if isinstance(value, TensorSpec) else value
        for name, value in scaled.arguments.items()
    }
    assert shapes == expected


@pytest.mark.parametrize(
    "made", [*WEIGHTS, call("relu", self=spec(1, 128)), call("relu", self=spec())]
)
def test_what_has_no_batch_stays(made):
    assert scale(made, BATCH, 0.25, infer) == made


def test_what_the_framework_does_not_infer_stays():
    assert scale(ACTIVATIONS[0], BATCH, 0.25, lambda case: None) == ACTIVATIONS[0]


def test_at_least_one_sample_is_left():
    made = scale(ACTIVATIONS[0], BATCH, 0.001, infer)
    assert made.arguments["self"].shape == (1, 128, 768)
    assert scale(ACTIVATIONS[0], BATCH, 2.0, infer).arguments["self"].shape == (128, 128, 768)
