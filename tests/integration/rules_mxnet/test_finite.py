"""Outputs and gradients of every case are finite numbers."""

import mxnet as mx
import pytest

from opperf.frameworks import load
from opperf.model import Case, Fill, OperatorTarget, TensorSpec
from opperf.rules.mxnet import NOT_FINITE
from tests.finite import check, find_strange, planned

SIZES = ("small", pytest.param("default", marks=pytest.mark.sweep))

CATEGORIES = sorted({operator.category for operator in load("mxnet").operators()})


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("size", SIZES)
def test_every_case_runs_and_gives_finite_numbers(framework, size, category):
    cases = [case for case in planned("mxnet", size) if case.category == category]
    assert [line for case in cases if (line := check(case, framework))] == []


def test_the_categories_have_every_case():
    assert {case.category for case in planned("mxnet", "small")} <= set(CATEGORIES)


def test_operators_that_may_have_others_have_a_reason():
    assert all(entry.reason for entry in NOT_FINITE.values())


def test_a_gradient_that_is_infinite_is_found(framework):
    """That of a root at zero, where the root itself is finite."""
    data = TensorSpec((4,), fill=Fill("constant", 0.0), gradient=True)
    case = Case(OperatorTarget("mxnet", "sqrt"), {"data": data}, passes=("forward", "backward"))
    assert find_strange(case, framework) == ["gradients: 4 infinite"]


def test_an_output_that_is_nan_is_found(framework):
    data = TensorSpec((4,), fill=Fill("constant", -1.0))
    case = Case(OperatorTarget("mxnet", "sqrt"), {"data": data})
    assert find_strange(case, framework) == ["outputs: 4 NaN"]
    assert check(case, framework).endswith("outputs: 4 NaN")


def test_a_case_that_this_build_cannot_run_is_not_wrong(framework):
    case = Case(OperatorTarget("mxnet", "_contrib_fft"), {"data": TensorSpec((4, 4))})
    if mx.context.num_gpus():
        pytest.skip("needs a build or machine without a GPU")
    assert check(case, framework) == ""
