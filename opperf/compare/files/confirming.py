"""The command that measures again, interleaved, what two files can only make suspect."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from typing import Any

from opperf import frameworks
from opperf.compare.files.comparison import Comparison, Difference, Row
from opperf.compare.files.entries import Entry
from opperf.compare.files.reading import Measured
from opperf.compare.statistics.data import Verdict
from opperf.errors import FrameworkError
from opperf.model import DECLARED
from opperf.results.environment import ABSENT
from opperf.results.settings import needed_settings, option_words
from opperf.runner.cpus import THREAD_VARIABLES
from opperf.sources.selecting import Selection

MAX_OPERATORS = 20
"""Most operators that the command names, those with the largest changes: interleaved runs take
minutes for each."""

PLACEHOLDERS = ("python:/path/to/base/python", "python:/path/to/new/python")
"""Where the two builds are is not in the files. Two builds are two interpreters."""

BUILD = ("versions.", "features.", "python", "settings.python")
"""Prefixes of the fields in which two builds differ."""

THREAD_FIELDS = frozenset({"settings.threads", *(f"threads.{name}" for name in THREAD_VARIABLES)})
"""Fields that say how many threads computed; where one has no value, the framework chose."""

ARM_SETTINGS = tuple(
    name for name, setting in DECLARED.items() if setting.axis and name != "python"
)
"""Settings that an arm can be given, apart from the interpreter."""


def confirming_command(found: Comparison, base: Measured, new: Measured) -> str:
    """The command for the suspect operators; empty where there are none that it could measure."""
    entries = (*base.entries, *new.entries)
    rows = _suspect_rows(found.rows)
    operators = _patterns(rows, entries)
    fields = {one.field for one in found.differences}
    # Both arms of `ab` measure one framework.
    if not operators or "framework" in fields:
        return ""
    arms = [_arm(found.differences, side) for side in range(2)]
    if not any(arms) or any(field.startswith(BUILD) for field in fields):
        arms = [[place, *arm] for place, arm in zip(PLACEHOLDERS, arms, strict=True)]
    common = {
        name: value
        for name, value in needed_settings(_settings(rows, entries), _devices(base, new)).items()
        if f"settings.{name}" not in fields
    }
    both = [
        text
        for name in ARM_SETTINGS
        if name in common and not DECLARED[name].common
        for text in DECLARED[name].assignments(common[name])
    ]
    words = [
        *("opperf", "ab", *operators[:MAX_OPERATORS]),
        *(word for text in (*arms[0], *both) for word in ("--a", text)),
        *(word for text in (*arms[1], *both) for word in ("--b", text)),
        *_framework_words(base, new),
        *_size_words(base, new),
        *option_words({n: value for n, value in common.items() if DECLARED[n].common}),
    ]
    return shlex.join(words)


def _suspect_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows of suspect times, the largest change first."""
    suspect = [row for row in rows if row.verdict is Verdict.SUSPECT and row.described.is_time]
    return sorted(suspect, key=lambda row: -abs(math.log(row.ratio or 1.0)))


def _patterns(rows: Iterable[Row], entries: Iterable[Entry]) -> list[str]:
    """The operators of the rows, each once and as a command takes it; without those that no command
    can name."""
    patterns = {entry.operator: entry.pattern for entry in entries}
    found = dict.fromkeys(patterns.get(row.operator, row.operator) for row in rows)
    return [pattern for pattern in found if pattern]


def _settings(rows: Iterable[Row], entries: Iterable[Entry]) -> dict[str, Any]:
    """The settings of the case with the largest change; of any other case where neither file has
    those of this one."""
    with_settings = [entry for entry in entries if entry.settings]
    by_id = {entry.id: entry for entry in with_settings}
    chosen = next((by_id[row.id] for row in rows if row.id in by_id), None)
    chosen = chosen or next(iter(with_settings), None)
    return {**chosen.settings, **chosen.effort} if chosen else {}


def _devices(base: Measured, new: Measured) -> tuple[str, ...]:
    """The devices of the machine, as far as the files have them."""
    environment = base.environment or new.environment
    return environment.devices if environment else ()


def _arm(differences: Iterable[Difference], side: int) -> list[str]:
    """The assignments that make an arm like one side in what differs, as far as it had one value of
    it."""
    found: list[str] = []
    for one in differences:
        group, _, name = one.field.partition(".")
        value = (one.base, one.new)[side]
        if one.field in THREAD_FIELDS and value in (None, ABSENT):
            # Without that, an arm has one thread.
            found += DECLARED["threads"].assignments(None)
        elif value in (None, ABSENT) or isinstance(value, tuple):
            continue
        elif group == "threads":
            found += DECLARED["env"].assignments({name: value})
        elif group == "settings" and name in ARM_SETTINGS:
            found += DECLARED[name].assignments(value)
    return list(dict.fromkeys(found))


def _framework_words(base: Measured, new: Measured) -> tuple[str, ...]:
    """The option for the framework; none where a command without it takes the same one."""
    environment = base.environment or new.environment
    if environment is None:
        return ()
    try:
        preferred = frameworks.default_framework()
    except FrameworkError:
        preferred = ""
    name = environment.framework
    return () if name == preferred else ("--framework", name)


def _size_words(base: Measured, new: Measured) -> tuple[str, ...]:
    """The option for the size of the inputs; none for the default."""
    usual = Selection().size
    size = (base.selection or new.selection).get("size", usual)
    return () if size == usual else ("--size", size)
