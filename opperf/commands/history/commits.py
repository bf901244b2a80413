"""Measures commits into a history: the command `history run`, from its options to the exit code."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import click
import msgspec

from opperf.commands.commit_builds import read_recipe
from opperf.commands.history.adding import read_commits_of
from opperf.commands.history.one_commit import OneCommit, Place
from opperf.commands.run import run as run_command
from opperf.commands.run.experiments import FAILURES
from opperf.errors import FOUND, INCONCLUSIVE, INTERRUPTED, UsageError, one_line
from opperf.execution.executor import LOCAL
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
from opperf.history.model import Commit
from opperf.history.reports.attempts import attempts_report
from opperf.history.repository import (
    GitError,
    is_shallow,
    project_name,
    read_branch,
    read_commits,
)
from opperf.history.store.opening import Store, default_store, display
from opperf.history.worktrees import ALL, Repository
from opperf.machine.environment import comparability
from opperf.model.base import ID_LENGTH, digest
from opperf.programs.launching import program_environment
from opperf.reports.writing import write_reports
from opperf.requests.declaring import declared
from opperf.requests.resolved_run import ResolvedRun
from opperf.requests.run import RunRequest
from opperf.results.messages import tell
from opperf.results.output import Output, check_output
from opperf.sources.replays import digest_of
from opperf.suites import SUFFIXES

REFUSED = (
    *("changed_since", "git_folder", "output_file", "output_format", "columns", "list_only"),
    *("resume", "retry", "overwrite", "dry_run", "interpreters", "requirements", "locked"),
    *("executor", "address", "nodes", "node", "every_node", "worker_cpus", "worker_gpus"),
    *("workers_per_node", "ncu", "nsys", "batch_cmd", "et", "profile"),
)
"""Parameters of `opperf run` that have no meaning here: of its output and resumption, of other
interpreters and machines than those of a commit's build, of files beside the run's."""

FAILED_STATUSES = ("wrong", *(status.value for status in FAILURES))
"""Statuses of points that a case failed with; one that was skipped is none."""

OF_THIS_CALL = ("--quiet", "--strict")
"""Options of `opperf run` that change nothing of what is measured."""

SPLIT = ":=,"
"""Characters around the name of a file in a word such as `--inputs=inputs.py:inputs`."""


@dataclass(frozen=True)
class Request:
    """The request of `history run`: its parameters."""

    range_: str
    repository: Path
    all_parents: bool
    commit_env: tuple[str, ...]
    wheel: str | None
    requirements: tuple[str, ...]
    commit_steps: int | None
    commit_every: int | None
    retry_failed: bool
    store: str | None
    project: str
    branch: str
    commits_of: str | None
    dry_run: bool
    output_file: Path
    output_format: str
    overwrite: bool
    words: tuple[str, ...]
    """Those of `opperf run`."""
    build: tuple[str, ...]


def measure_commits(request: Request) -> int:
    """Measures the commits of a range, adds them to a history, and returns the exit code. Raises
    `OpperfError` for a wrong request, and for what is wrong whichever commit is measured."""
    output = Output(request.output_file, request.output_format)
    check_output(output.path, request.overwrite)
    repository = Repository(request.repository)
    commits = _commits(repository, request)
    what = read_what(request.words)
    recipe = read_recipe(vars(request))
    project = request.project or project_name(repository.path)
    keys = keys_of(request.words, recipe)
    say = (lambda text: None) if what.quiet else tell
    with Store(request.store or default_store()) as store:
        # Without SQLAlchemy, opening a store says what to install.
        commits_of = read_commits_of(store, project, request.commits_of)
        branch = request.branch or _branch(repository, request.range_)
        place = Place(store, project, commits_of, branch, keys, request.retry_failed)
        attempts = _earlier(place, commits)
        order = [commits[at] for at in ends_first(len(commits)) if commits[at].sha not in attempts]
        if request.dry_run:
            code = 0
            attempts |= {commit.sha: Attempt(Outcome.PLANNED) for commit in order}
            for commit in order:
                say(f"would measure {commit.sha[:10]} ({commit.subject})")
        else:
            builder = Builder(repository, recipe, say)
            one = OneCommit(place, builder, what, is_shallow(repository.path), say)
            interrupted = _measure_each(one, order, attempts, say)
            code = INTERRUPTED if interrupted else _exit_code(attempts, what.strict)
        write_reports(attempts_report(commits, attempts, project), [output])
        say(f"store: {display(store.name)}")
    if code == INTERRUPTED:
        tell("interrupted; what was measured is in the history, and the same command goes on")
    return code


def _exit_code(attempts: Mapping[str, Attempt], strict: bool) -> int:
    outcomes = {attempt.outcome for attempt in attempts.values()}
    if not outcomes & {Outcome.MEASURED, Outcome.THERE}:
        return INCONCLUSIVE
    failed = any(attempt.has_failures for attempt in attempts.values())
    return FOUND if strict and failed else 0


def _measure_each(
    one: OneCommit,
    order: Sequence[Commit],
    attempts: dict[str, Attempt],
    say: Callable[[str], None],
) -> bool:
    """Measures commits in their order, and adds what became of each to the attempts; whether that
    was interrupted."""
    left = iter(order)
    for number, commit in enumerate(left, 1):
        say(f"commit {number} of {len(order)}: {commit.sha[:10]} ({commit.subject})")
        attempt = one.measure(commit)
        attempts[commit.sha] = attempt
        if attempt.outcome is Outcome.CUT_SHORT:
            attempts |= {other.sha: Attempt(Outcome.NOT_REACHED) for other in left}
            return True
        say(f"{commit.sha[:10]} {attempt.outcome.value}{attempt.why and f': {attempt.why}'}")
    return False


def _commits(repository: Repository, request: Request) -> list[Commit]:
    """Returns the commits to measure, the oldest first. Raises `UsageError`."""
    if request.range_.startswith("-"):
        raise UsageError(
            f"RANGE is the first word, and {request.range_} is none: opperf history run RANGE "
            "[OPERATOR...] [OPTIONS] -- BUILD"
        )
    found = repository.in_range(request.range_, request.all_parents)
    chosen = thin_out(found, request.commit_steps, request.commit_every)
    facts = read_commits(repository.path, [commit.sha for commit in chosen])
    return [facts[commit.sha] for commit in chosen]


def _branch(repository: Repository, text: str) -> str:
    """Returns the branch that a range ends at, else that of the repository."""
    end = "HEAD" if text == ALL else text.rpartition("..")[2] or "HEAD"
    try:
        repository.git("rev-parse", "--verify", "--quiet", f"refs/heads/{end}")
    except GitError:
        return read_branch(repository.path)
    return end


def read_what(words: Sequence[str]) -> ResolvedRun:
    """Returns what is measured of each commit, by the words of `opperf run`. Raises `UsageError`
    for an option that has no meaning here."""
    try:
        context = run_command.make_context("opperf run", list(words))
    except click.UsageError as error:
        raise UsageError(f"{one_line(error.format_message())} (of opperf run)") from error
    request = run_command.request_of(context)
    for name in REFUSED:
        if name in request.given:
            option = declared(RunRequest)[name].shown
            raise UsageError(
                f"{option} is of opperf run alone; opperf history run measures each commit by "
                "the interpreter of its build, into the history"
            )
    for name in request.operators.names:
        if name.endswith(SUFFIXES):
            raise UsageError(f"{name}: suites are run by opperf suite run")
    # As a run of the same words, whose series it goes on with.
    resolved = request.resolve(tell, shlex.join(["opperf", "run", *words]))
    assert resolved is not None
    return replace(resolved, executor=LOCAL)


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
    """Returns the hashes of the files that are named in words."""
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
