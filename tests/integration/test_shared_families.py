"""What families by role make is taken by the operators there are."""

import pytest

from opperf.frameworks import is_available, load
from opperf.operations import OPERATIONS
from opperf.rules.configurations import inputs_of
from opperf.rules.engine import rules_module, uses_of
from opperf.rules.families import FAMILIES
from opperf.rules.sizes import PRESETS

INSTALLED = tuple(filter(is_available, ("mxnet", "numpy", "torch")))


def operators_by_operation():
    """The uses of each operation, with the operator, of the frameworks that are installed."""
    found = {}
    for name in INSTALLED:
        framework = load(name)
        table = rules_module(framework.rules).OPERATIONS
        for operator in framework.operators():
            for use, _ in uses_of(operator, table):
                found.setdefault(use.operation, []).append((operator, use))
    return found


USES = operators_by_operation()

HERE = sorted(set(FAMILIES.by_operation) & set(USES))


@pytest.mark.skipif("torch" not in INSTALLED, reason="PyTorch is not installed")
@pytest.mark.parametrize("name", HERE)
def test_every_configuration_is_some_operators(name):
    for roles in FAMILIES.by_operation[name](OPERATIONS[name], PRESETS["small"]):
        made = [use.to_arguments(operator, inputs_of(roles)) for operator, use in USES[name]]
        assert any(arguments is not None for arguments in made), roles


@pytest.mark.skipif("torch" not in INSTALLED, reason="PyTorch is not installed")
def test_most_families_have_an_operator_in_any_build():
    missing = set(FAMILIES.by_operation) - set(USES)
    assert missing <= {"digamma", "log_sigmoid", "masked_log_softmax", "masked_softmax", "mish"}
