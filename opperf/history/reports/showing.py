"""Series run by run, as a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opperf.formats.figures import number_or_null
from opperf.history.events import Event, StateOf
from opperf.history.model import Failure, Project, StoredEnvironment
from opperf.history.reports.verdicts import (
    change_text,
    commit_date,
    data_of,
    date_text,
    figure_at,
    verdicts_section,
)
from opperf.history.timelines import History, Timeline
from opperf.history.verdicts import NOTHING, Evidence
from opperf.reports.model import Report, Section, Table, figures, numbers, texts, words
from opperf.repository import sha_text

COMMAND = "history show"

COLUMNS = (
    *("series", "operator", "inputs", "metric", "environment", "run", "commit", "date", "branch"),
    *("dirty", "median", "low", "high", "unit"),
)


class ShownEvent(NamedTuple):
    """An event with the states that it had."""

    event: Event
    states: Sequence[StateOf]


def show_report(
    history: History,
    project: Project,
    environments: Mapping[str, StoredEnvironment],
    failures: Iterable[Failure] = (),
    evidence: Evidence = NOTHING,
    shown: ShownEvent | None = None,
) -> Report:
    """Returns every figure of some series, and the verdicts on them; of a case that failed since,
    with its reason; of an event with its states, and the verdicts on that alone."""
    verdicts = {
        line.id: list(evidence.of_key(line.key))
        if shown is None
        else evidence.touching(shown.event)
        for line in history.timelines
    }
    rows = [row for line in history.timelines for row in _rows(history, line)]
    at = {run.id: run.commit.short for run in history.runs}
    failed = [
        f"{at[line.run]}: {line.status}: {line.reason}" for line in failures if line.run in at
    ]
    return Report(
        command=COMMAND,
        title=f"Series of {project.name}",
        sections=[
            *([_event_section(shown)] if shown is not None else []),
            *(
                section
                for line in history.timelines
                for section in (
                    _section(history, line, environments),
                    verdicts_section(f"Verdicts on #{line.id}", verdicts[line.id]),
                )
            ),
            *([Section(title="Without a figure", items=failed)] if failed else []),
        ],
        data={
            "project": project.name,
            "figures": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
            "verdicts": {
                line.id: [data_of(verdict) for verdict in verdicts[line.id]]
                for line in history.timelines
                if verdicts[line.id]
            },
            **({} if shown is None else {"event": _event_data(shown)}),
            "commands": {
                line.id: line.facts.command for line in history.timelines if line.facts.command
            },
        },
        header=COLUMNS,
        rows=rows,
    )


def _event_data(shown: ShownEvent) -> dict[str, Any]:
    event = shown.event
    return {
        "event": event.id,
        "kind": event.kind.value,
        "method": event.method,
        "state": event.state.value,
        "last_good": event.last_good,
        "first_bad": event.first_bad,
        **{name: number_or_null(getattr(event, name)) for name in ("ratio", "low", "high")},
        "states": list(shown.states),
    }


def _event_section(shown: ShownEvent) -> Section:
    event, states = shown.event, shown.states
    return Section(
        title=f"Event {event.id}: {event.state.value}",
        prose=[
            f"{change_text(event)} at {sha_text(event.first_bad)}, after "
            f"{sha_text(event.last_good)}."
        ],
        table=Table(
            (
                words("State", [state.state.value for state in states], is_whole=True),
                words("Since", [date_text(state.time) for state in states], is_whole=True),
                texts("By", [state.who for state in states]),
                texts("Why", [state.why for state in states]),
            )
        ),
    )


def _rows(history: History, line: Timeline) -> Iterator[tuple[object, ...]]:
    for place, number in enumerate(line.run.tolist()):
        run = history.runs[number]
        low, high = float(line.low[place]), float(line.high[place])
        yield (
            *(line.id, line.facts.name, line.facts.inputs, line.key.metric, line.key.environment),
            *(run.identity, run.commit.sha, commit_date(run.commit, run.started), run.branch),
            *(run.is_dirty, float(line.median[place])),
            *(value if value == value else None for value in (low, high)),
            line.facts.unit,
        )


def _section(
    history: History, line: Timeline, environments: Mapping[str, StoredEnvironment]
) -> Section:
    runs = [history.runs[number] for number in line.run.tolist()]
    values = [figure_at(line, place) for place in range(len(runs))]
    changes = [
        f"{100 * (after.value / before.value - 1):+.1f} %" if before.value else ""
        for before, after in zip(values, values[1:], strict=False)
    ]
    table = Table(
        (
            words("Commit", [run.commit.short for run in runs], is_whole=True),
            words("Date", [commit_date(run.commit, run.started) for run in runs], is_whole=True),
            words("Branch", [run.branch + (", dirty" if run.is_dirty else "") for run in runs]),
            figures("Median", values, line.facts.unit),
            numbers("Change", ["", *changes]),
            texts("Subject", [run.commit.subject for run in runs]),
        )
    )
    inputs = f" ({line.facts.inputs})" if line.facts.inputs else ""
    known = environments.get(line.key.environment)
    machine = known.label if known and known.label else line.key.environment
    settings = f"; {line.facts.settings}" if line.facts.settings else ""
    return Section(
        title=f"#{line.id} {line.facts.name}{inputs}: {line.key.metric}",
        prose=[f"On {machine}{settings}."],
        table=table,
        commands=[("Measures it again", line.facts.command)] if line.facts.command else [],
    )
