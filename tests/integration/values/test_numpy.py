"""NumPy as a framework, compared with the operations that MXNet is compared with: what a case's
call gives is what the canonical operation makes of its arrays."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest

from opperf.frameworks import load
from opperf.operations import OPERATIONS
from opperf.rules.engine import rules_module
from opperf.rules.numpy import MODULES
from opperf.rules.registering import tables_in
from tests.values.comparing import Comparison, expected, planned
from tests.values.numpy.particular import CONSTANT, ITSELF, UNCOMPARED, VERSIONED

FRAMEWORK = load("numpy")
TABLE = rules_module(FRAMEWORK.rules).OPERATIONS
GROUPS = tables_in(MODULES, "OPERATIONS")
"""By module. Values are tested table by table."""

LEAST = 270
"""Functions that are compared, at least."""

HOLDERS = (np, np.linalg, np.fft, np.random)
"""Modules that hold NumPy's functions, some of them under several names."""


def is_here(name: str) -> bool:
    """Whether NumPy has a function of this dotted name."""
    try:
        return callable(operator.attrgetter(name)(np))
    except AttributeError:
        return False


LACKING = {name for name in VERSIONED if not is_here(name)}
"""What the NumPy that is installed does not have."""


def array(value: Any) -> Any:
    """An array in memory of its own; a plain value as it is."""
    return value.copy() if isinstance(value, np.ndarray) else value


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return Comparison(FRAMEWORK, array, planned(FRAMEWORK), CONSTANT)


@pytest.mark.parametrize("group", GROUPS)
def test_functions_give_what_their_operations_give(comparison: Comparison, group: str) -> None:
    omitted = UNCOMPARED | LACKING
    compared = {name: entry for name, entry in GROUPS[group].items() if name not in omitted}
    wrong = comparison.disagreements(compared)
    assert not wrong, "\n\n".join(wrong)


class CallsItself(Exception):
    """A reference has called the function that it stands beside."""


@contextmanager
def without(function: Any) -> Iterator[None]:
    """A call of the function by a name of NumPy's fails."""
    places = [
        (holder, name)
        for holder in HOLDERS
        for name, value in vars(holder).items()
        if value is function
    ]
    patches = [mock.patch.object(holder, name, side_effect=CallsItself) for holder, name in places]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()


def test_functions_that_would_be_compared_with_themselves_are_known(comparison: Comparison) -> None:
    alike = []
    for name, entry in TABLE.items():
        if name in LACKING:
            continue
        case = comparison.cases[name][0]
        before, outputs, _ = comparison.called(case)
        with without(FRAMEWORK.function(case.target)):
            try:
                expected(entry.of(case.arguments), before, outputs)
            except CallsItself:
                alike.append(name)
    assert set(alike) <= ITSELF


def test_the_check_for_that_sees_a_function_in_its_own_reference() -> None:
    with without(np.rint), pytest.raises(CallsItself):
        OPERATIONS["rint"].reference.compute(x=np.ones(2))


def test_enough_functions_are_compared() -> None:
    operators = {one.name for one in FRAMEWORK.operators()}
    assert len(operators & set(TABLE) - UNCOMPARED) >= LEAST


def test_every_use_is_of_a_known_operation() -> None:
    assert {name for entry in TABLE.values() for name in entry.operations} <= set(OPERATIONS)
