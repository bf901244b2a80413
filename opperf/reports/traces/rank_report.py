"""The report on several ranks side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from opperf.reports.model import Column, Report, Section, Table, names, numbers, words
from opperf.reports.traces.cells import (
    COMMAND,
    alike,
    amounts,
    anomaly_section,
    counts,
    first_rows,
    known,
    shown,
    shown_whole,
    with_anomalies,
)
from opperf.reports.traces.overview_report import HEADER, kind_of, rows_of, values_of
from opperf.traces.anomalies import anomaly_values
from opperf.traces.overview import OperatorUse, Overview, total_ns
from opperf.traces.rank_comparison import Disagreement, Joined, Ranks


def report_of(ranks: Ranks) -> Report:
    """Returns the report on several ranks, or on several traces without one."""
    sections = [
        Section(table=_ranks(ranks)),
        anomaly_section(
            ("", ranks.anomalies),
            *zip(ranks.labels, (overview.anomalies for overview in ranks.overviews), strict=True),
        ),
        *_disagreements(ranks),
        *_waits(ranks),
        Section(title="Collective operations", table=_collectives(ranks), below=_reading(ranks)),
        Section(title="Calls of operators", table=_operators(ranks)),
        *_times(ranks),
        Section(title="What no case can be made of", table=_refused(ranks)),
        Section(
            title="Notes",
            items=[shown_whole(text) for overview in ranks.overviews for text in overview.remarks],
        ),
    ]
    return Report(
        COMMAND,
        "",
        [section for section in sections if section.has_content],
        {
            "traces": [values_of(overview) for overview in ranks.overviews],
            "anomalies": anomaly_values(ranks.anomalies),
            "collectives": [_joined_values(operation) for operation in ranks.joined],
            "waits_ns": ranks.waits() if ranks.has_times else None,
            "disagreements": [difference._asdict() for difference in ranks.disagreements],
        },
        *with_anomalies(
            HEADER,
            [row for overview in ranks.overviews for row in rows_of(overview)],
            ("", ranks.anomalies),
            *((overview.name, overview.anomalies) for overview in ranks.overviews),
        ),
        headline=f"{len(ranks.overviews)} traces side by side",
    )


def _joined_values(operation: Joined) -> dict[str, Any]:
    return {
        "group": operation.group,
        "number": operation.number,
        "message": msgspec.to_builtins(operation.message),
        "nodes": operation.nodes,
        "times_ns": operation.times_ns,
        "last": operation.last,
        "waits_ns": operation.waits_ns if operation.last is not None else None,
    }


def _ranks(ranks: Ranks) -> Table:
    overviews = ranks.overviews
    kinds = [kind_of(overview).partition(",")[0] for overview in overviews]
    waits = ranks.waits()
    waited = [sum(row) for row in waits]
    caused = [sum(row[rank] for row in waits) for rank in range(len(overviews))]
    in_collectives = [total_ns(use.time_ns for use in overview.messages) for overview in overviews]
    columns = (
        names("Rank", _labels(ranks)),
        *([words("Kind", kinds)] if len(set(kinds)) > 1 else []),
        counts("Calls", [overview.calls for overview in overviews]),
        counts(
            "Distinct", [sum(use.distinct for use in overview.operators) for overview in overviews]
        ),
        counts(
            "Collectives", [sum(map(len, overview.collectives.values())) for overview in overviews]
        ),
        *known(amounts("In operators", [overview.time_ns for overview in overviews], "ns")),
        *known(amounts("In collectives", in_collectives, "ns")),
        *(alike(("Waited", "Waited for"), (waited, caused)) if ranks.has_times else ()),
    )
    return Table(columns, is_split=True)


def _labels(ranks: Ranks) -> list[str]:
    return list(map(shown, ranks.labels))


def _disagreements(ranks: Ranks) -> Iterator[Section]:
    for difference in ranks.disagreements:
        columns = (
            names("Rank", _labels(ranks)),
            numbers("Node", ["" if node is None else f"{node:,}" for node in difference.nodes]),
            words("Collective", map(shown, difference.texts), is_whole=True),
        )
        yield Section(title=_place_text(difference), table=Table(columns))


def _place_text(difference: Disagreement) -> str:
    group = f" of group {shown(difference.group)}" if difference.group else ""
    return (
        f"Ranks disagree from collective operation {difference.number + 1:,}{group} on; later ones "
        "are not compared"
    )


def _waits(ranks: Ranks) -> Iterator[Section]:
    if not ranks.has_times:
        return
    labels = _labels(ranks)
    waits = ranks.waits()
    columns = (
        names("Waiting", labels),
        *alike([f"For {label}" for label in labels], list(zip(*waits, strict=True))),
    )
    yield Section(title="Who waits for whom", table=Table(columns, is_split=True))


def _reading(ranks: Ranks) -> list[str]:
    """Returns how to read the table of collective operations."""
    if not ranks.joined:
        return []
    if not ranks.has_times:
        return ["The traces have no times of collective operations: sizes and order are compared."]
    return [
        "An operation is shortest on the rank that came last. The others waited for it as much "
        "longer as theirs took, which needs no common clock."
    ]


def _collectives(ranks: Ranks) -> Table:
    ordered = sorted(ranks.joined, key=lambda operation: -sum(operation.waits_ns))
    picked, more = first_rows(len(ordered))
    labels = _labels(ranks)
    messages = [operation.message for operation in ordered]
    columns = [
        names("Collective", [shown(message.name) for message in messages]),
        numbers("Number", [f"{operation.number + 1:,}" for operation in ordered])._replace(
            is_key=True
        ),
        *known(
            words("Group", [shown(message.description or message.group) for message in messages])
        ),
        words("Dtype", [shown(message.dtype) for message in messages]),
        numbers(
            "Elements", [f"{message.sent:,}" if message.sent >= 0 else "" for message in messages]
        )._replace(is_key=True),
    ]
    if ranks.has_times:
        times = [[operation.times_ns[rank] for operation in ordered] for rank in range(len(labels))]
        columns += alike(labels, times)
        columns.append(
            words(
                "Last",
                ["" if operation.last is None else labels[operation.last] for operation in ordered],
            )
        )
    return Table(tuple(columns), picked, more, is_split=True)


def _united(ranks: Ranks) -> list[str]:
    """Returns the operators of all ranks, the most called first."""
    found: dict[str, int] = {}
    for overview in ranks.overviews:
        for use in overview.operators:
            found[use.operator] = found.get(use.operator, 0) + use.calls
    return sorted(found, key=lambda operator: -found[operator])


def _by_operator(overview: Overview) -> dict[str, OperatorUse]:
    return {use.operator: use for use in overview.operators}


def _operators(ranks: Ranks) -> Table:
    operators = _united(ranks)
    own = [_by_operator(overview) for overview in ranks.overviews]
    found = [[uses[name].calls if name in uses else 0 for name in operators] for uses in own]
    differs = [len(set(row)) > 1 for row in zip(*found, strict=True)]
    picked, more = first_rows(len(operators))
    columns: list[Column] = [
        names("Operator", map(shown, operators)),
        *(counts(label, calls) for label, calls in zip(_labels(ranks), found, strict=True)),
    ]
    if any(differs):
        columns.append(words("", ["differs" if is_different else "" for is_different in differs]))
    return Table(tuple(columns), picked, more, is_split=True)


def _times(ranks: Ranks) -> Iterator[Section]:
    if all(overview.time_ns < 0 for overview in ranks.overviews):
        return
    own = [_by_operator(overview) for overview in ranks.overviews]
    times: dict[str, Sequence[int]] = {
        name: [uses[name].time_ns if name in uses else -1 for uses in own]
        for name in _united(ranks)
    }
    operators = sorted(times, key=lambda name: -max(times[name]))
    picked, more = first_rows(len(operators))
    columns = (
        names("Operator", map(shown, operators)),
        *alike(_labels(ranks), list(zip(*(times[name] for name in operators), strict=True))),
    )
    yield Section(title="Time of operators", table=Table(columns, picked, more, is_split=True))


def _refused(ranks: Ranks) -> Table:
    rows = [
        (label, calls)
        for label, overview in zip(_labels(ranks), ranks.overviews, strict=True)
        for calls in overview.refused
    ]
    picked, more = first_rows(len(rows))
    columns = (
        names("Not built", [shown(calls.operator) for _, calls in rows]),
        words("Rank", [label for label, _ in rows]),
        counts("Calls", [calls.calls for _, calls in rows]),
        words("Reason", [shown_whole(calls.reason) for _, calls in rows]),
    )
    return Table(columns, picked, more)
