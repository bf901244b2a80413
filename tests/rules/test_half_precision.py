"""Operators that models run in bfloat16 have a case in it, unless the user asks for a dtype."""

from __future__ import annotations

import pytest

from opperf.frameworks import is_available, load
from opperf.model import Settings
from opperf.rules.engine import rules_module
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

HALF = "bfloat16"
NAMES = {
    "torch": ("mm", "gelu", "layer_norm", "embedding"),
    "jax": ("lax.dot_general", "nn.gelu", "lax.dynamic_update_slice"),
}


def planned(name, *patterns, dtype="float32", **others):
    settings = Settings(dtype=dtype)
    return plan(load(name), Selection(patterns, settings=settings, **others)).cases


@pytest.fixture(params=NAMES)
def name(request):
    if not is_available(request.param):
        pytest.skip(f"{request.param} is not installed")
    return request.param


def test_each_that_is_listed_has_a_case(name):
    # By the whole registry, as a misspelt name is no operator's.
    repeated = rules_module(load(name).rules).FAMILIES.repeated
    lacking = set(repeated) - {own for one in load(name).operators() for own in one.names}
    assert repeated and not lacking
    for asked in NAMES[name]:
        cases = planned(name, asked)
        half = [one for one in cases if one.settings.dtype == HALF]
        assert half, asked
        assert all(HALF in {spec.dtype for _, spec in one.tensors()} for one in half)
        assert {one.settings.dtype for one in cases} == {"float32", HALF}
        assert len({one.why for one in cases}) == len(cases)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_requested_dtype_is_that_of_all(name, dtype):
    for asked in NAMES[name]:
        cases = planned(name, asked, dtype=dtype, dtype_given=True)
        assert {one.settings.dtype for one in cases} == {dtype}
        assert HALF not in {spec.dtype for one in cases for _, spec in one.tensors()}


def test_a_users_shape_is_measured_in_one_dtype(name):
    asked, argument = {"torch": ("gelu", "self"), "jax": ("nn.gelu", "x")}[name]
    cases = planned(name, asked, shapes={argument: (4, 6)})
    assert {one.settings.dtype for one in cases} == {"float32"}
