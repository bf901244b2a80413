"""The part of the package's metadata that depends on whether its repository has an address.

An index shows the README, where links to other files of the repository lead nowhere. With the
address in `OPPERF_REPOSITORY` they become links to it, and the package has project URLs; without,
a link becomes its text with the path of the file in the source distribution, and an image its
description. All else is in `pyproject.toml`.
"""

import os
import re
from pathlib import Path

from setuptools import setup

REPOSITORY = os.environ.get("OPPERF_REPOSITORY", "").rstrip("/")

README = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")

PATH = r"(?!https?:|mailto:|[#])[^)\s#\"]+"

PIECES = re.compile(
    rf"""
    (?P<code> ^```.*?^```$ | `[^`\n]*` )
    | (?P<image> !\[ (?P<description>[^\]]*) \]\( (?P<source>{PATH}) \) )
    | (?P<tag> <img\b [^>]*? \bsrc=" (?P<src>{PATH}) " [^>]*? \balt="(?P<alt>[^"]*)" [^>]*> )
    | \[ (?P<text> !\[[^\]]*\]\([^)]*\) | [^\]]* ) \]\( (?P<path>{PATH}) (?P<part>[#][^)\s]*)? \)
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
"""Code, which stays as it is; images of the repository, of Markdown and HTML; links to its files,
whose text may be code or an image."""


def index_piece(piece: "re.Match[str]") -> str:
    """Returns what an index shows for a piece of the README."""
    if piece["code"]:
        return piece[0]
    if piece["image"] or piece["tag"]:
        source = piece["source"] or piece["src"]
        if not REPOSITORY:
            return piece["description"] or piece["alt"] or ""
        start, end = (
            place - piece.start() for place in piece.span("source" if piece["image"] else "src")
        )
        return f"{piece[0][:start]}{REPOSITORY}/raw/HEAD/{source}{piece[0][end:]}"
    text, path = index_readme(piece["text"]), piece["path"]
    if REPOSITORY:
        return f"[{text}]({REPOSITORY}/blob/HEAD/{path}{piece['part'] or ''})"
    return text if text == path else f"{text} (`{path}`)"


def index_readme(readme: str) -> str:
    """Returns the README as an index shows it."""
    return PIECES.sub(index_piece, readme)


setup(
    long_description=index_readme(README),
    long_description_content_type="text/markdown",
    project_urls={
        name: f"{REPOSITORY}{path}"
        for name, path in {
            "Repository": "",
            "Changelog": "/blob/HEAD/CHANGELOG.md",
            "Documentation": "/blob/HEAD/docs/index.md",
        }.items()
        if REPOSITORY
    },
)
