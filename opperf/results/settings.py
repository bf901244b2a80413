"""Settings in which the cases of a run differ: rows that look alike without them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opperf.model import DECLARED, Case, Record
from opperf.results.text import inputs_text

BARE = ("device", "dtype")
"""Settings whose values say by themselves what they are."""


def varying(records: Iterable[Record]) -> tuple[str, ...]:
    """The settings in which cases differ that have the same name and inputs."""
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        case = record.case
        alike.setdefault((case.label, inputs_text(case)), []).append(case.settings.identity())
    found = {
        name
        for settings in alike.values()
        for other in settings[1:]
        for name, value in other.items()
        if value != settings[0][name]
    }
    return tuple(name for name in DECLARED if name in found)


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
