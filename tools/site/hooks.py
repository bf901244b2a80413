"""Hooks of MkDocs: the pages of the program's tables, and of files outside of docs/."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# MkDocs is a command of its own, on whose path the repository is not.
sys.path.insert(0, str(ROOT))

from mkdocs.structure.files import File, Files  # noqa: E402

from tools.site.reference import pages  # noqa: E402
from tools.site.rewriting import OUTSIDE, lead_links, make_tabs, name_links, plain_pipes  # noqa: E402

TITLES = {
    path.name: path.read_text().partition("\n")[0].removeprefix("# ")
    for path in (ROOT / "docs").glob("*.md")
}


def on_config(config: Any) -> None:
    """Adds the reference to the navigation."""
    made = [{title: path} for path, (title, _) in pages().items()]
    commands = [entry for entry in made if "/commands/" in next(iter(entry.values()))]
    (group,) = (entry for entry in config.nav if "Reference" in entry)
    others = [entry for entry in made if entry not in commands]
    group["Reference"] = [{"Commands": commands}, *others]


def on_files(files: Files, config: Any) -> None:
    """Adds the pages that are not in docs/."""
    texts = {path: text for path, (_, text) in pages().items()}
    texts |= {page: (ROOT / path).read_text() for path, page in OUTSIDE.items()}
    for path, text in texts.items():
        files.append(File.generated(config, path, content=text))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Leads and names links to pages of the site; makes tabs of sections of tasks."""
    path = page.file.src_uri
    found = plain_pipes(lead_links(name_links(markdown, TITLES), path))
    return make_tabs(found) if path.startswith("tasks/") else found


def on_post_page(output: str, **_: Any) -> str:
    """Gives the theme's dialog of the search a name, for readers of the screen."""
    return output.replace('role="dialog">', 'role="dialog" aria-label="Search">', 1)
