"""Values of suite files, each with the place that it is from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

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


def locations(node: Node, path: str = "") -> Iterator[tuple[str, Location]]:
    """Yields the path of keys of a mapping's values, at any depth, and where each is from."""
    for key, value in node.entries().items():
        whole = f"{path}.{key}" if path else key
        yield whole, value.at
        yield from locations(value, whole)


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
