"""Figures that are written in formats of other tools: of a run of opperf, or of the runs of a
history, under names that tools compare them by."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from opperf.errors import RunFileError, UsageError
from opperf.formats.documents import TIME
from opperf.formats.figures import no_figure, quartiles
from opperf.formats.model import WHOLE, Entry, Point, SeriesFacts, SeriesKey, Submission
from opperf.machine.environment import comparability
from opperf.model import MetricKind, Record, Run, Status, identity_of
from opperf.model.declaring import ID_LENGTH, digest
from opperf.plurals import pluralize
from opperf.repository import Commit
from opperf.results.figures import CaseFigures, CaseName, Measurement, distinct_names
from opperf.results.settings import changed_settings_text
from opperf.results.text import inputs_text


class Remark(NamedTuple):
    """The verdict on a figure of a session that compared two commits."""

    session: str
    sentence: str
    values: Mapping[str, Any]


class Export(NamedTuple):
    """Runs in the order of their commits, each with a figure or an outcome at least."""

    project: str
    runs: tuple[Submission, ...]
    names: Mapping[str, CaseName]
    """By the id of the case."""
    records: Mapping[str, Record] = {}
    """Of a run of opperf, by the id of the case: a history has figures alone."""
    remarks: Mapping[tuple[str, SeriesKey], Sequence[Remark]] = {}
    """By run and series."""
    verdicts: int = 0
    """Number of verdicts of sessions, those without a figure to be remarks of, too."""

    def left_out(self, *runs: Submission, has_remarks: bool = False) -> list[str]:
        """Returns sentences on what is not written: of runs of which only the figures are, their
        outcomes; and verdicts of sessions, all of them or those without a figure."""
        outcomes = [entry for run in runs for entry in run.outcomes]
        said = Counter(entry.point.status for entry in outcomes if entry.key.metric == WHOLE)
        odd = len(outcomes) - said.total()
        shown = {entry.key.case for run in runs for entry in run.entries}
        said["without a usual metric"] = sum(
            id not in shown for id in (self.records if runs else ())
        )
        placed = {
            (key, remark.session) for (_, key), found in self.remarks.items() for remark in found
        }
        verdicts = self.verdicts - (len(placed) if has_remarks else 0)
        excluded = []
        if said.total():
            by_status = ", ".join(
                f"{count} {status}" for status, count in sorted(said.items()) if count
            )
            excluded.append(
                f"excluded: {pluralize(said.total(), 'case')} without a figure ({by_status})"
            )
        if odd:
            excluded.append(f"excluded: {pluralize(odd, 'figure')} not finite")
        if verdicts:
            excluded.append(f"excluded: {pluralize(verdicts, 'verdict')} of sessions")
        return excluded

    def latest(self) -> Submission:
        """Returns the run of the latest commit, for a format of one run. Raises `UsageError` for
        figures of several environments of a history, which such a format does not tell apart."""
        last = self.runs[-1]
        keys = sorted({entry.key.environment for entry in last.entries})
        if len(keys) > 1 and not self.records:
            raise UsageError(
                f"the run {last.id} is of several environments; name one with --environment: "
                f"{', '.join(keys)}"
            )
        return last

    def sampled_times(self) -> tuple[list[Entry], list[str]]:
        """Returns the times of the latest run that have samples, and sentences on what a format of
        these alone leaves out."""
        times = [entry for entry in self.latest().figures if entry.facts.unit == TIME]
        kept = [entry for entry in times if entry.point.samples]
        without = len(times) - len(kept)
        said = [f"excluded: {pluralize(without, 'time')} without samples"] if without else []
        return kept, [*self.left_out_of_latest(), *said]

    def left_out_of_latest(self) -> list[str]:
        """Returns sentences on what a format of one run leaves out."""
        last = self.latest()
        others = [run.id for run in self.runs[:-1] if run.commit.sha == last.commit.sha]
        more = f"the run {last.id} is written; others of its commit: {', '.join(others)}"
        return [*self.left_out(last), *([more] if others else [])]


class Written(NamedTuple):
    """An export in a format, and what the format has no place for, a line each."""

    content: Any
    """Values of JSON, a text, or of a folder its files by their paths."""
    warnings: list[str]


def iso_time(seconds: float) -> str:
    """Returns a time as ISO 8601; empty if it is unknown."""
    if math.isnan(seconds):
        return ""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()


def seconds_of(started: str, path: Path | None = None) -> float:
    """Returns the time of a header, in seconds since 1970. Raises `RunFileError` without one."""
    try:
        return datetime.fromisoformat(started.replace("Z", "+00:00")).timestamp()
    except ValueError as error:
        of = f"{path}: " if path else ""
        raise RunFileError(f"{of}its header has no time when it started: {started!r}") from error


def export_of(run: Run) -> Export:
    """Returns what is exported of a run. Raises `RunFileError` without a figure."""
    submission = submission_of(run, Commit(run.header.labels.get("commit", "")))
    if not submission.figures:
        raise RunFileError("the run has no results to export: no case was measured")
    return Export(
        project=run.header.labels.get("project", "opperf"),
        runs=(submission,),
        names=distinct_names({entry.key.case: name_of(entry) for entry in submission.entries}),
        records={record.id: record for record in run.records},
    )


def name_of(entry: Entry) -> CaseName:
    """Returns the name of the case of a figure, as `case_name` does."""
    facts = entry.facts
    return CaseName.of(facts.name, facts.inputs, facts.framework, facts.settings)


def submission_of(
    run: Run,
    commit: Commit,
    path: Path | None = None,
    any_build: bool = False,
    command_of: Callable[[Record], str] = lambda record: "",
) -> Submission:
    """Returns a run at a commit: of a case that was retried, the last figures. With `any_build`
    builds of a framework may be joined. `command_of` says how a case is measured again."""
    keys = {
        name: comparability(environment, any_build)
        for name, environment in run.environments.items()
    }
    first = next(iter(keys.values()), "")
    entries = (
        entry
        for record in run.records
        for entry in _entries(record, keys.get(record.environment, first), command_of(record))
    )
    return Submission(
        id=run.header.id or digest(run.header)[:ID_LENGTH],
        commit=commit,
        branch=run.header.labels.get("branch", ""),
        started=seconds_of(run.header.started, path),
        entries=tuple({entry.key: entry for entry in entries}.values()),
        command=str(run.header.options.get("command", "")),
        labels=run.header.labels,
        environments={
            keys[name]: msgspec.to_builtins(environment)
            for name, environment in run.environments.items()
        },
    )


def _entries(record: Record, environment: str, command: str) -> Iterator[Entry]:
    case = record.case
    common: dict[str, Any] = {
        "name": case.label,
        "inputs": inputs_text(case),
        "settings": changed_settings_text(identity_of(case.settings)),
        "category": case.category,
        "framework": case.target.framework,
        "command": command,
    }
    found = CaseFigures(record)
    if record.why_without_figures:
        # Tools that track times would take a wrong result's for an improvement.
        reason = record.reason if record.status is not Status.OK else record.why_without_figures
        yield Entry(
            SeriesKey(record.id, WHOLE, environment),
            SeriesFacts(**common, unit="", kind=MetricKind.COUNT),
            Point(status=record.ended, reason=reason),
        )
        return
    for name, figure in found.compared.items():
        metric = figure.metric
        if metric.usual:
            facts = SeriesFacts(
                **common,
                unit=figure.unit,
                kind=metric.kind,
                lower_is_better=metric.lower_is_better,
                relative_tolerance=metric.relative_tolerance,
                absolute_tolerance=metric.absolute_tolerance,
            )
            yield Entry(SeriesKey(record.id, name, environment), facts, _point(figure))


def _point(found: Measurement) -> Point:
    if not found.is_finite:
        return no_figure(found.median)
    kept = tuple(map(float, found.samples)) if all(map(math.isfinite, found.samples)) else ()
    q25, _, q75 = quartiles(kept) if len(kept) > 1 else (math.nan,) * 3
    low, high = found.interval or (math.nan, math.nan)
    return Point(
        n=found.summary.n, median=found.median, low=low, high=high, q25=q25, q75=q75, samples=kept
    )
