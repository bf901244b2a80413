"""Adds run files, sessions of `opperf ab` and results of other tools to a history."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import msgspec

from opperf.errors import UsageError
from opperf.formats.model import Submission
from opperf.history.model import Added, CommitsOf
from opperf.history.store.opening import Store, display
from opperf.plurals import pluralize
from opperf.repository import (
    WHOLE_SHA,
    Checkout,
    Commit,
    is_repository,
    read_branch,
    read_checkout,
    read_commit,
    read_commits,
)
from opperf.requests.declaring import Option, Request, Say, argument, told, warn
from opperf.requests.history.fields import AskedOf, OfCommits, read_commits_of
from opperf.results.run_files import locate

if TYPE_CHECKING:
    from opperf.formats.figures import Intake
    from opperf.history.added_files import Destination
    from opperf.history.events import Update
    from opperf.history.model import Project
    from opperf.history.verdicts import JudgedSession


class AddedFiles(NamedTuple):
    """The additions of `history add` to a history."""

    project: str
    store: str
    checkout: Checkout | None
    """That of the runs; None without one."""
    runs: list[tuple[Path, Added]]
    sessions: list[tuple[Path, JudgedSession, int]]
    """Each with the number of its verdicts that are new."""
    decided: list[Update]
    """Changes whose state the verdicts decide."""


class AddRequest(Request, frozen=True, kw_only=True):
    """Adds run files to a history, each as the figures of a commit, and sessions of `opperf ab`,
    each as the verdicts on two commits."""

    section: ClassVar[str] = "History"

    paths: Annotated[tuple[Path, ...], argument("FILE...", locate)]
    of: OfCommits = OfCommits()
    revision: Annotated[
        str,
        Option(
            "Commit that was measured.  [default: that which is checked out]",
            metavar="REVISION",
            spellings="--commit",
        ),
    ] = ""
    commit_a: Annotated[
        str,
        Option(
            "Commit of A, of a session.  [default: that which its framework says, if the project's "
            "commits are of that]",
            metavar="REVISION",
        ),
    ] = ""
    commit_b: Annotated[str, Option("Commit of B, of a session, likewise.", metavar="REVISION")] = (
        ""
    )
    branch: Annotated[
        str,
        Option(
            "Branch that it was measured for.  [default: as the CI or the repository says]",
            metavar="NAME",
        ),
    ] = ""
    is_dirty: Annotated[
        bool,
        Option(
            "Whether the tree had changes that no commit has: such runs are kept apart.  [default: "
            "whether it has now]",
            spellings="--dirty/--clean",
        ),
    ] = False
    may_be_partial: Annotated[
        bool,
        Option(
            "Add what a run that was not finished, or whose file was cut short, has.",
            spellings="--partial",
        ),
    ] = False
    commits_of: AskedOf = None

    def run(self, say: Say) -> AddedFiles:
        """Adds all files, or none, and returns what is new."""
        from opperf.history.added_files import read_submission
        from opperf.results.kept_facts import is_session

        sessions = [path for path in self.paths if is_session(path)]
        runs = [path for path in self.paths if path not in sessions]
        if self.revision and not runs:
            raise UsageError(
                "--commit is of runs; name those of a session: --commit-a and --commit-b"
            )
        checkout = self._checkout(say) if runs else None
        project = self.of.name
        # One of a session alone has to have figures of its cases.
        with self.of.opened(must_exist=not runs) as store:
            from opperf.history.store.adding import add_all
            from opperf.history.store.events import decide_by_verdicts
            from opperf.history.store.reading import find_project

            wanted = read_commits_of(store, project, self.commits_of)
            found = [
                told(read_submission(path, checkout, wanted, self.may_be_partial), say)
                for path in runs
                if checkout is not None
            ]
            if (self.commit_a or self.commit_b) and not sessions:
                raise UsageError(
                    "--commit-a and --commit-b are of sessions of opperf ab; none is given"
                )
            cases = {entry.key.case for submission in found for entry in submission.entries}
            to = self._destination(store, project, wanted, cases) if sessions else None
            named = (self.commit_a, self.commit_b)
            judged = [
                read_session(path, to, named, self.of.repository, say)
                for path in sessions
                if to is not None
            ]
            added, new = add_all(store, project, found, judged, wanted)
            decided = decide_by_verdicts(store, find_project(store, project)) if judged else []
            return AddedFiles(
                project,
                display(store.name),
                checkout,
                list(zip(runs, added, strict=True)),
                list(zip(sessions, judged, new, strict=True)),
                list(decided),
            )

    def _checkout(self, say: Say) -> Checkout:
        is_dirty = self.is_dirty if "is_dirty" in self.given else None
        found = read_checkout(self.of.repository, self.revision, self.branch, is_dirty)
        if found.is_shallow:
            say(
                "warning: the repository lacks ancestors (a shallow clone), so that commits are in "
                "the order of their times; fetch all of them with git fetch --unshallow"
            )
        return found

    def _destination(
        self, store: Store, project: str, commits_of: CommitsOf, added: Collection[str]
    ) -> Destination:
        from opperf.history.added_files import Destination
        from opperf.history.store.reading import find_project, read_projects

        if added and all(found.name != project for found in read_projects(store)):
            return Destination(project, commits_of, added)
        known = destination(store, find_project(store, project))
        return Destination(project, commits_of, {*known.cases, *added})


def read_session(
    path: Path, to: Destination, named: tuple[str, str], repository: Path, say: Say
) -> JudgedSession:
    """Returns the verdicts of a session on two commits of a repository, and says what is doubtful
    about them. Raises `OpperfError`."""
    from opperf.history.added_files import read_judged

    return told(read_judged(path, to, named, partial(read_commit, repository)), say)


def destination(store: Store, project: Project) -> Destination:
    """Returns a project as that to which sessions are added."""
    from opperf.history.added_files import Destination
    from opperf.history.store.reading import read_aliases, read_series

    cases = {stored.key.case for stored in read_series(store, project)}
    return Destination(project.name, project.commits_of, {*cases, *read_aliases(store, project)})


HEX = frozenset("0123456789abcdef")

DETACHED = "HEAD"
"""The word that git has for a branch where a commit is checked out and none."""

DEFAULT_BRANCH = "main"
"""Branch of runs of which neither their file nor a repository says one."""


class ImportRequest(Request, frozen=True, kw_only=True):
    """Adds results of other tools to a history."""

    section: ClassVar[str] = "History"

    paths: Annotated[tuple[Path, ...], argument("FILE...")]
    form: Annotated[
        str,
        Option(
            "asv, pytest-benchmark, github-action-benchmark, bencher, pytorch (records of its "
            "dashboard, version 3), operator-benchmark, instruction-counts, hyperfine, perfetto, "
            "milabench or milabench-database.  "
            "[default: that which the content of each file has]",
            metavar="FORM",
            spellings="--from",
        ),
    ] = ""
    of: OfCommits = OfCommits()
    revision: Annotated[
        str,
        Option("Commit of files that do not say theirs.", metavar="REVISION", spellings="--commit"),
    ] = ""
    branch: Annotated[
        str,
        Option(
            "Branch of files that do not say theirs.  [default: as the CI or the repository says, "
            "else main]",
            metavar="NAME",
        ),
    ] = ""
    machine: Annotated[
        str,
        Option(
            "Machine of files that do not say theirs: figures of two machines are never joined.",
            metavar="NAME",
        ),
    ] = ""

    def run(self, say: Say) -> tuple[str, str, list[tuple[Path, Intake, list[Added]]]]:
        """Adds all files, or none. Returns the project, the store and the files."""
        from opperf.formats.figures import Given
        from opperf.formats.forms import read_results

        given = Given(self._named_commit(), self.branch, self.machine)
        # A file that is named twice is read once.
        read = {path: read_results(path, self.form, given) for path in self.paths}
        submissions = [each for intake in read.values() for each in intake.submissions]
        placed = self._placed(submissions)
        for intake in read.values():
            warn(say, intake.warnings)
        warn(say, _without_place(placed))
        project = self.of.name
        with self.of.opened() as store:
            from opperf.history.store.adding import add_runs

            added = iter(add_runs(store, project, placed, read_commits_of(store, project, None)))
            files = [
                (path, intake, [next(added) for _ in intake.submissions])
                for path, intake in read.items()
            ]
            return project, display(store.name), files

    def _named_commit(self) -> Commit | None:
        if not self.revision:
            return None
        try:
            return read_commit(self.of.repository, self.revision)
        except UsageError as error:
            named = self.revision.lower()
            if len(named) >= WHOLE_SHA and HEX.issuperset(named):
                return Commit(named)
            raise UsageError(f"{error}; or name the commit by its whole id") from error

    def _placed(self, submissions: Sequence[Submission]) -> list[Submission]:
        folder = self.of.repository
        commits: dict[str, Commit] = {}
        if is_repository(folder):
            commits = read_commits(folder, [found.commit.sha for found in submissions])
        if not commits and not self.of.project:
            raise UsageError(
                f"{folder} is no repository that has one of the commits, as "
                f"{submissions[0].commit.short}; name theirs with --repository, or the project "
                "with --project"
            )
        branch = read_branch(folder) if commits else DEFAULT_BRANCH
        default = DEFAULT_BRANCH if branch == DETACHED else branch
        return [
            msgspec.structs.replace(
                found,
                commit=commits.get(found.commit.sha, found.commit),
                branch=found.branch or default,
            )
            for found in submissions
        ]


def _without_place(submissions: Iterable[Submission]) -> list[str]:
    lost = {run.commit.sha: run.commit for run in submissions if run.commit.position is None}
    if not lost:
        return []
    return [
        f"{pluralize(len(lost), 'commit')}, as {lost[min(lost)].short}, not found in the "
        "repository: runs are in the order of their times; name the repository with --repository, "
        "and fetch all of it"
    ]
