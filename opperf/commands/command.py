"""The context of all commands, and how their help is written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

HYPHEN, UNBROKEN = "-", "\N{NON-BREAKING HYPHEN}"
"""Click ends lines at the first and not at the second."""


class Formatter(click.HelpFormatter):
    """Writes help whose lines end between words, and not within `--max-configs`."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace(HYPHEN, UNBROKEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], *args: Any, **more: Any) -> None:
        unbroken = [(first, second.replace(HYPHEN, UNBROKEN)) for first, second in rows]
        super().write_dl(unbroken, *args, **more)

    def getvalue(self) -> str:
        return super().getvalue().replace(UNBROKEN, HYPHEN)


class Context(click.Context):
    """A command's context, with the formatter of its help."""

    formatter_class = Formatter
