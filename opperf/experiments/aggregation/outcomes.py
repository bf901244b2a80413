"""Outcomes of records: which pass and fail, by suite and week, and since when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Any, NamedTuple

from opperf.experiments.backends import backend_of
from opperf.experiments.records import INCOMPATIBLE, ModelRecord, is_number, times_of
from opperf.experiments.selection import machine_of
from opperf.model import VerificationCode


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

UNDECIDABLE = VerificationCode.NONDETERMINISTIC_EAGER_RUN.value
"""The code where eager itself differs from one run to the next."""

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
    if code == UNDECIDABLE:
        return Outcome.SKIPPED, "eager is not deterministic"
    if code not in VERIFIED and not _has_times(record):
        return Outcome.FAILED, NO_TIMES
    return Outcome.PASSED, ""


VERIFIED = (VerificationCode.PASS.value, VerificationCode.VERIFIER_SKIPPED.value)
"""Codes after which there need be no times: a verification takes their place."""


def _has_times(record: ModelRecord) -> bool:
    return bool(times_of(record)) or is_number(record.metrics.get("mean_total_time"))


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

    @property
    def share(self) -> float:
        return self.passed / (self.passed + self.failed)


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
    backend = backend_of(record) or " ".join(
        filter(None, (record.xla, record.dynamo, record.torch_xla2))
    )
    flags = [str(record.xla_flags)] if record.xla_flags else []
    if record.enable_functionalization:
        flags.append("functionalization")
    group = Group(record.suite_name, record.test or "", backend, machine_of(record))
    return Cell(group, record.model_name, record.batch_size, ", ".join(flags))


def outcomes_of(records: Iterable[ModelRecord]) -> Outcomes:
    """Returns what passed and failed, of records that all have a timestamp. Of several records of
    a cell in a week, the last counts."""
    cells: dict[Cell, list[tuple[float, Outcome, str, ModelRecord]]] = {}
    skipped = 0
    for record in records:
        outcome, reason = outcome_of(record)
        if outcome is Outcome.SKIPPED or record.timestamp is None:
            skipped += 1
            continue
        entry = record.timestamp, outcome, reason, record
        cells.setdefault(cell_of(record), []).append(entry)
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
    return Outcomes(tuple(weeks), rates, failures, len(cells), skipped)


def _failure(cell: Cell, entries: Sequence[tuple[float, Outcome, str, Any]]) -> Failure:
    passed = [at for at, outcome, _, _ in entries if outcome is Outcome.PASSED]
    last_pass = passed[-1] if passed else None
    places = [i for i, entry in enumerate(entries) if entry[1] is Outcome.PASSED]
    first = places[-1] + 1 if places else 0
    _, _, reason, record = entries[-1]
    return Failure(cell, record, reason, entries[first][0], last_pass)
