"""What families by role make is taken by the operators there are."""

import pytest

from opperf.frameworks import load
from opperf.operations import OPERATIONS
from opperf.rules.configurations import inputs_of
from opperf.rules.engine import rules_module, uses_of
from opperf.rules.families import FAMILIES
from opperf.rules.sizes import PRESETS


def operators_by_operation():
    """The uses of each operation, with the operator, of both frameworks."""
    found = {}
    for name in ("mxnet", "numpy"):
        framework = load(name)
        table = rules_module(framework.rules).OPERATIONS
        for operator in framework.operators():
            for use, _ in uses_of(operator, table):
                found.setdefault(use.operation, []).append((operator, use))
    return found


USES = operators_by_operation()

HERE = sorted(set(FAMILIES.by_operation) & set(USES))


@pytest.mark.parametrize("name", HERE)
def test_every_configuration_is_some_operators(name):
    made = FAMILIES.by_operation[name](OPERATIONS[name], PRESETS["small"])
    for roles in made:
        inputs = inputs_of(roles)
        assert any(
            use.to_arguments(operator, inputs) is not None for operator, use in USES[name]
        ), roles


def test_most_families_have_an_operator_in_any_build():
    missing = set(FAMILIES.by_operation) - set(USES)
    assert missing <= {"digamma", "log_sigmoid", "masked_log_softmax", "masked_softmax", "mish"}
