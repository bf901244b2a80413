"""Judges files and sessions: what compares them says, and what its command ends with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from opperf.errors import INCONCLUSIVE, UsageError

if TYPE_CHECKING:
    from opperf.comparison.ab.session import Session
    from opperf.comparison.compared import Comparison
    from opperf.comparison.files.judging import Question
    from opperf.comparison.files.reading import Measured
    from opperf.comparison.project_file import Limits
    from opperf.comparison.versus.judging import Versus
    from opperf.reports.model import Report

Words = tuple[str, ...]


Found = TypeVar("Found")


@dataclass(frozen=True)
class Judged(Generic[Found]):
    """The findings of a comparison, and the exit code of its command."""

    found: Found
    report: Report
    code: int
    """Exit code."""
    reason: str
    """Why it is not 0, in one line."""


Comparisons = Mapping[tuple[str, str], "Comparison"]
"""By the names of the two sides: several of a session of several arms."""


def judge_files(base: Measured, new: Measured, question: Question) -> Judged[Comparisons]:
    """Compares two sides. Raises `RunFileError` or `UsageError` if nothing is compared."""
    from opperf.comparison.files.judging import compare
    from opperf.comparison.files.telling import outcome, telling_of
    from opperf.comparison.report import report_of

    found = compare(base, new, question)
    return Judged({found.labels: found}, report_of(found, telling_of(found)), *outcome(found))


def judge_counts(
    path: Path, fail_on: Words, limits: Limits, weight: str | None
) -> Judged[Comparisons]:
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
    judged = judge_files(*read_arms(path), question)
    (found,) = judged.found.values()
    # Counts without a verdict count if that is asked for, or if all are.
    decided = [row.verdict in SOUND for row in found.rows]
    is_open = not all(decided) if Verdict.AMBIGUOUS.value in fail_on else not any(decided)
    return replace(judged, code=judged.code or (INCONCLUSIVE if is_open else 0))


def judge_session(
    session: Session,
    path: Path,
    asked: Words | None,
    limits: Limits,
    weight: str | None,
    name: str | None = None,
) -> Judged[Comparisons]:
    """Returns the verdicts of a session, of the file `path`, which fails on the findings that are
    asked for, or the usual ones; commands read it by `name`, by default its own. Raises
    `UsageError` for a finding that it does not have."""
    from opperf.comparison.ab.judging import EXIT_CODES, judge, outcome
    from opperf.comparison.ab.telling import telling_among, telling_of
    from opperf.comparison.report import report_of, report_of_several
    from opperf.comparison.results import looked_for
    from opperf.results.kept import display

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


def judge_implementations(session: Session, asked: Words | None) -> Judged[Versus]:
    """Returns what a session of implementations says, which fails on the findings that are asked
    for, as `opperf versus` or `opperf compare` names them, or on wrong results. Raises `UsageError`
    for a finding that it does not have."""
    from opperf.comparison.versus.judging import outcome_of, versus_of
    from opperf.comparison.versus.report import report_of

    own = OF_IMPLEMENTATIONS.values()
    fail_on = tuple(OF_IMPLEMENTATIONS.get(word, word) for word in asked or ())
    for word, finding in zip(asked or (), fail_on, strict=True):
        if finding not in own:
            raise UsageError(
                f"--fail-on {word}: a session of implementations can fail on "
                f"{', '.join(OF_IMPLEMENTATIONS)}"
            )
        if session.plan.is_quick and finding == "slower":
            raise UsageError(f"--fail-on {word}: a first look has no verdicts; omit it")
    found = versus_of(session, ("wrong",) if asked is None else fail_on)
    return Judged(found, report_of(found), *outcome_of(found))
