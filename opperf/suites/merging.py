"""Merging of values: mappings deeply, lists replaced, with `{append: [...]}` and `!delete`."""

from __future__ import annotations

from opperf.errors import UsageError
from opperf.suites.nodes import DELETED, Node

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
