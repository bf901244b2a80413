"""The report of failures: the pass rates by week, what fails since when, and what repeats it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from opperf.errors import one_line
from opperf.experiments.aggregation.outcomes import Failure, Group, Outcomes, Rate
from opperf.experiments.aggregation.tables import time_text
from opperf.experiments.backends import title_of
from opperf.experiments.repeating import command_of
from opperf.plurals import pluralize
from opperf.reports.model import (
    Cell,
    Column,
    Report,
    Section,
    Table,
    Tone,
    names,
    numbers,
    texts,
    words,
)

ERROR_LENGTH = 160
"""Most characters of an error in a table; the rest says where it was raised."""

HEADER = (
    "suite",
    "model",
    "test",
    "backend",
    "accelerator",
    "batch_size",
    "flags",
    "failing_since",
    "last_passed",
    "reason",
    "command",
)
"""Columns of CSV, a row for each failure."""


def report_of(found: Outcomes, title: str = "") -> Report:
    """Returns the report of outcomes."""
    failures = found.failures
    said = (
        f"{pluralize(len(failures), 'cell')} of {found.cells} failed when last run"
        if failures
        else "all passed when last run"
    )
    return Report(
        "aggregate",
        title or "Pass rates and failures",
        [_rates(found, said), *_failing(failures)],
        _data(found),
        HEADER,
        [_values(failure) for failure in failures],
    )


def _group_columns(groups: Sequence[Group]) -> list[Column]:
    made = [
        names("Suite", (group.suite for group in groups)),
        words("Test", (group.test for group in groups)),
        words("Backend", (title_of(group.backend) for group in groups)),
    ]
    machines = [group.machine for group in groups]
    # One that all share says nothing.
    return [*made, words("Accelerator", machines)] if len(set(machines)) > 1 else made


def _rates(found: Outcomes, said: str) -> Section:
    groups = list(found.rates)
    columns = _group_columns(groups)
    newest = len(found.weeks)
    for number, week in enumerate(found.weeks):
        cells = [_rate_cell(found.rates[group].get(week)) for group in groups]
        # Without room, the oldest weeks are dropped first.
        columns.append(Column(week, cells, is_number=True, extra=max(0, newest - number - 2)))
    notes = [f"{said}."]
    if found.skipped:
        notes.append(f"{pluralize(found.skipped, 'record')} skipped by the runner count as none.")
    return Section(
        "Pass rate by week (from Monday, UTC)",
        prose=notes,
        table=Table(tuple(columns)),
        below=["Of several records of a cell in a week, the last counts."],
    )


def _rate_cell(rate: Rate | None) -> Cell:
    if rate is None:
        return Cell("")
    tone: Tone = "worse" if rate.failed else ""
    total = rate.passed + rate.failed
    # Rounded down: 100 % is all.
    return Cell(f"{int(100 * rate.share)} % {rate.passed}/{total}", tone)


def _failing(failures: Sequence[Failure]) -> list[Section]:
    if not failures:
        return []
    cells = [failure.cell for failure in failures]
    columns = [
        numbers("No", map(str, range(1, len(failures) + 1))),
        names("Model", (cell.model for cell in cells)),
        *_group_columns([cell.group for cell in cells]),
        *_differing("Batch", (_text(cell.size) for cell in cells), is_number=True),
        *_differing("Flags", (cell.flags for cell in cells)),
        words("Failing since", (_time(failure.since) for failure in failures)),
        words("Last passed", (_time(failure.passed) or "never" for failure in failures)),
        texts("Reason", (one_line(failure.reason, ERROR_LENGTH) for failure in failures)),
    ]
    commands = [
        f"{command_of(failure.last)}  # {number}"
        for number, failure in enumerate(failures, start=1)
    ]
    return [
        Section("Failing", table=Table(tuple(columns))),
        Section(prose=["The commands that repeat them, by number:"], code=commands),
    ]


def _differing(title: str, cells: Iterable[str], is_number: bool = False) -> list[Column]:
    listed = list(cells)
    if not any(listed):
        return []
    return [numbers(title, listed) if is_number else texts(title, listed)]


def _time(seconds: float | None) -> str:
    return "" if seconds is None else time_text(seconds).partition(".")[0]


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _values(failure: Failure) -> list[Any]:
    cell = failure.cell
    return [
        cell.group.suite,
        cell.model,
        cell.group.test,
        cell.group.backend,
        cell.group.machine,
        cell.size,
        cell.flags,
        _time(failure.since),
        _time(failure.passed),
        failure.reason,
        command_of(failure.last),
    ]


def _data(found: Outcomes) -> dict[str, Any]:
    return {
        "rates": [
            {**group._asdict(), "week": week, **rate._asdict()}
            for group, weeks in found.rates.items()
            for week, rate in weeks.items()
        ],
        "failures": [
            dict(zip(HEADER, _values(failure), strict=True)) for failure in found.failures
        ],
        "skipped": found.skipped,
    }
