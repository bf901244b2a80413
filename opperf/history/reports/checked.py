"""The changes of a branch, and what became of them, as a report."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opperf.formats.figures import number_or_null
from opperf.history.checking import Checked, Noted
from opperf.history.detection.findings import SeriesNote
from opperf.history.events import Event, Kind
from opperf.history.model import Project
from opperf.history.reports.showing import (
    LATEST,
    VERDICTS,
    CheckedEvent,
    alike,
    commit_field,
    percent,
    untitled,
)
from opperf.history.stopped import Stop
from opperf.history.timelines import History, Timeline
from opperf.history.verdicts import Evidence
from opperf.plurals import pluralize
from opperf.reports.fields import LABEL, NAME, NUMBER, TEXT, WORD, Field, objects_of, table_of
from opperf.reports.fields import rows_of as written_rows
from opperf.reports.model import Cell, Report, Section
from opperf.repository import sha_text


def _number(name: str, title: str | None = None, shown: Any = None) -> Field[CheckedEvent]:
    return Field(name, title, NUMBER, lambda row: number_or_null(getattr(row.event, name)), shown)


def _interval(row: CheckedEvent) -> str:
    low, high = row.event.low, row.event.high
    is_known = math.isfinite(low) and low != high
    return f"{percent(low)} to {percent(high)}" if is_known else ""


EVENTS: tuple[Field[CheckedEvent], ...] = (
    Field("event", "Event", NUMBER, lambda row: row.event.id or None),
    Field("kind", None, LABEL, lambda row: row.event.kind.value),
    Field("state", "State", LABEL, lambda row: row.event.state.value, lambda row: row.state),
    Field("is_new", None, LABEL, lambda row: row.is_new),
    Field("operator", "Operator", NAME, lambda row: row.name),
    Field("metric", "Metric", WORD, lambda row: row.metric, lambda row: row.metrics),
    _number("ratio", "Change", lambda row: Cell(row.change, row.tone)),
    _number("low"),
    _number("high"),
    Field("", "95 % interval", NUMBER, _interval, is_optional=True),
    *LATEST,
    commit_field("last_good", "After", lambda row: row.event.last_good),
    commit_field("first_bad", "At", lambda row: row.event.first_bad),
    Field("reason", "Reason", TEXT, lambda row: row.reason, is_optional=True),
    Field("inputs", "Inputs", TEXT, lambda row: row.fact("inputs")),
    Field("environment", None, LABEL, lambda row: row.event.environment),
    Field("machine", "Machine", TEXT, lambda row: row.machine, lambda row: row.shown_machine),
    _number("before"),
    _number("after"),
    Field("unit", None, LABEL, lambda row: row.fact("unit")),
    _number("p"),
    Field("method", None, LABEL, lambda row: row.event.method),
    Field("series", None, NUMBER, lambda row: row.event.series),
    Field("is_loss", None, LABEL, lambda row: row.is_loss if row.event.may_be_code else None),
    Field("count", None, NUMBER, lambda row: row.event.count),
    Field("command", None, TEXT, lambda row: row.fact("command")),
)


def open_losses(rows: Sequence[CheckedEvent]) -> list[CheckedEvent]:
    """Returns the rows that somebody has to look at: open losses that may be the code's."""
    return [row for row in rows if row.event.is_open and row.is_loss]


def rows_of(
    events: Sequence[Event],
    lines: Mapping[int, Timeline],
    new: Sequence[int],
    evidence: Evidence,
    machines: Mapping[str, str],
    reasons: Mapping[tuple[int | None, str], str],
) -> list[CheckedEvent]:
    """Returns the events with their series and verdicts: new ones first, the largest changes
    first. `machines` are the names of environments, `reasons` those of series without figures, by
    series and first commit."""
    rows = [
        CheckedEvent(
            event,
            lines.get(event.series) if event.series else None,
            event.id in new,
            evidence.touching(event) if event.kind is not Kind.STOPPED else (),
            reasons.get((event.series, event.first_bad), ""),
            machines[event.environment],
        )
        for event in events
        if event.series is None or event.series in lines
    ]
    return sorted(rows, key=lambda row: (not row.is_new, -_size(row.event.ratio), row.event.id))


def _size(ratio: float) -> float:
    return abs(math.log(ratio)) if 0 < ratio < math.inf else math.inf


def check_report(
    rows: Sequence[CheckedEvent],
    checked: Checked,
    history: History,
    project: Project,
    branch: str,
    machines: Mapping[str, str],
) -> Report:
    """Returns what changed on a branch: losses, gains, changes of machines, differences that are
    too young, and what was decided about earlier ones. `machines` are the names of environments."""
    unsolved = open_losses(rows)
    stopped = [row for row in unsolved if row.event.kind is Kind.STOPPED]
    losses = [row for row in unsolved if row.event.kind is not Kind.STOPPED]
    still = [row for row in rows if row.event.is_open and not row.is_loss]
    gains = [row for row in still if row.event.may_be_code]
    moved = [row for row in still if not row.event.may_be_code]
    closed = [row for row in rows if not row.event.is_open]
    lines = {line.id: line for line in history.timelines}
    counts = (_count_text("loss", "open", losses), _count_text("series", "stopped", stopped))
    said = "; ".join(filter(None, counts)) or "No open loss"
    header, written = written_rows(EVENTS, rows)
    return Report(
        command="history check",
        title=f"{project.name}, {branch or 'all branches'}: {said}",
        headline=said,
        sections=[
            Section(prose=_prose(rows, checked, history)),
            _events("Stopped: no figures any more", stopped, _stopped_together(stopped)),
            _events("Slower, larger or more", losses, _together(losses)),
            _events("Faster, smaller or less", gains),
            _events("Machines that changed: their series together", moved, MOVED if moved else ()),
            _listed("Too young to tell: more runs decide", _pending_lines(checked, lines)),
            _listed("Notes", _note_lines(checked.notes, lines, machines)),
            _commands(unsolved, moved),
            _events("Decided", closed, is_folded=True),
        ],
        data={
            "project": project.name,
            "branch": branch,
            "events": [
                {**found, "verdicts": objects_of(VERDICTS, row.verdicts)}
                for found, row in zip(objects_of(EVENTS, rows), rows, strict=True)
            ],
            "pending": [
                {"series": event.series, "first": event.first_bad, "ratio": event.ratio}
                for event in checked.pending
            ],
            "notes": [_note_data(noted, lines, machines) for noted in checked.notes],
            "series": len(history.timelines),
            "commits": len(checked.order),
        },
        header=header,
        rows=written,
    )


def _prose(rows: Sequence[CheckedEvent], checked: Checked, history: History) -> list[str]:
    commits = pluralize(len(checked.order), "commit")
    prose = [f"{pluralize(len(history.timelines), 'series')} over {commits}."]
    if checked.over_budget:
        prose.append(
            f"{pluralize(len(checked.over_budget), 'change')} less clear than those that the "
            "alerts of their time were spent on."
        )
    kept = checked.kept([row.event for row in rows])
    if kept:
        prose.append(
            f"{pluralize(len(kept), 'event')} of other settings "
            f"({'; '.join(sorted({event.settings or 'unknown' for event in kept}))}): what these "
            f"settings ({checked.settings}) do not find stays."
        )
    return prose


MOVED = (
    "Their environments are the same before and after. Nearly all series moved by much the same "
    "factor, as a slower or faster machine moves them, or a change of how everything is built. "
    "Measure the last commit before again on that machine: if it has the new level too, it is "
    "the machine; if not, it is the code: `opperf history confirm`, and the check ends with 1.",
)
"""Sentences on machines that changed."""

TOGETHER = 10
"""Losses at one commit from which on they are said to have one cause, most likely."""


def _together(losses: Sequence[CheckedEvent]) -> list[str]:
    """Returns a sentence for each commit that has many of the losses, and on moves that a part of a
    machine's series have."""
    by_commit: dict[str, list[CheckedEvent]] = {}
    for row in losses:
        by_commit.setdefault(row.event.first_bad, []).append(row)
    said = []
    for commit, rows in by_commit.items():
        ratio = statistics.median(row.event.ratio for row in rows)
        if len(rows) >= TOGETHER and math.isfinite(ratio):
            said.append(
                f"{pluralize(len(rows), 'loss')} at {sha_text(commit)}, {percent(ratio)} in the "
                "middle: one cause, most likely."
            )
        said += [
            f"Event {row.event.id or ''}: {row.name} moved together, and the others did not, as a "
            "commit would do it, or a neighbour of the machine: measure both commits in turn."
            for row in rows
            if row.line is None
        ]
    return said


def _events(
    title: str, rows: Sequence[CheckedEvent], prose: Sequence[str] = (), is_folded: bool = False
) -> Section:
    if not rows:
        return Section()
    # The machines of series, if there are several.
    fields = untitled(EVENTS, alike((row.shown_machine for row in rows), "machine"))
    table = table_of(fields, rows)
    return Section(title=title, prose=prose, table=table, is_folded=is_folded)


def _count_text(noun: str, state: str, rows: Sequence[CheckedEvent]) -> str:
    new = sum(row.is_new for row in rows)
    return f"{pluralize(len(rows), noun)} {state}, {new} of them new" if rows else ""


STOPPED = {Stop.FAILS: "fail", Stop.MISSING: "missing", Stop.IMPOSSIBLE: "impossible"}
"""How several series stopped."""


def _stopped_together(rows: Sequence[CheckedEvent]) -> list[str]:
    """Returns a sentence for each commit since which many series have no figures in one way."""
    count = Counter((row.event.first_bad, row.event.method) for row in rows)
    return [
        f"{pluralize(number, 'case')} {STOPPED[Stop(how)]} since {sha_text(commit)}: one cause, "
        "most likely."
        for (commit, how), number in count.items()
        if number >= TOGETHER
    ]


def _listed(title: str, items: Sequence[str]) -> Section:
    return Section(title=title, items=items) if items else Section()


def _commands(losses: Sequence[CheckedEvent], machines: Sequence[CheckedEvent]) -> Section:
    of_series = [row for row in losses if row.line is not None]
    of_machines = [row for row in (*losses, *machines) if row.line is None and row.event.id]
    commands = [command for row in of_series[:1] for command in _next_commands(row.event)]
    for row in of_machines[:1]:
        confirm = f"opperf history confirm {row.event.id}"
        commands += [
            ("If both commits differ there too", f"{confirm} --why TEXT"),
            ("If they do not, and the machine has recovered", f"{confirm} --noise --why TEXT"),
            ("If the machine stays so", f"opperf history bless {row.event.id} --why TEXT"),
        ]
    return Section(commands=commands)


def _next_commands(event: Event) -> Iterator[tuple[str, str]]:
    yield "Every figure", f"opperf history show '#{event.series}'"
    if not event.id:
        return
    if event.kind is not Kind.STOPPED or event.method == Stop.FAILS.value:
        why = "Both commits in turn, and the one that did it"
        yield why, f"opperf history bisect {event.id} -- BUILD"
    elif event.method == Stop.MISSING.value:
        alias = f"opperf history alias '#{event.series}' '#NEW' --why TEXT"
        yield "If it has another name now", alias
    yield "If it was wanted", f"opperf history bless {event.id} --why TEXT"


SHOWN_NOTES = 20
"""Most notes in a report for people."""


def _pending_lines(checked: Checked, lines: Mapping[int, Timeline]) -> list[str]:
    return [
        f"{_named(lines[event.series])}: {percent(event.ratio)} at {sha_text(event.first_bad)}"
        for event in checked.pending
        if event.series is not None
    ]


NAMED_SERIES = 3
"""Series that are named of one note; the JSON has all."""


def _named(line: Timeline) -> str:
    return f"#{line.id} {line.facts.name} {line.key.metric}"


def _note_lines(
    notes: Sequence[Noted], lines: Mapping[int, Timeline], machines: Mapping[str, str]
) -> list[str]:
    """Returns the notes with the series that they are on: a note that many have is one."""
    named: dict[tuple[str, str], list[str]] = {}
    for noted in notes:
        line = lines.get(noted.series) if noted.series is not None else None
        name = f"all series of {machines[noted.note.environment]}" if line is None else _named(line)
        named.setdefault((_message(noted.note, machines), noted.commit), []).append(name)
    found = []
    for (message, commit), names_ in named.items():
        more = len(names_) - NAMED_SERIES
        whole = ", ".join([*names_[:NAMED_SERIES], *([f"{more} more"] if more > 0 else [])])
        found.append(f"{whole}: {message}, from {sha_text(commit)} on")
    more = len(found) - SHOWN_NOTES
    return [*found[:SHOWN_NOTES], *([f"and {more} more"] if more > 0 else [])]


def _message(note: SeriesNote, machines: Mapping[str, str]) -> str:
    new, old = machines[note.environment], machines.get(note.replaced)
    return f"{note.message}: {new} in place of {old}" if old else note.message


def _note_data(
    noted: Noted, lines: Mapping[int, Timeline], machines: Mapping[str, str]
) -> dict[str, Any]:
    line = lines[noted.series] if noted.series else None
    return {
        "series": noted.series,
        "operator": line.facts.name if line else None,
        "metric": line.key.metric if line else None,
        "environment": noted.note.environment,
        "machine": machines[noted.note.environment],
        "kind": noted.note.kind.value,
        "commit": noted.commit,
        "message": _message(noted.note, machines),
    }
