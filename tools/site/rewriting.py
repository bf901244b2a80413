"""Links and sections of pages, as the site has them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

OUTSIDE = {
    "README.md": "start.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages of files in the repository's root."""

FRAMEWORKS = ("PyTorch", "JAX", "MXNet", "NumPy")
"""Titles of sections that are tabs."""

LINK = re.compile(r"\]\((?!https?:|#)([^)\s#]+)")

BLOCK = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def lead_links(markdown: str, page: str) -> str:
    """Returns the text of a page, by its path in the site, with links to where the site has what
    they lead to in the repository."""
    own = {name: file for file, name in OUTSIDE.items()}
    folder = posixpath.dirname(own.get(page) or f"docs/{page}")

    def lead(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[1]))
        path = OUTSIDE.get(target) or target.removeprefix("docs/")
        return f"]({posixpath.relpath(path, posixpath.dirname(page) or '.')}"

    return LINK.sub(lead, markdown)


def name_links(markdown: str, titles: Mapping[str, str]) -> str:
    """Returns the text of a page, of which links that are named by a file are named by the title of
    its page; `titles` are those of files in docs/, by their names."""

    def name(match: re.Match[str]) -> str:
        return f"[{titles.get(match[1], match[0][1:-2])}]("

    return re.sub(r"\[(?:docs/)?([\w-]+\.md)\]\(", name, markdown)


def plain_pipes(markdown: str) -> str:
    """Returns the text of a page without the backslashes by which code hosts need `|` in the code
    of tables to be escaped, and which Python-Markdown shows."""

    def of_row(row: re.Match[str]) -> str:
        return re.sub(r"`[^`]*`", lambda code: code[0].replace(r"\|", "|"), row[0])

    return re.sub(r"^\|.*$", of_row, markdown, flags=re.MULTILINE)


def make_tabs(markdown: str) -> str:
    """Returns the text of a page, of which sections of frameworks are tabs."""
    # In a block of code, `#` begins no heading.
    parts = BLOCK.split(markdown)
    hidden = "".join(f"\0{place}\0" if place % 2 else part for place, part in enumerate(parts))

    def restore(text: str) -> str:
        return re.sub(r"\0(\d+)\0", lambda found: parts[int(found[1])], text)

    def tab(match: re.Match[str]) -> str:
        lines = restore(match[2]).splitlines()
        return f'=== "{match[1]}"\n' + "".join(f"    {line}".rstrip() + "\n" for line in lines)

    section = rf"^### ({'|'.join(FRAMEWORKS)})\n(.*?)(?=^#|\Z)"
    return restore(re.sub(section, tab, hidden, flags=re.MULTILINE | re.DOTALL))
