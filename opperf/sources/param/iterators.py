"""PARAM's two iterators over lists of specs."""

from __future__ import annotations

from collections.abc import Sequence

from opperf.errors import UsageError
from opperf.sources.param.macros import expand_spec, has_macro
from opperf.sources.param.registering import ITERATORS, Specs
from opperf.sources.param.schema import Raw, Spec, convert

DEFAULT, RANGE = "DefaultConfigIterator", "RangeConfigIterator"


def each(specs: Sequence[Raw], build: Spec | None, place: str) -> Specs:
    """Yields the specs as they are, by their position. A macro is an error, as only the other
    iterator expands it."""
    for i, raw in enumerate(specs):
        if has_macro(raw):
            yield (
                str(i),
                UsageError(
                    f"{place}[{i}]: a macro, which {DEFAULT} does not expand; set the "
                    f"iterator to {RANGE}"
                ),
            )
            continue
        try:
            yield str(i), convert(raw, Spec, f"{place}[{i}]")
        except UsageError as error:
            yield str(i), error


def expanded(specs: Sequence[Raw], build: Spec | None, place: str) -> Specs:
    """Yields what the specs stand for, by their position and a number: `0_0`, `0_1`."""
    for i, raw in enumerate(specs):
        here = f"{place}[{i}]"
        try:
            for number, made in enumerate(expand_spec(convert(raw, Spec, here), here)):
                yield f"{i}_{number}", made
        except UsageError as error:
            yield f"{i}_0", error


ITERATORS.add(DEFAULT, each)
ITERATORS.add(RANGE, expanded)
