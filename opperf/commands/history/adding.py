"""The command `history add`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opperf.commands.command import command
from opperf.commands.history.options import repository, store
from opperf.parameters import debug
from opperf.parsing import KeptPath

if TYPE_CHECKING:
    from opperf.history.model import Added
    from opperf.history.repository import Checkout


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
    }
)
@click.argument("paths", metavar="RUNFILE...", nargs=-1, required=True, type=KeptPath())
@store
@click.option(
    "--project",
    default="",
    metavar="NAME",
    help="Project that the commits are of.  [default: the name of the repository]",
)
@repository
@click.option(
    "--commit",
    "revision",
    default="",
    metavar="REVISION",
    help="Commit that was measured.  [default: that which is checked out]",
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
    "--commits-of",
    type=click.Choice(("code", "framework"), case_sensitive=False),
    help="What the project's commits are of: your own code, for which another version of a "
    "framework is another environment, or the framework that is measured.  [default: code; of a "
    "project that is there, as it was made]",
)
@debug
@click.pass_context
def add(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Add run files to a history, each as the figures of a commit. All are added, or none. A run
    that is there already changes nothing, and more of the same run adds what is new."""
    ctx.exit(_add(Request(**options)))


@dataclass(frozen=True)
class Request:
    """The request of `history add`: its parameters."""

    paths: tuple[Path, ...]
    store: str | None
    project: str
    repository: Path
    revision: str
    branch: str
    is_dirty: bool | None
    commits_of: str | None


def _add(request: Request) -> int:
    # Help and completion do without the imports.
    from opperf.errors import UsageError
    from opperf.history.intake.runs import read_submission
    from opperf.history.model import CommitsOf
    from opperf.history.repository import project_name, read_checkout
    from opperf.history.store.opening import Store, default_store, display
    from opperf.results.messages import tell
    from opperf.results.run_files import check_is_run

    for path in request.paths:
        check_is_run(path)
    checkout = read_checkout(request.repository, request.revision, request.branch, request.is_dirty)
    if checkout.is_shallow:
        tell(
            "warning: the repository lacks ancestors (a shallow clone), so that commits are in the "
            "order of their times; fetch all of them with git fetch --unshallow"
        )
    project = request.project or project_name(request.repository)
    with Store(request.store or default_store()) as store:
        from opperf.history.store.adding import add_runs
        from opperf.history.store.reading import read_projects

        known = {found.name: found.commits_of for found in read_projects(store)}
        wanted = CommitsOf(request.commits_of or known.get(project, CommitsOf.CODE))
        if known.get(project, wanted) is not wanted:
            raise UsageError(
                f"--commits-of {wanted.value}: {project} was made with --commits-of "
                f"{known[project].value}, and its series have keys of that; name another project"
            )
        submissions = []
        for path in request.paths:
            submission, warnings = read_submission(path, checkout, wanted)
            submissions.append(submission)
            for warning in warnings:
                tell(f"warning: {warning}")
        for path, added in zip(
            request.paths, add_runs(store, project, submissions, wanted), strict=True
        ):
            print(f"{path}: {_what_was_added(added, project, checkout)}")
        tell(f"store: {display(store.name)}")
    return 0


def _what_was_added(added: Added, project: str, checkout: Checkout) -> str:
    from opperf.history.reports.values import sha_text
    from opperf.plurals import pluralize

    at = f"{sha_text(added.sha)} ({added.branch})"
    if not added.points:
        is_other = added.sha != checkout.commit.sha or added.branch != checkout.branch
        return f"is in {project} already, at {at}{', where it stays' if is_other else ''}"
    new = f", {added.series} of them the first of their series" if added.series else ""
    dirty = ", of a tree with uncommitted changes" if checkout.is_dirty else ""
    return f"{pluralize(added.points, 'figure')} added to {project} at {at}{dirty}{new}"
