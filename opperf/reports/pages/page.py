"""A report as a page: one file, whose tables and charts a script of the page draws."""

from __future__ import annotations

import base64
import hashlib
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import NamedTuple

from opperf.model import Run, Status
from opperf.reports.html import fragment_content
from opperf.reports.model import Report, RunOnPage
from opperf.reports.pages.cases import case_table, environments_of, scripts_of, unmeasured
from opperf.reports.pages.changes import change_table
from opperf.reports.pages.content import Content, DataTable, embedded
from opperf.reports.pages.sweeps import charts_of
from opperf.reports.pages.treemap import treemap_of
from opperf.reports.run_page import beside_the_results
from opperf.reports.templates import render

TEMPLATE = "pages/page.html.jinja"

SCRIPTS = ("uplot/uPlot.iife.min.js", "functions.js", "page.js")
"""Scripts of a page that draws something; any other has none."""

WHERE = "Where the time goes"
"""Title above the ranking of operators and what is known of a recorded program."""

STYLES = ("uplot/uPlot.min.css", "page.css")


class Tile(NamedTuple):
    """A number that a page begins with."""

    number: str
    label: str
    tone: str = ""


def write_page(report: Report, width: int | None = None) -> str:
    """Returns the page of a report."""
    runs = report.runs
    scripts = scripts_of(runs)
    table = change_table(report.changes) if report.changes else case_table(runs, scripts)
    content = Content(
        table=table,
        environments=tuple(environments_of(runs).values()),
        charts=charts_of(runs),
        preamble=scripts.preamble,
    )
    code = [] if content.is_empty else list(map(_static, SCRIPTS))
    own = [section for section in report.sections if section.has_content and not section.in_answer]
    return render(
        "opperf.reports",
        TEMPLATE,
        {
            **fragment_content(report),
            "title": _title(report),
            "headline": report.headline.replace("`", "") if report.title else "",
            "facts": list(_facts(runs)),
            "tiles": list(_tiles(report, table)),
            "answer": [paragraph.replace("**", "").replace("`", "") for paragraph in report.answer],
            "data": "" if content.is_empty else embedded(content),
            "noun": table.noun if table else "",
            "has_table": table is not None,
            "has_charts": bool(content.charts),
            "treemap": treemap_of(runs),
            "details": own,
            "details_title": WHERE if report.command == "report" else "",
            "code": code,
            "hashes": [_hash(text) for text in code],
            "style": "\n".join(map(_static, STYLES)),
        },
    )


def write_run(run: Run, names: Sequence[str] = ()) -> str:
    """Returns the page of a run; `names` are of columns, which a page always has all of."""
    name = f"@{run.header.id}" if run.header.id else "RUNFILE"
    sections = tuple(beside_the_results(run))
    page = Report("run", "Operator benchmarks", sections, None, runs=(RunOnPage(name, run),))
    return write_page(page)


def _static(name: str) -> str:
    """Returns a file of this package, without what would end the element that it is put in."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    assert "</" not in text, f"{name} would end its element"
    return text


def _hash(script: str) -> str:
    """Returns what a policy names a script by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _title(report: Report) -> str:
    title = report.title or report.headline or f"opperf {report.command}"
    return title.replace("`", "")


def _facts(runs: Sequence[RunOnPage]) -> Iterator[tuple[str, str]]:
    for own in runs:
        header = own.run.header
        words = [
            str(header.options.get("command", "")),
            header.started,
            *(f"{key}={text}" for key, text in header.labels.items()),
        ]
        yield own.name, ", ".join(filter(None, words))


def _tiles(report: Report, table: DataTable | None) -> Iterator[Tile]:
    if report.changes is not None:
        yield from _verdict_tiles(report)
    elif report.runs and table is not None:
        records = [record for own in report.runs for record in own.run.records]
        ok = [record for record in records if record.status is Status.OK]
        yield Tile(f"{len({record.case.label for record in ok}):,}", "operators measured")
        yield Tile(f"{len(ok):,}", "cases measured")
        if missing := unmeasured(report.runs):
            yield Tile(f"{missing:,}", "cases not measured", "open")
        if excluded := {name for own in report.runs for name in own.run.header.excluded}:
            yield Tile(f"{len(excluded):,}", "operators without a benchmark")


def _verdict_tiles(report: Report) -> Iterator[Tile]:
    assert report.changes is not None
    counts = Counter((row.verdict, row.tone) for row in report.changes.rows)
    for (verdict, tone), number in counts.items():
        yield Tile(f"{number:,}", verdict, tone)
    yield Tile(f"{100 * report.changes.threshold:.3g} %", "threshold")
    detectable = [row.detectable for row in report.changes.rows if row.detectable is not None]
    if detectable:
        share = 100 * statistics.median(detectable)
        yield Tile(f"{share:.2g} %", "detectable in the median figure")
