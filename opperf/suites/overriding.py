"""Values that the environment and the command line set: `resnet50.argv.--lr=0.1`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from opperf.errors import UsageError, suggest
from opperf.suites.bench import Location
from opperf.suites.nodes import Node, merge, placed
from opperf.suites.placeholders import PLACEHOLDER
from opperf.suites.reading import parse
from opperf.suites.system import PREFIX, SPELLINGS, SYSTEM

OPTION = "--override"


class Override(NamedTuple):
    """A value that is set for the entries of a name or glob."""

    entry: str
    path: str
    value: Node


def read_overrides(
    texts: Iterable[str], entries: Mapping[str, Node], origins: Mapping[str, str]
) -> Iterator[Override]:
    """Yields the overrides of a command line, `NAME.key.key=VALUE`, whose values are YAML. A name
    is that of a bench, a template or a matrix, `system`, or a glob. Raises `UsageError` for an
    unknown name, and for what is no assignment."""
    names = [*entries, *origins.values(), SYSTEM]
    for text in texts:
        path, equals, value = _split(text)
        if not equals or not path:
            raise UsageError(
                f"{OPTION} {text}: write NAME.KEY=VALUE, such as '*.voir.options.stop=10'"
            )
        entry, rest = _named(text, path, names)
        made = _value(value, f"{OPTION} {text}").plain()
        yield Override(entry, rest, placed(made, Location(OPTION, 0, path)))


def _value(text: str, name: str) -> Node:
    """Returns a value: YAML, but for a placeholder alone, which YAML takes for a mapping."""
    if PLACEHOLDER.fullmatch(text):
        return Node(text, Location(name, 0))
    if not text.strip():
        return Node(None, Location(name, 0))
    try:
        return parse(text, name)
    except UsageError as error:
        # Without the line, of which there is one.
        raise UsageError(f"{name}: {text!r} is no value in YAML; quote it") from error


def _split(text: str) -> tuple[str, str, str]:
    """Returns the path, the equals sign and the value: the first equals sign ends the path."""
    path, equals, value = text.partition("=")
    return path.strip(), equals, value


def _named(text: str, path: str, names: Sequence[str]) -> tuple[str, str]:
    """Returns the name or glob that a path begins with, and the rest."""
    words = path.split(".")
    # A name may have dots: the longest that there is.
    for end in range(len(words) - 1, 0, -1):
        name = ".".join(words[:end])
        if any(fnmatchcase(element, name) for element in names):
            return name, ".".join(words[end:])
    hint = suggest(words[0], names)
    if len(words) == 1:
        raise UsageError(f"{OPTION} {text}: it sets all of {path}; name a key: {path}.KEY=VALUE")
    raise UsageError(f"{OPTION} {text}: there is no {words[0]}{hint}; * is for all benches")


def of_environment(variables: Mapping[str, str], entries: Mapping[str, Node]) -> Iterator[Override]:
    """Yields what the environment sets: `MILABENCH_RESNET50_ARGV_LR` for a key that `resnet50` has,
    in which other characters than letters and digits are `_`."""
    options = {_as_variable(path) for path in SPELLINGS}
    given = {
        name.removeprefix(PREFIX): text
        for name, text in variables.items()
        if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in options
    }
    if not given:
        return
    for name, entry in entries.items():
        for path in _paths(entry):
            text = given.get(_as_variable(f"{name}.{path}"))
            if text is not None:
                variable = PREFIX + _as_variable(f"{name}.{path}")
                made = _value(text or "''", variable).plain()
                yield Override(name, path, placed(made, Location(variable, 0, f"{name}.{path}")))


def _as_variable(path: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", path.upper())


def _paths(node: Node, path: str = "") -> Iterator[str]:
    """Yields the paths of the values below an entry that are no mappings."""
    for key, value in node.entries().items():
        whole = f"{path}.{key}" if path else key
        if isinstance(value.content, dict):
            yield from _paths(value, whole)
        else:
            yield whole


def apply(node: Node, overrides: Iterable[Override], *names: str) -> Node:
    """Returns an entry with the values that are set for one of its names."""
    for override in overrides:
        if any(fnmatchcase(name, override.entry) for name in names if name):
            node = merge(node, _nested(node, override.path, override.value))
    return node


def _nested(node: Node, path: str, value: Node) -> Node:
    """Returns mappings around a value for a path. Its keys have dots where those of `node` have."""
    words = path.split(".")
    entries = node.entries()
    for end in range(len(words), 0, -1):
        key = ".".join(words[:end])
        if key in entries or end == 1:
            rest = ".".join(words[end:])
            if not rest:
                return Node({key: value}, value.at)
            inner = entries.get(key, Node({}, value.at))
            return Node({key: _nested(inner, rest, value)}, value.at)
    raise AssertionError(path)
