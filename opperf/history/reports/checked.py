"""The changes of a branch, and what became of them, as a report."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from opperf.formats.figures import number_or_null
from opperf.history.checking import Checked
from opperf.history.events import Event, Kind, State
from opperf.history.model import Project
from opperf.history.reports.notes import note_data, note_lines, pending_data, pending_lines
from opperf.history.reports.verdicts import (
    change_text,
    data_of,
    latest_values,
    percent,
    verdict_cell,
)
from opperf.history.stopped import Stop
from opperf.history.timelines import History, Timeline
from opperf.history.verdicts import Evidence, SessionVerdict
from opperf.plurals import pluralize
from opperf.reports.model import (
    Cell,
    Column,
    Report,
    Section,
    Table,
    Tone,
    names,
    numbers,
    texts,
    words,
)
from opperf.repository import sha_text

COMMAND = "history check"

COLUMNS = (
    *("event", "kind", "state", "is_new", "operator", "inputs", "metric", "environment", "machine"),
    *("last_good", "first_bad", "before", "after", "unit", "ratio", "low", "high", "p", "method"),
    *("series", "is_loss", "count", "command", "reason"),
    *("verdict", "verdict_ratio", "verdict_low", "verdict_high"),
)


class Row(NamedTuple):
    """An event with its series."""

    event: Event
    line: Timeline | None
    is_new: bool
    """Whether this check found it."""
    verdicts: Sequence[SessionVerdict] = ()
    """Of sessions on it, the latest first."""
    reason: str = ""
    """Of a series without figures."""
    machine: str = ""
    """Name of the environment."""

    @property
    def is_loss(self) -> bool:
        lower_is_better = self.line is None or self.line.facts.lower_is_better
        return self.event.may_be_code and self.event.is_loss(lower_is_better)

    @property
    def name(self) -> str:
        """The operator; of a machine its name, and the number of its series."""
        if self.line is None:
            return f"{pluralize(self.event.count, 'series')} of {self.machine}"
        return self.line.facts.name


def open_losses(rows: Sequence[Row]) -> list[Row]:
    """Returns the rows that somebody has to look at: open losses that may be the code's."""
    return [row for row in rows if row.event.is_open and row.is_loss]


def rows_of(
    events: Sequence[Event],
    lines: Mapping[int, Timeline],
    new: Sequence[int],
    evidence: Evidence,
    machines: Mapping[str, str],
    reasons: Mapping[tuple[int | None, str], str] = MappingProxyType({}),
) -> list[Row]:
    """Returns the events with their series and verdicts: new ones first, the largest changes
    first. `machines` are the names of environments, `reasons` those of series without figures, by
    series and first commit."""
    rows = [
        Row(
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
    rows: Sequence[Row],
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
    title = f"{project.name}, {branch or 'all branches'}: {said}"
    return Report(
        command=COMMAND,
        title=title,
        headline=said,
        sections=[
            Section(prose=_prose(rows, checked, history)),
            _stopped(stopped),
            _events("Slower, larger or more", losses, _together(losses)),
            _events("Faster, smaller or less", gains),
            _events("Machines that changed: their series together", moved, MOVED if moved else ()),
            _listed("Too young to tell: more runs decide", pending_lines(checked, lines)),
            _listed("Notes", note_lines(checked.notes, lines, machines)),
            _commands(unsolved, moved),
            _events("Decided", closed, is_folded=True),
        ],
        data={
            "project": project.name,
            "branch": branch,
            "events": [
                {
                    **dict(zip(COLUMNS, _values(row), strict=True)),
                    "verdicts": [data_of(verdict) for verdict in row.verdicts],
                }
                for row in rows
            ],
            "pending": list(map(pending_data, checked.pending)),
            "notes": [note_data(noted, lines, machines) for noted in checked.notes],
            "series": len(history.timelines),
            "commits": len(checked.order),
        },
        header=COLUMNS,
        rows=[_values(row) for row in rows],
    )


def _prose(rows: Sequence[Row], checked: Checked, history: History) -> list[str]:
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


def _values(row: Row) -> tuple[object, ...]:
    event, line = row.event, row.line
    facts = None if line is None else line.facts
    verdict = next(iter(row.verdicts), None)
    return (
        *(event.id or None, event.kind.value, event.state.value, row.is_new, row.name),
        *(facts.inputs if facts else "", line.key.metric if line else "", event.environment),
        row.machine,
        *(
            event.last_good,
            event.first_bad,
            number_or_null(event.before),
            number_or_null(event.after),
        ),
        *(facts.unit if facts else "", number_or_null(event.ratio), number_or_null(event.low)),
        *(number_or_null(event.high), number_or_null(event.p), event.method, event.series),
        *(
            row.is_loss if event.may_be_code else None,
            event.count,
            facts.command if facts else "",
            row.reason,
        ),
        *latest_values(verdict),
    )


def _interval(event: Event) -> str:
    if event.low == event.high or not math.isfinite(event.low):
        return ""
    return f"{percent(event.low)} to {percent(event.high)}"


MOVED = (
    "Their environments are the same before and after. Nearly all series moved by much the same "
    "factor, as a slower or faster machine moves them, or a change of how everything is built. "
    "Measure the last commit before again on that machine: if it has the new level too, it is "
    "the machine; if not, it is the code: `opperf history confirm`, and the check ends with 1.",
)
"""Sentences on machines that changed."""

TOGETHER = 10
"""Losses at one commit from which on they are said to have one cause, most likely."""


def _together(losses: Sequence[Row]) -> list[str]:
    """Returns a sentence for each commit that has many of the losses, and on moves that a part of a
    machine's series have."""
    by_commit: dict[str, list[Row]] = {}
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
    title: str, rows: Sequence[Row], prose: Sequence[str] = (), is_folded: bool = False
) -> Section:
    if not rows:
        return Section()
    tones = [_tone(row) for row in rows]
    verdicts = [verdict_cell(next(iter(row.verdicts), None)) for row in rows]
    table = Table(
        (
            numbers("Event", [str(row.event.id or "") for row in rows]),
            words("State", [_state(row) for row in rows], is_whole=True),
            names("Operator", [row.name for row in rows]),
            words("Metric", [row.line.key.metric if row.line else "" for row in rows]),
            Column(
                "Change",
                [Cell(change_text(row.event), tone) for row, tone in zip(rows, tones, strict=True)],
                is_number=True,
            ),
            numbers("95 % interval", [_interval(row.event) for row in rows]),
            *([Column("Verdict, B/A", verdicts)] if any(row.verdicts for row in rows) else []),
            words("After", [sha_text(row.event.last_good) for row in rows], is_whole=True),
            words("At", [sha_text(row.event.first_bad) for row in rows], is_whole=True),
            texts("Inputs", [row.line.facts.inputs if row.line else "" for row in rows]),
            *_machines(rows),
        )
    )
    return Section(title=title, prose=prose, table=table, is_folded=is_folded)


def _machines(rows: Sequence[Row]) -> list[Column]:
    """Returns the column of the machines of series, if there are several."""
    found = [row.machine if row.line else "" for row in rows]
    return [texts("Machine", found)] if len({*found} - {""}) > 1 else []


def _count_text(noun: str, state: str, rows: Sequence[Row]) -> str:
    new = sum(row.is_new for row in rows)
    return f"{pluralize(len(rows), noun)} {state}, {new} of them new" if rows else ""


STOPPED = {Stop.FAILS: "fail", Stop.MISSING: "missing", Stop.IMPOSSIBLE: "impossible"}
"""How several series stopped."""


def _stopped(rows: Sequence[Row]) -> Section:
    if not rows:
        return Section()
    columns = (
        numbers("Event", [str(row.event.id or "") for row in rows]),
        words("State", [_state(row) for row in rows], is_whole=True),
        names("Operator", [row.name for row in rows]),
        words("Metrics", [_metrics(row) for row in rows]),
        Column("", [Cell(f"{change_text(row.event)} since", _tone(row)) for row in rows]),
        words("Commit", [sha_text(row.event.first_bad) for row in rows], is_whole=True),
        words("Last figure", [sha_text(row.event.last_good) for row in rows], is_whole=True),
        texts("Reason", [row.reason for row in rows]),
        texts("Inputs", [row.line.facts.inputs if row.line else "" for row in rows]),
        *_machines(rows),
    )
    return Section(
        title="Stopped: no figures any more", prose=_stopped_together(rows), table=Table(columns)
    )


def _stopped_together(rows: Sequence[Row]) -> list[str]:
    """Returns a sentence for each commit since which many series have no figures in one way."""
    count = Counter((row.event.first_bad, row.event.method) for row in rows)
    return [
        f"{pluralize(number, 'case')} {STOPPED[Stop(how)]} since {sha_text(commit)}: one cause, "
        "most likely."
        for (commit, how), number in count.items()
        if number >= TOGETHER
    ]


def _metrics(row: Row) -> str:
    metric = row.line.key.metric if row.line else ""
    return metric if row.event.count == 1 else f"{metric} and {row.event.count - 1} more"


def _state(row: Row) -> str:
    return (
        "new" if row.is_new else "open" if row.event.state is State.NEW else row.event.state.value
    )


def _tone(row: Row) -> Tone:
    if not row.event.may_be_code or not row.event.is_open:
        return ""
    return "worse" if row.is_loss else "better"


def _listed(title: str, items: Sequence[str]) -> Section:
    return Section(title=title, items=items) if items else Section()


def _commands(losses: Sequence[Row], machines: Sequence[Row]) -> Section:
    of_series = [row for row in losses if row.line is not None]
    of_machines = [row for row in (*losses, *machines) if row.line is None]
    return Section(commands=[*_next_commands(of_series), *_machine_commands(of_machines)])


def _machine_commands(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    for row in rows[:1]:
        number = row.event.id
        if number:
            yield "If both commits differ there too", f"opperf history confirm {number} --why TEXT"
            yield (
                "If they do not, and the machine has recovered",
                f"opperf history confirm {number} --noise --why TEXT",
            )
            yield "If the machine stays so", f"opperf history bless {number} --why TEXT"


def _next_commands(losses: Sequence[Row]) -> Iterator[tuple[str, str]]:
    for row in losses[:1]:
        event = row.event
        yield "Every figure", f"opperf history show '#{event.series}'"
        if event.id:
            if event.kind is not Kind.STOPPED or event.method == Stop.FAILS.value:
                yield (
                    "Both commits in turn, and the one that did it",
                    f"opperf history bisect {event.id} -- BUILD",
                )
            elif event.method == Stop.MISSING.value and row.line is not None:
                yield (
                    "If it has another name now",
                    f"opperf history alias '#{event.series}' '#NEW' --why TEXT",
                )
            yield "If it was wanted", f"opperf history bless {event.id} --why TEXT"
