"""Axes and models in a file, TOML or YAML, which options override."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from opperf.decoding import read_toml
from opperf.errors import UsageError, one_line, suggest
from opperf.extras import load_extra
from opperf.model import MAPPINGS
from opperf.reading import read_text
from opperf.requests.declaring import Declared
from opperf.suites.reading import parse

YAML = (".yaml", ".yml")

KEYS = {
    "models": "names",
    "filter": "filter",
    "exclude": "exclude",
    "mode": "mode",
    "ctx": "device",
    "device": "device",
    "dtype": "dtype",
    "autocast": "autocast",
    "threads": "threads",
    "phase": "phase",
    "batch-size": "batch_sizes",
    "size": "sizes",
    "env": "env",
    "set": "options",
    "python": "interpreters",
    "memory-format": "memory_format",
    "compile-cache": "compile_cache",
    "cache": "cache",
    "profiler": "profiler",
    "accelerator": "accelerator",
    "xla": "xla",
    "xla-flags": "xla_flags",
    "dynamo": "dynamo",
    "test": "test",
}
"""Keys of a file, each with the field that it sets."""

AS_TEXT = {True: "true", False: "false", None: "None"}
"""How a command line writes what is neither text nor a number."""


def read_axes(path: Path, fields: Mapping[str, Declared]) -> dict[str, Any]:
    """Returns the values of fields that a file sets. Raises `UsageError` with the file, the line
    and the key."""
    text = _read(path)
    content = _parse(path, text)
    if not isinstance(content, dict) or not content:
        raise UsageError(f"{path}: it has no axes; write mode: [eager, compile]")
    found: dict[str, Any] = {}
    for key, value in content.items():
        at = _place(path, text, key)
        if key not in KEYS:
            raise UsageError(
                f"{at}: {key} is no axis{suggest(str(key), KEYS)}; known: {', '.join(KEYS)}"
            )
        name = KEYS[key]
        if name in found:
            raise UsageError(f"{at}: {key} sets again what another key has set; keep one of them")
        mapping = name in MAPPINGS
        words = _assignments(path, text, key, value) if mapping else _words(at, key, value)
        try:
            found[name] = fields[name].parse(tuple(words))
        except ValueError as error:
            raise UsageError(f"{at}: {key}: {error}") from error
    return found


def _read(path: Path) -> str:
    try:
        return read_text(path)
    except OSError as error:
        raise UsageError(f"--axes {path}: it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--axes {path}: it is no text in UTF-8") from error


def _parse(path: Path, text: str) -> Any:
    if path.suffix.lower() not in YAML:
        try:
            return read_toml(text)
        except ValueError as error:
            raise UsageError(f"{path} is no TOML: {one_line(str(error))}") from error
    load_extra("yaml", f"{path}: a file of YAML", "write it as TOML")
    return parse(text, str(path)).plain()


def _place(path: Path, text: str, *keys: object) -> str:
    """Returns `FILE:LINE` of a key, or of the one around it; the file alone if none is found."""
    found, start = str(path), 0
    for key in keys:
        match = re.compile(
            rf"^[ \t]*(?:\[)?[\"']?{re.escape(str(key))}[\"']?(?:[ \t]*[:=]|\])", re.MULTILINE
        ).search(text, start)
        if match is None:
            break
        start = match.end()
        found = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
    return found


def _words(at: str, key: str, value: Any) -> Iterator[str]:
    """Yields the values of a key as a command line has them."""
    values = value if isinstance(value, list) else [value]
    if not values:
        raise UsageError(f"{at}: {key} has no values")
    for entry in values:
        if isinstance(entry, (dict, list)):
            raise UsageError(f"{at}: {key} has a value in brackets; write {key}: [a, b]")
        yield _text(entry)


def _text(value: Any) -> str:
    is_special = value is None or isinstance(value, bool)
    return AS_TEXT[value] if is_special else str(value)


def _assignments(path: Path, text: str, key: str, value: Any) -> Iterable[str]:
    if not isinstance(value, dict):
        raise UsageError(f"{_place(path, text, key)}: {key} is a table of names and values")
    for name, values in value.items():
        at = _place(path, text, key, name)
        yield f"{name}={'|'.join(_words(at, f'{key}.{name}', values))}"
