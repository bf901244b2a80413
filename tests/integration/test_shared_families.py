"""What families by role make is taken by the operators there are."""

import pytest

from opperf.frameworks import is_available, load
from opperf.operations import OPERATIONS
from opperf.rules.configurations import inputs_of
from opperf.rules.engine import name_of, rules_module, uses_of
from opperf.rules.families import FAMILIES
from opperf.rules.sizes import PRESETS

INSTALLED = tuple(filter(is_available, ("mxnet", "numpy", "torch", "jax")))


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
HERE_FAMILIES = sorted({FAMILIES.by_operation[name] for name in HERE}, key=name_of)


@pytest.mark.skipif("torch" not in INSTALLED, reason="PyTorch is not installed")
@pytest.mark.parametrize(
    "family", sorted({FAMILIES.by_operation[name] for name in HERE}, key=name_of)
)
def test_every_configuration_is_some_operators(family):
    """Of one of the family's operations: an operator may lack an axis that others have."""
    kinds, taken = {}, set()
    for name in HERE:
        if FAMILIES.by_operation[name] is not family:
            continue
        for roles in family(OPERATIONS[name], PRESETS["small"]):
            inputs = inputs_of(roles)
            kind = frozenset((role, type(value)) for role, value in inputs.items())
            kinds[kind] = roles
            if any(use.to_arguments(operator, inputs) is not None for operator, use in USES[name]):
                taken.add(kind)
    assert [roles for kind, roles in kinds.items() if kind not in taken] == []


@pytest.mark.skipif("torch" not in INSTALLED, reason="PyTorch is not installed")
def test_most_families_have_an_operator_in_any_build():
    missing = set(FAMILIES.by_operation) - set(USES)
    assert missing <= {"digamma", "log_sigmoid", "masked_log_softmax", "masked_softmax", "mish"}
