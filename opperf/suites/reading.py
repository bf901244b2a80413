"""Reading of YAML, with the file and the line of each value, and how values are merged: mappings
deeply, lists replaced, with `{append: [...]}` and `!delete`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from opperf import reading
from opperf.decoding import composed_yaml
from opperf.errors import UsageError, one_line
from opperf.extras import load_extra
from opperf.suites.bench import Location


class Deleted:
    """The type of `DELETED`."""

    def __repr__(self) -> str:
        return "!delete"


DELETED = Deleted()
"""The content of a value that `!delete` removes."""


class Node(msgspec.Struct, frozen=True, gc=False):
    """A value of a file: a number, a text, a truth value, None, `DELETED`, or a list or a mapping
    of nodes."""

    content: Any
    at: Location

    def plain(self) -> Any:
        """Returns the value without places, as YAML's types."""
        if isinstance(self.content, dict):
            return {key: node.plain() for key, node in self.content.items()}
        if isinstance(self.content, list):
            return [node.plain() for node in self.content]
        return self.content

    def entries(self) -> dict[str, Node]:
        """Returns the values of a mapping by their keys, none of what is no mapping."""
        return self.content if isinstance(self.content, dict) else {}

    def elements(self) -> list[Node]:
        """Returns the values of a list, none of what is no list."""
        return self.content if isinstance(self.content, list) else []

    def listed(self) -> list[Node]:
        """Returns the values of a list, and any other value as the only one."""
        return self.content if isinstance(self.content, list) else [self]


def locations(node: Node, path: str = "") -> Iterator[tuple[str, Location]]:
    """Yields the path of keys of a mapping's values, at any depth, and where each is from."""
    for key, value in node.entries().items():
        whole = f"{path}.{key}" if path else key
        yield whole, value.at
        yield from locations(value, whole)


def placed(value: Any, at: Location) -> Node:
    """Returns a plain value, and all in it, at a place."""
    if isinstance(value, dict):
        return Node({key: placed(element, at) for key, element in value.items()}, at)
    if isinstance(value, list):
        return Node([placed(element, at) for element in value], at)
    return Node(value, at)


NOT_IN_NAMES = re.compile(r"[/\\\0\n]")
"""Characters that the name of a file cannot have."""


def is_file_name(name: str) -> bool:
    """Returns whether what is called so can have files of its name."""
    return bool(name.strip()) and not NOT_IN_NAMES.search(name)


def kind_of(node: Node) -> str:
    """Returns what a value is, for messages."""
    content = node.content
    if isinstance(content, dict):
        return "a mapping"
    if isinstance(content, list):
        return "a list" if content else "an empty list"
    return "empty" if content is None else repr(content)


APPEND = "append"
"""The only key of a mapping whose list is added to a list."""

MERGED_IN_PLACE = "<<<"
"""Key of a mapping whose entries are merged where it is."""


def merge(first: Node, second: Node) -> Node:
    """Returns the value of `second` over `first`. Raises `UsageError` for a list and a mapping."""
    if first.content is DELETED or second.content is DELETED:
        return second
    appended = _appended(second)
    if appended is not None:
        before = first.content if isinstance(first.content, list) else _appended(first)
        if before is not None:
            both = [*before, *appended]
            is_list = isinstance(first.content, list)
            return Node(both if is_list else {APPEND: Node(both, second.at)}, second.at)
    if isinstance(first.content, dict) and isinstance(second.content, dict):
        entries = dict(first.content)
        for key, value in second.content.items():
            entries[key] = merge(entries[key], value) if key in entries else value
        return Node(entries, second.at)
    if isinstance(first.content, list) and isinstance(second.content, dict):
        raise UsageError(
            f"{second.at}: a mapping cannot be merged with the list of {first.at}; write a list, "
            f"or {{{APPEND}: [...]}}"
        )
    return second


def _appended(node: Node) -> list[Node] | None:
    entries = node.entries()
    if set(entries) != {APPEND} or not isinstance(entries[APPEND].content, list):
        return None
    return entries[APPEND].elements()


def settle(node: Node) -> Node:
    """Returns the value without what is deleted, and lists for what is added to nothing."""
    appended = _appended(node)
    if appended is not None:
        return settle(Node(appended, node.at))
    if isinstance(node.content, dict):
        kept = {
            key: settle(value)
            for key, value in node.content.items()
            if value.content is not DELETED
        }
        return Node(kept, node.at)
    if isinstance(node.content, list):
        return Node(
            [settle(element) for element in node.content if element.content is not DELETED], node.at
        )
    return node


def expand_dots(node: Node) -> Node:
    """Returns a mapping in which a key `a.b.c` is the key `c` of `b` of `a`."""
    found = Node({}, node.at)
    for key, value in node.entries().items():
        first, _, rest = key.partition(".")
        inner = value
        if rest:
            inner = expand_dots(Node({rest: value}, value.at))
        found = merge(found, Node({first: inner}, node.at))
    return found


DELETE, EXPAND_DOT = "!delete", "!expand-dot"

STANDARD = "tag:yaml.org,2002:"
"""Begin of the tags of YAML's own types."""

MERGE, TIMESTAMP, BINARY = f"{STANDARD}merge", f"{STANDARD}timestamp", f"{STANDARD}binary"

INCLUDE = "include"

MOST_INCLUDES = 100
"""Files that one after the other includes."""


def import_yaml() -> Any:
    """Returns PyYAML. Raises `UsageError` without it."""
    return load_extra("yaml", "a suite")


def read_text(path: str, at: str = "") -> str:
    """Returns the text of a file. Raises `UsageError`, with the place that names it, if it cannot
    be read."""
    whose = f"{at}: " if at else ""
    try:
        return reading.read_text(path)
    except OSError as error:
        raise UsageError(f"{whose}{path}: it cannot be read: {error.strerror}") from error
    except ValueError as error:
        # Also a path with a null character.
        raise UsageError(f"{whose}{path}: it is no text in UTF-8") from error


def parse(text: str, file: str) -> Node:
    """Returns the content of a file. Raises `UsageError`, with the line, for what is no YAML."""
    yaml = import_yaml()
    try:
        with composed_yaml(text) as (loader, root):
            if root is None:
                raise UsageError(f"{file}: it is empty")
            return _Reading(yaml, loader, file).read(root, "", root.start_mark.line + 1)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        at = f"{file}:{mark.line + 1}" if mark else file
        problem = getattr(error, "problem", "") or getattr(error, "reason", "") or str(error)
        raise UsageError(f"{at}: no YAML: {one_line(problem)}") from error


class _Reading:
    """Makes the nodes of a file."""

    def __init__(self, yaml: Any, loader: Any, file: str) -> None:
        self._yaml, self._loader, self._file = yaml, loader, file

    def read(self, node: Any, path: str, line: int) -> Node:
        at = Location(self._file, line, path)
        if node.tag == DELETE:
            return Node(DELETED, at)
        if isinstance(node, self._yaml.ScalarNode):
            return Node(self._scalar(node, at), at)
        if node.tag not in (f"{STANDARD}map", f"{STANDARD}seq", EXPAND_DOT):
            raise UsageError(f"{at}: unknown tag {node.tag}; known: {DELETE}, {EXPAND_DOT}")
        if isinstance(node, self._yaml.MappingNode):
            return self._mapping(node, path, at)
        elements = [
            self.read(element, f"{path}.{index}", element.start_mark.line + 1)
            for index, element in enumerate(node.value)
        ]
        return Node(elements, at)

    def _scalar(self, node: Any, at: Location) -> Any:
        if node.tag in (f"{STANDARD}str", TIMESTAMP, MERGE, f"{STANDARD}value"):
            # A date is what a program takes as text.
            return node.value
        if not node.tag.startswith(STANDARD) or node.tag == BINARY:
            raise UsageError(f"{at}: unknown tag {node.tag}; known: {DELETE}, {EXPAND_DOT}")
        try:
            return self._loader.construct_object(node)
        except ValueError as error:
            raise UsageError(f"{at}: {one_line(str(error))}") from error

    def _mapping(self, node: Any, path: str, at: Location) -> Node:
        first: dict[str, int] = {}
        found = Node({}, at)
        below: dict[str, Node] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, self._yaml.ScalarNode):
                raise UsageError(f"{Location(self._file, line, path)}: a key that is no text")
            key = key_node.value
            place = f"{path}.{key}" if path else key
            if key in first:
                twice = Location(self._file, line, place)
                raise UsageError(f"{twice}: it is there twice; first on line {first[key]}")
            first[key] = line
            is_merge = key_node.tag == MERGE
            in_place = is_merge or key == MERGED_IN_PLACE
            value = self.read(value_node, path if in_place else place, line)
            if is_merge:
                for entries in reversed(self._merged(value)):
                    below.update(entries)
            elif key == MERGED_IN_PLACE:
                for entries in self._merged(value):
                    found = merge(found, Node(entries, value.at))
            else:
                found = merge(found, Node({key: value}, at))
        if below:
            found = Node({**below, **found.entries()}, at)
        return expand_dots(found) if node.tag == EXPAND_DOT else found

    @staticmethod
    def _merged(value: Node) -> list[dict[str, Node]]:
        found = value.elements() or [value]
        for element in found:
            if not isinstance(element.content, dict):
                raise UsageError(f"{value.at}: only mappings can be merged")
        return [element.entries() for element in found]


class Files:
    """The entries of suite files and of what they include, merged."""

    def __init__(self) -> None:
        self.root: dict[str, Node] = {}
        self.paths: list[str] = []
        """Of the files that were read, each once."""

    def add(self, path: str, at: str = "", chain: tuple[str, ...] = ()) -> None:
        """Reads a file, after what it includes. Raises `UsageError` for what cannot be read, and
        for files that include each other."""
        same = os.path.realpath(path)
        around = [os.path.realpath(element) for element in chain]
        if same in around:
            names = " includes ".join((*chain[around.index(same) :], path))
            raise UsageError(f"{at}: files include each other: {names}")
        if len(chain) > MOST_INCLUDES:
            raise UsageError(f"{at}: files include each other more than {MOST_INCLUDES} times")
        if same in map(os.path.realpath, self.paths):
            # What another file has changed since stays changed.
            return
        content = parse(read_text(path, at), path)
        if not isinstance(content.content, dict):
            raise UsageError(f"{path}:{content.at.line}: a suite is a mapping of benches by name")
        entries = dict(content.entries())
        for element in _included(entries.pop(INCLUDE, None)):
            folder = os.path.dirname(path)  # noqa: PTH120
            # As it is written below the folder, without links resolved.
            below = os.path.normpath(os.path.join(folder, os.path.expanduser(element.content)))  # noqa: PTH111, PTH118
            self.add(below, str(element.at), (*chain, path))
        self.paths.append(path)
        for name, entry in entries.items():
            before = self.root.get(name)
            self.root[name] = entry if before is None else merge(before, entry)


def _included(node: Node | None) -> list[Node]:
    if node is None or node.content is None:
        return []
    found = node.listed()
    for element in found:
        if not isinstance(element.content, str):
            raise UsageError(f"{element.at}: a path, or a list of paths, is included")
    return found
