"""What differs between two runs beside the operators, the weightiest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from opperf.compare.files.comparison import Difference
from opperf.compare.files.entries import Entry
from opperf.compare.files.joining import Pair
from opperf.compare.files.reading import Measured
from opperf.model import Environment
from opperf.results import environment
from opperf.results.environment import ABSENT
from opperf.runner.health.examine import PASSING

WEIGHT = (
    "label",
    "framework",
    "versions",
    "commit",
    "features",
    "devices",
    "gpus",
    "cpu",
    "caches",
    "cores",
    "hostname",
    "threads",
    "settings",
    "governor",
    "health",
    "load_1min",
    "allocator",
    "memory_bytes",
    "python",
    "platform",
    "opperf",
)
"""Fields in the order in which they are told: what changes the operators, what changes the
machine, what changes how well it is measured. Others come after them."""

LOAD_NOTED = 0.5
"""Difference of the load, in cores that are busy, below which it is no news: no two moments have
the same."""

LOAD = "load_1min"

QUIET = "ok"
"""What a machine's health tells of the moment where nothing disturbed it."""


def differences(base: Measured, new: Measured, pairs: Iterable[Pair]) -> tuple[Difference, ...]:
    """What differs between the environments, as far as the files tell them, and between the
    settings of the cases in common."""
    common = [(pair.base, pair.new) for pair in pairs if pair.base and pair.new]
    found = [*_of_labels(base.labels, new.labels), *_of_settings(common)]
    if base.environment and new.environment:
        found += _of_environments(base.environment, new.environment)
    return tuple(sorted(found, key=lambda difference: _weight(difference.field)))


def _of_labels(base: dict[str, str], new: dict[str, str]) -> list[Difference]:
    """The user's own words about the runs: commit, branch, build."""
    return [
        Difference(f"label.{key}", base.get(key, ABSENT), new.get(key, ABSENT))
        for key in dict.fromkeys([*base, *new])
        if base.get(key) != new.get(key)
    ]


def _of_environments(base: Environment, new: Environment) -> list[Difference]:
    found = (Difference(*told) for told in environment.differences(base, new))
    return [one for one in found if _is_news(one)]


def _is_news(difference: Difference) -> bool:
    """Whether a difference is more than that of two moments."""
    group, _, name = difference.field.partition(".")
    if group == LOAD:
        return bool(abs(difference.base - difference.new) >= LOAD_NOTED)
    if group == "health" and name in PASSING:
        return QUIET in (difference.base, difference.new)
    return True


def _of_settings(common: Sequence[tuple[Entry, Entry]]) -> list[Difference]:
    """The settings in which cases that were joined differ, with every value in use."""
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


def _weight(field: str) -> int:
    name = field.partition(".")[0]
    return WEIGHT.index(name) if name in WEIGHT else len(WEIGHT)
