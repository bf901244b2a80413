"""Build time of the documentation site, its size and its dead links, of which none is wanted.

Builds the site as `make docs` does, then reads every built page: links to files that are not there
and to anchors that no element has, scripts, styles and images from other hosts, and what MkDocs
itself warns of. In headless Chromium, from the folder without a server, it searches for a word,
counts the requests to other hosts, and with axe-core the findings of accessibility by their impact.

Run: python benchmarks/site.py [--builds 3] [--axe node_modules/axe-core/axe.min.js]
         [--pictures FOLDER]
Needs `pip install -e '.[docs]'`; for --axe and --pictures Debian's `chromium`, and `pip install
playwright` (its own browsers are not used).
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent

CHROMIUM = "/usr/bin/chromium"

OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)

KINDS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "narrow": {"color_scheme": "light", "viewport": {"width": 390, "height": 800}},
}

OPENED = (
    "index.html",
    "tasks/kernel.html",
    "guide.html",
    "reference/commands/ab.html",
    "reference/python.html",
)
"""A page of each kind."""

SEARCHED = "bandwidth"

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}
"""Attributes whose addresses a browser fetches by itself."""

LED = {("a", "href")}


class Page(HTMLParser):
    """The addresses of a page, by whether a browser fetches them, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.led: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif (tag, name) in LOADED and value:
                self.loaded.append(value)
            elif (tag, name) in LED and value:
                self.led.append(value)


def build(folder: Path) -> tuple[float, float, str]:
    """Returns the seconds that a build into a folder takes, those of the processor, and what it
    printed."""
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, used, done.stdout + done.stderr


def check(folder: Path) -> tuple[int, list[str], list[str]]:
    """Returns the number of links inside the site, the dead ones, and what is from other hosts."""
    pages = {path: Page(path) for path in folder.rglob("*.html")}
    number, dead, elsewhere = 0, [], []
    for path, page in pages.items():
        for address in page.loaded + page.led:
            url = urlsplit(address)
            if url.scheme or url.netloc:
                is_fetched = address in page.loaded and url.scheme in ("http", "https", "")
                elsewhere += [f"{path.name}: {address}"] * is_fetched
                continue
            number += 1
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            # The page of errors has the addresses that it has on a server.
            if url.path.startswith("/") and path.name == "404.html":
                target = folder / url.path.lstrip("/")
            anchors = pages[target].anchors if target in pages else None
            is_there = target.is_file() or (target / "index.html").is_file()
            if not is_there or (url.fragment and unquote(url.fragment) not in (anchors or ())):
                dead.append(f"{path.relative_to(folder)}: {address}")
    return number, dead, elsewhere


def examine(folder: Path, axe: Path | None, pictures: Path | None) -> None:
    """Opens pages of the folder without a server, and prints what is found in them."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(OPTIONS))
        found: Counter[str] = Counter()
        requested: set[str] = set()
        for kind, options in KINDS.items():
            context = browser.new_context(**options)
            for name in OPENED:
                page = context.new_page()
                page.on("request", lambda request: requested.add(request.url))
                page.goto((folder / name).as_uri())
                page.wait_for_load_state("networkidle")
                if axe:
                    page.evaluate(axe.read_text())
                    for violation in page.evaluate("axe.run()")["violations"]:
                        found[violation["impact"]] += len(violation["nodes"])
                        print(f"  {kind}: {name}: {violation['impact']}: {violation['id']}")
                        print(f"    {violation['nodes'][0]['target']}")
                if pictures:
                    pictures.mkdir(parents=True, exist_ok=True)
                    stem = name.removesuffix(".html").replace("/", "-")
                    page.screenshot(path=pictures / f"{stem}-{kind}.png")
                page.close()
            context.close()
        page = browser.new_page()
        page.goto((folder / "index.html").as_uri())
        page.fill("input[name=query]", SEARCHED)
        page.wait_for_selector(".md-search-result__item", timeout=20_000)
        results = page.locator(".md-search-result__item").count()
        print(f"search for {SEARCHED!r} without a server: {results} pages")
        browser.close()
    others = {url for url in requested if urlsplit(url).scheme in ("http", "https")}
    print(f"requests to other hosts: {len(others)} {sorted(others) or ''}")
    if axe:
        print(f"axe, {len(OPENED)} pages, each {', '.join(KINDS)}: {dict(found) or 'no finding'}")


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builds", type=int, default=3)
    parser.add_argument("--axe", type=Path)
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "site"
        times, used, said = zip(*(build(folder) for _ in range(given.builds)), strict=True)
        pages = list(folder.rglob("*.html"))
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        shown = ", ".join(f"{seconds:.1f}" for seconds in times)
        print(
            f"build: {statistics.median(times):.1f} s (median of {shown}), of which the processor"
        )
        print(f"  worked {statistics.median(used):.1f} s")
        print(f"pages: {len(pages)}; the folder: {size / 1e6:.1f} MB")
        print(f"warnings of the build: {said[-1].count('WARNING')}")
        number, dead, elsewhere = check(folder)
        print(f"links inside the site: {number}; dead: {len(dead)}")
        print(*(f"  {link}" for link in dead), sep="\n", end="\n" if dead else "")
        print(f"scripts, styles and images of other hosts: {len(elsewhere)}")
        print(*(f"  {link}" for link in elsewhere), sep="\n", end="\n" if elsewhere else "")
        if given.axe or given.pictures:
            examine(folder, given.axe, given.pictures)
    if dead or elsewhere:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
