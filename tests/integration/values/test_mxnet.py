"""What is timed is what the operator is for: a case's call gives what the canonical operation
makes of its tensors.

Every configuration of an operator at size small is compared, made real as a run makes it. One
test is of a group of operators, and names all that disagree. What is not compared is in
`UNCOMPARED` with a reason; nothing is skipped.
"""

from __future__ import annotations

import mxnet as mx
import pytest

from opperf.frameworks import load
from opperf.operations import OPERATIONS
from opperf.rules.engine import rules_module
from opperf.rules.mxnet import MODULES
from opperf.rules.registering import tables_in
from tests.values.comparing import Comparison, planned
from tests.values.mxnet.arrays import array
from tests.values.mxnet.versions import CONSTANT, FIRST_ONLY, SECOND_ONLY, UNCOMPARED

FRAMEWORK = load("mxnet")
TABLE = rules_module(FRAMEWORK.rules).OPERATIONS
GROUPS = tables_in(MODULES, "OPERATIONS")
"""By module. Values are tested table by table."""

REGISTERED = {name: operator for operator in FRAMEWORK.operators() for name in operator.names}

LEAST = 500
"""Distinct operators that are compared, at least, whatever the build."""

SEED = 20


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    cases = planned(FRAMEWORK)
    return Comparison(FRAMEWORK, array, cases, CONSTANT, lambda: mx.random.seed(SEED))


@pytest.mark.parametrize("group", GROUPS)
def test_operators_give_what_their_operations_give(comparison: Comparison, group: str) -> None:
    # Every build has all operators but some: `test_no_name_is_unknown` sees to these.
    present = {name: use for name, use in GROUPS[group].items() if name in REGISTERED}
    assert present
    wrong = comparison.disagreements(present)
    assert not wrong, "\n\n".join(wrong)


def test_no_name_is_unknown() -> None:
    """Every build has all the operators but those of one major version, which are listed."""
    missing = {name for name in TABLE if name not in REGISTERED}
    assert missing in (set(FIRST_ONLY), set(SECOND_ONLY))


def test_operators_of_one_number_are_compared() -> None:
    assert set(TABLE) >= CONSTANT


def test_enough_operators_are_compared() -> None:
    assert len({REGISTERED[name].name for name in TABLE if name in REGISTERED}) >= LEAST


def test_every_operator_that_is_run_is_compared_or_has_a_reason(comparison: Comparison) -> None:
    run = {case.label for cases in comparison.cases.values() for case in cases}
    compared = {REGISTERED[name].name for name in TABLE if name in REGISTERED}
    reasons = set().union(*UNCOMPARED.values())
    assert run - compared - reasons == set()
    assert compared & reasons == set()


def test_every_use_is_of_a_known_operation() -> None:
    assert {name for use in TABLE.values() for name in use.operations} <= set(OPERATIONS)
