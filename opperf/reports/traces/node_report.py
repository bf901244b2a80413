"""The reports on one node of a trace, and on one tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from opperf.decoding import JsonObject
from opperf.errors import UsageError
from opperf.model import TensorSpec, display_argument
from opperf.plurals import counted, pluralize
from opperf.reports.fields import NAME, NUMBER, TEXT, WORD, Field, rows_of, table_of
from opperf.reports.model import Fact, Report, Section, Table
from opperf.reports.traces.cells import (
    COMMAND,
    MOST_ROWS,
    amount,
    anomaly_section,
    known,
    nested,
    outline_section,
    shown,
    shown_whole,
    with_anomalies,
)
from opperf.results.text import value_text
from opperf.traces.anomalies import anomaly_values
from opperf.traces.outline import outline_of
from opperf.traces.overview import operator_of
from opperf.traces.rank_comparison import message_text
from opperf.traces.tensors import History, Use, history_of, uses_of
from opperf.traces.trace import NO_CALL, Call, Node, Trace

MOST_ABOVE = 12
"""Nodes above one that are shown; programs nest few more."""

MOST_SAME = 8
"""Calls of one sequence number that are shown: one forward, and those of its backward pass."""

MOST_SHARING = 20
"""Tensors of one storage that are named."""

OUTSIDE = "from outside"


def node_report(trace: Trace, number: int) -> Report:
    """Returns the report on a node. Raises `UsageError` for a number that is none's."""
    node = trace.nodes.get(number)
    if node is None:
        is_tensor = history_of(trace, number) is not None
        advice = (
            f"it is a tensor: --tensor {number}"
            if is_tensor
            else f"{_range_text(trace)}; --tree lists them"
        )
        raise UsageError(f"{trace.name} has no node {number}; {advice}")
    call = _call_of(trace, node)
    uses = list(uses_of(trace, node))
    below = outline_of(trace, 1, number)
    sections = [
        Section(facts=list(_facts(trace, node))),
        Section(code=[shown_whole(call.schema)] if call is not None and call.schema else []),
        Section(title="Arguments", table=table_of(ARGUMENTS, call.arguments if call else ())),
        Section(title="Tensors", table=_tensors(trace, node, uses)),
        outline_section(below, "Below it") if below else Section(),
    ]
    place = trace.place(node)
    data = {
        "trace": trace.name,
        "node": {
            "id": node.id,
            "name": node.name,
            "above": [above.id for above in trace.ancestors(number)],
            "thread": node.thread,
            "phase": place.phase,
            "step": place.step,
            "record_function_id": node.rf_id,
            "sequence": None if node.seq_id < 0 else node.seq_id,
            "same_sequence": _same_sequence(trace, node),
            "operator": None if call is None else operator_of(call),
            "schema": None if call is None else call.schema,
            "not_built": (call.refusal or call.collective or None) if call else None,
            "arguments": {} if call is None else _values(call.arguments),
            "start_ns": known(node.start_ns),
            "time_ns": known(node.time_ns),
            "kernel_ns": known(node.kernel_ns),
            "tensors": [_use_values(use) for use in uses],
            "below": nested(below),
        },
    }
    return _report(f"Node {number}", sections, data, trace, uses)


def tensor_report(trace: Trace, number: int) -> Report:
    """Returns the report on a tensor. Raises `UsageError` for a number that is none's."""
    history = history_of(trace, number)
    if history is None:
        is_node = number in trace.nodes
        has_none = not any(node.inputs or node.outputs for node in trace.nodes.values())
        advice = (
            f"; it is a node: --node {number}"
            if is_node
            else "; a trace of a profiler does not identify tensors"
            if has_none
            else "; --node ID lists those of a call"
        )
        raise UsageError(f"{trace.name} has no tensor {number}{advice}")
    sections = [
        Section(facts=list(_tensor_facts(trace, history, number))),
        Section(title="Made and used by", table=_history(trace, history)),
    ]
    maker = history.maker
    data = {
        "trace": trace.name,
        "tensor": {
            "id": number,
            "made_by": None if maker is None else maker.node,
            "uses": [_use_values(use) for use in history.uses],
            "sharing_its_storage": list(history.sharing),
        },
    }
    return _report(f"Tensor {number}", sections, data, trace, history.uses)


def _report(
    title: str, sections: Sequence[Section], data: JsonObject, trace: Trace, uses: Sequence[Use]
) -> Report:
    rows = [_TensorUse(use, shown(trace.nodes[use.node].name)) for use in uses]
    sections = [*sections, anomaly_section(("", trace.anomalies))]
    found = [section for section in sections if section.has_content]
    data = {**data, "anomalies": anomaly_values(trace.anomalies)}
    written = with_anomalies(*rows_of(USES, rows), ("", trace.anomalies))
    return Report(COMMAND, "", found, data, *written, headline=f"{title} of a trace")


def _range_text(trace: Trace) -> str:
    if not trace.nodes:
        return "it has none"
    return f"nodes are from {min(trace.nodes):,} to {max(trace.nodes):,}"


def _values(arguments: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    return {name: display_argument(value) for name, value in arguments}


def _facts(trace: Trace, node: Node) -> Iterator[Fact]:
    yield Fact("Node", shown(node.name), str(node.id))
    call = _call_of(trace, node)
    if call is not None:
        if call.message is not None:
            yield Fact("Collective", shown(message_text(call.message)))
        else:
            yield Fact("Operator", shown(operator_of(call)))
        if call.refusal:
            yield Fact("Not built", "", shown(call.refusal))
        for note in call.notes:
            yield Fact("Note", "", shown(note))
    above = trace.ancestors(node.id)
    for outer in above[:MOST_ABOVE]:
        yield Fact("Below", shown(outer.name), str(outer.id))
    if len(above) > MOST_ABOVE:
        yield Fact("Below", "", f"{len(above) - MOST_ABOVE:,} more")
    place = trace.place(node)
    yield Fact("Phase", place.phase, f"of {shown(place.step)}" if place.step else "")
    yield Fact("Thread", str(node.thread))
    for number in _same_sequence(trace, node)[:MOST_SAME]:
        yield Fact("Same sequence", shown(trace.nodes[number].name), str(number))
    if node.time_ns >= 0:
        yield Fact("Time", amount(node.time_ns, "ns"), "on the host")
    if node.start_ns >= 0:
        yield Fact("Begins at", amount(node.start_ns, "ns"))
    if node.kernel_ns >= 0:
        yield Fact("Kernels", amount(node.kernel_ns, "ns"))


def _same_sequence(trace: Trace, node: Node) -> list[int]:
    """Returns the numbers of the calls of the forward and backward pass that belong to one."""
    call = _call_of(trace, node)
    if node.seq_id < 0 or (call is not None and call.collective):
        return []
    return [
        other.id
        for other in trace.nodes.values()
        if other.seq_id == node.seq_id and other.id != node.id
        if (made := _call_of(trace, other)) is None or not made.collective
    ]


def _call_of(trace: Trace, node: Node) -> Call | None:
    return None if node.call == NO_CALL else trace.calls[node.call]


ARGUMENTS: tuple[Field[tuple[str, Any]], ...] = (
    Field("", "Argument", NAME, lambda argument: argument[0]),
    Field("", "Value", TEXT, lambda argument: shown(_argument_text(argument[1]))),
)


def _argument_text(value: Any) -> str:
    if isinstance(value, TensorSpec):
        strides = f", strides {list(value.strides)}" if value.strides else ""
        return f"{_spec_text(value)}{strides}"
    return value_text(display_argument(value))


def _spec_text(spec: TensorSpec | None) -> str:
    return "" if spec is None else f"{spec.dtype} {list(spec.shape)}"


def _tensors(trace: Trace, node: Node, uses: Sequence[Use]) -> Table | None:
    if not uses:
        return None
    makers = _makers(trace, node, uses)
    rows = [_TensorUse(use, "", makers.get(use.ref.tensor, "")) for use in uses]
    return table_of(TENSORS, rows, MOST_ROWS)


def _makers(trace: Trace, node: Node, uses: Sequence[Use]) -> dict[int, str]:
    """Returns the latest calls before a node that have each of its tensors as their output."""
    wanted = {use.ref.tensor for use in uses if not use.is_output}
    found = dict.fromkeys(wanted, OUTSIDE)
    above = {outer.id for outer in trace.ancestors(node.id)}
    for identity in sorted(trace.nodes):
        if identity >= node.id:
            break
        if identity not in above:
            earlier = trace.nodes[identity]
            made = wanted & {ref.tensor for ref in earlier.outputs}
            found.update(dict.fromkeys(made, f"{shown(earlier.name)} ({identity})"))
    return found


def _role(use: Use) -> str:
    return "output" if use.is_output else "input"


class _TensorUse(NamedTuple):
    use: Use
    name: str
    """Of the call."""
    about: str = ""
    """Said of it in a table."""


ROLE: Field[_TensorUse] = Field("role", "Role", WORD, lambda row: _role(row.use))

ARGUMENT: Field[_TensorUse] = Field("argument", "Argument", NAME, lambda row: row.use.argument)

STORED: tuple[Field[_TensorUse], ...] = (
    Field("tensor", "Tensor", NUMBER, lambda row: row.use.ref.tensor, is_key=True),
    Field("storage", "Storage", NUMBER, lambda row: row.use.ref.storage, is_key=True),
)

OFFSET: Field[_TensorUse] = Field("offset", "Offset", NUMBER, lambda row: row.use.ref.offset)

SHAPE: Field[_TensorUse] = Field("", "Shape", WORD, lambda row: _spec_text(row.use.spec))

USES: tuple[Field[_TensorUse], ...] = (
    Field("node", None, NUMBER, lambda row: row.use.node),
    Field("name", None, NAME, lambda row: row.name),
    ROLE,
    ARGUMENT,
    *STORED,
    OFFSET,
    Field("shape", None, WORD, lambda row: row.use.spec and "x".join(map(str, row.use.spec.shape))),
    Field("dtype", None, WORD, lambda row: row.use.spec and row.use.spec.dtype),
)
"""Columns of CSV."""

TENSORS: tuple[Field[_TensorUse], ...] = (
    ROLE,
    ARGUMENT,
    *STORED,
    OFFSET,
    Field("", "Device", WORD, lambda row: shown(row.use.ref.device)),
    SHAPE,
    Field("", "Made by", TEXT, lambda row: row.about),
)

HISTORY: tuple[Field[_TensorUse], ...] = (
    Field("", "Call", NAME, lambda row: row.name),
    Field("", "Node", NUMBER, lambda row: row.use.node, is_key=True),
    Field("", "", WORD, lambda row: row.about),
    ROLE,
    ARGUMENT,
    SHAPE,
    OFFSET,
)


def _use_values(use: Use) -> JsonObject:
    return {
        "node": use.node,
        "role": _role(use),
        "argument": use.argument,
        **use.ref._asdict(),
        "shape": None if use.spec is None else list(use.spec.shape),
        "dtype": None if use.spec is None else use.spec.dtype,
    }


def _tensor_facts(trace: Trace, history: History, number: int) -> Iterator[Fact]:
    first = history.uses[0]
    ref = first.ref
    device = f" on {shown(ref.device)}" if ref.device else ""
    size = ref.size * ref.itemsize
    yield Fact("Tensor", "", f"{number}: {_spec_text(first.spec) or 'of unknown shape'}{device}")
    yield Fact(
        "Elements", "", f"{counted(ref.size, 'element')} of {ref.itemsize} B, {amount(size, 'B')}"
    )
    yield Fact("Storage", "", f"{ref.storage}, from element {ref.offset:,} on")
    maker = history.maker
    yield Fact(
        "Made by",
        "",
        OUTSIDE if maker is None else f"{shown(trace.nodes[maker.node].name)} ({maker.node})",
    )
    users = {use.node for use in history.uses if not use.is_output}
    yield Fact("Used by", "", counted(len(users), "call"))
    if history.sharing:
        listed = ", ".join(map(str, history.sharing[:MOST_SHARING]))
        left = len(history.sharing) - MOST_SHARING
        others = f" and {left:,} more" if left > 0 else ""
        yield Fact(
            "In its storage",
            "",
            f"{pluralize(len(history.sharing), 'other tensor')}: {listed}{others}",
        )


def _history(trace: Trace, history: History) -> Table:
    uses = history.uses
    top = {node.id for node in trace.topmost()}
    # What is below topmost calls has the same tensors again.
    topmost = tuple(index for index, use in enumerate(uses) if use.node in top)[:MOST_ROWS]
    more = f"and {len(uses) - len(topmost):,} more; --format json has all"
    rows = [
        _TensorUse(use, shown(trace.nodes[use.node].name), "topmost" if use.node in top else "")
        for use in uses
    ]
    more = more if len(topmost) < len(uses) else ""
    return table_of(HISTORY, rows, shown=topmost, more=more)
