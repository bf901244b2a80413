"""Run files as a history takes them, and sessions of `opperf ab`: their verdicts on two commits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from opperf.comparison.ab.judging import comparison_of
from opperf.comparison.ab.pairs import Pair, usual_id
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import read_arms, session_of
from opperf.comparison.compared import ComparedRow
from opperf.comparison.files.judging import Question, compare
from opperf.comparison.project_file import find_project_file, make_limits
from opperf.errors import RunFileError, UsageError
from opperf.formats.exporting import seconds_of, submission_of
from opperf.formats.model import Submission
from opperf.history.model import CommitsOf
from opperf.history.verdicts import NO_CHANGE, JudgedSession, SessionVerdict
from opperf.machine.environment import BY_NAME, comparability, incomparable_facts
from opperf.model import DECLARED, Environment, Record, Run
from opperf.model.declaring import ID_LENGTH, digest
from opperf.model.runs import SELECTION
from opperf.plurals import pluralize
from opperf.repository import Checkout, Commit
from opperf.results.kept import display
from opperf.results.outliers import commands_for
from opperf.results.runfile import read_run, read_visits
from opperf.sources.varying import with_settings
from opperf.statistics.data import Verdict
from opperf.statistics.verdicts import analyse

OF_PYTHON = ("values", "swept_shapes", "sweeps")
"""Fields of a selection whose cases `--id` alone does not name."""


def read_submission(
    path: Path, checkout: Checkout, commits_of: CommitsOf, may_be_partial: bool = False
) -> tuple[Submission, list[str]]:
    """Returns a run file's figures, and what is doubtful about the file, a line each. Raises
    `RunFileError` for a file that is none, that has no record, or, unless it `may_be_partial`, of a
    run that was not finished."""
    run, warnings = read_run(path)
    if not run.records:
        raise RunFileError(f"{path}: the run has no record yet; there is nothing to add")
    if run.closing is None and not may_be_partial:
        # As series that end there, and as outcomes that are missing, it would look like a change.
        left = len(set(run.planned) - {record.id for record in run.records})
        raise RunFileError(
            f"{path}: the run was not finished, or the file was cut short: "
            f"{pluralize(left, 'case')} without a record; finish it with `opperf run --resume "
            f"{display(path)}`, or add what it has with --partial"
        )
    submission = submission_of(
        run,
        checkout.commit,
        path,
        commits_of is CommitsOf.FRAMEWORK,
        lambda record: _command(run, record),
    )
    return msgspec.structs.replace(
        submission, branch=checkout.branch, is_dirty=checkout.is_dirty
    ), warnings


def _command(run: Run, record: Record) -> str:
    """Returns the command that measures a case again; empty for one that no command names."""
    selection = run.header.options.get(SELECTION)
    if not record.case.pattern or not selection or any(map(selection.get, OF_PYTHON)):
        return ""
    return commands_for(run, record).get("run", "")


class Destination(NamedTuple):
    """The project that a session is added to."""

    name: str
    commits_of: CommitsOf
    cases: Collection[str]
    """Ids of the cases that it has series of."""


def _check_session(path: Path, session: Session) -> None:
    """Raises `RunFileError` for a session without verdicts of two commits."""
    if len(session.arms) > 2:
        raise RunFileError(
            f"{path}: the session compares {len(session.arms)} arms, and a verdict is of two "
            "commits; measure two"
        )
    if session.closing is None:
        raise RunFileError(
            f"{path}: the session is unfinished, and its verdicts may change; finish it with "
            f"opperf ab --resume {path}"
        )


def read_judged(
    path: Path, project: Destination, named: tuple[str, str], find: Callable[[str], Commit]
) -> tuple[JudgedSession, list[str]]:
    """Returns the verdicts of a session, and what is doubtful about the file, a line each. `named`
    are the revisions of A and B, empty where the session says them; `find` returns the commit of a
    revision. Raises `RunFileError` for a session without verdicts, and `UsageError` for one that is
    not of two commits of the project."""
    run, warnings = read_visits(path)
    session = session_of(path, run)
    _check_session(path, session)
    environments = [_environment(path, run, session, arm) for arm in session.arms]
    a, b = (
        find(name or _revision(path, environment, project))
        for environment, name in zip(environments, named, strict=True)
    )
    if a.sha == b.sha:
        raise UsageError(f"{path}: A and B are both of {a.sha[:10]}; a verdict is of two commits")
    key = _environment_key(path, session, environments, project)
    pairs = {pair.id: pair for pair in session.pairs}
    cases = {name: _case_id(session, pair, project) for name, pair in pairs.items()}
    if not set(cases.values()) & set(project.cases):
        raise UsageError(
            f"{path}: {project.name} has no figure of any case of this session; name the project "
            "that it is of with --project, or add a run of its cases first"
        )
    id = session.header.id or digest(session.header)[:ID_LENGTH]
    started = seconds_of(session.header.started, path)
    judged = _counted(path, session) if session.plan.kind == "counts" else _timed(path, session)
    verdicts = tuple(
        SessionVerdict(
            id=cases[row.id],
            operator=pairs[row.id].label,
            inputs=pairs[row.id].inputs,
            metric=row.metric,
            verdict=row.verdict,
            ratio=row.ratio,
            low=row.low,
            high=row.high,
            blocks=row.blocks or 0,
            session=id,
            environment=key,
            a=a,
            b=b,
            started=started,
            all_threads=all_threads,
        )
        for row, all_threads in judged
        # A case that B cannot measure is in no pair.
        if row.id in pairs
    )
    if not verdicts:
        raise RunFileError(f"{path}: {NO_VERDICT}")
    facts = {key: msgspec.to_builtins(environments[0])}
    return JudgedSession(id, a, b, verdicts, facts), warnings


def _environment(path: Path, run: Run, session: Session, arm: str) -> Environment:
    if arm in session.environments:
        return session.environments[arm]
    ids = {case.id for case in session.cases_of(arm).values()}
    for record in run.records:
        if record.id in ids and record.environment in run.environments:
            return run.environments[record.environment]
    raise RunFileError(f"{path}: {NO_VERDICT}")


NO_VERDICT = "the session has no verdict; there is nothing to add"


def _revision(path: Path, environment: Environment, project: Destination) -> str:
    if project.commits_of is not CommitsOf.FRAMEWORK or not environment.commit:
        raise UsageError(
            f"{path}: the session does not say which commits A and B are of; name them with "
            "--commit-a and --commit-b"
        )
    return environment.commit


def _environment_key(
    path: Path, session: Session, environments: Sequence[Environment], project: Destination
) -> str:
    """Returns the comparability key of both arms. Raises `UsageError` where they differ by more
    than their commits."""
    any_build = project.commits_of is CommitsOf.FRAMEWORK
    a, b = environments
    facts = [
        name for name in incomparable_facts(a, b) if not (any_build and BY_NAME[name].of_build)
    ]
    ours, theirs = (arm.settings for arm in session.plan.arms)
    settings = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    if facts or settings:
        raise UsageError(
            f"{path}: A and B differ in {', '.join(dict.fromkeys([*facts, *settings]))}, so that "
            f"its verdicts are not those of two commits of {project.name}"
        )
    return comparability(a, any_build)


def _case_id(session: Session, pair: Pair, project: Destination) -> str:
    """Returns the id under which a project has a pair's case, as runs of the usual process or of
    the session's threads have it; of one that it lacks that of the usual process."""
    usual = type(pair.a.settings)()
    own: dict[str, Any] = {
        name: getattr(usual, name) for name, setting in DECLARED.items() if setting.process
    }
    own["threads"] = session.selection.settings.threads
    candidates = [usual_id(pair.a), with_settings(pair.a, own).id]
    return next((id for id in candidates if id in project.cases), candidates[0])


Judged = Iterator[tuple[ComparedRow, str]]
"""Rows, by the ids of pairs, each with what it is of all threads."""


ALL_THREADS = {Verdict.REGRESSED: "slower", Verdict.IMPROVED: "faster"}
"""Names of verdicts of all threads."""


def _timed(path: Path, session: Session) -> Judged:
    analysis = analyse(session.replicates, session.plan.thresholds)
    if not analysis.looks or not analysis.valid:
        raise RunFileError(
            f"{path}: {NO_VERDICT}{f': {analysis.reason}' if analysis.reason else ''}"
        )
    found = comparison_of(session, analysis)
    look = found.session and found.session.coarse
    coarse = {
        (row.id, row.metric): ALL_THREADS.get(row.verdict, NO_CHANGE)
        for row in (look.rows if look else ())
    }
    for row in found.rows:
        yield row, coarse.get((row.id, row.metric), "")


def _counted(path: Path, session: Session) -> Judged:
    """Yields the verdicts of a session of counts, by the tolerances of the project's file. The
    other metrics of its runs scatter, and have none."""
    tolerances = make_limits(find_project_file(Path.cwd()), None, ()).tolerances
    group_of = {case: group.id for group in session.plan.groups for case in group.cases}
    compared = compare(*read_arms(path), Question(in_order=True, tolerances=tolerances))
    for row in compared.rows:
        if row.allowed is not None and row.ratio is not None:
            exact = {"id": group_of[row.id], "low": row.ratio, "high": row.ratio, "blocks": 1}
            yield msgspec.structs.replace(row, **exact), ""
