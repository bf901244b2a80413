"""Recorded calls of every operator that takes integers run, with integers of the rule's range."""

import pytest

from opperf.frameworks import is_available, load
from tests.conformance.driver import cheaply, planned
from tests.conformance.recorded_calls import compared, comparisons, faults_of, is_recordable

LEAST = {"torch": 1000, "numpy": 60, "jax": 200, "mxnet": 150}
"""Cases with integers, at least."""


@pytest.mark.sweep
@pytest.mark.parametrize("name", LEAST)
def test_recorded_calls_are_as_valid_as_those_of_rules(name):
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    found = list(comparisons(name))
    faults = [f"{one.case.label}: {one.finding}" for each in found for one in faults_of(name, each)]
    assert not faults, "\n".join(faults)
    assert len(found) >= LEAST[name]


RECORDED = (
    *("take", "put", "gather", "scatter.src", "index_add", "index_put", "index_select"),
    *("embedding_bag", "_embedding_bag", "_embedding_bag_backward", "embedding_renorm"),
    *("segment_reduce", "ctc_loss.Tensor", "linalg_lu_solve", "lu_unpack", "lstm.data"),
    *("sparse_csr_tensor.crow_col_value_size", "narrow.Tensor", "max_unpool3d"),
)
"""Some of them, in a moment."""


def test_recorded_calls_of_indices_and_lengths_are_valid():
    if not is_available("torch"):
        pytest.skip("torch is not installed")
    framework = load("torch")
    cases = list(filter(is_recordable, planned("torch", "small", RECORDED)))
    assert {one.label for one in cases} >= set(RECORDED)
    with cheaply(framework):
        assert [found for one in cases for found in compared(one, framework)] == []
