"""Judges files and sessions: what compares them says, and what its command ends with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opperf.errors import INCONCLUSIVE, UsageError

if TYPE_CHECKING:
    from opperf.comparison.ab.session import Session
    from opperf.comparison.compared import Comparison
    from opperf.comparison.files.judging import Question
    from opperf.comparison.files.reading import Measured
    from opperf.comparison.project_file import Limits
    from opperf.reports.model import Report

Words = tuple[str, ...]


@dataclass(frozen=True)
class Judged:
    """The findings of a comparison, and the exit code of its command."""

    comparisons: Mapping[tuple[str, str], Comparison]
    """By the names of the two sides: several of a session of several arms."""
    report: Report
    code: int
    """Exit code."""
    reason: str
    """Why it is not 0, in one line."""

    @property
    def comparison(self) -> Comparison:
        """The first of them."""
        return next(iter(self.comparisons.values()))


def judge_files(base: Measured, new: Measured, question: Question) -> Judged:
    """Compares two sides. Raises `RunFileError` or `UsageError` if nothing is compared."""
    from opperf.comparison.files.judging import compare
    from opperf.comparison.files.telling import outcome, telling_of
    from opperf.comparison.report import report_of

    found = compare(base, new, question)
    return Judged({found.labels: found}, report_of(found, telling_of(found)), *outcome(found))


def judge_counts(path: Path, fail_on: Words, limits: Limits, weight: str | None) -> Judged:
    """Compares the arms of a session of counts."""
    from opperf.comparison.ab.session_file import read_arms
    from opperf.comparison.files.judging import Question
    from opperf.comparison.files.telling import LOOKED_FOR, SOUND
    from opperf.statistics.data import Verdict

    question = Question(
        fail_on=tuple(finding for finding in fail_on if finding in LOOKED_FOR),
        in_order=True,
        tolerances=limits.tolerances,
        limits_file=limits.path,
        weight=weight,
    )
    found = judge_files(*read_arms(path), question)
    # Counts without a verdict count if that is asked for, or if all are.
    decided = [row.verdict in SOUND for row in found.comparison.rows]
    is_open = not all(decided) if Verdict.AMBIGUOUS.value in fail_on else not any(decided)
    code = found.code or (INCONCLUSIVE if is_open else 0)
    return Judged(found.comparisons, found.report, code, found.reason)


def judge_session(
    session: Session,
    path: Path,
    asked: Words | None,
    limits: Limits,
    weight: str | None,
    name: str | None = None,
) -> Judged:
    """Returns the verdicts of a session, of the file `path`, which fails on the findings that are
    asked for, or the usual ones; commands read it by `name`, by default its own. Raises
    `UsageError` for a finding that it does not have."""
    from opperf.comparison.ab.judging import EXIT_CODES, judge, outcome
    from opperf.comparison.ab.telling import telling_among, telling_of
    from opperf.comparison.report import report_of, report_of_several
    from opperf.comparison.results import looked_for
    from opperf.results.kept import display

    if session.plan.implementations is not None:
        return _judge_implementations(session, asked)
    for word in asked or ():
        if word not in EXIT_CODES:
            raise UsageError(f"--fail-on {word}: a session can fail on {', '.join(EXIT_CODES)}")
    are_compared = session.plan.tolerance is not None
    fail_on = looked_for(asked, are_compared, "the session was made with --no-check")
    if session.plan.kind == "counts":
        return judge_counts(path, fail_on, limits, weight)
    found = judge(session, fail_on, weight, display(path) if name is None else name)
    if len(found) == 1:
        (alone,) = found.values()
        report = report_of(alone, telling_of(alone))
    else:
        report = report_of_several([(made, telling_among(made)) for made in found.values()])
    return Judged(found, report, *outcome(found))


OF_IMPLEMENTATIONS = {"different": "wrong", "regressed": "slower", "missing": "lacking"}
"""Findings of a session of implementations, by those of `opperf compare`."""


def _judge_implementations(session: Session, asked: Words | None) -> Judged:
    from opperf.comparison.versus.judging import outcome_of, versus_of
    from opperf.comparison.versus.report import report_of

    words = ("different",) if asked is None else asked
    fail_on = tuple(OF_IMPLEMENTATIONS.get(word, word) for word in words)
    found = versus_of(session, fail_on)
    return Judged({}, report_of(found), *outcome_of(found))
