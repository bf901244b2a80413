"""Markdown of texts and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def escape(text: str) -> str:
    """Returns a text of which nothing but its code in backticks is markup."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(
        part.replace("|", r"\|") if index % 2 else re.sub(r"([*_\[\]<>|\\`#])", r"\\\1", part)
        for index, part in enumerate(parts)
    )


def code(text: str) -> str:
    """Returns a text as code in a cell of a table; none for an empty one."""
    return f"`{text.replace('|', chr(92) + '|')}`" if text else ""


def codes(texts: Iterable[str]) -> str:
    """Returns texts as code, with commas."""
    return ", ".join(map(code, texts))


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table, of cells that are Markdown already."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def fence(language: str, text: str) -> str:
    """Returns a block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"
