"""Remarks on a configuration: keys that are ignored, and numbers that are not of their type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from opperf.plurals import pluralize
from opperf.sources.param.schema import LISTS, TYPES, Config, Entry, Spec, Typed

SHOWN = 3
"""Most keys or numbers that a remark names."""

MACRO = "__"
"""Beginning of the names of macros."""

WHOLE = ("int", "long")
"""Types of arguments that are integers."""


def remarks(content: Mapping[str, Any]) -> list[str]:
    """Returns what a reader should know of a configuration that is otherwise right."""
    ignored = list(_ignored(content))
    numbers = [
        f"{place} ({value:g})"
        for place, argument in _arguments(content)
        for value in _numbers(argument)
        if not value.is_integer()
    ]
    found = []
    if ignored:
        names = ", ".join(dict.fromkeys(key for _, key in ignored))
        where = pluralize(len(ignored), "place")
        found.append(
            f"keys without a meaning here are ignored: {names} ({where}: {_some(ignored)})"
        )
    if numbers:
        found.append(
            "arguments of type int that are no integers are passed as they are, as PARAM "
            f"passes them: {_first(numbers)}"
        )
    return found


def _some(ignored: list[tuple[str, str]]) -> str:
    return _first(list(dict.fromkeys(f"{place}.{key}" for place, key in ignored)))


def _first(texts: list[str]) -> str:
    """Returns the first of the texts, and the number of the others."""
    more = len(texts) - SHOWN
    return ", ".join(texts[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _ignored(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the place and the name of each key that no reader reads."""
    for place, value, form in (*_configs(content), *_specs(content)):
        yield from ((place, key) for key in value if key not in _known(form))
    for place, argument in _arguments(content):
        known = {"type", *_known(TYPES.get(str(argument.get("type")), Typed))}
        yield from ((place, key) for key in argument if key not in known and key[:2] != MACRO)


def _known(form: type[Any]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(form)}


Part = tuple[str, Mapping[str, Any], type[Any]]
"""A part of a configuration: its place, its content and its form."""


def _configs(content: Mapping[str, Any]) -> Iterator[Part]:
    """Yields the operators of a configuration and their configs."""
    for name, entry in content.items():
        if isinstance(entry, Mapping):
            yield name, entry, Entry
            for number, config in enumerate(_listed(entry.get("config"))):
                yield f"{name}.config[{number}]", config, Config


def _specs(content: Mapping[str, Any]) -> Iterator[Part]:
    """Yields the specs that are of the usual form: those of an iterator or a data generator of
    another name may have any."""
    for place, config, form in _configs(content):
        if form is not Config:
            continue
        entry = content[place.rpartition(".config[")[0]]
        for role in ("build", "input"):
            names = entry.get(f"{role}_iterator"), entry.get(f"{role}_data_generator")
            if all(name is None or name in USUAL for name in names):
                for i, spec in enumerate(_listed(config.get(role))):
                    yield f"{place}.{role}[{i}]", spec, Spec


USUAL = (
    *("DefaultConfigIterator", "RangeConfigIterator"),
    *("PyTorch:DefaultDataGenerator", "PyTorch::DefaultDataGenerator"),
)
"""Iterators and data generators whose specs have the form of `Spec`. No set, as what a file has in
the place of a name may have no hash."""


def _arguments(content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the arguments of the specs, and those in lists, with their places."""
    for place, spec, _ in _specs(content):
        named = spec.get("kwargs")
        for i, argument in enumerate(_listed(spec.get("args"))):
            yield from _nested(f"{place}.args[{i}]", argument)
        for name, argument in (named if isinstance(named, Mapping) else {}).items():
            if isinstance(argument, Mapping):
                yield from _nested(f"{place}.kwargs.{name}", argument)


def _nested(place: str, argument: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields an argument, and those in it if it is a list."""
    yield place, argument
    if argument.get("type") in LISTS:
        for i, element in enumerate(_listed(argument.get("value"))):
            yield from _nested(f"{place}.value[{i}]", element)


def _listed(value: object) -> list[Mapping[str, Any]]:
    """Returns the objects of a list; empty for anything else, which its reader refuses."""
    return (
        [element for element in value if isinstance(element, Mapping)]
        if isinstance(value, list)
        else []
    )


def _numbers(argument: Mapping[str, Any]) -> list[float]:
    """Returns the numbers with a fraction that an argument of integers may have."""
    if argument.get("type") not in WHOLE:
        return []
    value = argument.get("value")
    return [
        number
        for number in (value if isinstance(value, list) else [value])
        if type(number) is float
    ]
