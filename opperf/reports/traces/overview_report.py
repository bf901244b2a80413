"""The report on what is in one trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from opperf.plurals import counted
from opperf.reports.model import Fact, Report, Section, Table, names, numbers, texts, words
from opperf.reports.traces.cells import (
    COMMAND,
    amount,
    amounts,
    anomaly_section,
    counts,
    first_rows,
    known,
    shown,
    shown_whole,
    with_anomalies,
)
from opperf.traces.anomalies import anomaly_values
from opperf.traces.collectives import Message
from opperf.traces.overview import Idle, OperatorUse, Overview

HEADER = ("trace", "operator", "phases", "calls", "distinct", "input_bytes", "recorded_ns")
"""Columns of the rows, an operator of a trace each."""

MOST_GAPS = 5
"""Gaps of a trace that are shown, the longest."""


def report_of(overview: Overview) -> Report:
    """Returns the report on a trace."""
    sections = [
        Section(facts=_identity(overview)),
        Section(facts=_facts(overview)),
        anomaly_section(("", overview.anomalies)),
        _operators(overview.operators),
        _steps(overview),
        _collectives(overview),
        _threads(overview),
        _streams(overview),
        _refused(overview),
        Section(title="Notes", items=[shown_whole(text) for text in overview.remarks]),
    ]
    return Report(
        COMMAND,
        "",
        [section for section in sections if section.has_content],
        {"traces": [values_of(overview)]},
        *with_anomalies(HEADER, rows_of(overview), (overview.name, overview.anomalies)),
        headline="Contents of a trace",
    )


def rows_of(overview: Overview) -> Iterator[Sequence[Any]]:
    """Yields a row for each operator."""
    for use in overview.operators:
        time = "" if use.time_ns < 0 else use.time_ns
        phases = " ".join(use.phases)
        yield (
            overview.name,
            shown(use.operator),
            phases,
            use.calls,
            use.distinct,
            use.input_bytes,
            time,
        )


def kind_of(overview: Overview) -> str:
    """Returns what kind of trace it is, in a few words."""
    if overview.schema:
        return f"execution trace, schema {shown(overview.schema)}"
    return "trace of a profiler"


def _identity(overview: Overview) -> list[Fact]:
    facts = [Fact("Trace", shown(overview.name), kind_of(overview))]
    if overview.rank is not None:
        of_all = f" of {overview.world_size:,}" if overview.world_size else ""
        facts.append(Fact("Rank", "", f"{overview.rank}{of_all}"))
    return facts


def _facts(overview: Overview) -> list[Fact]:
    operators, steps = overview.operators, overview.steps
    made = sum(use.calls for use in operators)
    distinct = sum(use.distinct for use in operators)
    cases = (
        f"{counted(distinct, 'distinct call')} of {counted(len(operators), 'operator')}, made "
        f"{counted(made, 'time')}"
    )
    facts = [
        Fact("Nodes", "", f"{overview.nodes:,}"),
        Fact("Topmost calls", "", f"{overview.calls:,}"),
        Fact("Cases", "", cases),
    ]
    if steps:
        facts.append(Fact("Steps", "", f"{len(steps):,}"))
    if overview.tensors is not None:
        total = overview.tensors
        facts.append(
            Fact(
                "Tensors",
                "",
                f"{total.tensors:,} in {counted(total.storages, 'storage')} of "
                f"{amount(total.bytes, 'B')}; {counted(total.outside, 'storage')} of "
                f"{amount(total.outside_bytes, 'B')} from outside",
            )
        )
    facts.append(
        Fact("Time", "", amount(overview.time_ns, "ns") + " in these calls")
        if overview.time_ns >= 0
        else Fact("Time", "", "not in the trace; a profiler's trace of the same process has it")
    )
    return facts


def _operators(operators: Sequence[OperatorUse]) -> Section:
    phases = {phase for use in operators for phase in use.phases}
    picked, more = first_rows(len(operators))
    columns = (
        names("Operator", [shown(use.operator) for use in operators]),
        counts("Calls", [use.calls for use in operators]),
        counts("Distinct", [use.distinct for use in operators]),
        amounts("Inputs", [use.input_bytes for use in operators], "B", extra=1),
        *known(amounts("Recorded", [use.time_ns for use in operators], "ns")),
        *_share(operators),
        *(
            [words("Phase", [", ".join(use.phases) for use in operators])]
            if phases != {"forward"}
            else []
        ),
    )
    return Section(title="Operators", table=Table(columns, picked, more))


def _share(operators: Sequence[OperatorUse]) -> Iterator[Any]:
    total = sum(max(use.time_ns, 0) for use in operators)
    if total:
        cells = [f"{use.time_ns / total:.1%}" if use.time_ns >= 0 else "" for use in operators]
        yield numbers("Share", cells)


def _steps(overview: Overview) -> Section:
    steps = overview.steps
    picked, more = first_rows(len(steps))
    columns = (
        names("Step", [shown(step.label) for step in steps]),
        counts("Node", [step.node for step in steps]),
        counts("Calls", [step.calls for step in steps]),
        *known(amounts("Time", [step.time_ns for step in steps], "ns")),
        *known(amounts("In operators", [step.operators_ns for step in steps], "ns")),
    )
    return Section(title="Steps", table=Table(columns, picked, more))


def _collectives(overview: Overview) -> Section:
    uses = overview.messages
    picked, more = first_rows(len(uses))
    messages = [use.message for use in uses]
    columns = (
        names("Collective", [shown(message.name) for message in messages]),
        *known(words("Group", [_group(message) for message in messages])),
        *known(numbers("Ranks", [str(message.ranks or "") for message in messages])),
        words("Dtype", [shown(message.dtype) for message in messages]),
        numbers(
            "Elements", [f"{message.sent:,}" if message.sent >= 0 else "" for message in messages]
        ),
        counts("Calls", [use.calls for use in uses]),
        *known(amounts("Recorded", [use.time_ns for use in uses], "ns")),
    )
    return Section(title="Collective operations", table=Table(columns, picked, more))


def _group(message: Message) -> str:
    return shown(message.description or message.group)


def _idle_columns(found: Sequence[Idle]) -> tuple[Any, ...]:
    return (
        amounts("From first to last", [idle.span_ns for idle in found], "ns"),
        amounts("Busy", [idle.busy_ns for idle in found], "ns"),
        amounts("Idle", [idle.idle_ns for idle in found], "ns"),
        numbers("Share", [_part(idle.idle_ns, idle.span_ns) for idle in found]),
        counts("Gaps", [idle.gaps for idle in found]),
        amounts(
            "Longest", [idle.longest[0].time_ns if idle.longest else -1 for idle in found], "ns"
        ),
    )


def _part(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else ""


def _threads(overview: Overview) -> Section:
    found = list(overview.threads.values())
    picked, more = first_rows(len(found))
    columns = (
        numbers("Thread", [str(thread) for thread in overview.threads])._replace(is_key=True),
        counts("Calls", [idle.spans for idle in found]),
        *_idle_columns(found),
    )
    return Section(
        title="Gaps between the topmost operators of a thread",
        table=Table(columns, picked, more),
        below=_longest(overview, found),
    )


def _longest(overview: Overview, found: Iterable[Idle]) -> list[str]:
    """Returns the longest gaps, a line each."""
    gaps = sorted((gap for idle in found for gap in idle.longest), reverse=True)[:MOST_GAPS]
    return [
        f"{amount(gap.time_ns, 'ns')} from {_node(overview, gap.before)} to "
        f"{_node(overview, gap.after)}"
        for gap in gaps
    ]


def _node(overview: Overview, number: int) -> str:
    return f"{shown(overview.names.get(number, 'no operator'))} ({number})"


def _streams(overview: Overview) -> Section:
    places = [f"{device}, all streams" for device in overview.devices] + [
        f"{device}, stream {stream}" for device, stream in overview.streams
    ]
    found = [*overview.devices.values(), *overview.streams.values()]
    picked, more = first_rows(len(found))
    columns = (
        words("Device", places, is_whole=True),
        counts("Kernels", [idle.spans for idle in found]),
        *_idle_columns(found),
    )
    return Section(
        title="Streams",
        table=Table(columns, picked, more),
        below=_longest(overview, overview.devices.values()),
    )


def _refused(overview: Overview) -> Section:
    refused = overview.refused
    picked, more = first_rows(len(refused))
    columns = (
        names("Not built", [shown(calls.operator) for calls in refused]),
        counts("Calls", [calls.calls for calls in refused]),
        counts("Distinct", [calls.distinct for calls in refused]),
        texts("Reason", [shown_whole(calls.reason) for calls in refused]),
    )
    return Section(title="What no case can be made of", table=Table(columns, picked, more))


def values_of(overview: Overview) -> dict[str, Any]:
    """Returns a trace as values of JSON. Unknown times are null."""
    return {
        "name": overview.name,
        "kind": kind_of(overview),
        "schema": overview.schema,
        "rank": overview.rank,
        "world_size": overview.world_size,
        "nodes": overview.nodes,
        "topmost_calls": overview.calls,
        "operators": [_values(use) for use in overview.operators],
        "not_built": [_values(calls) for calls in overview.refused],
        "steps": [_values(step) for step in overview.steps],
        "tensors": None if overview.tensors is None else overview.tensors._asdict(),
        "collectives": [
            {**msgspec.to_builtins(use.message), "calls": use.calls, "time_ns": _time(use.time_ns)}
            for use in overview.messages
        ],
        "threads": [
            {"thread": thread, **_idle_values(idle)} for thread, idle in overview.threads.items()
        ],
        "streams": [
            {"device": device, "stream": stream, **_idle_values(idle)}
            for (device, stream), idle in overview.streams.items()
        ],
        "devices": [
            {"device": device, **_idle_values(idle)} for device, idle in overview.devices.items()
        ],
        "anomalies": anomaly_values(overview.anomalies),
        "notes": list(overview.remarks),
    }


def _values(found: Any) -> dict[str, Any]:
    return {
        name: _time(value) if name.endswith("_ns") else value
        for name, value in found._asdict().items()
    }


def _time(value: int) -> int | None:
    return None if value < 0 else value


def _idle_values(idle: Idle) -> dict[str, Any]:
    return {
        "spans": idle.spans,
        "span_ns": idle.span_ns,
        "busy_ns": idle.busy_ns,
        "idle_ns": idle.idle_ns,
        "gaps": idle.gaps,
        "longest": [gap._asdict() for gap in idle.longest],
    }
