"""Parts of Markdown pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tabulate import tabulate


def grid(titles: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 4) -> str:
    """A Markdown table; columns after the first `text_columns` hold numbers, aligned to the
    right."""
    table: str = tabulate(
        [[_escape(cell) for cell in row] for row in rows],
        headers=[" ".join(title.split()) for title in titles],
        tablefmt="pipe",
        disable_numparse=True,
        colalign=["left" if i < text_columns else "right" for i in range(len(titles))],
    )
    return table


def _escape(text: str) -> str:
    """Escapes text for a cell: newlines, bars and backslashes."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())
