"""The part of a history that is exported: runs with their figures, and names for these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from opperf.errors import UsageError, unknown
from opperf.formats.model import OK, Entry, SeriesKey
from opperf.history.model import Project, StoredEnvironment, StoredRun
from opperf.history.store.opening import Store, StoreError
from opperf.history.store.reading import (
    read_environments,
    read_points,
    read_runs,
    read_series,
    read_verdicts,
)
from opperf.history.verdicts import SessionVerdict, by_figure
from opperf.plurals import pluralize
from opperf.results.figures import CaseName, distinct_names


class ExportedRun(NamedTuple):
    """A run with its figures and outcomes."""

    stored: StoredRun
    entries: tuple[Entry, ...]

    @property
    def figures(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.point.status == OK]

    @property
    def outcomes(self) -> list[Entry]:
        """Of the cases and metrics without figures."""
        return [entry for entry in self.entries if entry.point.status != OK]


class Exported(NamedTuple):
    """Runs of one branch, in the order of their commits."""

    project: Project
    runs: tuple[ExportedRun, ...]
    environments: Mapping[str, StoredEnvironment]
    names: Mapping[str, CaseName]
    """By the id of the case."""
    verdicts: Mapping[tuple[str, str], Sequence[SessionVerdict]] = {}
    """By case and metric, the latest first."""

    def verdicts_at(self, run: ExportedRun, entry: Entry) -> list[SessionVerdict]:
        """Returns the verdicts on a figure whose commit is B's."""
        found = self.verdicts.get((entry.key.case, entry.key.metric), ())
        return [verdict for verdict in found if verdict.b.sha == run.stored.commit.sha]

    def excluded_verdicts(self, has_place: bool = False) -> tuple[str, ...]:
        """Returns a sentence on verdicts that are not written: all of them, or where the form has a
        place for them those of a commit B without a figure."""
        written = {
            (verdict.session, verdict.key)
            for run in self.runs
            for entry in run.figures
            for verdict in self.verdicts_at(run, entry)
        }
        count = sum(map(len, self.verdicts.values())) - (len(written) if has_place else 0)
        return (f"excluded: {pluralize(count, 'verdict')} of sessions",) if count else ()

    def host(self, environment: str) -> str:
        """Returns the name of a machine: its own, or the key of its environment."""
        known = self.environments.get(environment)
        return str(known.facts.get("hostname") or "") if known else ""


class Files(NamedTuple):
    """An export: files by their path in a folder, or one file under an empty path."""

    files: Mapping[str, bytes]
    warnings: tuple[str, ...] = ()


def collect(
    store: Store, project: Project, branch: str = "", environment: str = "", run: str = ""
) -> Exported:
    """Returns the runs of a branch, or of all if there is one, but those of trees with uncommitted
    changes; only the figures of an environment, and only a run, if it is named. Raises `UsageError`
    for a branch, an environment and a run that is not there."""
    runs = [found for found in read_runs(store, project) if not found.is_dirty]
    branches = sorted({found.branch for found in runs})
    if branch and branch not in branches:
        raise unknown("branch", branch, branches, project.name)
    if not branch and len(branches) > 1:
        raise UsageError(f"name one of the branches with --branch: {', '.join(branches)}")
    runs = [found for found in runs if branch in ("", found.branch)]
    if run:
        identities = [found.identity for found in runs]
        runs = [found for found in runs if found.identity == run]
        if not runs:
            raise unknown("run", run, identities, project.name)
    series = {stored.id: stored for stored in read_series(store, project)}
    keys = sorted({stored.key.environment for stored in series.values()})
    if not any(key.startswith(environment) for key in keys):
        raise unknown("environment", environment, keys, project.name)
    entries: dict[int, dict[SeriesKey, Entry]] = {found.id: {} for found in runs}
    for number, of, point in read_points(store, project):
        stored = series.get(number)
        if stored is None:
            raise StoreError(f"{project.name}: the store is damaged: a figure is of no series")
        if of in entries and stored.key.environment.startswith(environment):
            entries[of][stored.key] = Entry(stored.key, stored.facts, point)
    kept = tuple(
        ExportedRun(found, tuple(entries[found.id].values())) for found in runs if entries[found.id]
    )
    if not kept:
        raise UsageError(f"{project.name} has no figures to export there")
    names = {
        entry.key.case: CaseName.of(of.name, of.inputs, of.framework, of.settings)
        for run in kept
        for entry in run.entries
        for of in [entry.facts]
    }
    figures = {(entry.key.case, entry.key.metric) for run in kept for entry in run.entries}
    verdicts = by_figure(
        verdict
        for verdict in read_verdicts(store, project)
        if (verdict.key.case, verdict.key.metric) in figures
    )
    return Exported(project, kept, read_environments(store), distinct_names(names), verdicts)


def last_run(exported: Exported) -> ExportedRun:
    """Returns the run of the latest commit. Raises `UsageError` if its figures are of several
    environments, which a form of one run does not tell apart."""
    last = exported.runs[-1]
    keys = sorted({entry.key.environment for entry in last.entries})
    if len(keys) > 1:
        raise UsageError(
            f"the run {last.stored.identity} is of several environments; name one with "
            f"--environment: {', '.join(keys)}"
        )
    return last


def other_machines(exported: Exported) -> list[str]:
    """Returns a sentence on the runs of the latest commit that a form of one run leaves out."""
    last = exported.runs[-1].stored
    others = [
        run.stored.identity
        for run in exported.runs[:-1]
        if run.stored.commit.sha == last.commit.sha
    ]
    if not others:
        return []
    return [f"the run {last.identity} is written; others of its commit: {', '.join(others)}"]
