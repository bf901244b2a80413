"""Comparison of operators' results with those of their canonical operations."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opperf.frameworks import Framework
from opperf.instruments.prepared import PreparedCase
from opperf.instruments.profilers import find_profilers
from opperf.model import Case, Settings
from opperf.operations import OPERATIONS
from opperf.operations.references.reference import Property
from opperf.operations.uses import ANYTHING, Choice, Table, Use, Written
from opperf.rules.configurations import PHASE
from opperf.rules.engine import rules_module
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection
from tests.values.tolerances import Tolerance, tolerance_of

Convert = Callable[[Any], Any]
"""A framework's tensor as a NumPy array of its own memory, anything else as it is."""


def each(convert: Convert, value: Any) -> Any:
    """Returns a converted value, or a list, tuple or dict of converted elements."""
    if isinstance(value, dict):
        return {name: each(convert, element) for name, element in value.items()}
    if isinstance(value, (list, tuple)):
        made = [each(convert, element) for element in value]
        return made if isinstance(value, list) else tuple(made)
    return convert(value)


def in_double(value: Any) -> Any:
    """Returns floating arrays in double precision, so that the reference is exact."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
        return value
    # Memory that is never written, as LeakyReLU's slopes, may not be convertible.
    with np.errstate(invalid="ignore"):
        return value.astype(np.float64 if value.dtype.kind == "f" else np.complex128)


def listed(value: Any) -> list[Any]:
    """Returns a list of the outputs or tensors, also if there is one."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def assert_alike(actual: Any, expected: Any, tolerance: Tolerance) -> None:
    """Checks that two arrays have one shape and are equal within the tolerance of the actual dtype;
    integers and booleans exactly."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if expected.ndim == 0 and actual.size == 1:
        # Tensors of some frameworks have at least one axis.
        expected = expected.reshape(actual.shape)
    assert actual.shape == expected.shape, f"shape {actual.shape}, not {expected.shape}"
    # A reference has half precision only if the operator is about half precision.
    assert actual.dtype == np.float16 or expected.dtype != np.float16
    relative = tolerance.relative[actual.dtype.name] if actual.dtype.kind in "fc" else 0.0
    # Complex only if one is: others have no imaginary part.
    wide = complex if "c" in actual.dtype.kind + expected.dtype.kind else float
    np.testing.assert_allclose(
        actual.astype(wide),
        expected.astype(wide),
        rtol=relative,
        atol=tolerance.absolute(relative, expected.astype(wide)),
    )


def expected(use: Use, arguments: dict[str, Any], outputs: list[Any]) -> Any:
    """Returns the results of an operation on a call's arguments, or the pairs to compare that its
    property makes of arguments and outputs."""
    reference = OPERATIONS[use.operation].reference
    double = each(in_double, arguments)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # References divide by zero where operators do.
        warnings.simplefilter("ignore")
        if isinstance(reference, Property):
            pairs = functools.partial(reference.pairs, each(in_double, outputs))
            return list(use.apply(pairs, double))
        return use.apply(reference.compute, double)


class Comparison:
    """The comparison of a framework's operators with canonical operations, cases planned once."""

    def __init__(
        self,
        framework: Framework,
        convert: Convert,
        cases: Mapping[str, Sequence[Case]],
        constant: Collection[str],
        seed: Callable[[], None] = lambda: None,
    ) -> None:
        self.framework, self.convert, self.cases = framework, convert, cases
        self.constant = constant
        """Operators whose results are one number everywhere."""
        self.seed = seed
        """Seeds a framework's random numbers. It may synchronise, and is called only if outputs are
        not unique."""

    def disagreements(self, table: Table) -> list[str]:
        """Returns a line for each operator that does not match its table entry: its name and
        why."""
        found = ((name, self.disagreement(name, entry)) for name, entry in table.items())
        return [f"{name}: {reason}" for name, reason in found if reason]

    def disagreement(self, name: str, entry: Use | Choice) -> str:
        """Returns why an operator does not match its entry; empty if it does."""
        if not self.cases.get(name):
            return "has no case"
        for case in self.cases[name]:
            try:
                self.check(name, case, entry)
            # Any error of one operator leaves the others to be compared.
            except Exception as error:
                return f"{type(error).__name__}: {error}\nin {case}"
        return ""

    def check(self, name: str, case: Case, entry: Use | Choice) -> None:
        """Raises `AssertionError` unless a case's call has the operation's results."""
        own = entry.of({**case.arguments, PHASE: case.settings.phase})
        tolerance = tolerance_of(name, own.operation)
        unique = not isinstance(OPERATIONS[own.operation].reference, Property)
        if not unique:
            self.seed()
        before, outputs, after = self.called(case)
        wanted = expected(own, before, outputs)
        written: list[Any] = []
        if not unique:
            for actual, one in wanted:
                assert_alike(actual, one, tolerance)
        else:
            written += self.compared(outputs, after, wanted, tolerance)
        self.assert_not_one_number(case, [*outputs, *written])

    def compared(
        self, outputs: list[Any], after: Mapping[str, Any], made: Any, tolerance: Tolerance
    ) -> Iterator[Any]:
        """Compares the outputs and written arguments, and returns the written arrays."""
        full = made if isinstance(made, Written) else Written(made)
        wanted = listed(full.output)
        assert len(outputs) == len(wanted), f"{len(outputs)} outputs, not {len(wanted)}"
        for actual, one in zip(outputs, wanted, strict=True):
            if one is not ANYTHING:
                assert_alike(actual, one, tolerance)
        for argument, value in full.arguments.items():
            for actual, one in zip(
                listed(each(self.convert, after[argument])), listed(value), strict=True
            ):
                assert_alike(actual, one, tolerance)
                yield actual

    def called(self, case: Case) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
        """Returns a case's arguments before one call and its outputs as NumPy arrays, whose
        conversion synchronises, and the framework's own arguments, which the call may have written
        to."""
        with self.framework.scope(case):
            prepared = PreparedCase(case, self.framework)
            before = each(self.convert, prepared.arguments)
            results = prepared.call()
            outputs = [each(self.convert, one) for one in listed(results) if one is not None]
        return before, outputs, prepared.arguments

    def assert_not_one_number(self, case: Case, outputs: Sequence[Any]) -> None:
        """Checks that the outputs are not all one number, which they might be even if arguments
        were ignored."""
        wide = [array for array in map(np.asarray, outputs) if array.size > 1]
        varied = any((array != array.flat[0]).any() for array in wide)
        assert varied or not wide or case.label in self.constant, "one number everywhere"


def planned(framework: Framework) -> dict[str, list[Case]]:
    """Returns the cases of size small of each operator, under all its names."""
    profiler = next(iter(find_profilers(framework)))
    settings = Settings(warmup=0, runs=1, profiler=profiler)
    table = rules_module(framework.rules).OPERATIONS
    # A run has these only if they are named.
    internal = tuple(
        operator.label
        for operator in framework.operators()
        if operator.variants == ("internal",) and table.keys() & set(operator.names)
    )
    by_label: dict[str, list[Case]] = {}
    for names in [(), internal] if internal else [()]:
        # The tolerances are of single precision.
        selection = Selection(names, size="small", settings=settings, dtype_given=True)
        for case in plan(framework, selection).cases:
            by_label.setdefault(case.label, []).append(case)
    found: dict[str, list[Case]] = {}
    for operator in framework.operators():
        cases = by_label.get(operator.label, [])
        # Of several overloads, each has an entry of its own or that of all.
        entry = next((name for name in operator.names if name in table), "")
        for name in [entry] if operator.overload and entry else operator.names:
            found[name] = [*found.get(name, ()), *cases] if operator.overload else cases
    return found
