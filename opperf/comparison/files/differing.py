"""Differences between two runs in environment, labels and settings, the most important first, and
in the values of inputs on which times depend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from opperf.comparison.files.joining import Pair
from opperf.comparison.files.reading import Entry, Measured
from opperf.machine.environment import ABSENT, Difference, notable_differences, position
from opperf.plurals import pluralize

BEFORE_SETTINGS = "threads"
"""Fact of the environment that settings follow in the reports."""


def differences(base: Measured, new: Measured, pairs: Iterable[Pair]) -> tuple[Difference, ...]:
    """Returns the differences between labels, environments, and settings of common cases."""
    common = [(pair.base, pair.new) for pair in pairs if pair.base and pair.new]
    sides = base.environment, new.environment
    facts = notable_differences(*sides) if sides[0] and sides[1] else []
    split = sum(position(fact.name) <= position(BEFORE_SETTINGS) for fact in facts)
    labels = (
        Difference(f"label.{key}", base.labels.get(key, ABSENT), new.labels.get(key, ABSENT))
        for key in dict.fromkeys([*base.labels, *new.labels])
        if base.labels.get(key) != new.labels.get(key)
    )
    return (*labels, *facts[:split], *_of_settings(common), *facts[split:])


def _of_settings(common: Sequence[tuple[Entry, Entry]]) -> list[Difference]:
    found = []
    settings = [({**a.settings, **a.effort}, {**b.settings, **b.effort}) for a, b in common]
    for name in dict.fromkeys(name for one, other in settings for name in one if name in other):
        pairs = [(a[name], b[name]) for a, b in settings if name in a and name in b]
        if any(a != b for a, b in pairs):
            found.append(
                Difference(
                    f"settings.{name}", _values(a for a, _ in pairs), _values(b for _, b in pairs)
                )
            )
    return found


def _values(values: Iterable[Any]) -> Any:
    distinct: list[Any] = []
    for value in values:
        # A mapping has no hash.
        if value not in distinct:
            distinct.append(value)
    return distinct[0] if len(distinct) == 1 else tuple(distinct)


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
    """Returns the caveat of a time that depends on inputs of different seeds."""
    seeds = base.effort.get("seed"), new.effort.get("seed")
    part = DEPENDENT.get(base.category)
    if part is None or None in seeds or seeds[0] == seeds[1]:
        return ""
    return f"seeds {seeds[0]} and {seeds[1]}: different input values, which determine {part}"


def contents_notes(pairs: Iterable[Pair]) -> tuple[str, ...]:
    """Returns a remark on the cases whose times depend on their inputs' values, if any."""
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
