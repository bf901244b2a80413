"""Detects changes in a history, and holds them against the events that are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from opperf.comparison.project_file import ProjectFile
from opperf.history import detection
from opperf.history.blessing import find_blessing
from opperf.history.detection import Change, Findings, Rate, Series, SeriesNote, detect, series_of
from opperf.history.detection.series import medians
from opperf.history.events import Event, Kind, State, Update, reconcile
from opperf.history.timelines import Array, History, Timeline
from opperf.model import Metric


class Pending(NamedTuple):
    """A difference of the last runs that is too young to be a change."""

    series: int
    change: Change
    first: str
    """The first commit that differs."""


class Checked(NamedTuple):
    """The outcome of a check."""

    found: Sequence[Event]
    """Changes as events that are not stored."""
    over_budget: Sequence[Event]
    """Changes that are less clear than those that the budget was spent on."""
    pending: Sequence[Pending]
    notes: Sequence[SeriesNote]
    order: Mapping[str, int]
    """Index of each commit of the branch."""
    levels: Mapping[int, float]
    """Latest level of each series."""
    settings: str
    """Those of the detection of noisy metrics."""

    def updates(self, known: Sequence[Event]) -> list[Update]:
        """Returns what is to be stored, after comparing with the events that are known."""
        settings = (self.settings, detection.EXACT)
        return reconcile(known, self.found, self.order, self.levels, self.over_budget, settings)

    def kept(self, known: Sequence[Event]) -> list[Event]:
        """Returns the new events that other settings found, and these did not or could not."""
        settings = (self.settings, detection.EXACT)
        return [
            event
            for event in known
            if event.state is State.NEW
            and event.settings not in settings
            and event.first_bad in self.order
        ]


def check_history(
    history: History,
    branch: str,
    rate: Rate,
    method: str,
    smallest: float = detection.SMALLEST,
) -> Checked:
    """Returns the changes of a branch, at one rate of false alarms over all series. The result
    depends on the points alone, whatever order they came in."""
    order = commit_order(history)
    shas = list(order)
    groups: dict[tuple[str, str], list[Timeline]] = {}
    for line in history.timelines:
        groups.setdefault((line.key.case, line.key.metric), []).append(line)
    rank = np.array([order[run.commit.sha] for run in history.runs])
    times = np.array([run.commit.time for run in history.runs])
    names = np.arange(len(history.runs)).astype(np.str_)
    series = [_series(lines, rank, times, names) for lines in groups.values()]
    findings = detect(series, rate, method, smallest)
    settings = settings_text(rate, method, smallest)
    ids = {(key, line.key.environment): line.id for key, lines in groups.items() for line in lines}
    events: list[Event] = []
    over_budget: list[Event] = []
    pending: list[Pending] = []
    for key, changes in zip(groups, findings.changes, strict=True):
        for change in changes:
            number = ids[(key, change.environment)]
            if change.state is detection.State.PENDING:
                pending.append(Pending(number, change, shas[change.first_bad]))
            elif change.state is detection.State.DETECTED and not change.of_machine:
                kept = over_budget if change.over_budget else events
                kept.append(_event(change, number, branch, shas, settings))
    events += _machine_events(findings, branch, shas, settings)
    return Checked(
        events, over_budget, pending, findings.notes, order, _levels(history.timelines), settings
    )


def settings_text(rate: Rate, method: str, smallest: float) -> str:
    """Returns the settings that decide what is found in noisy metrics."""
    if method == detection.ASV:
        return method
    most = "" if rate.most_alerts is None else f", at most {rate.most_alerts} alerts"
    alarms = f"{rate.false_alarms:g} false alarms in {rate.days:g} days"
    return f"{method}, {alarms}{most}, changes from {smallest:.4g}"


def commit_order(history: History) -> dict[str, int]:
    """Returns the index of each commit of a history."""
    shas = dict.fromkeys(run.commit.sha for run in history.runs)
    return {sha: index for index, sha in enumerate(shas)}


LATEST = 5
"""Figures of the latest level of a noisy metric: one of them may be an outlier, or two."""


def _levels(lines: Sequence[Timeline]) -> dict[int, float]:
    latest = [line.median[-(1 if _metric(line).is_steady else LATEST) :] for line in lines]
    return dict(zip((line.id for line in lines), medians(latest).tolist(), strict=True))


def _metric(line: Timeline) -> Metric:
    facts, name = line.facts, line.key.metric
    return Metric(
        name,
        facts.unit,
        facts.kind,
        name,
        lower_is_better=facts.lower_is_better,
        relative_tolerance=facts.relative_tolerance,
        absolute_tolerance=facts.absolute_tolerance,
    )


def _series(lines: Sequence[Timeline], rank: Array, times: Array, names: Array) -> Series:
    key = lines[0].key
    run = np.concatenate([line.run for line in lines])
    widths = [np.maximum(line.high - line.median, line.median - line.low) for line in lines]
    return series_of(
        f"{key.case} {key.metric}",
        _metric(lines[0]),
        rank[run],
        np.concatenate([line.median for line in lines]),
        half_widths=np.concatenate(widths),
        environments=key.environment
        if len(lines) == 1
        else np.concatenate([np.full(len(line.run), line.key.environment) for line in lines]),
        runs=names[run],
        times=times[run],
    )


def _event(change: Change, series: int, branch: str, shas: Sequence[str], settings: str) -> Event:
    return Event(
        Kind.SERIES,
        branch,
        change.environment,
        shas[change.last_good],
        shas[change.first_bad],
        series,
        before=change.before,
        after=change.after,
        ratio=change.ratio,
        low=change.low,
        high=change.high,
        p=change.p,
        method=change.method,
        # A tolerance is the metric's, whatever the settings are.
        settings=change.method if change.method == detection.EXACT else settings,
    )


def _machine_events(
    findings: Findings, branch: str, shas: Sequence[str], settings: str
) -> Iterator[Event]:
    for event in findings.machine_events:
        yield Event(
            Kind.MACHINE,
            branch,
            event.environment,
            shas[event.last_good],
            shas[event.first_bad],
            ratio=event.ratio,
            p=event.p,
            method=event.kind.value,
            count=event.n_series,
            settings=settings,
        )


def bless_events(
    events: Sequence[Event],
    lines: Mapping[int, Timeline],
    order: Mapping[str, int],
    file: ProjectFile,
) -> list[Update]:
    """Returns the open events that the project's file accepts, as blessed."""
    shas = list(order)
    updates = []
    for event in events:
        line = lines.get(event.series) if event.series is not None else None
        if not event.is_open or line is None:
            continue
        begin, end = order.get(event.last_good), order.get(event.first_bad)
        between = shas[begin + 1 : end + 1] if begin is not None and end is not None else []
        blessing = find_blessing(line, between, file)
        if blessing is not None:
            blessed = msgspec.structs.replace(event, state=State.BLESSED)
            updates.append(Update(blessed, f"{file.path}: {blessing.why}"))
    return updates
