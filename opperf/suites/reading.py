"""Reading of YAML, with the file and the line of each value."""

from __future__ import annotations

import os
from typing import Any

from opperf import reading
from opperf.decoding import composed_yaml
from opperf.errors import UsageError, one_line
from opperf.extras import load_extra
from opperf.suites.bench import Location
from opperf.suites.nodes import DELETED, MERGED_IN_PLACE, Node, expand_dots, merge

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
        """Returns the mappings that a key merges."""
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
