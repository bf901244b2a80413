"""What a script makes: every tensor by its name, a storage before its views."""

import numpy as np
import pytest

from opperf.frameworks import fill, load, scripts
from opperf.instruments.prepared import PreparedCase
from opperf.model import Case, Fill, Mapping, OperatorTarget, Settings, TensorSpec
from tests.script_tensors import assert_script_makes

MATRIX = TensorSpec((3, 4))
NUMPY = load("numpy")


def case(**arguments):
    target = OperatorTarget(framework="numpy", name="concatenate")
    return Case(target, arguments, Settings(seed=5))


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("data", "data"),
        ("data.3", "data3"),
        ("data.3.1", "data3_1"),
        ("lambda", "lambda_"),
        ("rng", "rng_"),
    ],
)
def test_names(place, name):
    assert scripts.variable(place) == name


def test_a_tensor_that_is_another_is_made_once():
    out = TensorSpec((3, 4), fill=Fill("same", data="a.1"))
    arguments = {"a": [np.zeros(1), np.zeros(1)], "out": None}
    made = scripts.tensors(case(a=(MATRIX, MATRIX), out=out), arguments)
    assert [one.name for one in made] == ["a0", "a1"]


def test_a_tensor_on_another_device_is_made_there():
    other = TensorSpec((3, 4), device="gpu(1)")
    made = scripts.tensors(case(a=MATRIX, b=other), {"a": None, "b": None})
    assert [one.device for one in made] == ["cpu(0)", "gpu(1)"]


CASES = {
    "several": {"a": (MATRIX, MATRIX), "b": MATRIX},
    "nested": {"a": ((MATRIX, 1), MATRIX), "options": Mapping({"x": MATRIX, "n": 3})},
    "complex": {
        "a": TensorSpec((2, 3), "complex64"),
        "b": TensorSpec((2, 3), "complex128", Fill("uniform", 1.0, 2.0)),
    },
    "long complex": {"a": TensorSpec((2, 3, 100_000), "complex64")},
    "rounded": {"a": TensorSpec((3, 4), "float16", Fill("normal", of="b")), "b": MATRIX},
    "strided": {
        "a": TensorSpec((3, 4), "float64", strides=(1, 3), offset=2),
        "b": TensorSpec((5, 4), "int8", strides=(0, 1)),
    },
    "one storage": {
        "a": TensorSpec((4, 5), storage="x"),
        "b": (TensorSpec((5,), storage="x", offset=5), TensorSpec((5,), storage="y")),
    },
    "dates": {"a": TensorSpec((6,), "datetime64[D]", Fill("integers", 0, 9))},
}


@pytest.mark.parametrize("name", CASES)
def test_a_script_makes_the_arrays_that_are_measured(name):
    made = case(**CASES[name])
    prepared = PreparedCase(made, NUMPY)
    text = NUMPY.recordings.source(made, prepared.arguments, prepared.call)
    assert_script_makes(text, made, prepared.arguments)


def test_a_function_that_several_tensors_are_made_with_is_defined_once():
    codes = [fill.code(TensorSpec(shape), 0) for shape in ((2, 2), (1 << 17,), (1 << 18,))]
    lines = scripts.definitions(codes)
    assert lines == ["", *fill.FILL_BLOCKS.splitlines()]
    assert scripts.definitions(codes[:1]) == []
