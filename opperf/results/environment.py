"""What two environments differ in."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.model import Environment

ABSENT = "absent"

CHECKED = frozenset({"health"})
"""Mappings that have a key for all that was looked at. One that is missing was not looked at, by
another version of opperf, and tells nothing of the machine."""


def differences(one: Environment, other: Environment) -> list[tuple[str, Any, Any]]:
    """Every field that differs, with its value in each; those of a mapping one by one, under
    `field.key`. Of a machine's health, what both were asked for."""
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
