"""The report on several ranks side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from opperf.reports.fields import (
    COUNT,
    LABEL,
    NAME,
    TIME,
    TIMES,
    WORD,
    Field,
    Item,
    rows_of,
    table_of,
)
from opperf.reports.model import ColumnKind, Report, Section, Table
from opperf.reports.traces.cells import (
    COMMAND,
    MOST_ROWS,
    TRACE_NAME,
    TRACE_WORD,
    anomaly_section,
    known,
    shown,
    shown_whole,
    with_anomalies,
)
from opperf.reports.traces.overview_report import (
    FIELDS,
    MESSAGE,
    group_of,
    kind_of,
    operators_of,
    refused_section,
    values_of,
)
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
        refused_section(zip(_labels(ranks), ranks.overviews, strict=True)),
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
            *rows_of(FIELDS, (row for made in ranks.overviews for row in operators_of(made))),
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


class _Rank(NamedTuple):
    label: str
    overview: Overview
    waited_ns: int
    caused_ns: int
    """Time that the others waited for it."""


RANK: Field[_Rank] = Field("", "Rank", NAME, lambda rank: rank.label)

KIND: Field[_Rank] = Field("", "Kind", WORD, lambda rank: kind_of(rank.overview).partition(",")[0])

RANKS: tuple[Field[_Rank], ...] = (
    Field("", "Calls", COUNT, lambda rank: rank.overview.calls),
    Field("", "Distinct", COUNT, lambda rank: sum(x.distinct for x in rank.overview.operators)),
    Field("", "Collectives", COUNT, lambda rank: sum(map(len, rank.overview.collectives.values()))),
    Field("", "In operators", TIME, lambda rank: known(rank.overview.time_ns), is_optional=True),
    Field(
        "",
        "In collectives",
        TIME,
        lambda rank: known(total_ns(use.time_ns for use in rank.overview.messages)),
        is_optional=True,
    ),
)

WAITS: tuple[Field[_Rank], ...] = (
    Field("", "Waited", TIMES, lambda rank: rank.waited_ns),
    Field("", "Waited for", TIMES, lambda rank: rank.caused_ns),
)


def _ranks(ranks: Ranks) -> Table:
    waits = ranks.waits()
    rows = [
        _Rank(label, overview, sum(waits[i]), sum(row[i] for row in waits))
        for i, (label, overview) in enumerate(zip(_labels(ranks), ranks.overviews, strict=True))
    ]
    kinds = {KIND.read(row) for row in rows}
    fields = (RANK, *([KIND] if len(kinds) > 1 else []), *RANKS)
    return table_of((*fields, *WAITS) if ranks.has_times else fields, rows, is_split=True)


def _labels(ranks: Ranks) -> list[str]:
    return list(map(shown, ranks.labels))


DISAGREEING: tuple[Field[tuple[str, int | None, str]], ...] = (
    Field("", "Rank", NAME, lambda row: row[0]),
    Field("", "Node", COUNT, lambda row: row[1]),
    Field("", "Collective", LABEL, lambda row: shown(row[2])),
)


def _disagreements(ranks: Ranks) -> Iterator[Section]:
    for difference in ranks.disagreements:
        rows = zip(_labels(ranks), difference.nodes, difference.texts, strict=True)
        yield Section(title=_place_text(difference), table=table_of(DISAGREEING, rows))


def _place_text(difference: Disagreement) -> str:
    group = f" of group {shown(difference.group)}" if difference.group else ""
    return (
        f"Ranks disagree from collective operation {difference.number + 1:,}{group} on; later ones "
        "are not compared"
    )


def _by_rank(
    titles: Iterable[str], kind: ColumnKind, read: Callable[[Item], Sequence[int | None]]
) -> list[Field[Item]]:
    """Returns a column for each rank, with its figure of those of a row."""

    def reader(place: int) -> Callable[[Item], int | None]:
        return lambda row: read(row)[place]

    return [Field("", title, kind, reader(place)) for place, title in enumerate(titles)]


Named = tuple[str, Sequence[int | None]]
"""A name, with a figure of each rank."""


def _waits(ranks: Ranks) -> Iterator[Section]:
    if not ranks.has_times:
        return
    labels = _labels(ranks)
    titles = [f"For {label}" for label in labels]
    name: Field[Named] = Field("", "Waiting", NAME, lambda row: row[0])
    rows = list(zip(labels, ranks.waits(), strict=True))
    table = table_of((name, *_by_rank(titles, TIMES, _figures)), rows, is_split=True)
    yield Section(title="Who waits for whom", table=table)


def _figures(row: Named) -> Sequence[int | None]:
    return row[1]


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
    labels = _labels(ranks)
    fields: list[Field[Joined]] = [
        Field("", "Collective", TRACE_NAME, lambda made: made.message.name),
        Field("", "Number", COUNT, lambda made: made.number + 1, is_key=True),
        Field("", "Group", TRACE_WORD, group_of, is_optional=True),
        *MESSAGE,
    ]
    if ranks.has_times:
        fields += _by_rank(labels, TIMES, lambda made: made.times_ns)
        fields.append(
            Field("", "Last", WORD, lambda made: None if made.last is None else labels[made.last])
        )
    return table_of(fields, ordered, MOST_ROWS, is_split=True)


def _united(ranks: Ranks) -> list[str]:
    """Returns the operators of all ranks, the most called first."""
    found: dict[str, int] = {}
    for overview in ranks.overviews:
        for use in overview.operators:
            found[use.operator] = found.get(use.operator, 0) + use.calls
    return sorted(found, key=lambda operator: -found[operator])


def _by_operator(overview: Overview) -> dict[str, OperatorUse]:
    return {use.operator: use for use in overview.operators}


OPERATOR: Field[Named] = Field("", "Operator", TRACE_NAME, lambda row: row[0])

DIFFERS: Field[Named] = Field(
    "", "", WORD, lambda row: "differs" if len(set(row[1])) > 1 else "", is_optional=True
)


def _operators(ranks: Ranks) -> Table:
    uses = list(map(_by_operator, ranks.overviews))
    rows = [
        (name, [found[name].calls if name in found else 0 for found in uses])
        for name in _united(ranks)
    ]
    fields = (OPERATOR, *_by_rank(_labels(ranks), COUNT, _figures), DIFFERS)
    return table_of(fields, rows, MOST_ROWS, is_split=True)


def _times(ranks: Ranks) -> Iterator[Section]:
    if all(overview.time_ns < 0 for overview in ranks.overviews):
        return
    uses = list(map(_by_operator, ranks.overviews))
    times = {
        name: [known(found[name].time_ns) if name in found else None for found in uses]
        for name in _united(ranks)
    }
    rows = sorted(times.items(), key=lambda row: -max(time or 0 for time in row[1]))
    fields = (OPERATOR, *_by_rank(_labels(ranks), TIMES, _figures))
    yield Section("Time of operators", table=table_of(fields, rows, MOST_ROWS, is_split=True))
