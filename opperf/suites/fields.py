"""Values of a bench as their types: a value of another type is an error with its place."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from opperf.errors import UsageError, suggest
from opperf.suites.nodes import Node, kind_of

T = TypeVar("T")

DURATION = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|min|m|h|d)?\s*")

SECONDS = {None: 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}

MISSPELT = 0.8
"""Similarity, by `difflib`, from which an unknown key is one that is misspelt: `wieght`."""


def wrong(node: Node, expected: str) -> UsageError:
    """The error for a value that is not what is expected."""
    return UsageError(f"{node.at}: {expected} is expected, and this is {kind_of(node)}")


def text(node: Node) -> str:
    """Returns a text, or a number as one."""
    if isinstance(node.content, bool) or not isinstance(node.content, (str, int, float)):
        raise wrong(node, "text")
    return str(node.content)


def texts(node: Node) -> tuple[str, ...]:
    """Returns the texts of a list, or of the only one; none of an empty value."""
    if node.content is None:
        return ()
    return tuple(map(text, node.listed()))


def flag(node: Node) -> bool:
    """Returns a truth value."""
    if not isinstance(node.content, bool):
        raise wrong(node, "true or false")
    return node.content


def number(node: Node) -> float:
    """Returns a number of at least 0."""
    content = node.content
    if isinstance(content, str):
        # YAML takes 1e-3 for a text.
        try:
            content = float(content)
        except ValueError:
            content = None
    if isinstance(content, bool) or not isinstance(content, (int, float)):
        raise wrong(node, "a number")
    if not 0 <= content < math.inf:
        raise wrong(node, "a finite number of at least 0")
    return float(content)


def count(node: Node) -> int:
    """Returns an integer of at least 1."""
    return integer(node, 1)


def integer(node: Node, least: int = 0) -> int:
    """Returns an integer of at least 0, or of another one."""
    if isinstance(node.content, bool) or not isinstance(node.content, int) or node.content < least:
        raise wrong(node, f"an integer of at least {least}")
    return node.content


def share(node: Node) -> float | None:
    """Returns a number from 0 to 1; None of an empty value."""
    if node.content is None:
        return None
    found = number(node)
    if found > 1:
        raise wrong(node, "a share from 0 to 1")
    return found


def seconds(node: Node) -> float | None:
    """Returns a duration in seconds, of a number or of a text like `90s`, `10min` or `1.5h`; None
    of an empty value."""
    content = node.content
    if content is None or content == math.inf:
        return None
    if isinstance(content, str):
        match = DURATION.fullmatch(content)
        content = float(match[1]) * SECONDS[match[2]] if match else None
    if isinstance(content, bool) or not isinstance(content, (int, float)) or not content > 0:
        raise wrong(node, "a duration above 0 (600, 90s, 10min, 1.5h)")
    return float(content)


def mapping(node: Node) -> dict[str, Node]:
    """Returns the values of a mapping; none of an empty value."""
    if node.content is None:
        return {}
    if not isinstance(node.content, dict):
        raise wrong(node, "a mapping")
    return node.content


def check_keys(entries: Mapping[str, Node], known: Iterable[str]) -> None:
    """Raises `UsageError` for a key that is not known."""
    listed = list(known)
    for key, node in entries.items():
        if key not in listed:
            raise UsageError(
                f"{node.at}: unknown key {key}{suggest(key, listed)}; known: {', '.join(listed)}"
            )


def check_spelling(entries: Mapping[str, Node], known: Iterable[str]) -> None:
    """Raises `UsageError` for a key that misspells a known one. Others are a program's own."""
    listed = list(known)
    for key, node in entries.items():
        near = () if key in listed else difflib.get_close_matches(key, listed, 1, MISSPELT)
        for other in near:
            raise UsageError(f"{node.at}: unknown key {key}; did you mean {other}?")


def read(entries: Mapping[str, Node], key: str, reader: Callable[[Node], T], default: T) -> T:
    """Returns a key's value by its reader, and the default without the key."""
    return reader(entries[key]) if key in entries else default


def inner(entries: Mapping[str, Node], key: str) -> dict[str, Node]:
    """Returns the values of the mapping of a key; none without the key."""
    return mapping(entries[key]) if key in entries else {}


def plain(entries: Mapping[str, Node], without: Iterable[str]) -> dict[str, Any]:
    """Returns the values of the other keys, without places."""
    used = set(without)
    return {key: node.plain() for key, node in entries.items() if key not in used}
