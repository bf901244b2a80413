"""Inputs of JAX's functions: static sizes, heads behind tokens, segments without gaps."""

import numpy as np
import pytest

pytest.importorskip("jax")

from opperf.frameworks import load  # noqa: E402
from opperf.operations.uses import Written  # noqa: E402
from opperf.rules.engine import inputs_for, rules_module  # noqa: E402
from opperf.rules.jax.beside_numpy import TOLD, as_returned, with_further  # noqa: E402
from opperf.rules.registering import NoInputs  # noqa: E402
from opperf.rules.sizes import PRESETS  # noqa: E402
from opperf.rules.values import fixed  # noqa: E402
from tests.listed_jax import of_the_listed_jax  # noqa: E402

NAMESPACES = ("nn", "random", "image", "ops")


@pytest.fixture(scope="module")
def framework():
    return load("jax")


@pytest.fixture(scope="module")
def inputs(framework):
    rules = rules_module(framework.rules)

    def made(name, size="default"):
        return inputs_for(framework.resolve(name), rules, PRESETS[size], "float32")

    return made


@of_the_listed_jax
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_every_function_has_configurations_with_reasons_of_their_own(framework, inputs, namespace):
    names = [one.name for one in framework.operators() if one.namespace == namespace]
    assert names
    for name in names:
        whys = [one.why for one in inputs(name)]
        assert whys and all(whys), name
        assert len(set(whys)) == len(whys), name


@of_the_listed_jax
def test_no_line_of_why_says_how_numpy_computes(framework, inputs):
    names = [one.name for one in framework.operators() if one.name.startswith("jnp.")]
    made = {name: inputs(name) for name in names}
    whys = [
        (name, one.why)
        for name, found in made.items()
        if not isinstance(found, NoInputs)
        for one in found
    ]
    assert not [line for line in whys if line[1].endswith(tuple(TOLD))]
    for told in TOLD.values():
        assert any(why.endswith(told) for _, why in whys), told


def test_a_size_bounds_results_whose_length_depends_on_data():
    array = fixed(4, 6)
    assert with_further("nonzero", {"a": array}) == {"a": array, "size": 24}
    made = with_further("union1d", {"ar1": fixed(3), "ar2": fixed(5)})
    assert made is not None and made["size"] == 8


def test_functions_that_numpy_has_alike_keep_their_arguments():
    arguments = {"a": fixed(4)}
    assert with_further("sum", arguments) is arguments


def test_refused_arguments_are_omitted():
    assert with_further("sort", {"a": fixed(4), "kind": "stable"}) is None
    assert with_further("sort", {"a": fixed(4)}) is not None


def test_results_are_padded_to_the_size():
    made = as_returned("nonzero", (np.array([1, 4]),), {"size": 4})
    np.testing.assert_array_equal(made[0], [1, 4, 0, 0])


def test_indices_of_unique_are_padded_with_the_first():
    made = (np.array([2.0, 5.0]), np.array([3, 1]))
    values, places = as_returned("unique", made, {"size": 3, "return_index": True})
    np.testing.assert_array_equal(values, [2, 5, 0])
    np.testing.assert_array_equal(places, [3, 1, 3])


def test_what_numpy_writes_is_returned():
    made = Written((), {"a": np.ones(3)})
    np.testing.assert_array_equal(as_returned("put", made, {"inplace": False}), np.ones(3))


def test_heads_lie_behind_tokens(inputs):
    for one in inputs("nn.dot_product_attention"):
        query, key = one.arguments["query"], one.arguments["key"]
        assert query.shape[2] % key.shape[2] == 0
        assert query.shape[3] == key.shape[3]


@pytest.mark.parametrize("size", ["small", "default"])
def test_every_segment_has_rows(framework, inputs, size):
    for one in inputs("ops.segment_max", size):
        ids = np.asarray(framework.tensor(one.arguments["segment_ids"], "cpu(0)", 0))
        assert len(ids) == one.arguments["data"].shape[0]
        assert set(ids.tolist()) == set(range(one.arguments["num_segments"]))


def test_one_sliding_window_is_causal(inputs):
    windows = [
        one.arguments
        for one in inputs("nn.dot_product_attention")
        if "local_window_size" in one.arguments
    ]
    assert len(windows) == 1
    assert windows[0]["is_causal"] is True
    before, after = windows[0]["local_window_size"]
    assert before < windows[0]["key"].shape[1] and after == 0
