"""Builds a commit, measures what a history lacks of it, and adds that."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from opperf.errors import (
    BrokenModuleError,
    InstallationError,
    OpperfError,
    OutputError,
    UnknownOperatorError,
    UsageError,
)
from opperf.execution.planning import check_names
from opperf.execution.run_header import make_folder
from opperf.execution.workers import Workers
from opperf.folders import unfinished_folder
from opperf.formats.model import OK
from opperf.frameworks.user_modules import OWN_MODULES
from opperf.history.attempts import (
    ASKED,
    BUILT,
    FAILS,
    LACKS,
    SOURCE,
    Attempt,
    Keys,
    Outcome,
    find_attempts,
    without_points,
)
from opperf.history.builds import Build, Builder, BuildError
from opperf.history.model import CommitsOf
from opperf.machine.environment import comparability
from opperf.machine.pinning import Pinning
from opperf.model import Case, Interpreter, Record, Role, Run, Status
from opperf.plurals import pluralize
from opperf.reports.summary import nothing_measured
from opperf.repository import Checkout, Commit
from opperf.requests.declaring import told
from opperf.requests.measuring import ResolvedRun
from opperf.requests.running import Watch, Work, compile_work, measure_work, plan_work
from opperf.results.kept import remove
from opperf.results.lines import check_free
from opperf.results.runfile import read_run
from opperf.sources.varying import process_key

if TYPE_CHECKING:
    from opperf.history.model import Project
    from opperf.history.store.opening import Store


@dataclass(frozen=True)
class Place:
    """The place of a history that runs are added to."""

    store: Store
    project: str
    commits_of: CommitsOf
    branch: str
    keys: Keys
    retry_failed: bool

    def find_project(self) -> Project | None:
        """Returns the project; None before its first run."""
        from opperf.history.store.reading import read_projects

        listed = read_projects(self.store)
        return next((found for found in listed if found.name == self.project), None)


class Planned(NamedTuple):
    """The work of a commit, and the names that it does not have or cannot load, with reasons."""

    work: Work | None
    lacks: Mapping[str, str]
    broken: Mapping[str, str]

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the commit's run: what it lacks and why it fails."""
        labels = {LACKS: ", ".join(self.lacks), FAILS: self._failure}
        return {name: text for name, text in labels.items() if text}

    @property
    def _failure(self) -> str:
        # Those of one module have the same reason.
        first = next(iter(self.broken.values()), "")
        more = len(self.broken) - 1
        return f"{first}; and {pluralize(more, 'more function')}" if more > 0 else first

    @property
    def why(self) -> str:
        """The reasons why cases of the commit are missing; empty if none are."""
        lacks = f"lacks {', '.join(self.lacks)}" if self.lacks else ""
        return "; ".join(filter(None, (lacks, self._failure)))


class OneCommit:
    """Measures commits, one at a time."""

    def __init__(
        self, place: Place, builder: Builder, what: ResolvedRun, is_shallow: bool, watch: Watch
    ) -> None:
        self._place, self._builder, self._what, self._watch = place, builder, what, watch
        self._is_shallow = is_shallow

    def measure(self, commit: Commit) -> Attempt:
        """Returns what became of a commit, which the history has then: one that fails, too. Ctrl-C
        ends it with what was measured by then. Raises `OpperfError` for what is wrong whichever
        commit it is."""
        begun = unfinished_folder() / f"{commit.sha}-{self._place.keys.asked}.jsonl"
        make_folder(begun)
        if begun.is_file():
            check_free(begun)
        built = None
        try:
            try:
                built = self._builder.build(commit)
            except (BuildError, InstallationError) as error:
                # Whatever is measured.
                key = {BUILT: self._place.keys.built}
                return self._failed(commit, f"does not build: {error}", key)
            self._add_cut_short(commit, built, begun)
            with _processes_of(built):
                return self._measure(commit, built, begun)
        except KeyboardInterrupt:
            number = 0 if built is None else self._add_cut_short(commit, built, begun)
            return Attempt(Outcome.CUT_SHORT, cases=number)

    def _measure(self, commit: Commit, built: Build, run_file: Path) -> Attempt:
        python = (Interpreter(built.python),) if built.python else ()
        request = replace(self._what, interpreters=python)
        started = time.monotonic()
        with Pinning(request.asked.cpus) as pinning, Workers(python, pinning) as workers:
            try:
                planned = plan(workers, request, self._watch.say)
            except OutputError:
                raise
            except OpperfError as error:
                return self._failed(commit, str(error), self._asked)
            if planned.work is None:
                return self._without_cases(commit, planned)
            there = self._there(commit, workers, planned.work.plan.cases)
            work = without(planned.work, there)
            if not work.remaining:
                return _all_there(planned, there)
            compile_work(work, request, workers, self._watch)
            run = measure_work(work, run_file, request, workers, pinning, started, self._watch)
        _check_loaded(run.records, built, run_file)
        return self._measured(commit, run, run_file, planned, there)

    def _measured(
        self, commit: Commit, run: Run, run_file: Path, planned: Planned, there: Mapping[str, bool]
    ) -> Attempt:
        records = run.records
        labels = planned.labels
        failed = [made for made in records if made.is_failed]
        before = _failed_before(there)
        now = f"{len(failed)} failed: {failed[0].reason}" if failed else ""
        why = "; ".join(filter(None, (now, before, planned.why)))
        is_measured = any(there.values()) or any(made.status is Status.OK for made in records)
        if not is_measured:
            why = nothing_measured(records)
            labels = {**labels, FAILS: why}
        self._add(commit, run_file, labels | self._asked)
        outcome = Outcome.MEASURED if is_measured else Outcome.FAILED
        return Attempt(outcome, len(records), why, bool(failed or before or FAILS in labels))

    @property
    def _asked(self) -> dict[str, str]:
        return {ASKED: self._place.keys.asked}

    def _failed(self, commit: Commit, reason: str, key: Mapping[str, str]) -> Attempt:
        self._keep_empty(commit, {FAILS: reason, **key})
        return Attempt(Outcome.FAILED, why=reason, has_failures=True)

    def _without_cases(self, commit: Commit, planned: Planned) -> Attempt:
        self._keep_empty(commit, planned.labels | self._asked)
        if planned.broken:
            return Attempt(Outcome.FAILED, why=planned.why, has_failures=True)
        # A name may be misspelt.
        return Attempt(Outcome.LACKING, why="; ".join(planned.lacks.values()))

    def _keep_empty(self, commit: Commit, labels: Mapping[str, str]) -> None:
        from opperf.history.store.adding import add_runs

        place = self._place
        found = without_points(commit, place.branch, labels, self._what.command)
        self._remove_empty(commit)
        add_runs(place.store, place.project, [found], place.commits_of)

    def _remove_empty(self, commit: Commit) -> None:
        """Deletes what earlier attempts kept of a commit that they could not measure."""
        from opperf.history.store.adding import remove_runs
        from opperf.history.store.reading import read_runs

        place = self._place
        project = place.find_project()
        if project is None:
            return
        own = find_attempts(read_runs(place.store, project), place.keys).get(commit.sha, ())
        empty = [run.id for run in own if run.source == SOURCE]
        if empty:
            remove_runs(place.store, project, empty)

    def _add(self, commit: Commit, run_file: Path, labels: Mapping[str, str]) -> None:
        """Adds a run file as that of a commit, and removes it."""
        from opperf.history.added_files import read_submission
        from opperf.history.store.adding import add_runs

        place = self._place
        checkout = Checkout(commit, place.branch, is_shallow=self._is_shallow)
        is_partial = ASKED not in labels
        read = read_submission(run_file, checkout, place.commits_of, is_partial)
        found = told(read, self._watch.warn)
        found = msgspec.structs.replace(found, labels={**found.labels, **labels})
        add_runs(place.store, place.project, [found], place.commits_of)
        self._remove_empty(commit)
        remove(run_file)

    def _add_cut_short(self, commit: Commit, built: Build, run_file: Path) -> int:
        if not run_file.is_file():
            return 0
        records = read_run(run_file)[0].records
        _check_loaded(records, built, run_file)
        if records:
            self._add(commit, run_file, {})
        else:
            remove(run_file)
        return len(records)

    def _there(self, commit: Commit, workers: Workers, cases: Iterable[Case]) -> dict[str, bool]:
        """Returns the ids of the cases that the history has of a commit, measured in the
        environment of these workers, each with whether it has a figure."""
        from opperf.history.store.reading import read_cases

        place = self._place
        project = place.find_project()
        known = {} if project is None else read_cases(place.store, project, commit.sha)
        if not known:
            return {}
        any_build = place.commits_of is CommitsOf.FRAMEWORK
        keys: dict[str, str] = {}
        found: dict[str, bool] = {}
        for case in cases:
            process = process_key(case.target.framework, case.settings)
            if process not in keys:
                keys[process] = comparability(workers.environment(case), any_build)
            statuses = known.get((case.id, keys[process]), frozenset())
            if OK in statuses or statuses and not place.retry_failed:
                found[case.id] = OK in statuses
        return found


def plan(workers: Workers, request: ResolvedRun, say: Callable[[str], None]) -> Planned:
    """Returns the work of a commit, without the names that it does not have or that cannot be
    loaded. Raises the other errors of `plan_work`."""
    try:
        return Planned(plan_work(workers, request, say), {}, {})
    except UnknownOperatorError as error:
        first = error
    lacks: dict[str, str] = {}
    broken: dict[str, str] = {}
    for name in request.selection.patterns:
        one = msgspec.structs.replace(request.selection, patterns=(name,))
        try:
            check_names(workers, request.framework.name, one, request.axes)
        except BrokenModuleError as error:
            broken[name] = str(error)
        except UnknownOperatorError as error:
            lacks[name] = str(error)
    if not lacks and not broken:
        raise first
    patterns = [name for name in request.selection.patterns if name not in {**lacks, **broken}]
    if not patterns and not request.files:
        return Planned(None, lacks, broken)
    selection = msgspec.structs.replace(request.selection, patterns=tuple(patterns))
    return Planned(plan_work(workers, replace(request, selection=selection), say), lacks, broken)


def _failed_before(there: Mapping[str, bool]) -> str:
    number = sum(not has_figure for has_figure in there.values())
    return f"{pluralize(number, 'case')} failed before" if number else ""


def _all_there(planned: Planned, there: Mapping[str, bool]) -> Attempt:
    before = _failed_before(there)
    why = "; ".join(filter(None, (before, planned.why)))
    outcome = Outcome.THERE if any(there.values()) else Outcome.FAILED_BEFORE
    return Attempt(outcome, why=why, has_failures=bool(before or planned.broken))


def without(work: Work, there: Container[str]) -> Work:
    """Returns work without the cases of these ids."""
    cases = tuple(case for case in work.plan.cases if case.id not in there)
    remaining = tuple(case for case in work.remaining if case.id not in there)
    return work._replace(plan=msgspec.structs.replace(work.plan, cases=cases), remaining=remaining)


@contextmanager
def _processes_of(built: Build) -> Iterator[None]:
    """Has the processes that start meanwhile find a build, and nothing in the working directory. As
    a setting of its cases the folder would be part of their identity."""
    own = {**built.variables, OWN_MODULES: "1"}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _check_loaded(records: Iterable[Record], built: Build, run_file: Path) -> None:
    roots = [Path(built.folder).resolve()]
    if built.python:
        # Not resolved, as it links to the interpreter that the environment was made with.
        roots.append(Path(built.python).parents[1].resolve())
    files = [file for record in records for file in record.loaded if file.role is Role.MEASURED]
    for loaded in files:
        if not any(Path(loaded.file).is_relative_to(root) for root in roots):
            remove(run_file)
            raise UsageError(
                f"{loaded.name} is {loaded.file}, and not of the build of {built.commit[:10]}; say "
                "where that has it, for example with --commit-env PYTHONPATH={worktree}/src, or "
                "have the build leave a wheel"
            )
