"""Outcomes of records, which pass and fail, by suite and week, and since when; and the report of
failures, with what repeats them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Any, NamedTuple

from opperf.errors import one_line
from opperf.experiments.selection import machine_of
from opperf.experiments.tables import time_text
from opperf.formats.model_records import INCOMPATIBLE, ModelRecord, title_of
from opperf.formats.xla import command_of
from opperf.model import VerificationCode
from opperf.plurals import pluralize
from opperf.reports.fields import NAME, NUMBER, TEXT, WORD, Field, objects_of, rows_of, table_of
from opperf.reports.model import ColumnKind, Report, Section
from opperf.results.projection import group


class Outcome(Enum):
    """How a record turned out."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It was not meant to run, or has no answer that can be trusted."""


WRONG = {
    VerificationCode.FAIL.value: "wrong result",
    VerificationCode.EAGER_FAILED.value: "eager fails",
    VerificationCode.EXCEPTION_RAISED.value: "the verification raised an exception",
}
"""Codes of verification that are failures, with what they mean."""

UNTOLD = {
    VerificationCode.NONDETERMINISTIC_EAGER_RUN.value: "eager is not deterministic",
    VerificationCode.UNDECIDABLE.value: "its inputs do not tell right from wrong",
}
"""Codes of verification that say nothing of the result, with the reason."""

NO_TIMES = "no times, and no error either"


def outcome_of(record: ModelRecord) -> tuple[Outcome, str]:
    """Returns how a record turned out, and the reason unless it passed."""
    code, error = record.verification_code, record.error
    if error is not None and error.strip() == INCOMPATIBLE:
        return Outcome.SKIPPED, "not compatible"
    if error is not None:
        return Outcome.FAILED, error
    if code in WRONG:
        return Outcome.FAILED, WRONG[code]
    if code in UNTOLD:
        return Outcome.SKIPPED, UNTOLD[code]
    if code not in VERIFIED and not record.has_times:
        return Outcome.FAILED, NO_TIMES
    return Outcome.PASSED, ""


VERIFIED = (VerificationCode.PASS.value, VerificationCode.VERIFIER_SKIPPED.value)
"""Codes after which there need be no times: a verification takes their place."""


class Group(NamedTuple):
    """The rows of the table of pass rates."""

    suite: str
    test: str
    backend: str
    machine: str


class Cell(NamedTuple):
    """A cell of the matrix of runs: a model under some settings."""

    group: Group
    model: str
    size: int | None
    flags: str


class Rate(NamedTuple):
    """How many cells of a group passed in a week, by their last record in it."""

    passed: int
    failed: int


class Failure(NamedTuple):
    """A cell whose last record failed."""

    cell: Cell
    last: ModelRecord
    reason: str
    since: float
    """The first time that it failed, after the last that it passed."""
    passed: float | None
    """The last time that it passed; None if it never did."""


class Outcomes(NamedTuple):
    """The outcomes of all records."""

    weeks: tuple[str, ...]
    """The Monday that each begins with, the oldest first; those with records."""
    rates: dict[Group, dict[str, Rate]]
    failures: list[Failure]
    cells: int
    """Number of cells that passed or failed."""
    skipped: int
    """Number of records without an outcome."""


def week_of(seconds: float) -> str:
    """Returns the date of the Monday of a time's week, UTC."""
    day = datetime.fromtimestamp(seconds, timezone.utc).date()
    return str(day - timedelta(days=day.weekday()))


def cell_of(record: ModelRecord) -> Cell:
    """Returns what a record is one of."""
    backend = record.backend or record.runtime
    own = Group(record.suite_name, record.test or "", backend, machine_of(record))
    return Cell(own, record.model_name, record.batch_size, record.flags)


def outcomes_of(records: Iterable[ModelRecord]) -> Outcomes:
    """Returns what passed and failed, of records that all have a timestamp. Of several records of
    a cell in a week, the last counts."""
    found = [(record.timestamp or 0.0, *outcome_of(record), record) for record in records]
    ended = [entry for entry in found if entry[1] is not Outcome.SKIPPED]
    cells = group(ended, (cell_of(record) for *_, record in ended))
    counts: dict[Group, dict[str, list[int]]] = {}
    failures = []
    for cell, entries in cells.items():
        # Stable: of two records of one time, the later line is the last.
        entries.sort(key=lambda entry: entry[0])
        for week, outcome in {week_of(at): one for at, one, _, _ in entries}.items():
            count = counts.setdefault(cell.group, {}).setdefault(week, [0, 0])
            count[outcome is Outcome.FAILED] += 1
        if entries[-1][1] is Outcome.FAILED:
            failures.append(_failure(cell, entries))
    rates = {
        group: {week: Rate(*count) for week, count in sorted(weeks.items())}
        for group, weeks in sorted(counts.items())
    }
    weeks = sorted({week for own in rates.values() for week in own})
    failures.sort(key=lambda one: (-one.since, one.cell.group, one.cell.model.casefold()))
    return Outcomes(tuple(weeks), rates, failures, len(cells), len(found) - len(ended))


def _failure(cell: Cell, entries: Sequence[tuple[float, Outcome, str, Any]]) -> Failure:
    passed = [place for place, entry in enumerate(entries) if entry[1] is Outcome.PASSED]
    first, last_pass = (passed[-1] + 1, entries[passed[-1]][0]) if passed else (0, None)
    _, _, reason, record = entries[-1]
    return Failure(cell, record, reason, entries[first][0], last_pass)


ERROR_LENGTH = 160
"""Most characters of an error in a table; the rest says where it was raised."""


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
        *rows_of(_fields(failures), failures),
    )


def _group_fields(groups: Iterable[Group]) -> list[Field[Group]]:
    # A machine that all share says nothing.
    machine = "Accelerator" if len({group.machine for group in groups}) > 1 else None
    return [
        Field("suite", "Suite", NAME, lambda group: group.suite),
        Field("test", "Test", WORD, lambda group: group.test),
        Field(
            "backend",
            "Backend",
            WORD,
            lambda group: group.backend,
            lambda group: title_of(group.backend),
        ),
        Field("accelerator", machine, WORD, lambda group: group.machine),
    ]


def _rates(found: Outcomes, said: str) -> Section:
    fields = [*_group_fields(found.rates), *_week_fields(found)]
    notes = [f"{said}."]
    if found.skipped:
        notes.append(f"{pluralize(found.skipped, 'record')} skipped by the runner count as none.")
    return Section(
        "Pass rate by week (from Monday, UTC)",
        prose=notes,
        table=table_of(fields, found.rates),
        below=["Of several records of a cell in a week, the last counts."],
    )


def _rate_text(rate: Rate | None) -> str:
    if rate is None:
        return ""
    # Rounded down: 100 % is all.
    return f"{int(100 * (rate.passed / sum(rate)))} % {rate.passed}/{sum(rate)}"


RATE = ColumnKind(
    _rate_text, tone=lambda rate: "worse" if rate and rate.failed else "", is_number=True
)


def _week_fields(found: Outcomes) -> Iterator[Field[Group]]:
    def reader(week: str) -> Callable[[Group], Rate | None]:
        return lambda group: found.rates[group].get(week)

    for number, week in enumerate(found.weeks):
        # Without room, the oldest weeks are dropped first.
        extra = max(0, len(found.weeks) - number - 2)
        yield Field("", week, RATE, reader(week), extra=extra)


def _fields(failures: Sequence[Failure]) -> tuple[Field[Failure], ...]:
    """Returns the columns of failures."""
    groups = (failure.cell.group for failure in failures)
    of_groups: list[Field[Failure]] = [
        field.of(lambda failure: failure.cell.group) for field in _group_fields(groups)
    ]
    numbers = {id(failure): number for number, failure in enumerate(failures, 1)}
    return (
        Field("", "No", NUMBER, lambda failure: numbers[id(failure)]),
        of_groups[0],
        Field("model", "Model", NAME, lambda failure: failure.cell.model),
        *of_groups[1:],
        Field("batch_size", "Batch", NUMBER, lambda failure: failure.cell.size, is_optional=True),
        Field("flags", "Flags", TEXT, lambda failure: failure.cell.flags, is_optional=True),
        Field("failing_since", "Failing since", WORD, lambda failure: _time(failure.since)),
        Field(
            "last_passed",
            "Last passed",
            WORD,
            lambda failure: _time(failure.passed),
            lambda failure: _time(failure.passed) or "never",
        ),
        Field(
            "reason",
            "Reason",
            TEXT,
            lambda failure: failure.reason,
            lambda failure: one_line(failure.reason, ERROR_LENGTH),
        ),
        Field("command", None, TEXT, lambda failure: command_of(failure.last)),
    )


def _failing(failures: Sequence[Failure]) -> list[Section]:
    if not failures:
        return []
    commands = [
        f"{command_of(failure.last)}  # {number}"
        for number, failure in enumerate(failures, start=1)
    ]
    return [
        Section("Failing", table=table_of(_fields(failures), failures)),
        Section(prose=["The commands that repeat them, by number:"], code=commands),
    ]


def _time(seconds: float | None) -> str:
    return "" if seconds is None else time_text(seconds).partition(".")[0]


def _data(found: Outcomes) -> dict[str, Any]:
    return {
        "rates": [
            {**group._asdict(), "week": week, **rate._asdict()}
            for group, weeks in found.rates.items()
            for week, rate in weeks.items()
        ],
        "failures": objects_of(_fields(found.failures), found.failures),
        "skipped": found.skipped,
    }
