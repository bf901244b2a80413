"""Detects changes in a history, and holds them against the events that are known."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from opperf.comparison.project_file import (
    NAME,
    PROJECT,
    TABLE,
    Blessing,
    ProjectFile,
    read_project_file,
)
from opperf.history.detection.detecting import ASV, EXACT, LIKELIHOOD, SMALLEST, detect
from opperf.history.detection.findings import (
    ChangeState,
    EventKind,
    Known,
    LevelChange,
    Moved,
    NoteKind,
    Rate,
    SeriesNote,
)
from opperf.history.detection.series import Series, series_of
from opperf.history.events import Event, Kind, State, Update, reconcile
from opperf.history.stopped import find_stopped
from opperf.history.timelines import Array, History, Outcome, Timeline, possible
from opperf.model import Metric, Operator
from opperf.plurals import pluralize
from opperf.reading import read_text
from opperf.results.output import replace
from opperf.sources.selecting import make_matcher


class Noted(NamedTuple):
    """A note on a series, or on a machine."""

    series: int | None
    """None of a machine."""
    note: SeriesNote
    commit: str
    """That it is about, or begins with."""


class Checked(NamedTuple):
    """The outcome of a check."""

    found: Sequence[Update]
    """Changes as events that are not stored."""
    over_budget: Sequence[Update]
    """Changes that are less clear than those that the budget was spent on."""
    ended: Sequence[Update]
    """Stops of series that have figures again."""
    pending: Sequence[Event]
    """Differences of the last runs that are too young to be changes: not stored."""
    notes: Sequence[Noted]
    order: Mapping[str, int]
    """Index of each commit of the branch."""
    gone: Collection[tuple[int | None, str]]
    """Series and environments that others took the place of."""
    settings: str
    """Those of the detection of noisy metrics."""

    def updates(self, known: Sequence[Event]) -> list[Update]:
        """Returns what is to be stored, after comparing with the events that are known."""
        settings = (self.settings, EXACT)
        past = [*self.over_budget, *self.ended]
        return reconcile(known, self.found, self.order, past, settings, self.gone)

    def kept(self, known: Sequence[Event]) -> list[Event]:
        """Returns the new events that other settings found, and these did not or could not."""
        settings = (self.settings, EXACT)
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
    smallest: float = SMALLEST,
    known: Sequence[Event] = (),
    outcomes: Sequence[Outcome] = (),
) -> Checked:
    """Returns the changes of a branch, at one rate of false alarms over all series, and the series
    that stopped, by the `outcomes` of its runs that are no figures. The result depends on the
    points alone, whatever order they came in, and on the changes that are known, which stand until
    the points take them back."""
    order = commit_order(history)
    shas = list(order)
    lines = history.timelines
    rank = np.array([order[run.commit.sha] for run in history.runs])
    times = np.array([run.commit.time for run in history.runs])
    names = np.arange(len(history.runs)).astype(np.str_)
    series = [_series(line, rank, times, names) for line in lines]
    settings = settings_text(rate, method, smallest)
    keys = {line.id: one.key for line, one in zip(lines, series, strict=True)}
    found_before = _known(known, keys, order, settings)
    findings = detect(series, rate, method, smallest, found_before)
    stopped = find_stopped(history, outcomes, branch)
    events = [stop for stop in stopped if stop.event.is_open]
    ended = [stop for stop in stopped if not stop.event.is_open]
    over_budget: list[Update] = []
    pending: list[Event] = []
    of_lines = zip(lines, findings.changes, strict=True)
    own = [(line.id, change) for line, changes in of_lines for change in changes]
    for number, change in (*own, *((None, event) for event in findings.machine_events)):
        event = _event(change, number, branch, shas, settings)
        if change.state is ChangeState.PENDING:
            pending.append(event)
        elif change.state is ChangeState.DETECTED and not change.of_machine:
            kept = over_budget if change.over_budget else events
            kept.append(_found(event, change.taken_back, shas))
    numbers = {(one.key, one.environment): line.id for line, one in zip(lines, series, strict=True)}
    notes = [
        Noted(numbers.get((note.key, note.environment)), note, shas[note.position])
        for note in (*findings.notes, *_not_compared(lines, rank))
    ]
    gone = _gone(lines, rank)
    return Checked(events, over_budget, ended, pending, notes, order, gone, settings)


def _not_compared(lines: Iterable[Timeline], rank: Array) -> Iterator[SeriesNote]:
    for line in lines:
        usable = possible(line.facts, line.median)
        count = int((usable & (line.median <= 0)).sum())
        if count and not _metric(line).is_steady:
            yield SeriesNote(
                _name(line),
                NoteKind.OMITTED,
                line.key.environment,
                int(rank[line.run[0]]),
                f"{pluralize(count, 'figure')} of 0 or less, of which there is no ratio, not "
                "compared",
            )


def _found(event: Event, taken_back: int | None, shas: Sequence[str]) -> Update:
    if taken_back is None:
        return Update(event)
    fixed = msgspec.structs.replace(event, state=State.FIXED)
    return Update(fixed, f"back at its old level since {shas[taken_back][:10]}")


GONE_AFTER = 5
"""Commits that another machine measured after the last one of a machine, until that is taken for
replaced: by fewer it may be switched off for once."""


def _gone(timelines: Iterable[Timeline], rank: Array) -> set[tuple[int | None, str]]:
    """Returns the series and environments in whose place others go on: those that begin after their
    last run. A machine is gone if most of its series are."""
    gone: set[tuple[int | None, str]] = set()
    of_machine: dict[str, list[bool]] = {}
    groups: dict[str, list[Timeline]] = {}
    for line in timelines:
        groups.setdefault(_name(line), []).append(line)
    for lines in groups.values():
        ranks = [np.unique(rank[line.run]) for line in lines]
        for line, own in zip(lines, ranks, strict=True):
            is_gone = any(
                other[0] > own[-1] and other.size >= GONE_AFTER for other in ranks if other.size
            )
            of_machine.setdefault(line.key.environment, []).append(is_gone)
            if is_gone:
                gone.add((line.id, line.key.environment))
    gone.update((None, name) for name, parts in of_machine.items() if sum(parts) > len(parts) / 2)
    return gone


def _known(
    events: Sequence[Event], keys: Mapping[int, str], order: Mapping[str, int], settings: str
) -> list[Known]:
    """Returns the changes of noisy metrics that were found with the same settings, and that nobody
    called noise."""
    return [
        Known(
            "" if event.series is None else keys[event.series],
            event.environment,
            order[event.first_bad],
            event.is_rise,
            event.p,
        )
        for event in events
        if event.settings == settings
        and event.method in METHODS
        and event.state in (State.NEW, State.CONFIRMED, State.BLESSED)
        and event.first_bad in order
        and (event.series is None or event.series in keys)
    ]


METHODS = (LIKELIHOOD, EventKind.SHIFT.value, EventKind.MANY.value)
"""Methods of changes of levels that are not exact, of series and machines."""


def settings_text(rate: Rate, method: str, smallest: float) -> str:
    """Returns the settings that decide what is found in noisy metrics."""
    if method == ASV:
        return method
    most = "" if rate.most_alerts is None else f", at most {rate.most_alerts} alerts"
    alarms = f"{rate.false_alarms:g} false alarms in {rate.days:g} days"
    return f"{method}, {alarms}{most}, changes from {smallest:.4g}"


def commit_order(history: History) -> dict[str, int]:
    """Returns the index of each commit of a history."""
    shas = dict.fromkeys(run.commit.sha for run in history.runs)
    return {sha: index for index, sha in enumerate(shas)}


def _name(line: Timeline) -> str:
    """Returns the case and metric, which go on from machine to machine."""
    return f"{line.key.case} {line.key.metric}"


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


def _series(line: Timeline, rank: Array, times: Array, names: Array) -> Series:
    return series_of(
        _name(line),
        _metric(line),
        rank[line.run],
        np.where(possible(line.facts, line.median), line.median, np.nan),
        environment=line.key.environment,
        half_widths=np.maximum(line.high - line.median, line.median - line.low),
        runs=names[line.run],
        times=times[line.run],
    )


def _event(
    change: LevelChange, series: int | None, branch: str, shas: Sequence[str], settings: str
) -> Event:
    return Event(
        Kind.MACHINE if series is None else Kind.SERIES,
        branch,
        change.environment,
        shas[change.last_good],
        shas[change.first_bad],
        series,
        **{name: getattr(change, name) for name in Moved.__struct_fields__},
        # A tolerance is the metric's, whatever the settings are.
        settings=change.method if change.method == EXACT else settings,
    )


LEAST_SHA = 7
"""Characters of a commit's id that name it in a file: as many as git prints at least."""


def find_blessing(series: Timeline, between: Sequence[str], file: ProjectFile) -> Blessing | None:
    """Returns the entry of the file that accepts a change of a series; None without one. `between`
    are the commits after the last good one up to the first bad one, of which it may name any."""
    operator = Operator(framework="", namespace="", name=series.facts.name)
    for blessing in file.blessed:
        names_commit = len(blessing.commit) >= LEAST_SHA and any(
            sha.startswith(blessing.commit) for sha in between
        )
        if (
            names_commit
            and series.key.case.startswith(blessing.case)
            and blessing.metric in ("", series.key.metric)
            and (not blessing.operator or make_matcher(blessing.operator, [operator])(operator))
        ):
            return blessing
    return None


def add_blessing(path: Path, blessing: Blessing) -> None:
    """Adds an entry to a project's file, made if it is not there, and leaves the rest as it is; an
    entry that is there already is not repeated. Raises `UsageError` for a file that is wrong, and
    `OutputError` if it cannot be written."""
    text = ""
    if path.exists():
        if blessing in read_project_file(path).blessed:
            return
        text = read_text(path)
    table = ".".join((*TABLE, "blessed")) if path.name == PROJECT else "blessed"
    # A basic string of TOML is one of JSON.
    values = {name: getattr(blessing, name) for name in blessing.__struct_fields__}
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items() if value]
    entry = "\n".join([f"[[{table}]]", *lines])
    gap = "\n" if text and not text.endswith("\n\n") else ""
    ending = "" if not text or text.endswith("\n") else "\n"
    replace(path, f"{text}{ending}{gap}{entry}\n".encode())


def default_file(folder: Path, found: ProjectFile) -> Path:
    """Returns the file that a new entry is for: that which was found, else one in the folder."""
    return found.path or folder / NAME


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
        line = lines.get(event.series or 0)
        if not event.is_open or line is None:
            continue
        begin, end = order.get(event.last_good), order.get(event.first_bad)
        between = shas[begin + 1 : end + 1] if begin is not None and end is not None else []
        blessing = find_blessing(line, between, file)
        if blessing is not None:
            blessed = msgspec.structs.replace(event, state=State.BLESSED)
            updates.append(Update(blessed, f"{file.path}: {blessing.why}"))
    return updates
