"""The cases of runs as a table of a page: figures, and for each case all that is known of it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from opperf.instruments.times import FORWARD, TOTAL
from opperf.machine.environment import environment_texts
from opperf.model import CallSite, Case, Record, Run, Status, identity_of
from opperf.plurals import pluralize
from opperf.reports.hotspots.places import line_text
from opperf.reports.model import RunOnPage
from opperf.reports.pages.content import (
    Cell,
    DataTable,
    Heading,
    Row,
    Samples,
    finite,
    most_samples,
    picked,
    rounded,
)
from opperf.reports.run_tables import VERIFICATION, legend, verification_cell
from opperf.results.columns import select_columns
from opperf.results.figures import CaseFigures, Measurement
from opperf.results.rates import FigureColumn
from opperf.results.roofline import rooflines_of
from opperf.results.settings import changed_settings_text, noun_of
from opperf.results.sweeps import point_text
from opperf.results.text import inputs_text
from opperf.results.units import Figure


def environments_of(runs: Sequence[RunOnPage]) -> dict[str, tuple[tuple[str, str], ...]]:
    """Returns the facts of each environment by its id."""
    return {
        id: tuple((label, text) for label, text in environment_texts(found) if text)
        for own in runs
        for id, found in own.run.environments.items()
    }


Reader = Callable[[RunOnPage, Case, Record | None], Cell]


def case_table(runs: Sequence[RunOnPage], scripts: Mapping[str, str]) -> DataTable | None:
    """Returns the table of all planned or recorded cases of the runs; None without one. `scripts`
    are those of cases by id, without the lines with which all begin."""
    found: list[tuple[RunOnPage, Case, Record | None]] = [
        (own, record.case, record) for own in runs for record in own.run.records
    ]
    records = [record for _, _, record in found if record is not None]
    found += [(own, case, None) for own in runs for case in without_record(own.run)]
    if not found:
        return None
    figures = [column for column in select_columns(records) if any(map(column.read, records))]
    columns = list(_columns([case for _, case, _ in found], figures, len(runs) > 1))
    places = {id: place for place, id in enumerate(environments_of(runs))}
    most = most_samples(sum(len(_sampled(record)) for record in records))
    rows = tuple(
        Row(
            cells=tuple(read(own, case, record) for _, read in columns),
            facts=tuple(_facts(own, case, record)),
            notes=tuple(_notes(record)) if record else (),
            code=tuple(_code(own, case, scripts.get(case.id, ""))),
            samples=tuple(_samples(figure, most) for figure in _sampled(record)) if record else (),
            environment=places.get(record.environment) if record else None,
        )
        for own, case, record in found
    )
    headings = tuple(heading for heading, _ in columns)
    places_of_figures = [place for place, one in enumerate(headings) if one.kind == "figure"]
    # A time, if there is one, and else the number of calls.
    places_of_figures.sort(key=lambda place: headings[place] is COUNT)
    order = (places_of_figures[0], True) if places_of_figures else None
    explained = tuple(legend(records, figures)) if figures else ()
    return DataTable("case", headings, rows, order, legend=explained)


def _columns(
    cases: Sequence[Case], figures: Iterable[FigureColumn], are_several: bool
) -> Iterator[tuple[Heading, Reader]]:
    yield Heading(noun_of(cases).capitalize(), "name"), _of_case(lambda case: case.label)
    yield Heading("Inputs", "text"), _of_case(inputs_text)
    for title, text in OPTIONAL.items():
        if len(set(map(text, cases))) > 1:
            yield Heading(title, "text", is_filter=title != "Sweep"), _of_case(text)
    if are_several:
        yield Heading("Run", "text", is_filter=True), lambda own, case, record: own.name
    yield (
        Heading("Status", "status", is_filter=True),
        lambda own, case, record: record.status.value if record else _unmeasured_status(own.run),
    )
    if any(case.count > 1 for case in cases):
        yield COUNT, lambda own, case, record: (case.count, None, 0)
    yield from map(_figure_column, figures)


def _of_case(text: Callable[[Case], str]) -> Reader:
    return lambda own, case, record: text(case)


OPTIONAL: dict[str, Callable[[Case], str]] = {
    "Settings": lambda case: changed_settings_text(identity_of(case.settings)),
    "Sweep": lambda case: point_text(case.point),
    "Category": lambda case: case.category,
}
"""Columns of a table whose cases differ in them."""


def _figure_column(column: FigureColumn) -> tuple[Heading, Reader]:
    metric = column.metric
    heading = Heading(
        metric.title,
        "figure",
        unit=metric.unit,
        about=metric.description,
        lower_is_better=metric.lower_is_better,
    )
    return heading, lambda own, case, record: _cell(None if record is None else column.read(record))


COUNT = Heading("Calls", "figure", about="how often the program or another source called it")

NOT_FINISHED = "not measured"
"""Status of a planned case without a record: the run was not finished."""

RECORDED = "recorded"
"""Status of a recorded case that was not measured, which is not asked of a recording."""


def without_record(run: Run) -> list[Case]:
    """Returns the cases of a run that have no record."""
    ids = {record.id for record in run.records}
    return [case for case in run.cases if case.id not in ids]


def _unmeasured_status(run: Run) -> str:
    return NOT_FINISHED if run.header.program is None else RECORDED


def _cell(figure: Figure | None) -> Cell:
    if figure is None or not math.isfinite(figure.value):
        return None
    width, mark = finite(figure.half_width), int(figure.is_uncertain)
    return [rounded(figure.value, 7), None if width is None else rounded(width), mark]


def _sampled(record: Record) -> list[Measurement]:
    """Returns the figures whose samples scatter; of both passes together, if there are two."""
    scattered = [
        found
        for found in CaseFigures(record).measured.values()
        if len(found.samples) > 1 and not found.metric.is_steady
    ]
    forward = record.samples.get(FORWARD.name)
    return [
        found for found in scattered if found.metric.name != TOTAL.name or found.samples != forward
    ]


def _samples(found: Measurement, most: int) -> Samples:
    return Samples(
        title=found.metric.title,
        unit=found.unit,
        values=picked(found.samples, most),
        taken=len(found.samples),
        median=finite(found.median) or 0.0,
        low=finite(found.summary.ci_low),
        high=finite(found.summary.ci_high),
    )


SHOWN_PLACES = 5
"""Most places of calls of a case; the report's table has those that take most time."""


def _place_text(site: CallSite) -> str:
    where = " ".join(filter(None, (site.module, line_text(site), site.phase)))
    return f"{where} ({pluralize(site.count, 'call')})"


def _facts(own: RunOnPage, case: Case, record: Record | None) -> Iterator[tuple[str, str]]:
    if record is not None and record.status is not Status.OK:
        yield "Not measured", f"{record.status.value}: {record.reason}"
    facts = {
        "Why these inputs": case.why,
        "Rule": case.origin,
        "Category": case.category,
        "Tags": ", ".join(case.tags),
        "Sweep": point_text(case.point),
        "Settings": changed_settings_text(identity_of(case.settings)),
        "Dtype": case.settings.dtype,
        "Device": case.settings.device,
        "Calls in its source": f"{case.count:,}" if case.count > 1 else "",
        "Called at": "; ".join(map(_place_text, case.sites[:SHOWN_PLACES])),
        "Id": case.id,
        "Run": own.name,
    }
    yield from ((label, text) for label, text in facts.items() if text)
    for metric, roofline in rooflines_of(record).items() if record is not None else ():
        yield f"Roofline of {metric}", roofline.sentence
    if record is not None and record.verification:
        yield VERIFICATION, verification_cell(record)
    if record is not None and record.wall_s:
        yield "Time spent on the case", f"{record.wall_s:.3g} s"


def _notes(record: Record) -> Iterator[str]:
    for note in record.notes:
        yield ": ".join(filter(None, (note.metric, note.message)))


def _code(own: RunOnPage, case: Case, script: str) -> Iterator[tuple[str, str]]:
    where = shlex.quote(own.name)
    yield "Measure it again", f"opperf run {where} --id {case.id}"
    if script:
        yield "Script", script
    else:
        yield "Print its script", f"opperf show {where} --id {case.id}"


def unmeasured(runs: Sequence[RunOnPage]) -> int:
    """Returns the number of cases that have no result."""
    bad = [record for own in runs for record in own.run.records if record.status is not Status.OK]
    planned = [own.run for own in runs if own.run.header.program is None]
    return len(bad) + sum(len(without_record(run)) for run in planned)
