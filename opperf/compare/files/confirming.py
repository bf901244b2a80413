"""The command that settles what two files can only make suspect."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from typing import Any

from opperf.compare.files.comparison import Comparison, Difference, Row
from opperf.compare.files.reading import Measured
from opperf.compare.statistics.data import Verdict
from opperf.results.environment import ABSENT

NAMED = 20
"""Operators that the command names at most, those furthest from what they were first: interleaved
runs take minutes for each."""

PLACEHOLDERS = ("python:/path/to/base/python", "python:/path/to/new/python")
"""What the files do not tell: where the two builds are. Two builds are two interpreters."""

SETTINGS = ("dtype", "profiler", "threads", "cache", "device")
"""Settings of the cases that an arm can be given."""

BUILD = ("versions.", "features.", "python", "framework")
"""Beginnings of the fields in which two builds differ."""

OPTIONS = {
    "framework": ("--framework", "mxnet"),
    "size": ("--size", "default"),
    "dtype": ("--dtype", "float32"),
    "profiler": ("--profiler", "native"),
    "device": ("--ctx", "cpu(0)"),
}
"""What both runs were made with, the option that says it, and what is meant where it is not
given."""

SIZE = "size"
"""What a selection says of the cases and their settings do not."""

COMMON = {"threads": None, "cache": "hot"}
"""Settings that have no option, and what they are in an arm that is not given them."""


def confirming_command(found: Comparison, base: Measured, new: Measured) -> str:
    """The command, with the operators that are suspect; empty where none is."""
    operators = _operators(found.rows)
    if not operators:
        return ""
    arms = [_arm(found.differences, side) for side in range(2)]
    if not any(arms) or any(one.field.startswith(BUILD) for one in found.differences):
        arms = [[place, *arm] for place, arm in zip(PLACEHOLDERS, arms, strict=True)]
    common = _common(base, new, found.differences)
    shared = [
        f"{name}:{common[name]}"
        for name, usual in COMMON.items()
        if common.get(name, usual) != usual
    ]
    words = [
        *("opperf", "ab", *operators[:NAMED]),
        *(word for setting in (*arms[0], *shared) for word in ("--a", setting)),
        *(word for setting in (*arms[1], *shared) for word in ("--b", setting)),
        *(
            word
            for name, (option, usual) in OPTIONS.items()
            if common.get(name, usual) != usual
            for word in (option, str(common[name]))
        ),
    ]
    return shlex.join(words)


def _operators(rows: Iterable[Row]) -> list[str]:
    """The operators whose times are suspect, the one with the largest change first."""
    suspect = [row for row in rows if row.verdict is Verdict.SUSPECT and row.described.is_time]
    suspect.sort(key=lambda row: -abs(math.log(row.ratio or 1.0)))
    return list(dict.fromkeys(row.operator for row in suspect))


def _arm(differences: Iterable[Difference], side: int) -> list[str]:
    """What has to be set to be like one side in what differs. What was not set there is not."""
    told = []
    for one in differences:
        group, _, name = one.field.partition(".")
        value = (one.base, one.new)[side]
        if value in (None, ABSENT):
            continue
        if group == "threads":
            told.append(f"env:{name}={value}")
        elif group == "settings" and name in SETTINGS:
            told.append(f"{name}:{value}")
    return told


def _common(base: Measured, new: Measured, differences: Iterable[Difference]) -> dict[str, Any]:
    """What both runs were made with, as far as the files tell."""
    environment = base.environment or new.environment
    selection = base.selection or new.selection
    entries = [entry for entry in (*base.entries, *new.entries) if entry.settings]
    told = {
        **(entries[0].settings if entries else {}),
        **({SIZE: selection[SIZE]} if SIZE in selection else {}),
        **({"framework": environment.framework} if environment else {}),
    }
    differing = {one.field.rpartition(".")[2] for one in differences}
    return {name: value for name, value in told.items() if name not in differing}
