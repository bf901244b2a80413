"""Measures commits of a repository into a history."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from opperf.errors import FOUND, INCONCLUSIVE, UsageError
from opperf.frameworks.user_modules import SEARCHED
from opperf.history.attempts import (
    Attempt,
    Keys,
    Outcome,
    earlier_attempt,
    ends_first,
    find_attempts,
    thin_out,
)
from opperf.history.builds import COMPILING, Builder, Recipe
from opperf.history.store.opening import display
from opperf.machine.environment import comparability
from opperf.model import Status
from opperf.model.declaring import ID_LENGTH, digest
from opperf.programs.launching import program_environment
from opperf.reports.model import Report
from opperf.repository import (
    ALL,
    Commit,
    GitError,
    Repository,
    is_shallow,
    project_name,
    read_branch,
    read_commits,
)
from opperf.requests.bisecting.request import CommitBuilds
from opperf.requests.declaring import Option, Say, argument, declared
from opperf.requests.history.fields import AskedOf, OfCommits, read_commits_of
from opperf.requests.measuring import ResolvedRun
from opperf.requests.outputs import ReportedRequest
from opperf.requests.run import RunRequest
from opperf.sources.replays import digest_of
from opperf.suites import SUFFIXES

if TYPE_CHECKING:
    from opperf.requests.history.one_commit import OneCommit, Place
    from opperf.requests.running import Watch

REFUSED = (
    *("changed_since", "git_folder", "output_file", "output_format", "columns", "list_only"),
    *("resume", "retry", "overwrite", "dry_run", "interpreters", "requirements", "locked"),
    *("executor", "address", "nodes", "node", "every_node", "worker_cpus", "worker_gpus"),
    *("workers_per_node", "ncu", "nsys", "batch_cmd", "et", "profile"),
)
"""Parameters of `opperf run` that have no meaning here: of its output and resumption, of other
interpreters and machines than those of a commit's build, of files beside the run's."""

FAILED_STATUSES = ("wrong", *(status.value for status in Status if status.is_failure))
"""Statuses of points that a case failed with; one that was skipped is none."""

OF_THIS_CALL = ("--quiet", "--strict")
"""Options of `opperf run` that change nothing of what is measured."""

SPLIT = ":=,"
"""Characters around the name of a file in a word such as `--inputs=inputs.py:inputs`."""


class MeasuredCommits(NamedTuple):
    """The commits of a range, and the attempts to measure them."""

    report: Report
    attempts: Mapping[str, Attempt]
    """By the id of the commit."""
    is_interrupted: bool
    store: str

    def exit_code(self, strict: bool) -> int:
        """Returns the exit code of what was measured, by the figures that the history has then."""
        outcomes = {attempt.outcome for attempt in self.attempts.values()}
        if not outcomes & {Outcome.MEASURED, Outcome.THERE}:
            return INCONCLUSIVE
        failed = any(attempt.has_failures for attempt in self.attempts.values())
        return FOUND if strict and failed else 0


class CommitsRequest(ReportedRequest, frozen=True, kw_only=True):
    """Measures the commits of a range, and adds their runs to a history."""

    range_: Annotated[str, argument("RANGE [OPERATOR]... [-- BUILD]")]
    of: OfCommits = OfCommits()
    builds: CommitBuilds = CommitBuilds()
    commit_steps: Annotated[
        int | None,
        Option(
            "Measure this many commits, evenly spaced from the first to the last.",
            low=1,
            section="Commits",
            spellings="--steps",
        ),
    ] = None
    commit_every: Annotated[
        int | None,
        Option(
            "Measure every so many-th commit, the last one among them.",
            low=1,
            section="Commits",
            spellings="--every",
        ),
    ] = None
    retry_failed: Annotated[
        bool,
        Option(
            "Try commits again that did not build or load, and cases that failed.",
            section="Plan, resumption and exit code",
        ),
    ] = False
    branch: Annotated[
        str,
        Option(
            "Branch of the runs.  [default: the end of RANGE if that is one, else as the CI or the "
            "repository says]",
            metavar="NAME",
            section="History",
        ),
    ] = ""
    commits_of: AskedOf = None
    dry_run: Annotated[
        bool,
        Option(
            "Print which commits would be measured, in their order, and build and measure nothing.",
            section="Plan, resumption and exit code",
        ),
    ] = False
    words: tuple[str, ...] = ()
    """Those of `opperf run`, which say what is measured."""
    build: tuple[str, ...] = ()
    """Those of the command that builds a commit."""

    def run(
        self, say: Say, asked: RunRequest, watch_of: Callable[[ResolvedRun], Watch]
    ) -> MeasuredCommits:
        """Measures what is asked of each commit, and adds that; `watch_of` returns how that is
        shown."""
        from opperf.history.reports.listing import attempts_report
        from opperf.requests.history.one_commit import OneCommit, Place

        self.check_outputs()
        repository = Repository(self.of.repository)
        commits = self._commits(repository)
        what = self._resolve(asked, say)
        recipe = self.builds.recipe(self.build)
        project = self.of.project or project_name(repository.path)
        keys = keys_of(self.words, recipe)
        with self.of.opened() as store:
            # Without SQLAlchemy, opening a store says what to install.
            commits_of = read_commits_of(store, project, self.commits_of)
            branch = self.branch or _branch(repository, self.range_)
            place = Place(store, project, commits_of, branch, keys, self.retry_failed)
            attempts = _earlier(place, commits)
            places = ends_first(len(commits))
            order = [commits[at] for at in places if commits[at].sha not in attempts]
            is_interrupted = False
            if self.dry_run:
                attempts |= {commit.sha: Attempt(Outcome.PLANNED) for commit in order}
                for commit in order:
                    say(f"would measure {commit.short} ({commit.subject})")
            else:
                builder = Builder(repository, recipe, say)
                one = OneCommit(place, builder, what, is_shallow(repository.path), watch_of(what))
                is_interrupted = _measure_each(one, order, attempts, say)
            report = attempts_report(commits, attempts, project)
            return MeasuredCommits(report, attempts, is_interrupted, display(store.name))

    def _commits(self, repository: Repository) -> list[Commit]:
        if self.range_.startswith("-"):
            raise UsageError(
                f"RANGE is the first word, and {self.range_} is none: opperf history run RANGE "
                "[OPERATOR...] [OPTIONS] -- BUILD"
            )
        found = repository.in_range(self.range_, self.builds.all_parents)
        chosen = thin_out(found, self.commit_steps, self.commit_every)
        facts = read_commits(repository.path, [commit.sha for commit in chosen])
        return [facts[commit.sha] for commit in chosen]

    def _resolve(self, asked: RunRequest, say: Say) -> ResolvedRun:
        from opperf.execution.executor import LOCAL

        for name in REFUSED:
            if name in asked.given:
                raise UsageError(
                    f"{declared(RunRequest)[name].shown} is of opperf run alone; opperf history "
                    "run measures each commit by the interpreter of its build, into the history"
                )
        for name in asked.operators.names:
            if name.endswith(SUFFIXES):
                raise UsageError(f"{name}: suites are run by opperf suite run")
        # As a run of the same words, whose series it goes on with.
        resolved = asked.resolve(say, shlex.join(["opperf", "run", *self.words]))
        assert resolved is not None, "changed_since is refused"
        return replace(resolved, executor=LOCAL)


def _measure_each(
    one: OneCommit,
    order: Sequence[Commit],
    attempts: dict[str, Attempt],
    say: Callable[[str], None],
) -> bool:
    left = iter(order)
    for number, commit in enumerate(left, 1):
        say(f"commit {number} of {len(order)}: {commit.short} ({commit.subject})")
        attempt = one.measure(commit)
        attempts[commit.sha] = attempt
        if attempt.outcome is Outcome.CUT_SHORT:
            attempts |= {other.sha: Attempt(Outcome.NOT_REACHED) for other in left}
            return True
        say(f"{commit.short} {attempt.outcome.value}{attempt.why and f': {attempt.why}'}")
    return False


def _branch(repository: Repository, text: str) -> str:
    end = "HEAD" if text == ALL else text.rpartition("..")[2] or "HEAD"
    try:
        repository.git("rev-parse", "--verify", "--quiet", f"refs/heads/{end}")
    except GitError:
        return read_branch(repository.path)
    return end


def keys_of(words: Sequence[str], recipe: Recipe) -> Keys:
    """Returns the keys of how commits are built, in this environment, and of what is measured of
    them: a commit that was measured with the same keys has nothing new to measure."""
    # With their versions, which would take a second to read from their metadata.
    packages = {path.name for folder in sys.path for path in Path(folder).glob("*.dist-info")}
    built = {
        "recipe": msgspec.to_builtins(recipe),
        "machine": comparability(program_environment()),
        "python": [sys.executable, sys.version],
        "packages": sorted(packages),
        "inherited": {name: os.environ.get(name, "") for name in (*SEARCHED, *COMPILING)},
    }
    what = [word for word in words if word not in OF_THIS_CALL]
    asked = [built, what, _contents(what)]
    return Keys(digest(built)[:ID_LENGTH], digest(asked)[:ID_LENGTH])


def _contents(words: Sequence[str]) -> dict[str, str]:
    table = str.maketrans(dict.fromkeys(SPLIT, "\n"))
    parts = [part for word in words for part in word.translate(table).split("\n") if part]
    found = {}
    for part in dict.fromkeys(parts):
        # What is no name of a file may be too long for one.
        with suppress(OSError, ValueError):
            if Path(part).is_file():
                found[part] = digest_of(Path(part))
    return found


def _earlier(place: Place, commits: Sequence[Commit]) -> dict[str, Attempt]:
    """Returns the attempts of an earlier command, by commit, that are not made again."""
    from opperf.history.store.reading import count_figures, read_failures, read_runs

    project = place.find_project()
    if project is None:
        return {}
    wanted = {commit.sha for commit in commits}
    every = read_runs(place.store, project)
    stored = find_attempts(every, place.keys)
    runs = {sha: own[-1] for sha, own in stored.items() if sha in wanted}
    figures = count_figures(place.store, [run.id for run in runs.values()])
    failed = {
        failure.run
        for failure in read_failures(place.store, project)
        if failure.status in FAILED_STATUSES
    }
    found = {
        sha: earlier_attempt(run, figures[run.id], run.id in failed) for sha, run in runs.items()
    }
    if not place.retry_failed:
        return found
    # A commit that was interrupted has several runs.
    failing = {run.commit.sha for run in every if run.id in failed}
    return {
        sha: attempt
        for sha, attempt in found.items()
        if not attempt.has_failures and sha not in failing
    }
