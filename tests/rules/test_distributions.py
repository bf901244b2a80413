"""Fills of distributions keep their functions finite."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from scipy import stats

from opperf.frameworks import fill
from opperf.model import TensorSpec
from opperf.operations import OPERATIONS
from opperf.operations.distributions import PARAMETERS, operation_of
from opperf.operations.references import distributions as references
from opperf.rules.configurations import WHY, inputs_of
from opperf.rules.families.distributions import DENSITIES, DISTRIBUTIONS, FAMILIES, INVERSES
from opperf.rules.jax.scipy_special import FUNCTIONS_OF
from opperf.rules.shapes import DISPATCH
from opperf.rules.sizes import PRESETS
from opperf.rules.values import REQUESTED


def drawn(spec: TensorSpec, seed: int) -> Any:
    """Returns a NumPy array as specified, in single precision where a rule leaves that open."""
    dtype = "float32" if spec.dtype == REQUESTED else spec.dtype
    return fill.code(msgspec.structs.replace(spec, dtype=dtype), seed).run()


def filled(name: str) -> list[dict[str, Any]]:
    """Returns the configurations of a distribution with NumPy's arrays in place of specs."""
    operation = OPERATIONS[operation_of(name)]
    family = FAMILIES.by_operation[operation.name]
    return [
        {
            role: drawn(value, seed) if isinstance(value, TensorSpec) else value
            for seed, (role, value) in enumerate(inputs_of(roles).items())
        }
        for roles in family(operation, PRESETS["small"])
    ]


USED = {
    (distribution, function)
    for distribution, functions in FUNCTIONS_OF.values()
    for function in functions.split()
}
"""Distributions and those of their functions that a framework has; SciPy takes minutes for some of
the others."""


def has(name: str, function: str) -> bool:
    """Whether a framework has a distribution's function."""
    return (name, function) in USED


def double(value: Any) -> Any:
    """Returns a real array in double precision, anything else as it is."""
    is_real = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return value.astype(float) if is_real else value


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_function_is_finite_and_is_not_one_number(name: str) -> None:
    computed = []
    for roles in filled(name):
        if not has(name, roles["function"]):
            continue
        inputs = {role: double(value) for role, value in roles.items()}
        made = np.asarray(OPERATIONS[operation_of(name)].reference.compute(**inputs))  # type: ignore[union-attr]
        assert np.isfinite(made).all(), roles["function"]
        assert made.size == 1 or len(np.unique(made)) > 1, roles["function"]
        computed.append(roles["function"])
    assert set(computed) & set(DENSITIES)


def test_no_sample_has_a_density_of_zero() -> None:
    zero = [
        (name, roles["function"])
        for name in DISTRIBUTIONS
        for roles in filled(name)
        if roles["function"] in DENSITIES and has(name, roles["function"])
        if not np.all(OPERATIONS[operation_of(name)].reference.compute(**roles))  # type: ignore[union-attr]
        and not roles["function"].startswith("log")
    ]
    assert zero == []


def test_an_inverse_is_of_probabilities() -> None:
    points = [
        roles["point"]
        for name in DISTRIBUTIONS
        for roles in filled(name)
        if roles["function"] in INVERSES
    ]
    assert points
    assert all(one.min() > 0 and one.max() < 1 for one in points)


def test_the_standard_distribution_has_no_location() -> None:
    family = FAMILIES.by_operation["normal_distribution"]
    made = list(family(OPERATIONS["normal_distribution"], PRESETS["small"]))
    assert all(("loc" in roles) == (roles[WHY] != DISPATCH) for roles in made if is_density(roles))
    assert any("loc" not in roles for roles in made)


def is_density(roles: Any) -> bool:
    """Whether a configuration is of a density."""
    return roles["function"] in DENSITIES


def test_a_density_of_dirichlet_is_scipys() -> None:
    point, alpha = np.array([0.2, 0.3, 0.5]), np.array([1.5, 2.0, 0.7])
    made = [references.dirichlet(point, name, alpha) for name in ("pdf", "logpdf")]
    assert made == pytest.approx([stats.dirichlet.pdf(point, alpha), np.log(made[0])])
