"""Files of configurations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opperf import reading
from opperf.decoding import read_json
from opperf.errors import UsageError, one_line
from opperf.sources.param.configuration import Configuration
from opperf.sources.param.schema import Config, Entry

KEYS = frozenset({*Entry.__struct_fields__, *Config.__struct_fields__})
"""Keys of a configuration, by which it is recognized."""


def read_text(text: str, place: str) -> dict[str, Any]:
    """Returns the content of a configuration. Raises `UsageError` with file and line."""
    try:
        content = read_json(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{place}:{error.lineno}: not JSON, {error.msg.lower()} at column {error.colno}"
        ) from None
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None
    if not isinstance(content, dict):
        raise UsageError(f"{place}: expected an object of operators, not {type(content).__name__}")
    return content


def read_file(path: Path) -> dict[str, Any]:
    """Returns the content of a file. Raises `UsageError` with file and line."""
    try:
        text = reading.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {one_line(str(error))}") from None
    return read_text(text, str(path))


class ConfigurationFiles:
    """Files of PARAM's configurations."""

    name = "configuration of PARAM's benchmarks (JSON)"

    def recognizes(self, path: Path) -> bool:
        """Whether it is an object of objects, one of which has a key of a configuration; or is
        called .json and is no JSON, as one with a comma too many."""
        with reading.open_file(path) as file:
            begins = file.read(64).lstrip()[:1] == b"{"
        if not begins:
            return False
        try:
            content = read_json(reading.read_bytes(path, reading.WRITTEN_BY_HAND))
        except (ValueError, reading.RefusedError):
            # Opening it says what is wrong with it.
            return path.suffix == ".json"
        return bool(content) and any(
            isinstance(entry, dict) and (KEYS & entry.keys() or "." in name or "::" in name)
            for name, entry in content.items()
        )

    def open(self, path: Path) -> Configuration:
        return Configuration(read_file(path), str(path))


def source() -> ConfigurationFiles:
    """Returns the kind of file; called by name, as an entry point is."""
    return ConfigurationFiles()
