"""Schemas of PyTorch's operators as their text: `aten::add.Tensor(Tensor self, Tensor other, *,
Scalar alpha=1) -> Tensor`."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

HEAD = re.compile(r"(?P<namespace>\w+)::(?P<name>\w+)(?:\.(?P<overload>\w+))?\s*\(")
OPENING, CLOSING = "([", ")]"


class SchemaParameter(NamedTuple):
    """A parameter as a schema declares it."""

    name: str
    type: str
    """As it is written: `Tensor(a!)`, `int[2]`, `ScalarType?`."""
    default: str | None
    """As it is written; None without one."""
    keyword_only: bool = False


class Schema(NamedTuple):
    """An operator's schema."""

    path: str
    """Namespace and name, as `aten.add`."""
    overload: str
    """`default` if it has no name."""
    parameters: tuple[SchemaParameter, ...]


@functools.lru_cache(maxsize=4096)
def parse_schema(text: str) -> Schema | None:
    """Returns the schema of a text; None if it is none."""
    head = HEAD.match(text)
    if head is None:
        return None
    parameters = []
    keyword_only = False
    for part in split_outer(text[head.end() : _closing(text, head.end())]):
        if part == "*":
            keyword_only = True
            continue
        declared, equals, default = part.partition("=")
        words = declared.rsplit(None, 1)
        if len(words) < 2 or not words[1].isidentifier():
            return None
        kind, name = words
        parameters.append(SchemaParameter(name, kind, default if equals else None, keyword_only))
    path = f"{head['namespace']}.{head['name']}"
    return Schema(path, head["overload"] or "default", tuple(parameters))


def _closing(text: str, start: int) -> int:
    """Returns the index of the bracket that closes the one before `start`."""
    depth = 1
    for index in range(start, len(text)):
        depth += (text[index] in OPENING) - (text[index] in CLOSING)
        if not depth:
            return index
    return len(text)


def split_outer(text: str) -> list[str]:
    """Returns the parts between the commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character in OPENING) - (character in CLOSING)
        if character == "," and not depth:
            parts.append(text[start:index].strip())
            start = index + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts
