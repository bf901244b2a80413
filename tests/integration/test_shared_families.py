"""What families by role make is taken by the operators there are."""

import pytest

from opperf.frameworks import is_available, load
from opperf.operations import OPERATIONS
from opperf.rules.configurations import inputs_of
from opperf.rules.engine import name_of, rules_module, uses_of
from opperf.rules.families import FAMILIES
from opperf.rules.sizes import PRESETS
from tests.values.jax.particular import LATER

INSTALLED = tuple(filter(is_available, ("mxnet", "numpy", "torch", "jax")))


@pytest.fixture(scope="module")
def uses():
    """The uses of each operation, with the operator, of the frameworks that are installed."""
    found = {}
    for name in INSTALLED:
        framework = load(name)
        table = rules_module(framework.rules).OPERATIONS
        for operator in framework.operators():
            for use, _ in uses_of(operator, table):
                found.setdefault(use.operation, []).append((operator, use))
    return found


@pytest.mark.skipif("torch" not in INSTALLED, reason="PyTorch is not installed")
def test_every_configuration_is_some_operators(uses):
    """Of one of its family's operations: an operator may lack an axis that others have."""
    kinds, taken = {}, set()
    for name in sorted(set(FAMILIES.by_operation) & set(uses)):
        family = FAMILIES.by_operation[name]
        for roles in family(OPERATIONS[name], PRESETS["small"]):
            inputs = inputs_of(roles)
            types = frozenset((role, type(value)) for role, value in inputs.items())
            kind = (name_of(family), types)
            kinds[kind] = roles
            if any(use.to_arguments(operator, inputs) is not None for operator, use in uses[name]):
                taken.add(kind)
    assert {kind: roles for kind, roles in kinds.items() if kind not in taken} == {}


@pytest.mark.skipif("torch" not in INSTALLED, reason="PyTorch is not installed")
def test_most_families_have_an_operator_in_any_build(uses):
    later = {name.rpartition(".")[2] for name in LATER}
    missing = set(FAMILIES.by_operation) - set(uses) - later
    assert missing <= {"digamma", "log_sigmoid", "masked_log_softmax", "masked_softmax", "mish"}
