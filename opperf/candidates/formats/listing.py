"""The problems of a file or folder in another tool's format, and their candidates, as a report."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from opperf.candidates.formats.base import ProblemSet
from opperf.plurals import pluralize
from opperf.reports.fields import LABEL, NUMBER, TEXT, Field, objects_of, rows_of, table_of
from opperf.reports.model import Report, Section

FIELDS: tuple[Field[tuple[Any, ...]], ...] = (
    Field("problem", "Problem", LABEL, itemgetter(0)),
    Field("trials", "Trials", NUMBER, itemgetter(1)),
    Field("checks", "Only checks", NUMBER, itemgetter(2)),
    Field("candidate", "Candidate", LABEL, itemgetter(3)),
    Field("reason", "Not run here", TEXT, itemgetter(4)),
)


def _rows(found: ProblemSet) -> Iterator[tuple[Any, ...]]:
    for posed in found.problems:
        own = posed.problem.name, len(posed.problem.trials), posed.checks
        judged = [(each.name, "") for each in posed.candidates]
        refused = [(each.name, each.refusal) for each in posed.refused]
        yield from ((*own, *each) for each in [*judged, *refused] or [("", "")])
    yield from ((name, 0, 0, "", reason) for name, reason in found.skipped.items())


def problems_report(found: ProblemSet) -> Report:
    """Returns a row for each candidate, and for each problem without one."""
    rows = list(_rows(found))
    number = pluralize(len(found.problems), "problem")
    candidates = pluralize(sum(len(posed.candidates) for posed in found.problems), "candidate")
    closing = f"{found.format}: {number}, {candidates}"
    return Report(
        "list",
        "",
        (Section(table=table_of(FIELDS, rows)), Section(prose=[closing])),
        objects_of(FIELDS, rows),
        *rows_of(FIELDS, rows),
    )
