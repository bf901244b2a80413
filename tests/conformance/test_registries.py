"""Every case that the rules make for an operator of any framework runs, and means something: see
`judging` for what is checked, and `legitimate` for what is no fault."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.linalg import lu_factor

from opperf.dtypes import is_integer, kind_of
from opperf.frameworks import is_available, load
from opperf.model import Case, TensorSpec
from opperf.rules.callers import failed_callers
from opperf.rules.engine import rules_module
from tests.conformance.driver import (
    Judged,
    cheaply,
    found_in,
    judge,
    planned,
    weak_rows,
    without_gradient,
)
from tests.conformance.exceptions import Found, without_exceptions
from tests.conformance.frameworks import PARTS, legitimate
from tests.conformance.judging import DOES_NOT_RUN, holds_positions, shared_whys
from tests.values.jax.particular import LATER

SLOW_TO_COMPILE = "jax"
"""The framework of which every case compiles programs of its own. Of one part of its operators, the
small size has a case of each, and no gradients."""


SAMPLES = {"mxnet": 4, "torch": 24, "jax": 24}
"""Frameworks of whose operators the sweeps have a sample at the default size, one of this many: all
of them take minutes, and have the command `python -m tests.conformance`."""


def runs() -> Iterator[Any]:
    """Yields each framework, part and size."""
    for name, parts in PARTS.items():
        for part in range(parts):
            if not (name == SLOW_TO_COMPILE and part):
                yield pytest.param(name, part, "small")
            if not (name in SAMPLES and part):
                yield pytest.param(name, part, "default", marks=pytest.mark.sweep)


def operators_of(cases: Sequence[Case], part: int, parts: int) -> list[Case]:
    """Returns the cases of one part of the operators, with all overloads of each."""
    return [one for one in cases if zlib.crc32(one.target.name.encode()) % parts == part]


def firsts(cases: Sequence[Case]) -> list[Case]:
    """Returns the first case of each operator, without its gradient."""
    found = {one.label: one for one in reversed(cases)}
    return [without_gradient(one) for one in reversed(found.values())]


def stale_lists(name: str, judged: Sequence[Judged], at_times: str) -> list[str]:
    """Returns the operators that the framework's rules say may lack numbers, and that never do."""
    lacking = {label for one in judged if one.lacks_numbers for label in names_of(name, one.case)}
    present = {label for one in judged if one.ran for label in names_of(name, one.case)}
    listed = rules_module(load(name).rules).NOT_FINITE.keys() - set(at_times.split())
    return sorted((listed & present) - lacking)


def names_of(name: str, case: Case) -> tuple[str, ...]:
    """Returns all names of a case's operator."""
    framework = load(name)
    operator = framework.naming.wrapped_operator(case.target, framework.signature(case.target))
    return () if operator is None else operator.names


def line_of(case: Case) -> str:
    """Returns the file and line of a case's row; without one, what made it."""
    rows = (f"{one.file}:{one.line}" for one in case.rules if one.layer == "row")
    return next(rows, case.origin)


def listing(faults: Mapping[str, Sequence[str]]) -> str:
    """Returns all that is wrong, as text that a failure shows whole."""
    return "\n".join(f"{operator}: {line}" for operator in faults for line in faults[operator])


@pytest.mark.parametrize("name, part, size", list(runs()))
def test_every_case_runs_and_means_something(name, part, size):
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    excused = legitimate(name)
    framework = load(name)
    parts = SAMPLES.get(name, PARTS[name]) if size == "default" else PARTS[name]
    cases = operators_of(planned(name, size), part, parts)
    is_complete = not (size == "small" and name == SLOW_TO_COMPILE)
    with cheaply(framework):
        judged = [judge(one, framework) for one in (cases if is_complete else firsts(cases))]
    assert judged
    operators = {one.case.label for one in judged if one.ran}
    shared = shared_whys((one.label, one.why, line_of(one)) for one in cases)
    any_of = {one.label: one for one in cases}
    found = [*found_in(judged), *(Found(any_of[label], finding) for label, finding in shared)]
    remaining = without_exceptions(found, excused.of_runs(), operators)
    assert not remaining.faults, listing(remaining.faults)
    if is_complete:
        assert not remaining.stale, "\n".join(remaining.stale)
        assert stale_lists(name, judged, excused.finite_at_times) == []


@pytest.mark.parametrize("name", PARTS)
def test_rows_are_what_they_say_and_no_others_work(name):
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    labels = {one.label for one in planned(name, "default")}
    remaining = without_exceptions(weak_rows(name), legitimate(name).of_rows(), labels)
    assert not remaining.faults, listing(remaining.faults)
    assert not remaining.stale, "\n".join(remaining.stale)


DTYPES = {
    "numpy": ("float16", "float64", "complex64"),
    "mxnet": ("float16", "float64"),
    "torch": ("bfloat16", "float64", "complex64"),
}
"""Further dtypes by framework. Of whole numbers, domains below two have one number or none."""

MOST_REFUSED = {"float": 1 / 5, "complex": 1 / 2}
"""Largest share of the cases without a kernel, by the dtype's kind: complex numbers have no
order."""


@pytest.mark.sweep
@pytest.mark.parametrize(
    "name, dtype", [(name, dtype) for name, dtypes in DTYPES.items() for dtype in dtypes]
)
def test_cases_mean_something_in_other_dtypes(name, dtype):
    """Where the framework has a kernel of the dtype: a refusal is no fault."""
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    excused = legitimate(name)
    framework = load(name)
    with cheaply(framework):
        judged = [judge(one, framework) for one in planned(name, "small", dtype=dtype)]
    found = [one for one in found_in(judged) if one.finding.kind != DOES_NOT_RUN]
    coarse = excused.by_dtype.get(dtype, ())
    faults = without_exceptions(found, (*excused.table, *coarse), ()).faults
    assert not faults, listing(faults)
    present = {one.case.label for one in judged}
    assert without_exceptions(found, coarse, present).stale == []
    refused = sum(any(one.kind == DOES_NOT_RUN for one in case.findings) for case in judged)
    assert refused < len(judged) * MOST_REFUSED[kind_of(dtype)]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.sweep] if name == SLOW_TO_COMPILE else [])
        for name in PARTS
    ],
)
def test_what_every_function_calls_is_known(name):
    """As it is looked for where only the callers of an operator have inputs of it."""
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    assert {label: why.reason for label, why in failed_callers(name).items()} == {}


@pytest.mark.parametrize("name", PARTS)
def test_every_exception_is_of_an_operator_that_has_cases(name):
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    excused = legitimate(name)
    labels = {one.label for one in planned(name, "small")}
    known = {other for one in planned(name, "small") for other in names_of(name, one)}
    listed = {operator for one in excused.table for operator in one.operators.split()}
    if name == "jax":
        listed -= LATER
    # Variants have cases where they are named.
    labels |= {one.label for one in load(name).operators() if one.variants}
    assert listed - labels == set()
    assert set(excused.finite_at_times.split()) - known == set()
    assert all(one.reason for one in excused.table)


NARROW = {
    "torch": "ldexp.Tensor",
    "jax": "jnp.choose jnp.equal jnp.ldexp jnp.lexsort jnp.not_equal lax.eq lax.ne "
    "scipy.special.expn scipy.special.sph_harm_y scipy.stats.betabinom.logpmf "
    "scipy.stats.betabinom.pmf scipy.stats.binom.logpmf scipy.stats.binom.pmf "
    "scipy.stats.geom.logpmf scipy.stats.geom.pmf scipy.stats.mode scipy.stats.nbinom.logpmf "
    "scipy.stats.nbinom.pmf scipy.stats.poisson.cdf scipy.stats.poisson.logpmf "
    "scipy.stats.poisson.pmf",
}
"""Operators on small numbers only: one of a few choices, exponents, classes, orders of functions,
counts of events."""


def is_narrow(spec: TensorSpec) -> bool:
    """Returns whether the whole numbers of a tensor are of 32 bits, and from 0 to 63."""
    drawn = spec.fill
    return spec.dtype == "int32" and drawn.low >= 0 and drawn.high <= 64


@pytest.mark.parametrize("name", NARROW)
def test_whole_numbers_are_of_more_than_one_width(name):
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    specs = defaultdict(list)
    for case in planned(name, "small"):
        for place, spec in case.tensors():
            if is_integer(spec.dtype) and not holds_positions(place):
                specs[case.label].append(spec)
    drawn = {label for label, each in specs.items() if any(map(is_drawn, each))}
    assert len(drawn) > 30
    assert {one for one in drawn if all(map(is_narrow, specs[one]))} == set(NARROW[name].split())


def is_drawn(spec: TensorSpec) -> bool:
    """Returns whether a tensor has whole numbers of a range."""
    return spec.fill.distribution == "integers"


BY_ELIMINATION = {
    "mxnet": "_npi_solve linalg_det linalg_inverse linalg_slogdet",
    "numpy": "linalg.det linalg.inv linalg.slogdet linalg.solve",
    "torch": "linalg_det linalg_inv linalg_inv_ex linalg_lu linalg_lu_factor "
    "linalg_lu_factor_ex linalg_slogdet linalg_solve linalg_solve_ex",
    "jax": "jnp.linalg.det jnp.linalg.inv jnp.linalg.slogdet jnp.linalg.solve lax.linalg.lu "
    "scipy.linalg.det scipy.linalg.inv scipy.linalg.lu scipy.linalg.lu_factor scipy.linalg.solve",
}
"""Operators that factor a matrix as LU does, by their first argument."""


@pytest.mark.parametrize("name", BY_ELIMINATION)
def test_matrices_that_are_eliminated_have_rows_to_exchange(name):
    """Of definite ones none is, which costs less."""
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    framework = load(name)
    exchanged = defaultdict(bool)
    for case in planned(name, "small"):
        if case.label in BY_ELIMINATION[name].split():
            _, matrix = next(iter(case.tensors()))
            numbers = framework.arrays.contents(framework.tensor(matrix, "cpu(0)", 0)).numbers(1)
            one = numbers.reshape(-1, *matrix.shape[-2:])[0]
            _, pivots = lu_factor(one)
            exchanged[case.label] |= bool((pivots != np.arange(len(pivots))).any())
    assert exchanged.keys() == {*BY_ELIMINATION[name].split()}
    assert not [label for label, is_exchanged in exchanged.items() if not is_exchanged]
