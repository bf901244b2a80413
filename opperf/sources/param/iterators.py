"""PARAM's two iterators over lists of specs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opperf.errors import UsageError
from opperf.sources.param.macros import expand_spec, has_macro
from opperf.sources.param.registering import ITERATORS
from opperf.sources.param.schema import Raw, Spec, convert

DEFAULT, RANGE = "DefaultConfigIterator", "RangeConfigIterator"


def each(specs: Sequence[Raw], build: Spec | None, place: str) -> Iterable[tuple[str, Spec]]:
    """Yields the specs as they are, by their position. Raises `UsageError` for a macro, which only
    the other iterator expands."""
    for i, one in enumerate(specs):
        if has_macro(one):
            raise UsageError(
                f"{place}[{i}]: a macro, which {DEFAULT} does not expand; set the "
                f"iterator to {RANGE}"
            )
        yield str(i), convert(one, Spec, f"{place}[{i}]")


def expanded(specs: Sequence[Raw], build: Spec | None, place: str) -> Iterable[tuple[str, Spec]]:
    """Yields what the specs stand for, by their position and a number: `0_0`, `0_1`."""
    for i, one in enumerate(specs):
        here = f"{place}[{i}]"
        for number, made in enumerate(expand_spec(convert(one, Spec, here), here)):
            yield f"{i}_{number}", made


ITERATORS.add(DEFAULT, each)
ITERATORS.add(RANGE, expanded)
