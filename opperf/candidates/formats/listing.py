"""The problems of a file or folder in another tool's format, and their candidates, as a report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from opperf.candidates.formats.base import ProblemSet
from opperf.plurals import pluralize
from opperf.reports.fields import LABEL, NUMBER, TEXT, Field, objects_of, rows_of, table_of
from opperf.reports.model import Report, Section


class ListedCandidate(NamedTuple):
    """A problem with one of its candidates, if it has any."""

    problem: str
    trials: int
    checks: int
    candidate: str = ""
    reason: str = ""
    """Why it is not run here; empty if it is."""


def _listed(found: ProblemSet) -> Iterator[ListedCandidate]:
    for posed in found.problems:
        name, trials = posed.problem.name, len(posed.problem.trials)
        both = [(each.name, "") for each in posed.candidates], posed.refused.items()
        for candidate, reason in [*both[0], *both[1]] or [("", "")]:
            yield ListedCandidate(name, trials, posed.checks, candidate, reason)
    for name, reason in found.skipped.items():
        yield ListedCandidate(name, 0, 0, reason=reason)


FIELDS: tuple[Field[ListedCandidate], ...] = (
    Field("problem", "Problem", LABEL, lambda row: row.problem),
    Field("trials", "Trials", NUMBER, lambda row: row.trials),
    Field("checks", "Only checks", NUMBER, lambda row: row.checks),
    Field("candidate", "Candidate", LABEL, lambda row: row.candidate),
    Field("reason", "Not run here", TEXT, lambda row: row.reason),
)


def problems_report(found: ProblemSet) -> Report:
    """Returns a row for each candidate, and for each problem without one."""
    rows = list(_listed(found))
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
