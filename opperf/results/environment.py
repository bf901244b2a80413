"""What two environments differ in."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.model import Environment

ABSENT = "absent"


def differences(one: Environment, other: Environment) -> list[tuple[str, Any, Any]]:
    """Every field that differs, with its value in each; those of a mapping one by one, under
    `field.key`."""
    found: list[tuple[str, Any, Any]] = []
    left, right = msgspec.structs.asdict(one), msgspec.structs.asdict(other)
    for name, before in left.items():
        after = right[name]
        if isinstance(before, dict):
            keys = dict.fromkeys([*before, *after])
            pairs = [(f"{name}.{k}", before.get(k, ABSENT), after.get(k, ABSENT)) for k in keys]
        else:
            pairs = [(name, before, after)]
        found += [pair for pair in pairs if pair[1] != pair[2]]
    return found
