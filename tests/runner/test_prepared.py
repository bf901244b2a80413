"""The tensors of a case: each argument has data of its own, the same on every run."""

import numpy as np
import pytest

from opperf.frameworks import load
from opperf.model import Case, Fill, OperatorTarget, Settings, TensorSpec
from opperf.runner.prepared import Prepared, seed_at

SPEC = TensorSpec((8, 8))


@pytest.fixture
def prepare():
    framework = load("numpy")

    def prepared(arguments, **settings):
        case = Case(OperatorTarget("numpy", "concatenate"), arguments, Settings(**settings))
        with framework.scope(case):
            return Prepared(case, framework).arguments

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
