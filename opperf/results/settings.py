"""Settings in reports: those in which the cases of a run differ, and those that a command names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opperf.model import DECLARED, DEFAULTS, Case, Record
from opperf.results.text import inputs_text

SELF_EXPLANATORY = ("device", "dtype")
"""Settings whose values say by themselves what they are."""


def differing_settings(records: Iterable[Record]) -> tuple[str, ...]:
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
        ("" if name in SELF_EXPLANATORY else f"{name} ") + DECLARED[name].text(settings[name])
        for name in names
    )


def needed_settings(settings: Mapping[str, Any], devices: Sequence[str]) -> dict[str, Any]:
    """The settings that a command has to name: all but those that it has anyway. `devices` are the
    machine's; the first is the one that is used where none is named."""
    anyway = {**DEFAULTS, "device": next(iter(devices), DEFAULTS["device"])}
    return {name: value for name, value in settings.items() if value != anyway[name]}


def option_words(settings: Mapping[str, Any]) -> list[str]:
    """The options of a command line that set these settings."""
    return [word for name, value in settings.items() for word in DECLARED[name].arguments(value)]
