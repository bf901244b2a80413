"""Differences between two runs in environment, labels and settings, the most important first."""

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
from opperf.runner.health.examine import TRANSIENT

ORDER = (
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
    "cpus",
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
"""Fields in the order of the reports: those of the build, of the machine, of the quality of the
measurement. Others come after them."""

LOAD_TOLERANCE = 0.5
"""Smallest difference of the load that is reported, in busy cores: it is never the same twice."""

LOAD = "load_1min"

QUIET = "ok"
"""Value of a transient finding on the machine's health if nothing disturbed the run."""


def differences(base: Measured, new: Measured, pairs: Iterable[Pair]) -> tuple[Difference, ...]:
    """The differences between labels, between environments where both files have one, and between
    the settings of the common cases."""
    common = [(pair.base, pair.new) for pair in pairs if pair.base and pair.new]
    found = [*_of_labels(base.labels, new.labels), *_of_settings(common)]
    if base.environment and new.environment:
        found += _of_environments(base.environment, new.environment)
    return tuple(sorted(found, key=lambda difference: _place(difference.field)))


def _of_labels(base: dict[str, str], new: dict[str, str]) -> list[Difference]:
    """Differences between the labels of the runs: commit, branch, build."""
    return [
        Difference(f"label.{key}", base.get(key, ABSENT), new.get(key, ABSENT))
        for key in dict.fromkeys([*base, *new])
        if base.get(key) != new.get(key)
    ]


def _of_environments(base: Environment, new: Environment) -> list[Difference]:
    found = (Difference(*one) for one in environment.differences(base, new))
    return [one for one in found if _is_relevant(one)]


def _is_relevant(difference: Difference) -> bool:
    """Whether a difference is more than a fluctuation."""
    group, _, name = difference.field.partition(".")
    if group == LOAD:
        return bool(abs(difference.base - difference.new) >= LOAD_TOLERANCE)
    if group == "health" and name in TRANSIENT:
        return QUIET in (difference.base, difference.new)
    return True


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


def _place(field: str) -> int:
    name = field.partition(".")[0]
    return ORDER.index(name) if name in ORDER else len(ORDER)
