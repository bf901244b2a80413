"""The parts of a program that are observed without changing it, as options and files name them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

from opperf.errors import UsageError, unknown
from opperf.matching import BoundedPattern

Kind = Literal["loader", "optimizer", "function", "line"]

KINDS: tuple[Kind, ...] = get_args(Kind)

GROUPS = ("rate", "loss", "step")
"""Named groups that a pattern may have."""

FORMS: dict[Kind, str] = {
    "loader": "loader:MODULE:NAME",
    "optimizer": "optimizer",
    "function": "function:MODULE:NAME",
    "line": "line:PATTERN",
}


class Part(NamedTuple):
    """A part of a program that is observed."""

    kind: Kind
    module: str = ""
    """`main` for the script."""
    name: str = ""
    """Name in the module, with attributes: `loader`, `Trainer.step`."""
    pattern: BoundedPattern | None = None
    """Of lines that the program prints."""


def parse_part(text: str) -> Part:
    """Returns the part that a text names. Raises `UsageError`."""
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        raise unknown("part of a program", kind, FORMS.values())
    if kind == "line":
        return Part("line", pattern=_parse_pattern(text, rest))
    module, colon, name = rest.partition(":")
    if (kind == "optimizer") if rest else (kind != "optimizer"):
        raise UsageError(f"{text!r} is not of the form {FORMS[kind]}")
    if rest and not (colon and _is_dotted(module) and _is_dotted(name)):
        raise UsageError(f"{text!r} is not of the form {FORMS[kind]}, with names of Python")
    return Part(kind, module, name)


def parse_parts(texts: Iterable[str]) -> tuple[Part, ...]:
    """Returns the parts that texts name. Raises `UsageError`."""
    return tuple(map(parse_part, texts))


def _is_dotted(text: str) -> bool:
    return all(map(str.isidentifier, text.split(".")))


def _parse_pattern(text: str, pattern: str) -> BoundedPattern:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{text!r} is not a regular expression: {error}") from None
    if not pattern:
        raise UsageError(f"{text!r} is not of the form {FORMS['line']}")
    for group in compiled.groupindex:
        if group not in GROUPS:
            raise unknown("group of a pattern", group, GROUPS)
    return BoundedPattern(compiled)
