"""One call of a case, and what the reference of its operation says of the inputs that it had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opperf.dtypes import kind_of
from opperf.instruments.call_results import CallResults, contents_of
from opperf.instruments.prepared import PreparedCase
from opperf.instruments.verification.arrays import Array
from opperf.instruments.verification.expected import (
    Arguments,
    Reference,
    Said,
    as_arrays,
    in_double,
    listed,
)
from opperf.instruments.verification.nearness import Wanted
from opperf.instruments.verification.verifying import prepare_anew
from opperf.operations.uses import ANYTHING, Written

NUMBERS = ("float", "complex")
"""Kinds of dtypes that have gradients."""


class Counterpart:
    """A call of a case prepared anew, with its inputs before it in float64."""

    def __init__(self, prepared: PreparedCase, said: Said) -> None:
        self._framework, self._said = prepared.framework, said
        self.reference = Reference(said)
        made = prepare_anew(prepared, prepared.case)
        self.made = made
        # What a call only writes to is said of its results.
        named = {
            said.names[name]: value
            for name, value in made.arguments.items()
            if name not in said.targets
        }
        self.before: Arguments = {n: as_arrays(self._framework, v) for n, v in named.items()}
        self.results = CallResults(made, prepared.case.settings.seed)
        self.results.outputs()
        returned = [own for own in listed(self.results.take_returned()) if own is not None]
        self.found = [self.array(own) for own in returned]
        self._after = {said.names[name]: value for name, value in made.arguments.items()}
        self.double: Arguments = in_double(self.before)
        self.written = Written(())
        """Of the reference, once it was asked."""

    def array(self, value: Any) -> Array:
        """Returns a result as an array of NumPy's, with the framework's name of its dtype."""
        held = contents_of(self._framework, value)
        if held is None:
            values = np.asarray(value)
            return Array(values.dtype.name, values.shape, values)
        return Array(held.dtype, held.shape, as_arrays(self._framework, value))

    def dtypes(self) -> list[str]:
        """Returns the dtypes of floating numbers among the inputs, which may be named too."""
        held = (
            contents_of(self._framework, own)
            for value in self.made.arguments.values()
            for own in (value if isinstance(value, (list, tuple)) else [value])
        )
        found = [own.dtype for own in held if own is not None]
        return [dtype for dtype in found if kind_of(dtype) in ("float", "complex")]

    def wanted(self) -> list[Wanted]:
        """Returns the results with what they have to be."""
        self.written = written = self.reference.results(self.double)
        found = [*self.found]
        for name in written.arguments:
            found += [self.array(own) for own in listed(self._after[name])]
        pairs = zip(places_of(written), found, strict=False)
        return [Wanted(place, one, own) for (place, one), own in pairs if one is not ANYTHING]

    def heads(self) -> dict[int, Any] | None:
        """Returns the gradients of results, by which of the results they are of; None if that is
        not known."""
        heads = [in_double(as_arrays(self._framework, head)) for head in self.results.heads]
        floating = [i for i, one in enumerate(self.found) if kind_of(one.dtype) in NUMBERS]
        every = list(range(len(self.found)))
        places = next((p for p in (every, floating) if len(p) == len(heads)), None)
        if places is None and len(heads) == 1 and floating:
            places = floating[:1]
        if places is None:
            return None
        return {place: head for place, head in zip(places, heads, strict=True) if place in floating}

    def along(self, place: str, outputs: Sequence[int]) -> Any:
        """Returns an input, and the function from it to the results of these numbers."""
        name, _, index = place.partition(".")
        name = self._said.names[name]
        whole = self.double[name]
        x = whole[int(index)] if index else whole

        def function(changed: Any) -> list[Any]:
            value = changed
            if index:
                value = [changed if i == int(index) else one for i, one in enumerate(whole)]
            made = listed(self.reference.results({**self.double, name: value}).output)
            return [made[number] for number in outputs]

        return x, function


def places_of(written: Written) -> list[tuple[str, Any]]:
    """Returns what a reference says, each with the place of the result."""
    outputs = listed(written.output)
    several = [(f"output[{number}]", one) for number, one in enumerate(outputs)]
    pairs = [("output", outputs[0])] if len(outputs) == 1 else several
    for name, value in written.arguments.items():
        pairs += [(f"{name} after the call", each) for each in listed(value)]
    return pairs
