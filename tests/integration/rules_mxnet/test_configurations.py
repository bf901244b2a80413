"""What the rules make for MXNet's registry, before anything is run."""

import pytest

from opperf.frameworks import load
from opperf.model import TensorSpec
from opperf.rules.engine import inputs_for, rules_module
from opperf.rules.registering import NoInputs
from opperf.rules.shapes import DISPATCH
from opperf.rules.sizes import PRESETS
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

RULES = rules_module("opperf.rules.mxnet")


@pytest.mark.parametrize("size", ["small", "default", "large"])
def test_no_operator_has_one_configuration_twice(size):
    twice = []
    for operator in load("mxnet").operators():
        made = inputs_for(operator, RULES, PRESETS[size], "float32")
        if not isinstance(made, NoInputs):
            shown = [repr((inputs.arguments, inputs.phase)) for inputs in made]
            twice += [operator.name] * (len(set(shown)) < len(shown))
    assert twice == []


@pytest.mark.parametrize("name", ["mxnet", "numpy"])
def test_at_most_one_configuration_of_an_operator_measures_the_call(name):
    rules = rules_module(f"opperf.rules.{name}")
    marked = {}
    for operator in load(name).operators():
        made = inputs_for(operator, rules, PRESETS["small"], "float32")
        if not isinstance(made, NoInputs):
            marked[operator.name] = [inputs.why for inputs in made].count(DISPATCH)
    assert marked["exp"] == 1
    assert max(marked.values()) == 1


def test_every_reason_for_excluded_is_one_a_rule_gives():
    reasons = {
        made.reason
        for operator in load("mxnet").operators()
        if isinstance(made := inputs_for(operator, RULES, PRESETS["small"], "float32"), NoInputs)
    }
    assert not [reason for reason in reasons if "no rule" in reason]


@pytest.mark.parametrize("dtype", load("mxnet").dtypes)
def test_nothing_is_cast_to_its_own_type(dtype):
    cast = load("mxnet").resolve("Cast")
    dtypes = set()
    for inputs in inputs_for(cast, RULES, PRESETS["small"], dtype):
        data = inputs.arguments["data"]
        assert isinstance(data, TensorSpec)
        assert data.dtype != inputs.arguments["dtype"]
        dtypes.add(data.dtype)
    assert dtype in dtypes


LAYERS = ("BatchNorm", "Dropout", "Pooling", "RNN")
"""Operators that train and predict differently."""


def phases_by_layer(phase=None):
    found = {}
    for case in plan(load("mxnet"), Selection(patterns=LAYERS, size="small", phase=phase)).cases:
        found.setdefault(case.label, []).append(case.settings.phase)
    return found


def test_layers_have_cases_of_both_phases_the_first_trains():
    found = phases_by_layer()
    assert {name: set(phases) for name, phases in found.items()} == dict.fromkeys(
        LAYERS, {"train", "predict"}
    )
    assert {phases[0] for phases in found.values()} == {"train"}


@pytest.mark.parametrize("phase", ["train", "predict"])
def test_a_phase_that_is_asked_for_replaces_those_of_the_rules(phase):
    found = phases_by_layer(phase)
    assert {one for phases in found.values() for one in phases} == {phase}
    # A layer that is measured in both phases is there once.
    assert len(found["BatchNorm"]) < len(phases_by_layer()["BatchNorm"])
