"""Comparing what a case's call gives with what NumPy makes of the very same tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
import pytest

from opperf.frameworks import Framework
from opperf.model import Case
from opperf.runner.prepared import Prepared

sys.path.insert(0, str(Path(__file__).parent))

from references import CONSTANT, Property, Reference, Tolerance, Written  # noqa: E402

SEED = 20

Called = tuple[dict[str, Any], list[Any], dict[str, Any]]


def array_of(value: Any) -> Any:
    """A tensor, or a list of them, as NumPy has it; a plain value as it is."""
    if isinstance(value, list):
        return [array_of(element) for element in value]
    return value.asnumpy().copy() if isinstance(value, mx.nd.NDArray) else value


def in_double(value: Any) -> Any:
    """Floating arrays in double precision, so that a reference is exact beside the operator."""
    if isinstance(value, list):
        return [in_double(element) for element in value]
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    # Memory that is never written, as LeakyReLU's slopes, may hold what cannot be converted.
    with np.errstate(invalid="ignore"):
        return value.astype(np.float64)


@pytest.fixture
def called(framework: Framework) -> Callable[[Case], Called]:
    """A case's arguments, its outputs and its arguments after one call, all as NumPy arrays."""

    def once(case: Case) -> Called:
        with framework.scope(case):
            mx.random.seed(SEED)
            prepared = Prepared(case, framework)
            before = {name: array_of(value) for name, value in prepared.arguments.items()}
            given = prepared.call()
            framework.synchronize(case.settings.device)
            made = given if isinstance(given, (list, tuple)) else [given]
            outputs = [array_of(one) for one in made if one is not None]
            after = {name: array_of(value) for name, value in prepared.arguments.items()}
        return before, outputs, after

    return once


def assert_alike(actual: Any, expected: Any, tolerance: Tolerance, what: str) -> None:
    """Of one shape, and alike: within the tolerance of the type the operator gives, whole
    numbers and truths exactly."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if expected.ndim == 0 and actual.size == 1:
        # Tensors of `mx.nd` have an axis at least.
        expected = expected.reshape(actual.shape)
    assert actual.shape == expected.shape, what
    # A reference has half precision only where it is part of what the operator is for.
    assert actual.dtype == np.float16 or expected.dtype != np.float16, what
    relative = tolerance.relative.get(actual.dtype.name, 0.0)
    np.testing.assert_allclose(
        actual.astype(float),
        expected.astype(float),
        rtol=relative,
        atol=tolerance.absolute(relative, expected.astype(float)),
        err_msg=what,
    )


Agrees = Callable[[str, Reference, Tolerance], None]
Holds = Callable[[str, Property, Tolerance], None]


def listed(value: Any) -> list[Any]:
    """Several outputs, or tensors of a list, or the one there is."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def assert_not_one_number(case: Case, outputs: Iterable[Any]) -> None:
    """Of all that a call gives, something must vary: what is the same everywhere would be
    so too if half of the arguments were ignored."""
    wide = [array for array in outputs if array.size > 1]
    varied = any((array != array.flat[0]).any() for array in wide)
    assert varied or not wide or case.label in CONSTANT, case


@pytest.fixture
def agrees(cases: Callable[[str], tuple[Case, ...]], called: Callable[[Case], Called]) -> Agrees:
    """Assert that every case of an operator gives what its reference gives."""

    def compared(name: str, reference: Reference, tolerance: Tolerance) -> None:
        planned = cases(name)
        assert planned
        for case in planned:
            before, outputs, after = called(case)
            expected = reference(**{n: in_double(value) for n, value in before.items()})
            written = expected if isinstance(expected, Written) else Written(expected)
            wanted = listed(written.output)
            assert len(outputs) == len(wanted), case
            for actual, one in zip(outputs, wanted, strict=True):
                assert_alike(actual, one, tolerance, f"{case}")
            everything = list(outputs)
            for argument, value in written.arguments.items():
                for actual, one in zip(listed(after[argument]), listed(value), strict=True):
                    assert_alike(actual, one, tolerance, f"{argument} after {case}")
                    everything.append(actual)
            assert_not_one_number(case, everything)

    return compared


@pytest.fixture
def holds(cases: Callable[[str], tuple[Case, ...]], called: Callable[[Case], Called]) -> Holds:
    """Assert that what every case of an operator gives has a property."""

    def compared(name: str, pairs: Property, tolerance: Tolerance) -> None:
        planned = cases(name)
        assert planned
        for case in planned:
            before, outputs, _ = called(case)
            given = {n: in_double(value) for n, value in before.items()}
            for actual, expected in pairs(in_double(outputs), **given):
                assert_alike(actual, expected, tolerance, f"{case}")
            assert_not_one_number(case, outputs)

    return compared
