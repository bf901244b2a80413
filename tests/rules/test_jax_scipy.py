"""Inputs of `jax.scipy`."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

from opperf.frameworks import load  # noqa: E402
from opperf.model import Kind, TensorSpec, iter_tensors  # noqa: E402
from opperf.rules.engine import Inputs, inputs_for, rules_module  # noqa: E402
from opperf.rules.jax import scipy_linalg, scipy_special  # noqa: E402
from opperf.rules.jax.scipy_signal import moved  # noqa: E402
from opperf.rules.registering import NoInputs  # noqa: E402
from opperf.rules.sizes import PRESETS  # noqa: E402
from tests.listed_jax import of_the_listed_jax  # noqa: E402
from tests.values.jax.particular import LATER  # noqa: E402

FRAMEWORK = load("jax")
RULES = rules_module(FRAMEWORK.rules)
OPERATORS = {one.name: one for one in FRAMEWORK.operators() if one.name.startswith("scipy.")}


def inputs_of(name: str, size: str = "small") -> list[Inputs]:
    """Returns the inputs of a function of `jax.scipy`."""
    made = inputs_for(OPERATORS[name], RULES, PRESETS[size], "float32")
    assert not isinstance(made, NoInputs), made
    return made


@of_the_listed_jax
def test_every_function_has_inputs() -> None:
    missing = [
        name
        for name, one in OPERATORS.items()
        if isinstance(inputs_for(one, RULES, PRESETS["small"], "float32"), NoInputs)
    ]
    assert not missing


@of_the_listed_jax
def test_every_distribution_is_in_the_table() -> None:
    own = {f"scipy.stats.{one}" for one in ("mode", "poisson.entropy", "rankdata", "sem")}
    later = {name for name in LATER if name.startswith("scipy.stats.")}
    found = {name for name in OPERATORS if name.startswith("scipy.stats.")}
    assert (found | later) - own == set(scipy_special.DENSITIES_OF)


def test_parameters_of_a_truncated_normal_are_arrays() -> None:
    operator = OPERATORS["scipy.stats.truncnorm.pdf"]
    kinds = {one.name: one.kind for one in operator.parameters}
    assert kinds["loc"] == kinds["scale"] == Kind.TENSOR


def test_the_probability_of_bernoullis_quantile_is_no_parameter() -> None:
    first, *_ = inputs_of("scipy.stats.bernoulli.ppf")
    assert set(first.arguments) == {"q", "p"}
    first, *_ = inputs_of("scipy.stats.gumbel_r.ppf")
    assert set(first.arguments) == {"p", "loc", "scale"}


def test_quantiles_of_exponentials_are_standard() -> None:
    assert [set(one.arguments) for one in inputs_of("scipy.stats.expon.ppf")] == [{"q"}, {"q"}]


def test_pivots_count_from_zero() -> None:
    first, *_ = inputs_of("scipy.linalg.lu_solve")
    factors = first.arguments["lu_and_piv"]
    assert isinstance(factors, tuple)
    pivots = factors[1]
    assert isinstance(pivots, TensorSpec)
    assert min(pivots.fill.data) == 0
    assert max(pivots.fill.data) == pivots.shape[0] - 1
    assert scipy_linalg.from_zero([[1, 2], [3]]) == [[0, 1], [2]]


def test_lu_takes_no_stack() -> None:
    ranks = {
        len(spec.shape)
        for one in inputs_of("scipy.linalg.lu")
        for value in one.arguments.values()
        for spec in iter_tensors(value)
    }
    assert ranks == {2}


def test_places_of_pixels_are_near_their_own() -> None:
    for one in inputs_of("scipy.ndimage.map_coordinates"):
        picture, *places = (
            spec for value in one.arguments.values() for spec in iter_tensors(value)
        )
        assert [spec.fill for spec in places] == [moved(axis) for axis in range(2)]
        assert {spec.shape for spec in places} == {picture.shape}


def test_the_largest_degree_of_a_harmonic_is_that_of_its_degrees() -> None:
    (one,) = inputs_of("scipy.special.sph_harm_y")
    degrees = one.arguments["n"]
    assert isinstance(degrees, TensorSpec)
    assert one.arguments["n_max"] == degrees.fill.high - 1
