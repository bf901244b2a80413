"""The cases that are planned for MXNet's registry, before any is run."""

from collections import Counter

import msgspec
import pytest

from opperf.frameworks import load
from opperf.model import Case, OperatorTarget, Settings
from opperf.rules.engine import inputs_for, rules_module
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import PRESETS
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection


@pytest.fixture(scope="module")
def mxnet():
    return load("mxnet")


@pytest.mark.parametrize("size", ["small", "default"])
def test_ids_of_every_mxnet_case_are_unique(mxnet, size):
    cases = plan(mxnet, Selection(size=size)).cases
    assert len(cases) > 1000
    assert [id for id, count in Counter(case.id for case in cases).items() if count > 1] == []
    assert plan(mxnet, Selection(size=size)).cases == cases
    decoded = msgspec.json.decode(msgspec.json.encode(cases), type=tuple[Case, ...])
    assert [case.id for case in decoded] == [case.id for case in cases]


def test_no_mxnet_rule_makes_a_case_twice(mxnet):
    rules = rules_module(mxnet.rules)
    twice = []
    for operator in mxnet.operators():
        made = inputs_for(operator, rules, PRESETS["default"], "float32")
        if isinstance(made, NoInputs):
            continue
        target = OperatorTarget("mxnet", operator.name)
        ids = {Case(target, i.arguments, Settings(phase=i.phase)).id for i in made}
        if len(ids) < len(made):
            twice.append(operator.name)
    assert twice == []


def test_every_mxnet_operator_has_cases_or_a_reason(mxnet):
    planned = plan(mxnet, Selection(size="small"))
    told = {case.label for case in planned.cases} | set(planned.excluded)
    assert told == {operator.name for operator in mxnet.operators()}
    assert all(planned.excluded.values())
