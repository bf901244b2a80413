"""The report on what is in one trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from opperf.plurals import counted
from opperf.reports.fields import (
    COUNT,
    LABEL,
    MEMORY,
    NAME,
    NUMBER,
    PERCENT,
    TEXT,
    TIME,
    WORD,
    Field,
    rows_of,
    table_of,
)
from opperf.reports.model import Fact, Report, Section
from opperf.reports.traces.cells import (
    COMMAND,
    MOST_ROWS,
    TRACE_NAME,
    TRACE_WORD,
    amount,
    anomaly_section,
    known,
    shown,
    shown_whole,
    with_anomalies,
)
from opperf.traces.anomalies import anomaly_values
from opperf.traces.overview import Idle, MessageUse, OperatorUse, Overview, Refused, StepUse
from opperf.traces.rank_comparison import Joined

MOST_GAPS = 5
"""Gaps of a trace that are shown, the longest."""


def report_of(overview: Overview) -> Report:
    """Returns the report on a trace."""
    sections = [
        Section(facts=_identity(overview)),
        Section(facts=_facts(overview)),
        anomaly_section(("", overview.anomalies)),
        _operators(overview),
        Section("Steps", table=table_of(STEPS, overview.steps, MOST_ROWS)),
        Section("Collective operations", table=table_of(COLLECTIVES, overview.messages, MOST_ROWS)),
        _threads(overview),
        _streams(overview),
        refused_section([("", overview)]),
        Section(title="Notes", items=[shown_whole(text) for text in overview.remarks]),
    ]
    return Report(
        COMMAND,
        "",
        [section for section in sections if section.has_content],
        {"traces": [values_of(overview)]},
        *with_anomalies(
            *rows_of(FIELDS, operators_of(overview)), (overview.name, overview.anomalies)
        ),
        headline="Contents of a trace",
    )


class _TraceOperator(NamedTuple):
    trace: str
    use: OperatorUse
    total_ns: int
    """Time of all operators of the trace."""


def _share(row: _TraceOperator) -> float | None:
    return row.use.time_ns / row.total_ns if row.total_ns and row.use.time_ns >= 0 else None


FIELDS: tuple[Field[_TraceOperator], ...] = (
    Field("trace", None, WORD, lambda row: row.trace),
    Field("operator", "Operator", NAME, lambda row: shown(row.use.operator)),
    Field("phases", None, WORD, lambda row: " ".join(row.use.phases)),
    Field("calls", "Calls", COUNT, lambda row: row.use.calls),
    Field("distinct", "Distinct", COUNT, lambda row: row.use.distinct),
    Field("input_bytes", "Inputs", MEMORY, lambda row: row.use.input_bytes, extra=1),
    Field("recorded_ns", "Recorded", TIME, lambda row: known(row.use.time_ns), is_optional=True),
    Field("", "Share", PERCENT, _share, is_optional=True),
)
"""Columns of the operators of traces."""

PHASES: Field[_TraceOperator] = Field("", "Phase", WORD, lambda row: row.use.phases)


def operators_of(overview: Overview) -> list[_TraceOperator]:
    """Returns the operators of a trace."""
    total = sum(max(use.time_ns, 0) for use in overview.operators)
    return [_TraceOperator(overview.name, use, total) for use in overview.operators]


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


def _operators(overview: Overview) -> Section:
    phases = {phase for use in overview.operators for phase in use.phases}
    fields = FIELDS if phases == {"forward"} else (*FIELDS, PHASES)
    return Section("Operators", table=table_of(fields, operators_of(overview), MOST_ROWS))


STEPS: tuple[Field[StepUse], ...] = (
    Field("", "Step", TRACE_NAME, lambda step: step.label),
    Field("", "Node", COUNT, lambda step: step.node),
    Field("", "Calls", COUNT, lambda step: step.calls),
    Field("", "Time", TIME, lambda step: known(step.time_ns), is_optional=True),
    Field("", "In operators", TIME, lambda step: known(step.operators_ns), is_optional=True),
)


def group_of(row: MessageUse | Joined) -> str:
    """Returns the name of the group of a collective operation."""
    return row.message.description or row.message.group


MESSAGE: tuple[Field[Any], ...] = (
    Field("", "Dtype", TRACE_WORD, lambda row: row.message.dtype),
    Field("", "Elements", COUNT, lambda row: known(row.message.sent), is_key=True),
)
"""Columns of what a collective operation sends."""

COLLECTIVES: tuple[Field[MessageUse], ...] = (
    Field("", "Collective", TRACE_NAME, lambda use: use.message.name),
    Field("", "Group", TRACE_WORD, group_of, is_optional=True),
    Field("", "Ranks", NUMBER, lambda use: use.message.ranks or None, is_optional=True),
    *MESSAGE,
    Field("", "Calls", COUNT, lambda use: use.calls),
    Field("", "Recorded", TIME, lambda use: known(use.time_ns), is_optional=True),
)


class _Place(NamedTuple):
    name: str
    idle: Idle


def _idle_fields(place: Field[_Place], spans: str) -> tuple[Field[_Place], ...]:
    return (
        place,
        Field("", spans, COUNT, lambda row: row.idle.spans),
        Field("", "From first to last", TIME, lambda row: row.idle.span_ns),
        Field("", "Busy", TIME, lambda row: row.idle.busy_ns),
        Field("", "Idle", TIME, lambda row: row.idle.idle_ns),
        Field(
            "",
            "Share",
            PERCENT,
            lambda row: row.idle.idle_ns / row.idle.span_ns if row.idle.span_ns else None,
        ),
        Field("", "Gaps", COUNT, lambda row: row.idle.gaps),
        Field(
            "",
            "Longest",
            TIME,
            lambda row: row.idle.longest[0].time_ns if row.idle.longest else None,
        ),
    )


THREADS = _idle_fields(Field("", "Thread", NUMBER, lambda row: row.name, is_key=True), "Calls")

STREAMS = _idle_fields(Field("", "Device", LABEL, lambda row: row.name), "Kernels")


def _threads(overview: Overview) -> Section:
    places = [_Place(str(thread), idle) for thread, idle in overview.threads.items()]
    return Section(
        title="Gaps between the topmost operators of a thread",
        table=table_of(THREADS, places, MOST_ROWS),
        below=_longest(overview, overview.threads.values()),
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
    places = [_Place(f"{name}, all streams", idle) for name, idle in overview.devices.items()] + [
        _Place(f"{device}, stream {stream}", idle)
        for (device, stream), idle in overview.streams.items()
    ]
    return Section(
        title="Streams",
        table=table_of(STREAMS, places, MOST_ROWS),
        below=_longest(overview, overview.devices.values()),
    )


class _RefusedCalls(NamedTuple):
    """Calls that no case can be made of, of a rank among several."""

    rank: str
    refused: Refused


REFUSED: tuple[Field[_RefusedCalls], ...] = (
    Field("", "Not built", TRACE_NAME, lambda row: row.refused.operator),
    Field("", "Rank", WORD, lambda row: row.rank, is_optional=True),
    Field("", "Calls", COUNT, lambda row: row.refused.calls),
    Field("", "Distinct", COUNT, lambda row: row.refused.distinct),
    Field("", "Reason", TEXT, lambda row: shown_whole(row.refused.reason)),
)


def refused_section(found: Iterable[tuple[str, Overview]]) -> Section:
    """Returns the calls of traces that no case can be made of, each with its label."""
    rows = [_RefusedCalls(label, calls) for label, overview in found for calls in overview.refused]
    return Section("What no case can be made of", table=table_of(REFUSED, rows, MOST_ROWS))


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
            {**msgspec.to_builtins(use.message), "calls": use.calls, "time_ns": known(use.time_ns)}
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
        name: known(value) if name.endswith("_ns") else value
        for name, value in found._asdict().items()
    }


def _idle_values(idle: Idle) -> dict[str, Any]:
    return {
        "spans": idle.spans,
        "span_ns": idle.span_ns,
        "busy_ns": idle.busy_ns,
        "idle_ns": idle.idle_ns,
        "gaps": idle.gaps,
        "longest": [gap._asdict() for gap in idle.longest],
    }
