"""Values of suite files, each with the place that it is from, and how they are merged: mappings
deeply, lists replaced, with `{append: [...]}` and `!delete`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from opperf.errors import UsageError
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
    """Returns the elements of `{append: [...]}`, None of another value."""
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
