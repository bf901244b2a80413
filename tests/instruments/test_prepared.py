"""The tensors of a case: each argument has data of its own, the same on every run."""

import numpy as np
import pytest

from opperf.errors import UnsupportedError
from opperf.frameworks import load
from opperf.frameworks.fill import seed_at
from opperf.instruments.prepared import PreparedCase
from opperf.model import (
    Case,
    DType,
    Fill,
    Function,
    Generator,
    Mapping,
    MemoryFormat,
    Number,
    OperatorTarget,
    Settings,
    TensorSpec,
)

SPEC = TensorSpec((8, 8))


@pytest.fixture
def prepare():
    framework = load("numpy")

    def prepared(arguments, **settings):
        case = Case(OperatorTarget("numpy", "concatenate"), arguments, Settings(**settings))
        with framework.scope(case):
            return PreparedCase(case, framework).arguments

    return prepared


def arrays(arguments):
    return {
        name: list(value) if isinstance(value, list) else [value]
        for name, value in arguments.items()
    }


def test_tensors_of_one_spec_hold_different_data(prepare):
    made = arrays(prepare({"lhs": SPEC, "rhs": SPEC, "args": (SPEC, SPEC)}))
    every = [array for listed in made.values() for array in listed]
    assert len(every) == 4
    for i, one in enumerate(every):
        assert not any(np.array_equal(one, other) for other in every[i + 1 :])


def test_the_same_case_has_the_same_data_and_another_seed_has_other(prepare):
    arguments = {"lhs": SPEC, "args": (SPEC, SPEC)}
    first, again = arrays(prepare(arguments)), arrays(prepare(arguments))
    other = arrays(prepare(arguments, seed=1))
    for name in arguments:
        np.testing.assert_array_equal(first[name], again[name])
        assert not np.array_equal(first[name], other[name])


def test_the_same_tensor_is_the_one_at_its_place(prepare):
    same = TensorSpec(SPEC.shape, fill=Fill("same", data="args.1"))
    made = prepare({"args": (SPEC, SPEC), "out": same})
    assert made["out"] is made["args"][1]


def test_a_copy_in_lower_precision_is_the_other_rounded(prepare):
    half = TensorSpec(SPEC.shape, "float16", Fill("normal", of="args.1"))
    made = arrays(prepare({"lhs": half, "args": (SPEC, SPEC)}))
    np.testing.assert_array_equal(made["lhs"][0], made["args"][1].astype(np.float16))


def test_places_have_seeds_of_their_own():
    places = ("a", "b", "a.0", "a.1")
    assert len({seed_at(seed, place) for seed in range(3) for place in places}) == 12


def test_a_strided_tensor_has_its_strides_and_its_offset(prepare):
    turned = TensorSpec((3, 4), strides=(1, 3), offset=2)
    made = prepare({"x": turned})["x"]
    assert made.shape == (3, 4) and made.strides == (4, 12)
    expanded = prepare({"x": TensorSpec((5, 4), strides=(0, 1))})["x"]
    assert expanded.strides == (0, 4) and np.array_equal(expanded[0], expanded[4])


def test_tensors_of_one_storage_share_its_elements(prepare):
    made = prepare(
        {
            "whole": TensorSpec((4, 5), storage="a"),
            "list": (TensorSpec((5,), storage="a", offset=5), TensorSpec((5,), storage="b")),
        }
    )
    second, other = made["list"]
    assert np.shares_memory(made["whole"], second) and not np.shares_memory(second, other)
    assert np.array_equal(made["whole"][1], second)


def test_contents_that_depend_on_a_shape_have_no_strides(prepare):
    spec = TensorSpec((3, 3), fill=Fill("positive_definite"), strides=(1, 3))
    with pytest.raises(UnsupportedError, match="filled as positive_definite"):
        prepare({"x": spec})


def test_a_memory_format_that_the_framework_lacks_is_not_ignored(prepare):
    spec = TensorSpec((2, 3, 4, 4), memory_format="channels_last")
    with pytest.raises(UnsupportedError, match="^x.1: numpy has no memory format 'channels_last'"):
        prepare({"x": (SPEC, spec)})


def test_values_that_json_has_no_form_for(prepare):
    made = prepare(
        {
            "complex": Number.of(1.5 - 2j),
            "infinite": (Number.of(float("-inf")), 1),
            "dtype": DType("float16"),
            "options": Mapping({"x": SPEC, "n": 3}),
            "rng": Generator(7),
        }
    )
    assert made["complex"] == 1.5 - 2j and made["infinite"] == (float("-inf"), 1)
    assert made["dtype"] == np.dtype("float16")
    assert made["options"]["n"] == 3 and made["options"]["x"].shape == SPEC.shape
    assert made["rng"].integers(100) == np.random.default_rng(7).integers(100)


def test_a_value_that_the_framework_has_no_object_for_is_refused(prepare):
    with pytest.raises(UnsupportedError, match="numpy does not take a MemoryFormat"):
        prepare({"x": MemoryFormat("channels_last")})
    with pytest.raises(UnsupportedError, match="numpy does not take a Function"):
        prepare({"x": Function("numpy.add")})
