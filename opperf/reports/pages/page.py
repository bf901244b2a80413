"""A report as a page: one file, whose tables and charts a script of the page draws;
and the changes between two runs on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import takewhile
from typing import NamedTuple

from opperf.machine.environment import machine_text
from opperf.model import Environment, Run, Status
from opperf.plurals import counted, pluralize
from opperf.reports.html import fragment_content, render, unmarked
from opperf.reports.model import Report, RunOnPage, Section, Tone
from opperf.reports.pages.cases import case_table, environments_of, unmeasured
from opperf.reports.pages.content import Chart, Content, DataLine, DataTable
from opperf.reports.pages.treemap import treemap_of
from opperf.reports.run_page import beside_the_results
from opperf.reports.showing import split_preamble
from opperf.results.columns import count_uncertain
from opperf.results.plots.data import Line, Panel, Plot, has_sizes, make_plot
from opperf.results.projection import Source
from opperf.results.web_page import page_text
from opperf.shares import detectable_text

TEMPLATE = "pages/body.html.jinja"

SCRIPTS = ("uplot/uPlot.iife.min.js", "functions.js", "drawing.js", "page.js")
"""Scripts of a page that draws something; any other has none."""

RESULTS, SIZES, TREEMAP = "Every case", "By size", "Time by category"

VERDICTS = "Verdicts"

WHERE, WHAT = "Where the time goes", "What is called"
"""Titles above the ranking of operators and what is known of a recorded program, with and without
times."""

STYLES = ("uplot/uPlot.min.css", "page.css")


class _Tile(NamedTuple):
    number: str
    label: str
    tone: str = ""


def write_page(report: Report, width: int | None = None) -> str:
    """Returns the page of a report."""
    runs = report.runs
    scripts = {id: text for own in runs for id, text in own.scripts.items()}
    preamble, rests = split_preamble(list(scripts.values()))
    table = (
        report.changes.table
        if report.changes
        else case_table(runs, dict(zip(scripts, rests, strict=True)))
    )
    content = Content(
        table=table,
        environments=tuple(environments_of(runs).values()),
        charts=_charts_of(runs),
        preamble="\n".join(preamble),
    )
    treemap = treemap_of(runs)
    ranking, details = _parts(report)
    has_program = any(own.run.header.program is not None for own in runs)
    is_timed = any(record.summaries for own in runs for record in own.run.records)
    titles = {
        "ranking": (WHERE if is_timed else WHAT) if ranking else "",
        "results-title": (VERDICTS if report.changes else RESULTS) if table else "",
        "sweeps-title": SIZES if content.charts else "",
        "treemap-title": TREEMAP if treemap else "",
    }
    if not has_program:
        titles["ranking"] = titles.pop("ranking")
    titles |= {id: _link(section) for id, section in details}
    title = _title(report)
    body = render(
        "opperf.reports",
        TEMPLATE,
        {
            **fragment_content(report),
            "title": title,
            "headline": report.headline if report.title else "",
            "facts": [*(report.changes.facts if report.changes else ()), *_facts(runs)],
            "contents": [(id, title) for id, title in titles.items() if title],
            "tiles": list(_tiles(report, table)),
            "answer": report.answer,
            "has_table": table is not None,
            "results_title": titles["results-title"],
            "has_charts": bool(content.charts),
            "treemap": treemap,
            "ranking": ranking,
            "ranking_title": titles["ranking"],
            "ranking_is_first": has_program,
            "details": details,
        },
    )
    return page_text(
        title,
        body,
        styles=list(map(_static, STYLES)),
        data=None if content.is_empty else content,
        scripts=[] if content.is_empty else list(map(_static, SCRIPTS)),
    )


def write_run(run: Run, names: Sequence[str] = ()) -> str:
    """Returns the page of a run; `names` are of columns, which a page always has all of."""
    name = f"@{run.header.id}" if run.header.id else "RUNFILE"
    sections = tuple(beside_the_results(run))
    report = Report("run", "Operator benchmarks", sections, None, runs=(RunOnPage(name, run),))
    return write_page(report)


def _static(name: str) -> str:
    """Returns a file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


Part = tuple[str, Section]
"""A section with the id that links to it."""


def _parts(report: Report) -> tuple[list[Part], list[Part]]:
    """Returns the sections of a ranking, which have a title together, and those with their own."""
    shown = [
        (f"part-{place}", section)
        for place, section in enumerate(report.sections)
        if section.has_content and not section.in_answer
        if report.changes is None or not section.in_changes
    ]
    if report.command != RANKING:
        return [], shown
    first = list(takewhile(lambda part: not part[1].title, shown))
    return first, shown[len(first) :]


def _link(section: Section) -> str:
    """Returns the text of the link to a section; empty of one that nobody looks for first."""
    if section.is_folded and not section.manual:
        return ""
    return section.page_title or section.title or next((why for why, _ in section.commands), "")


RANKING = "report"
"""The command whose report is a ranking."""


def _title(report: Report) -> str:
    return unmarked(report.title or report.headline or f"opperf {report.command}")


def _facts(runs: Sequence[RunOnPage]) -> Iterator[tuple[str, str]]:
    for own in runs:
        header = own.run.header
        words = [
            str(header.options.get("command", "")),
            header.started,
            *(f"{key}={text}" for key, text in header.labels.items()),
        ]
        yield own.name, ", ".join(filter(None, words))
    found = (environment for own in runs for environment in own.run.environments.values())
    for text in dict.fromkeys(map(_measured_with, found)):
        yield "Measured with", text


def _measured_with(environment: Environment) -> str:
    framework = environment.framework
    version = environment.versions.get(framework, "")
    return f"{framework} {version}".strip() + f", on {machine_text(environment)}"


def _tiles(report: Report, table: DataTable | None) -> Iterator[_Tile]:
    if report.changes is not None:
        yield from _verdict_tiles(report)
    elif report.runs and table is not None:
        records = [record for own in report.runs for record in own.run.records]
        ok = [record for record in records if record.status is Status.OK]
        for program in filter(None, (own.run.header.program for own in report.runs)):
            yield _Tile(counted(program.calls, "call"), "recorded")
        for number, what in (
            (len({record.case.label for record in ok}), "operators measured"),
            (len(ok), "cases measured"),
        ):
            if number:
                yield _Tile(f"{number:,}", what)
        uncertain, figures = count_uncertain(ok)
        if uncertain:
            yield _Tile(f"{uncertain:,} of {figures:,}", "times uncertain, marked ?", "open")
        if missing := unmeasured(report.runs):
            yield _Tile(f"{missing:,}", "cases not measured", "open")
        if excluded := {name for own in report.runs for name in own.run.header.excluded}:
            yield _Tile(f"{len(excluded):,}", "operators without a benchmark")


ORDER: tuple[Tone, ...] = ("worse", "better", "open", "")
"""Findings first."""


def _verdict_tiles(report: Report) -> Iterator[_Tile]:
    assert report.changes is not None
    counts = report.changes.counts
    verdicts = Counter(verdict for verdict, _ in counts)
    for (verdict, tone), number in sorted(counts.items(), key=lambda one: ORDER.index(one[0][1])):
        # A suspect figure may be better or worse.
        is_ambiguous = verdicts[verdict] > 1 and tone in ("worse", "better")
        yield _Tile(f"{number:,}", f"{verdict}, {tone}" if is_ambiguous else verdict, tone)
    yield _Tile(f"{100 * report.changes.threshold:.3g} %", "threshold")
    if report.changes.detectable is not None:
        detectable = detectable_text(report.changes.detectable)
        yield _Tile(detectable, "detectable in the median figure")


MOST_LINES = 12
"""Most lines of a chart, the largest: more colours cannot be told apart."""

MOST_CHARTS = 60
"""Most charts of a page; the table has all points."""


def _charts_of(runs: Sequence[RunOnPage]) -> tuple[Chart, ...]:
    sources = [
        Source(
            own.name,
            [record for record in own.run.records if record.case.point],
            own.run.header.labels,
        )
        for own in runs
    ]
    sources = [source for source in sources if any(found.summaries for found in source.records)]
    if not sources or not has_sizes(sources):
        return ()
    plot = make_plot(sources)
    return tuple(_chart(plot, panel) for panel in plot.panels[:MOST_CHARTS])


def _chart(plot: Plot, panel: Panel) -> Chart:
    # In the order of the panel, so that a line has its colour in every chart.
    largest = sorted(panel.lines, key=lambda line: -max(point.y for point in line.points))
    drawn = set(map(id, largest[:MOST_LINES]))
    lines = [line for line in panel.lines if id(line) in drawn]
    left = len(panel.lines) - len(lines)
    more = f" (without {pluralize(left, 'smaller line')})" if left else ""
    return Chart(
        title=(panel.title or panel.metric.title) + more,
        x_title=plot.x_title,
        y_title=panel.metric.title,
        unit=panel.unit.name,
        x_is_log=plot.x_is_log,
        y_is_log=panel.is_log,
        lines=tuple(map(_line, lines)),
    )


def _line(line: Line) -> DataLine:
    points = sorted(line.points)
    return DataLine(
        line.name,
        tuple((point.x, point.y, point.low, point.high) for point in points),
        line.is_function,
    )
