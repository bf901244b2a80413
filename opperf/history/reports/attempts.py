"""The report of `history run`: a row for each commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from opperf.history.attempts import Attempt
from opperf.history.reports.verdicts import date_text
from opperf.plurals import pluralize
from opperf.reports.model import Report, Section, Table, names, numbers, texts, words
from opperf.repository import Commit

COMMAND = "history run"

HEADER = ("commit", "date", "subject", "state", "cases", "why")


def attempts_report(
    commits: Sequence[Commit], attempts: Mapping[str, Attempt], project: str
) -> Report:
    """Returns a row for each commit, the oldest first; attempts are by the commit's id."""
    listed = [(commit, attempts[commit.sha]) for commit in commits]
    rows = [
        (
            *(commit.sha, date_text(commit.time), commit.subject),
            *(attempt.outcome.value, attempt.cases, attempt.why),
        )
        for commit, attempt in listed
    ]
    columns = [
        words("Commit", [commit.short for commit, _ in listed], is_whole=True),
        words("Date", [date_text(commit.time) for commit, _ in listed], is_whole=True),
        names("State", [attempt.outcome.value for _, attempt in listed]),
        numbers("Cases", [str(attempt.cases or "") for _, attempt in listed]),
        texts("Subject", [commit.subject for commit, _ in listed]),
    ]
    if any(attempt.why for _, attempt in listed):
        columns.append(texts("Why", [attempt.why for _, attempt in listed]))
    counts = Counter(attempt.outcome.value for _, attempt in listed)
    found = ", ".join(f"{count} {state}" for state, count in counts.items())
    return Report(
        command=COMMAND,
        title=f"Commits of {project}",
        sections=[
            Section(
                table=Table(tuple(columns)),
                below=[f"{pluralize(len(listed), 'commit')}: {found}"],
            )
        ],
        data={
            "project": project,
            "commits": [dict(zip(HEADER, row, strict=True)) for row in rows],
        },
        header=HEADER,
        rows=rows,
    )
