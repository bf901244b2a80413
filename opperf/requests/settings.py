"""The fields of requests that are settings, as `opperf.model.settings` declares them, and the
file of `--axes`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from opperf.decoding import read_toml
from opperf.errors import UsageError, one_line, suggest
from opperf.extras import load_extra
from opperf.model import DECLARED, DEFAULTS, MAPPINGS, Interpreter, Setting
from opperf.reading import read_text
from opperf.requests.declaring import Chosen, Declared, Gather, Option
from opperf.requests.parsers import (
    Words,
    interpreter_text,
    parse_assignments,
    parse_interpreters,
    split_commas,
)


@dataclass(frozen=True)
class SettingFields(Chosen):
    """Some of the settings: of one value each, or of several, of which each makes a case."""

    names: tuple[str, ...]
    are_axes: bool = False

    def fields(self) -> Iterator[Declared]:
        """Yields the field of each."""
        for name in self.names:
            setting = DECLARED[name]
            if self.are_axes:
                option = option_of(setting, gather_axis(setting), f"{setting.metavar},...")
                yield Declared(name, option, tuple[Any, ...], (), "")
            else:
                default = None if setting.axis else DEFAULTS[name]
                kind = bool if setting.flag is not None else type(default)
                yield Declared(name, option_of(setting), kind, default, "")


def option_of(
    setting: Setting,
    gather: Gather | None = None,
    metavar: str = "",
    text: Callable[[Any], str] | None = None,
) -> Option:
    """Returns the declaration of a setting as that of a field."""
    many = setting.many and gather is None
    return Option(
        setting.help,
        setting.read if setting.flag is None else None,
        (lambda texts: tuple(map(setting.read, texts))) if many else gather,
        metavar=setting.metavar if setting.name in MAPPINGS or not metavar else metavar,
        section=setting.section,
        spellings=" ".join(filter(None, (setting.short, setting.option, setting.also))),
        text=text or (lambda value: setting.empty if value is None else str(value)),
        texts=_entries if setting.name in MAPPINGS else None,
        alone=setting.alone,
        flag=True if setting.flag is None else setting.flag,
    )


def _entries(value: Any) -> tuple[str, ...]:
    """Returns the texts of a mapping, or of several, which are every combination of entries."""
    entries: dict[str, dict[str, None]] = {}
    for mapping in (value,) if isinstance(value, Mapping) else value:
        for key, each in mapping.items():
            several = each if isinstance(each, (list, tuple)) else (each,)
            entries.setdefault(key, {})["|".join(map(str, several))] = None
    return tuple(f"{key}={'|'.join(texts)}" for key, texts in entries.items())


def gather_axis(setting: Setting) -> Gather:
    """Returns the parser of the values of an axis. Those of a mapping are every combination of the
    values of its entries."""
    if setting.name not in MAPPINGS:

        def split(texts: Words) -> tuple[Any, ...]:
            return tuple(dict.fromkeys(map(setting.read, split_commas(texts))))

        return split
    parse = parse_assignments(setting.read)

    def combine(texts: Words) -> tuple[dict[str, str], ...]:
        entries = [[(key, value) for value in values] for key, values in parse(texts).items()]
        from opperf.sources.varying import check_combinations

        check_combinations(entries)
        return tuple(dict(pairs) for pairs in itertools.product(*entries))

    return combine


Interpreters = Annotated[
    tuple[Interpreter, ...],
    replace(
        option_of(DECLARED["python"], parse_interpreters, text=interpreter_text), may_differ=True
    ),
]
"""The interpreters of the workers; empty for opperf's own. Their labels are an axis."""

Cpus = Annotated[
    str,
    Option(
        "Cores that workers are pinned to, e.g. 2,3 or 0-3,8. auto: as many as a worker has "
        "threads; opperf itself runs on others. none: workers are not pinned.",
        metavar="auto|none|LIST",
        section="Settings",
        may_differ=True,
    ),
]


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
    from opperf.suites.reading import parse

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
