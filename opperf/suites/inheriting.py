"""Inheritance of entries from templates and from `*`; values that the environment and the
command line set: `resnet50.argv.--lr=0.1`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from opperf.errors import UsageError, suggest
from opperf.suites.bench import Location
from opperf.suites.placeholders import PLACEHOLDER
from opperf.suites.reading import DELETED, Node, kind_of, merge, parse, placed, settle
from opperf.suites.system import PREFIX, SPELLINGS, SYSTEM

INHERITS, TAGS, EVERY = "inherits", "tags", "*"


class Inherited(NamedTuple):
    """An entry with all that it inherits."""

    node: Node
    templates: tuple[str, ...] = ()
    """Names that it inherits from, the nearest first."""


class Inheritance:
    """The entries of a suite, each with all that it inherits; those of a name that was looked up
    before are kept."""

    def __init__(self, entries: Mapping[str, Node], origins: Mapping[str, str]) -> None:
        self._entries = entries
        self._matrices = set(origins.values())
        self._found: dict[str, Inherited] = {}

    def names(self) -> list[str]:
        """Returns the names of all entries, those of templates too."""
        return [name for name in self._entries if name != EVERY]

    def has(self, name: str) -> bool:
        """Returns whether there is an entry of this name."""
        return name in self._entries

    def settled(self, name: str) -> Inherited:
        """Returns an entry with what it inherits and, over that, what `*` gives all. Raises
        `UsageError` for an unknown template, and for templates that inherit from each other."""
        found = self._resolve(name)
        every = self._entries.get(EVERY)
        node = found.node if every is None else _over(found.node, every)
        return Inherited(settle(node), found.templates)

    def _resolve(self, name: str) -> Inherited:
        # Without recursion: templates may inherit from templates at any depth.
        chain = [name]
        while chain[-1] not in self._found:
            parent = self._entries[chain[-1]].entries().get(INHERITS)
            if parent is None or parent.content in (None, DELETED):
                break
            chain.append(self._template(parent, chain))
        above: Inherited | None = None
        for template, current in zip([*chain[1:], ""][::-1], chain[::-1], strict=True):
            if current not in self._found:
                entry = self._entries[current]
                own = Node({k: v for k, v in entry.entries().items() if k != INHERITS}, entry.at)
                self._found[current] = (
                    Inherited(own)
                    if above is None
                    else Inherited(_over(above.node, own), (template, *above.templates))
                )
            above = self._found[current]
        return self._found[name]

    def _template(self, node: Node, chain: Sequence[str]) -> str:
        name = node.content
        if not isinstance(name, str):
            raise UsageError(f"{node.at}: the name of a template, and this is {kind_of(node)}")
        if name in chain:
            names = " inherits from ".join((*chain[chain.index(name) :], name))
            raise UsageError(f"{node.at}: inheritance has a cycle: {names}")
        if name in self._matrices and name not in self._entries:
            raise UsageError(f"{node.at}: {name} is a matrix; inherit from one of its jobs")
        if name not in self._entries or name == EVERY:
            raise UsageError(f"{node.at}: unknown template {name}{suggest(name, self.names())}")
        return name


def _over(first: Node, second: Node) -> Node:
    merged = merge(first, second)
    above, own = first.entries().get(TAGS), second.entries().get(TAGS)
    if above is None or own is None or own.content is DELETED or above.content is DELETED:
        return merged
    return Node({**merged.entries(), TAGS: _union(above, own)}, merged.at)


def _union(first: Node, second: Node) -> Node:
    texts: dict[str, Location] = {}
    for node in (*tags_of(first), *tags_of(second)):
        texts.setdefault(node.content, node.at)
    return Node([Node(text, texts[text]) for text in sorted(texts)], second.at)


def tags_of(node: Node) -> list[Node]:
    """Returns the tags of a value: a list of them, one, or `{append: [...]}`. Raises `UsageError`
    for another."""
    settled = settle(node)
    found = [settled] if isinstance(settled.content, str) else settled.elements()
    if settled.content is not None and not found and settled.content != []:
        raise UsageError(f"{node.at}: tags are a list of words, and this is {kind_of(settled)}")
    for element in found:
        if not isinstance(element.content, str):
            raise UsageError(f"{element.at}: a tag is a word, and this is {kind_of(element)}")
    return found


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
        path, equals, value = text.partition("=")
        path = path.strip()
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


def _named(text: str, path: str, names: Sequence[str]) -> tuple[str, str]:
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


def of_environment(variables: Mapping[str, str], inheritance: Inheritance) -> Iterator[Override]:
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
    for name in inheritance.names():
        for path in _paths(inheritance.settled(name).node):
            text = given.get(_as_variable(f"{name}.{path}"))
            if text is not None:
                variable = PREFIX + _as_variable(f"{name}.{path}")
                made = _value(text or "''", variable).plain()
                yield Override(name, path, placed(made, Location(variable, 0, f"{name}.{path}")))


def _as_variable(path: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", path.upper())


def _paths(node: Node, path: str = "") -> Iterator[str]:
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
