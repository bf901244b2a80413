"""The command `history add`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opperf.commands.command import command
from opperf.commands.history.options import commits_of_option, project_of_commits, repository, store
from opperf.parameters import debug
from opperf.parsing import KeptPath

if TYPE_CHECKING:
    from opperf.history.intake.sessions import Destination
    from opperf.history.model import Added, CommitsOf, Submission
    from opperf.history.repository import Checkout
    from opperf.history.store.opening import Store
    from opperf.history.store.rows import Project
    from opperf.history.verdicts import JudgedSession


@command(
    examples={
        "The run that just ended, as that of the commit that is checked out": (
            "opperf history add @last"
        ),
        "Runs of another machine, of a commit that is named": (
            "opperf history add nightly.jsonl --commit v1.4.0 --branch main"
        ),
        "In a CI, to a store that all its machines share": (
            "opperf history add run.jsonl --store postgresql://ci@db.example.org/perf"
        ),
        "The verdicts of a session, which decide the changes between its commits": (
            "opperf history add ab.jsonl --commit-a v1.4.0 --commit-b HEAD"
        ),
    }
)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=KeptPath())
@store
@project_of_commits
@repository
@click.option(
    "--commit",
    "revision",
    default="",
    metavar="REVISION",
    help="Commit that was measured.  [default: that which is checked out]",
)
@click.option(
    "--commit-a",
    default="",
    metavar="REVISION",
    help="Commit of A, of a session.  [default: that which its framework says, if the project's "
    "commits are of that]",
)
@click.option(
    "--commit-b", default="", metavar="REVISION", help="Commit of B, of a session, likewise."
)
@click.option(
    "--branch",
    default="",
    metavar="NAME",
    help="Branch that it was measured for.  [default: as the CI or the repository says]",
)
@click.option(
    "--dirty/--clean",
    "is_dirty",
    default=None,
    help="Whether the tree had changes that no commit has: such runs are kept apart.  [default: "
    "whether it has now]",
)
@click.option(
    "--partial",
    "may_be_partial",
    is_flag=True,
    help="Add what a run that was not finished, or whose file was cut short, has.",
)
@commits_of_option
@debug
@click.pass_context
def add(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Add run files to a history, each as the figures of a commit, and sessions of `opperf ab`,
    each as the verdicts on two commits. All are added, or none. A file that is there already
    changes nothing, and more of the same adds what is new. A verdict confirms or refutes the open
    changes between its commits that `opperf history check` found."""
    ctx.exit(_add(Request(**options)))


@dataclass(frozen=True)
class Request:
    """The request of `history add`: its parameters."""

    paths: tuple[Path, ...]
    store: str | None
    project: str
    repository: Path
    revision: str
    commit_a: str
    commit_b: str
    branch: str
    is_dirty: bool | None
    may_be_partial: bool
    commits_of: str | None


def _add(request: Request) -> int:
    # Help and completion do without the imports.
    from opperf.errors import UsageError
    from opperf.history.repository import project_name, read_checkout
    from opperf.history.store.opening import Store, default_store, display
    from opperf.results import kept
    from opperf.results.kept_facts import is_session
    from opperf.results.messages import tell

    sessions = [path for path in request.paths if is_session(path)]
    runs = [path for path in request.paths if path not in sessions]
    if request.revision and not runs:
        raise UsageError("--commit is of runs; name those of a session: --commit-a and --commit-b")
    checkout = None
    if runs:
        checkout = read_checkout(
            request.repository, request.revision, request.branch, request.is_dirty
        )
        if checkout.is_shallow:
            tell(
                "warning: the repository lacks ancestors (a shallow clone), so that commits are in "
                "the order of their times; fetch all of them with git fetch --unshallow"
            )
    project = request.project or project_name(request.repository)
    # One of a session alone has to have figures of its cases.
    with Store(request.store or default_store(), must_exist=not runs) as store:
        from opperf.history.store.verdicts import add_all

        wanted = read_commits_of(store, project, request.commits_of)
        submissions = (
            []
            if checkout is None
            else read_submissions(runs, checkout, wanted, request.may_be_partial)
        )
        cases = {entry.key.case for submission in submissions for entry in submission.entries}
        if (request.commit_a or request.commit_b) and not sessions:
            raise UsageError(
                "--commit-a and --commit-b are of sessions of opperf ab; none is given"
            )
        judged = _read_sessions(sessions, request, store, project, wanted, cases)
        added, new = add_all(store, project, submissions, judged, wanted)
        if checkout is not None:
            for path, one in zip(runs, added, strict=True):
                print(f"{kept.display(path)}: {_what_was_added(one, project, checkout)}")
        for path, session, count in zip(sessions, judged, new, strict=True):
            print(f"{kept.display(path)}: {_what_was_judged(session, count, project)}")
        if judged:
            _decide(store, project)
        tell(f"store: {display(store.name)}")
    return 0


def read_commits_of(store: Store, project: str, asked: str | None) -> CommitsOf:
    """Returns what a project's commits are of. Raises `UsageError` for one that is there and was
    made otherwise than asked."""
    from opperf.errors import UsageError
    from opperf.history.model import CommitsOf
    from opperf.history.store.reading import read_projects

    known = {found.name: found.commits_of for found in read_projects(store)}
    wanted = CommitsOf(asked or known.get(project, CommitsOf.CODE))
    if known.get(project, wanted) is not wanted:
        raise UsageError(
            f"--commits-of {wanted.value}: {project} was made with --commits-of "
            f"{known[project].value}, and its series have keys of that; name another project"
        )
    return wanted


def read_submissions(
    paths: list[Path], checkout: Checkout, commits_of: CommitsOf, may_be_partial: bool
) -> list[Submission]:
    """Returns the figures of run files, and says what is doubtful about them. Raises
    `RunFileError`."""
    from opperf.history.intake.runs import read_submission
    from opperf.results.messages import tell

    submissions = []
    for path in paths:
        submission, warnings = read_submission(path, checkout, commits_of, may_be_partial)
        submissions.append(submission)
        for warning in warnings:
            tell(f"warning: {warning}")
    return submissions


def _read_sessions(
    paths: list[Path],
    request: Request,
    store: Store,
    project: str,
    commits_of: CommitsOf,
    added: set[str],
) -> list[JudgedSession]:
    """Returns the verdicts of sessions; `added` are the cases of runs that are added with them."""
    from opperf.history.intake.sessions import Destination, read_judged
    from opperf.history.repository import read_commit
    from opperf.history.store.reading import find_project, read_projects
    from opperf.results.messages import tell

    if not paths:
        return []
    to = Destination(project, commits_of, added)
    if not added or any(found.name == project for found in read_projects(store)):
        known = destination(store, find_project(store, project))
        to = to._replace(cases={*known.cases, *added})
    named = (request.commit_a, request.commit_b)
    found = []
    for path in paths:
        session, warnings = read_judged(
            path, to, named, lambda revision: read_commit(request.repository, revision)
        )
        found.append(session)
        for warning in warnings:
            tell(f"warning: {warning}")
    return found


def destination(store: Store, project: Project) -> Destination:
    """Returns a project as that to which sessions are added."""
    from opperf.history.intake.sessions import Destination
    from opperf.history.store.aliases import read_aliases
    from opperf.history.store.reading import read_series

    cases = {stored.key.case for stored in read_series(store, project)}
    return Destination(project.name, project.commits_of, {*cases, *read_aliases(store, project)})


def _decide(store: Store, project: str) -> None:
    """Sets the states of events by the verdicts, and prints which."""
    from opperf.history.store.reading import find_project
    from opperf.history.store.verdicts import decide_by_verdicts

    for update in decide_by_verdicts(store, find_project(store, project)):
        print(f"event {update.event.id} is {update.event.state.value}: {update.why}")


def _what_was_judged(session: JudgedSession, new: int, project: str) -> str:
    from collections import Counter

    from opperf.history.reports.values import sha_text
    from opperf.plurals import pluralize

    between = f"{sha_text(session.b.sha)} against {sha_text(session.a.sha)}"
    if not new:
        return f"is in {project} already, session {session.id}"
    counts = Counter(verdict.verdict.value for verdict in session.verdicts)
    found = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return f"{pluralize(new, 'verdict')} added to {project}, {between}: {found}"


def _what_was_added(added: Added, project: str, checkout: Checkout) -> str:
    from opperf.history.reports.values import sha_text
    from opperf.plurals import pluralize

    at = f"{sha_text(added.sha)} ({added.branch})"
    if not added.figures and not added.failures:
        is_other = added.sha != checkout.commit.sha or added.branch != checkout.branch
        return f"is in {project} already, at {at}{', where it stays' if is_other else ''}"
    new = f", {added.series} of them the first of their series" if added.series else ""
    dirty = ", of a tree with uncommitted changes" if checkout.is_dirty else ""
    failed = f" and {pluralize(added.failures, 'failure')}" if added.failures else ""
    return f"{pluralize(added.figures, 'figure')}{failed} added to {project} at {at}{dirty}{new}"
