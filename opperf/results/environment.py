"""Compares environments."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.model import Environment

ABSENT = "absent"

CHECKED = frozenset({"health"})
"""Mappings in which a missing key is no difference: another version of opperf, without that check,
made the environment."""


def differences(one: Environment, other: Environment) -> list[tuple[str, Any, Any]]:
    """Returns the fields that differ, each with both values; keys of a mapping are separate, as
    `field.key`. Of the machine's health, only checks in both count."""
    found: list[tuple[str, Any, Any]] = []
    left, right = msgspec.structs.asdict(one), msgspec.structs.asdict(other)
    for name, before in left.items():
        after = right[name]
        if isinstance(before, dict):
            both = [key for key in before if key in after]
            keys = both if name in CHECKED else dict.fromkeys([*before, *after])
            pairs = [(f"{name}.{k}", before.get(k, ABSENT), after.get(k, ABSENT)) for k in keys]
        else:
            pairs = [(name, before, after)]
        found += [pair for pair in pairs if pair[1] != pair[2]]
    return found
