"""The command `history import`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opperf.commands.command import command
from opperf.commands.history.options import project_of_commits, repository, store
from opperf.parameters import debug

if TYPE_CHECKING:
    from opperf.history.model import Commit, Submission

HEX = frozenset("0123456789abcdef")

DETACHED = "HEAD"
"""The word that git has for a branch where a commit is checked out and none."""

DEFAULT_BRANCH = "main"
"""Branch of runs of which neither their file nor a repository says one."""


@command(
    "import",
    examples={
        "All results of asv, their commits as the repository has them": (
            "opperf history import asv/results --repository ~/src/numerics --branch main"
        ),
        "The pages of github-action-benchmark": (
            "opperf history import dev/bench/data.js --project numerics"
        ),
        "A file that says neither commit nor machine": (
            "opperf history import bencher.json --commit v1.4.0 --machine runner-2"
        ),
    },
)
@click.argument(
    "paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--from",
    "form",
    default="",
    metavar="FORM",
    help="asv, pytest-benchmark, github-action-benchmark, bencher, pytorch (records of its "
    "dashboard, version 3), operator-benchmark, milabench or milabench-database.  [default: that "
    "which the content of each file has]",
)
@store
@project_of_commits
@repository
@click.option(
    "--commit",
    "revision",
    default="",
    metavar="REVISION",
    help="Commit of files that do not say theirs.",
)
@click.option(
    "--branch",
    default="",
    metavar="NAME",
    help="Branch of files that do not say theirs.  [default: as the CI or the repository says, "
    "else main]",
)
@click.option(
    "--machine",
    default="",
    metavar="NAME",
    help="Machine of files that do not say theirs: figures of two machines are never joined.",
)
@debug
@click.pass_context
def import_results(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Add results of other tools to a history: each FILE is a file or a folder. All are added, or
    none; what is there already changes nothing. Commits are looked up in the repository, which
    knows their order; those that it does not have are in the order of their times."""
    ctx.exit(_import(Request(**options)))


@dataclass(frozen=True)
class Request:
    """The request of `history import`: its parameters."""

    paths: tuple[Path, ...]
    form: str
    store: str | None
    project: str
    repository: Path
    revision: str
    branch: str
    machine: str


def _import(request: Request) -> int:
    # Help and completion do without the imports.
    from opperf.history.intake.figures import Given
    from opperf.history.intake.forms import read_results
    from opperf.history.model import CommitsOf
    from opperf.history.store.opening import Store, default_store, display
    from opperf.plurals import pluralize
    from opperf.results.messages import tell

    given = Given(_named_commit(request), request.branch, request.machine)
    read = {path: read_results(path, request.form, given) for path in request.paths}
    for intake in read.values():
        for warning in intake.warnings:
            tell(f"warning: {warning}")
    submissions, project = _placed(
        [submission for intake in read.values() for submission in intake.submissions], request
    )
    for warning in _without_place(submissions):
        tell(f"warning: {warning}")
    with Store(request.store or default_store()) as store:
        from opperf.history.store.adding import add_runs
        from opperf.history.store.reading import read_projects

        known = {found.name: found.commits_of for found in read_projects(store)}
        added = iter(add_runs(store, project, submissions, known.get(project, CommitsOf.CODE)))
        for path, intake in read.items():
            own = [next(added) for _ in intake.submissions]
            figures = sum(run.figures for run in own)
            failures = sum(run.failures for run in own)
            new = sum(run.series for run in own)
            failed = f" and {pluralize(failures, 'new failure')}" if failures else ""
            print(
                f"{path}: {pluralize(len(own), 'run')} of {intake.submissions[0].source}, "
                f"{pluralize(figures, 'new figure')}{failed} in {project}, {new} new series"
            )
        tell(f"store: {display(store.name)}")
    return 0


def _named_commit(request: Request) -> Commit | None:
    """Returns the commit that the user names: one that the repository has, or an id."""
    from opperf.errors import UsageError
    from opperf.history.model import Commit
    from opperf.history.repository import read_commit

    if not request.revision:
        return None
    try:
        return read_commit(request.repository, request.revision)
    except UsageError as error:
        if _is_id(request.revision):
            return Commit(request.revision.lower())
        raise UsageError(f"{error}; or name the commit by its whole id") from error


def _is_id(text: str) -> bool:
    from opperf.history.store.adding import WHOLE_SHA

    return len(text) >= WHOLE_SHA and HEX.issuperset(text.lower())


def _placed(submissions: Sequence[Submission], request: Request) -> tuple[list[Submission], str]:
    """Returns runs at the commits that the repository has of theirs, and the project's name. Raises
    `UsageError` if neither the repository nor an option says that."""
    import msgspec

    from opperf.errors import UsageError
    from opperf.history import repository
    from opperf.history.reports.values import sha_text

    folder = request.repository
    commits: dict[str, Commit] = {}
    if repository.is_repository(folder):
        commits = repository.read_commits(
            folder, [submission.commit.sha for submission in submissions]
        )
    if not commits and not request.project:
        raise UsageError(
            f"{folder} is no repository that has one of the commits, as "
            f"{sha_text(submissions[0].commit.sha)}; name theirs with --repository, or the "
            "project with --project"
        )
    branch = repository.read_branch(folder) if commits else DEFAULT_BRANCH
    return [
        msgspec.structs.replace(
            submission,
            commit=commits.get(submission.commit.sha, submission.commit),
            branch=submission.branch or (DEFAULT_BRANCH if branch == DETACHED else branch),
        )
        for submission in submissions
    ], request.project or repository.project_name(folder)


def _without_place(submissions: Iterable[Submission]) -> list[str]:
    """Returns a sentence on the commits whose order is not known."""
    from opperf.history.reports.values import sha_text
    from opperf.plurals import pluralize

    lost = {
        submission.commit.sha for submission in submissions if submission.commit.position is None
    }
    if not lost:
        return []
    example = sha_text(min(lost))
    return [
        f"{pluralize(len(lost), 'commit')}, as {example}, not found in the repository: runs are in "
        "the order of their times; name the repository with --repository, and fetch all of it"
    ]
