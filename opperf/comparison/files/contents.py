"""Whether the inputs of a case have other values in either run, and its time may depend on them."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.comparison.files.entries import Entry
from opperf.comparison.files.joining import Pair
from opperf.plurals import pluralize

DEPENDENT = {
    **dict.fromkeys(("sorting_searching", "sorting"), "comparisons and swaps"),
    "indexing": "places in memory, which caches hold or not",
    **dict.fromkeys(("set", "detection"), "the number of elements that remain"),
    **dict.fromkeys(("linalg", "statistics"), "iterations, pivots and partitions"),
    **dict.fromkeys(("random", "random_sampling"), "numbers that are drawn again"),
}
"""Categories of operators whose work depends on the values of their inputs, in any framework, each
with the part that does. The others do the same work on any values."""


def contents_caveat(base: Entry, new: Entry) -> str:
    """The qualification of a time whose inputs were drawn from different seeds; empty where it does
    not depend on them."""
    seeds = base.effort.get("seed"), new.effort.get("seed")
    part = DEPENDENT.get(base.category)
    if part is None or None in seeds or seeds[0] == seeds[1]:
        return ""
    return f"seeds {seeds[0]} and {seeds[1]}: different input values, which determine {part}"


def contents_notes(pairs: Iterable[Pair]) -> tuple[str, ...]:
    """A remark on the cases whose times may differ because of their inputs' values, if there are
    some."""
    names = sorted(
        {
            base.operator
            for base, new in pairs
            if base and new and base.figures and new.figures and contents_caveat(base, new)
        }
    )
    if not names:
        return ()
    return (
        "The runs have different seeds, and the times of "
        f"{pluralize(len(names), 'operator')} depend on the inputs' values, e.g. {names[0]}.",
    )
