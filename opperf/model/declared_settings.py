"""The table of all settings by their declarations, their defaults, and which of them are part of a
case's id, or are of its process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_type_hints

from opperf.model import declaring
from opperf.model.settings import Settings


def _declared() -> Iterator[declaring.Setting]:
    for name, hint in get_type_hints(Settings, include_extras=True).items():
        (setting,) = (
            metadata for metadata in hint.__metadata__ if isinstance(metadata, declaring.Setting)
        )
        title = setting.title or name.replace("_", " ").capitalize()
        yield replace(setting, name=name, title=title, metavar=setting.metavar or name.upper())


DECLARED: dict[str, declaring.Setting] = {setting.name: setting for setting in _declared()}
"""Every setting, by the field of `Settings`."""

DEFAULTS: dict[str, Any] = {name: getattr(Settings(), name) for name in DECLARED}
"""The default of every setting. None ever changes, as that would change ids."""

MAPPINGS = tuple(name for name, default in DEFAULTS.items() if isinstance(default, dict))
"""Settings of which each use of the option sets one entry, NAME=VALUE."""

SESSION_AXES = ("dtype", "mode", "phase", "autocast", "memory_format", "cache")
"""Settings of a call of which a session of `ab` may have several values, as a run may of all."""


def identity_of(settings: Settings) -> dict[str, Any]:
    """Returns the settings that are part of a case's id."""
    return {name: getattr(settings, name) for name, one in DECLARED.items() if one.identity}


def without_defaults(settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings that are not at their defaults."""
    return {name: value for name, value in settings.items() if value != DEFAULTS[name]}
