"""The canonical operation of a case, and its reference in float64, of the arrays that the case was
given."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from opperf.errors import UnsupportedError
from opperf.frameworks import Framework
from opperf.instruments.call_results import contents_of
from opperf.model import Case
from opperf.operations import OPERATIONS, CanonicalOperation
from opperf.operations.references.reference import Property
from opperf.operations.uses import Use, Written
from opperf.operations.work.sizes import Formula
from opperf.operations.work.stand_ins import arrays_in
from opperf.rules.configurations import PHASE
from opperf.rules.deviations import Difference
from opperf.rules.engine import rules_module
from opperf.rules.work import computed, own_name

Arguments = dict[str, Any]
"""A case's arguments, arrays in NumPy, by the operator's names."""

OUT = frozenset({"out"})
"""The argument that a variant of an operator writes its result to."""

RAGGED = ("nested", "jagged")
"""Layouts of sequences of several lengths, which references have padded."""


class Said(NamedTuple):
    """Of a case, what its operation is and how its arguments are called there."""

    use: Use
    operation: CanonicalOperation
    names: Mapping[str, str]
    """The operator's names of the case's arguments."""
    targets: frozenset[str]
    """Those of the case's arguments that a call only writes to."""
    difference: Difference | None


def operation_of(case: Case, framework: Framework) -> Said:
    """Returns a case's operation. Raises `UnsupportedError` with the reason if it has none."""
    found = computed(framework, case.target)
    if found is None or isinstance(found.entry, Formula):
        raise UnsupportedError(f"no canonical operation is known of {case.target.label}")
    operator = found.operator
    names = {name: own_name(found, name) for name in case.arguments}
    values = {names[name]: value for name, value in case.arguments.items()}
    try:
        use = found.entry.of({**values, PHASE: case.settings.phase})
    except KeyError as error:
        raise UnsupportedError(f"no operation is known of {case.target.label} here") from error
    targets = OUT & names.keys() if "out" in operator.variants else frozenset()
    known = rules_module(framework.rules).DIFFERENCES
    names_of = (*operator.names, use.operation)
    difference = next((known[name] for name in names_of if name in known), None)
    return Said(use, OPERATIONS[use.operation], names, frozenset(targets), difference)


def as_arrays(framework: Framework, value: Any) -> Any:
    """Returns a value, or what a container holds, with tensors as NumPy arrays of their own memory;
    numbers that NumPy lacks as float32. Raises `UnsupportedError` for sequences of several
    lengths."""

    def as_array(each: Any) -> Any:
        held = contents_of(framework, each)
        if held is None:
            return each
        if held.layout in RAGGED:
            raise UnsupportedError(f"no reference takes tensors of the layout {held.layout}")
        return np.array(held.numbers(1)).reshape(held.shape)

    return each_of(as_array, value)


def each_of(function: Callable[[Any], Any], value: Any) -> Any:
    """Returns a function of a value, or of each that a container holds, in such a container."""
    if isinstance(value, dict):
        return {name: each_of(function, each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        made = [each_of(function, each) for each in value]
        return made if isinstance(value, list) else tuple(made)
    return function(value)


def of_numbers(function: Callable[[Any], Any], value: Any) -> Any:
    """Returns a function of floating arrays, in containers too; other values as they are."""

    def changed(each: Any) -> Any:
        is_floating = isinstance(each, np.ndarray) and each.dtype.kind in "fc"
        return function(each) if is_floating else each

    return each_of(changed, value)


def in_double(value: Any) -> Any:
    """Returns floating arrays in double precision, in containers too."""
    dtypes = {"f": "float64", "c": "complex128"}
    return of_numbers(lambda array: array.astype(dtypes[array.dtype.kind]), value)


def listed(value: Any) -> list[Any]:
    """Returns a list of the outputs, also if there is one."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


class Reference:
    """The reference of a case's operation."""

    def __init__(self, said: Said) -> None:
        self._use, self.operation = said.use, said.operation
        self._own = said.operation.reference

    @property
    def is_property(self) -> bool:
        """Whether it says what outputs have to fulfil, as they are not unique."""
        return isinstance(self._own, Property)

    def results(self, arguments: Arguments) -> Written:
        """Returns the outputs, and what is written to arguments, of arguments in double
        precision."""
        made = self._apply(self._own.compute, arguments)  # type: ignore[union-attr]
        return made if isinstance(made, Written) else Written(made)

    def pairs(self, arguments: Arguments, outputs: list[Any]) -> list[tuple[Any, Any]]:
        """Returns what has to be equal, of a property of outputs."""
        compute = partial(self._own.pairs, in_double(outputs))  # type: ignore[union-attr]
        return list(self._apply(compute, arguments))

    def _apply(self, compute: Callable[..., Any], arguments: Arguments) -> Any:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # References divide by zero where operators do.
            warnings.simplefilter("ignore")
            try:
                return self._use.apply(compute, arguments)
            except (KeyError, TypeError) as error:
                name = self.operation.name
                raise UnsupportedError(
                    f"the reference of {name} takes no such call: {type(error).__name__}: {error}"
                ) from error


SUMMING = ("matrices", "factorisations", "windows", "normalisation", "layers", "special", "images")
"""Modules of operations whose results are sums along an axis that results may have too."""


def reduction_length(operation: CanonicalOperation, arguments: Arguments, results: int) -> int:
    """Returns about how many terms the sum behind a result has: as many elements as there are for
    each result, or in the longest axis, or for one channel of a kernel."""
    inputs = [array for value in arguments.values() for array in arrays_in(value)]
    terms = sum(array.size for array in inputs) / max(1, results)
    if operation.module in SUMMING or operation.name.startswith("cum"):
        terms = max([terms, *(extent for array in inputs for extent in array.shape)])
    if operation.module == "factorisations":
        # One sum follows from another.
        terms = terms**2
    if operation.module == "windows":
        kernels = [array for array in inputs[1:] if array.ndim > 1]
        terms = max([terms, *(math.prod(kernel.shape[1:]) for kernel in kernels)])
    return max(1, int(terms))
