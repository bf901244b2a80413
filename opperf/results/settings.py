"""Settings in which the cases of a run differ: rows that look alike without them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from opperf.model import DECLARED, Case, Record

BARE = ("device", "dtype")
"""Settings whose values say by themselves what they are."""


def varying(records: Iterable[Record]) -> tuple[str, ...]:
    """The settings that are part of ids and have several values among the records."""
    settings = [record.case.settings.identity() for record in records]
    return tuple(
        name
        for name, setting in DECLARED.items()
        if setting.identity and len({_key(one[name]) for one in settings}) > 1
    )


def _key(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def settings_text(case: Case, names: Iterable[str]) -> str:
    """The case's values of these settings on one line: `float16, threads 2`."""
    settings = case.settings.identity()
    return ", ".join(
        value_text(settings[name]) if name in BARE else f"{name} {value_text(settings[name])}"
        for name in names
    )


def value_text(value: Any) -> str:
    """A setting's value as a user writes it."""
    if value is None:
        return "all"
    if isinstance(value, dict):
        return " ".join(f"{name}={text}" for name, text in value.items()) or "unset"
    return str(value) or "own"
