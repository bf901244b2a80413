"""Which operations have a derivative, and how it is computed."""

import numpy as np
import pytest

from opperf.operations import OPERATIONS
from opperf.operations.differentiation import COMPLEX, EXACT, NEVER, way_of
from opperf.operations.references.reference import Property


def test_most_operations_have_a_derivative():
    ways = {
        name: way_of(operation)
        for name, operation in OPERATIONS.items()
        if not isinstance(operation.reference, Property)
    }
    assert sum(way is not None for way in ways.values()) >= 330
    assert sum(way == "exact" for way in ways.values()) >= 90
    assert sum(way == "complex" for way in ways.values()) >= 25


def test_the_tables_name_operations_each_once():
    assert OPERATIONS.keys() >= EXACT | COMPLEX | NEVER
    assert not EXACT & COMPLEX and not NEVER & (EXACT | COMPLEX)


@pytest.mark.parametrize(
    "name", sorted(name for name in COMPLEX if list(OPERATIONS[name].inputs) == ["x"])
)
def test_references_of_one_tensor_take_complex_numbers_and_are_analytic(name):
    operation = OPERATIONS[name]
    x = np.random.default_rng(1).uniform(1.1, 1.9, (4, 4))
    x = x / 2 if name == "arctanh" else x
    compute = operation.reference.compute
    slope = np.imag(np.asarray(compute(x=x + 1e-30j))) / 1e-30
    step = 1e-5
    around = (np.asarray(compute(x=x + step)) - np.asarray(compute(x=x - step))) / (2 * step)
    np.testing.assert_allclose(slope, around, rtol=1e-6, atol=1e-6)
