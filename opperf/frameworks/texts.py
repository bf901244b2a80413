"""Forms of the texts of a tensor: words of letters, identifiers, numbers, lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opperf.model import TensorSpec

LETTERS = (
    "eeeeeeeeeeeetttttttttaaaaaaaaooooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrrddddllll"
    "cccuuummwwffggyyppbvk"
)
"""Letters about as often as in a hundred of an English text."""


class Text(NamedTuple):
    """The form of texts."""

    wholes: tuple[str, ...] = ("{}",)
    """Texts in turn, with `{}` for their words."""
    letters: str = LETTERS
    """Characters of words, each as likely as it is often here."""
    case: str = "lower"
    """The method of a text that gives its letters their case."""
    between: str = " "


TEXTS: Mapping[str, Text] = {
    "words": Text(),
    "files": Text(("{}/data.csv",), between="/"),
    "formats": Text(("%d {}",)),
    "cells": Text(("  {}  ",)),
    "columns": Text(between="\t"),
    "lines": Text(between="\n"),
    # Half of each are of another kind, which their end tells.
    "identifiers": Text(("{}", "{}_X"), between=""),
    "names": Text(("{}", "{} x"), case="title"),
    "headings": Text(("{}", "{} x"), case="upper"),
    "numbers": Text(("{}", "{}.5"), "0123456789", between=""),
    "blanks": Text(("{}", "{}-"), " \t"),
}
"""Forms of texts by name."""

DISTINCT = 4096
"""Different texts of a tensor: more characters than the nearest cache holds."""


def text_values(spec: TensorSpec) -> dict[str, Any]:
    """Returns what the code that draws a tensor's texts has of its form."""
    form = TEXTS[spec.fill.data]
    return {**form._asdict(), "distinct": DISTINCT, "words": int(spec.fill.high)}
