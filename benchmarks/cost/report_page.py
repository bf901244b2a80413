"""Size of `report -o report.html`, and time until it is painted and can be used, in a browser.

Generates runs of so many cases, each an operator with 50 samples of both passes, writes their
pages and those of comparisons, and opens each in headless Chromium: the medians of the first
contentful paint, of the end of the page's script, and of a search in its table, beside an empty
page's paint. With axe-core it counts the findings of accessibility by their impact, with a case
open; with a folder it saves pictures of every kind: light, dark, narrow and print.

Run: python benchmarks/cost/report_page.py [CASES ...] [--axe node_modules/axe-core/axe.min.js]
         [--pictures FOLDER] [--pages FILE ...]
Needs Debian's `chromium`, and `pip install playwright` (its own browsers are not used).
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import opperf
from opperf.instruments.profilers.summary import summarise
from opperf.model import (
    SCHEMA_VERSION,
    Case,
    Environment,
    Header,
    MetricKind,
    Note,
    OperatorTarget,
    Record,
    Run,
    Status,
    TensorSpec,
)
from opperf.reports.writing import write, write_reports
from opperf.requests.run_files import ReportRequest

WANTED_MB, WANTED_S = 3.0, 1.0
"""Wanted of a page of a thousand cases."""

SAMPLES = 50

OPENED = 5
"""Times that each page is opened."""

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

CASE = ".data tbody th button"
"""What opens a case."""

PAINTED = "performance.getEntriesByName('first-contentful-paint').length"

PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"

SEARCH = """() => {
  const box = document.querySelector("input[type=search]");
  const begin = performance.now();
  box.value = "operator_77 tensor";
  box.dispatchEvent(new Event("input"));
  document.body.offsetHeight;
  return performance.now() - begin;
}"""


def generate(number: int, seed: int = 0) -> Run:
    """Returns a run of so many cases; the seed is that of its samples."""
    chance, noise = random.Random(0), random.Random(seed)
    environment = Environment(
        **{"opperf": "0.1.0", "framework": "torch", "versions": {"torch": "2.13.0"}},
        **{"features": {"mkldnn": True}, "python": "3.11.7", "platform": "Linux", "hostname": "h"},
        **{"cpu": "A CPU", "cores": 2, "threads": {}, "memory_bytes": 2**33, "load_1min": 0.5},
        **{"governor": "performance", "devices": ("cpu(0)",)},
    )
    records = []
    for index in range(number):
        case = Case(
            target=OperatorTarget("torch", f"operator_{index}", "Tensor"),
            arguments={
                "self": TensorSpec((chance.randint(1, 512), 1024)),
                "other": TensorSpec((1024, 768)),
            },
            category=f"category {index % 23}",
            origin="rule:layouts.with_views",
            why="the hidden state of a transformer's layer, as its second projection has it",
        )
        middle = 10 ** chance.uniform(3, 8)
        own = middle * noise.lognormvariate(0, 0.05)
        samples = {
            name: [own * factor * noise.lognormvariate(0, 0.03) for _ in range(SAMPLES)]
            for name, factor in (("forward", 1), ("backward", 2), ("total", 3))
        }
        ok = index % 37 != 0
        records.append(
            Record(
                case=case,
                id=case.id,
                status=Status.OK if ok else Status.FAILED,
                reason="" if ok else "RuntimeError: this build does not have the kernel",
                samples=samples if ok else {},
                summaries={
                    **{name: summarise(taken, "ns") for name, taken in samples.items()},
                    "memory": summarise([float(2**20)], "B"),
                }
                if ok
                else {},
                notes=(Note("forward", "drift", "later samples tend to be larger"),)
                * (not index % 9),
                time_kind=MetricKind.WALL if ok else None,
                environment=environment.id,
                wall_s=0.4,
            )
        )
    return Run(
        header=Header(
            schema=SCHEMA_VERSION,
            started="2026-01-02T03:04:05+00:00",
            options={"command": "opperf run --framework torch"},
            excluded={f"excluded_{index}": "no rule" for index in range(number // 20)},
        ),
        records=tuple(records),
        environments={environment.id: environment},
        cases=tuple(record.case for record in records),
    )


def page_of(number: int, folder: Path) -> Path:
    """Returns the path of the page of a run of so many cases, which went through its file."""
    run_file, page = folder / f"{number}.jsonl", folder / f"{number}.html"
    write(generate(number), run_file, "jsonl")
    ranking = ReportRequest(files=(run_file,), output_files=(page,))
    write_reports(ranking.run(print), ranking.outputs)
    return page


def comparison_of(number: int, folder: Path) -> Path:
    """Returns the path of the page of a comparison of two runs of so many cases."""
    files = [folder / f"{number}-{name}.jsonl" for name in ("base", "new")]
    for seed, run_file in enumerate(files):
        write(generate(number, seed), run_file, "jsonl")
    page = folder / f"{number} compared.html"
    page.write_text(opperf.compare(*files).report("html"), encoding="utf-8")
    return page


def open_case(page: Any) -> None:
    button = page.locator(CASE)
    if button.count():
        button.first.click()
        page.wait_for_timeout(300)


PAGES = (page_of, comparison_of)


def measure(browser: Any, path: Path) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for _ in range(OPENED):
        context = browser.new_context(**KINDS["light"])
        page = context.new_page()
        page.goto(path.as_uri())
        # Waiting in the page would need `eval`, which its policy refuses.
        while not page.evaluate(PAINTED):
            page.wait_for_timeout(20)
        found.setdefault("painted", []).append(page.evaluate(PAINT))
        usable = page.evaluate("document.documentElement.dataset.usable")
        if usable:
            found.setdefault("usable", []).append(float(usable))
            found.setdefault("search", []).append(page.evaluate(SEARCH))
        context.close()
    return {name: statistics.median(own) for name, own in found.items()}


def findings(browser: Any, path: Path, axe: Path) -> Counter[str]:
    """Returns the number of axe's findings by impact, of all kinds of page."""
    found: Counter[str] = Counter()
    for name, options in KINDS.items():
        # The page's own policy would refuse the script that examines it.
        context = browser.new_context(bypass_csp=True, **options)
        page = context.new_page()
        page.goto(path.as_uri())
        open_case(page)
        page.evaluate(axe.read_text())
        for violation in page.evaluate("axe.run()")["violations"]:
            found[violation["impact"]] += len(violation["nodes"])
            print(f"  {name}: {violation['impact']}: {violation['id']}: {violation['help']}")
        context.close()
    return found


def draw(browser: Any, path: Path, folder: Path) -> None:
    """Saves pictures of a page, with a case open, and its print."""
    for name, options in KINDS.items():
        context = browser.new_context(**options)
        page = context.new_page()
        page.goto(path.as_uri())
        open_case(page)
        page.screenshot(path=folder / f"{path.stem}-{name}.png", full_page=True)
        if name == "light":
            page.pdf(path=folder / f"{path.stem}-print.pdf", format="A4")
        context.close()


def main() -> None:
    """Prints the figures of each page."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", type=int, default=[1000, 5000])
    parser.add_argument("--axe", type=Path)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--pages", nargs="*", type=Path, default=[])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(OPTIONS))
        empty = folder / "empty.html"
        empty.write_text("<!DOCTYPE html><title>empty</title><p>nothing")
        made = [page(number, folder) for page in PAGES for number in given.cases]
        pages = [empty, *made, *given.pages]
        for path in pages:
            path = path.resolve()
            times = measure(browser, path)
            shown = ", ".join(f"{what} {ms:.0f} ms" for what, ms in times.items())
            print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB; {shown}", flush=True)
            if path.stem.startswith("1000"):
                is_small = path.stat().st_size < WANTED_MB * 1e6
                print(f"  wanted: < {WANTED_MB} MB, usable in {WANTED_S} s:", end=" ")
                print("yes" if is_small and times["usable"] < 1e3 * WANTED_S else "NO")
            if given.axe and path.stem != "empty":
                found = findings(browser, path, given.axe)
                print(f"  axe: {dict(found) or 'no finding'}")
            if given.pictures:
                given.pictures.mkdir(parents=True, exist_ok=True)
                draw(browser, path, given.pictures)
        browser.close()


if __name__ == "__main__":
    main()
