"""Differences between two runs in environment, labels and settings, the most important first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from opperf.comparison.files.entries import Entry
from opperf.comparison.files.joining import Pair
from opperf.comparison.files.reading import Measured
from opperf.machine.environment import ABSENT, Difference, notable_differences, position
from opperf.model import Environment

BEFORE_SETTINGS = "threads"
"""Fact of the environment that settings follow in the reports."""


def differences(base: Measured, new: Measured, pairs: Iterable[Pair]) -> tuple[Difference, ...]:
    """The differences between labels, between environments where both files have one, and between
    the settings of the common cases."""
    common = [(pair.base, pair.new) for pair in pairs if pair.base and pair.new]
    facts = _of_environments(base.environment, new.environment)
    split = sum(position(fact.name) <= position(BEFORE_SETTINGS) for fact in facts)
    labels, settings = _of_labels(base.labels, new.labels), _of_settings(common)
    return (*labels, *facts[:split], *settings, *facts[split:])


def _of_environments(base: Environment | None, new: Environment | None) -> list[Difference]:
    if base is None or new is None:
        return []
    return notable_differences(base, new)


def _of_labels(base: dict[str, str], new: dict[str, str]) -> list[Difference]:
    """Differences between the labels of the runs: commit, branch, build."""
    return [
        Difference(f"label.{key}", base.get(key, ABSENT), new.get(key, ABSENT))
        for key in dict.fromkeys([*base, *new])
        if base.get(key) != new.get(key)
    ]


def _of_settings(common: Sequence[tuple[Entry, Entry]]) -> list[Difference]:
    """The settings in which joined cases differ, with every value in use."""
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
    """The value that all have, or a tuple of every value in use."""
    distinct: list[Any] = []
    for value in values:
        # A mapping has no hash.
        if value not in distinct:
            distinct.append(value)
    return distinct[0] if len(distinct) == 1 else tuple(distinct)
