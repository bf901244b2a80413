"""Files of the dashboard: the page, which a server and a publication write with other scripts of
their data, its scripts and styles, and the policy of what it may load."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from opperf.reports.html import render
from opperf.results.web_page import policy

PAGES = "opperf.reports.pages"


class Asset(NamedTuple):
    """A file of a package, and its type."""

    package: str
    path: str
    kind: str

    def read(self) -> bytes:
        return files(self.package).joinpath(self.path).read_bytes()


def _own(name: str, kind: str) -> Asset:
    return Asset("opperf.serving", f"static/{name}", kind)


ASSETS: dict[str, Asset] = {
    "dashboard.js": _own("dashboard.js", "text/javascript"),
    "dashboard.css": _own("dashboard.css", "text/css"),
    "page.css": Asset(PAGES, "page.css", "text/css"),
    "functions.js": Asset(PAGES, "functions.js", "text/javascript"),
    "drawing.js": Asset(PAGES, "drawing.js", "text/javascript"),
    "uPlot.js": Asset(PAGES, "uplot/uPlot.iife.min.js", "text/javascript"),
    "uPlot.css": Asset(PAGES, "uplot/uPlot.min.css", "text/css"),
}
"""The files that the page loads, by name, but for the script that its data come by."""

SERVED: dict[str, Asset] = {"served.js": _own("served.js", "text/javascript")}
"""Asks the API."""

PUBLISHED: dict[str, Asset] = {"published.js": _own("published.js", "text/javascript")}
"""Reads the files of a publication."""

_LOADED = {
    "script-src": "'self'",
    # uPlot places its parts by styles of elements.
    "style-src": "'self' 'unsafe-inline'",
}

_CHANGES: dict[str, dict[str, str]] = {
    "served": {**_LOADED, "connect-src": "'self'", "frame-ancestors": "'none'"},
    "published": {
        # Not every browser takes a file beside a page that was opened as a file for 'self'.
        "script-src": "'self' file:",
        "style-src": "'self' file: 'unsafe-inline'",
        # The policy by this name makes addresses of the publication's own data alone.
        "trusted-types": "publication",
    },
}
"""Directives of the dashboard's policy that differ from those of a page in one file, by the way."""


def policy_of(way: str) -> str:
    """Returns the content security policy of the dashboard, `served` or `published`."""
    return policy(changes=_CHANGES[way])


def served_page() -> bytes:
    """Returns the page that a server has; its policy is in a header."""
    return _page(next(iter(SERVED)), "", {})


def published_page(folder: str, facts: dict[str, str]) -> bytes:
    """Returns the page of a publication, whose other files are in a folder beside it; `facts` are
    `when` it was made and the `version` that made it."""
    return _page(next(iter(PUBLISHED)), f"{folder}/", {"policy": policy_of("published"), **facts})


def _page(data: str, folder: str, publication: dict[str, str]) -> bytes:
    content = {"data": data, "folder": folder, "publication": publication}
    return render("opperf.serving", "static/dashboard.html.jinja", content).encode()
