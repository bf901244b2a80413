"""Computes the coverage of a registry: the operators with measurements, from a run's records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from opperf.errors import one_line
from opperf.instruments.times import BACKWARD
from opperf.model import ListedOperator, Listing, Operator, Record, Status, Struct
from opperf.reports.fields import (
    LABEL,
    NUMBER,
    TEXT,
    WORD,
    Field,
    number,
    objects_of,
    rows_of,
    table_of,
)
from opperf.reports.model import Fact, Report, Section

NOT_RUN = "not among the records"
"""Reason of an operator that has a rule and was not run."""

Group = Callable[[Operator], Iterable[str]]


class Count(Struct, frozen=True):
    """Number of distinct operators, and of those that were measured."""

    distinct: int
    forward: int
    backward: int

    @property
    def percent(self) -> float:
        """Percentage that was measured forward; 100 without operators."""
        return 100.0 * self.forward / self.distinct if self.distinct else 100.0


class Coverage(Struct, frozen=True):
    """The coverage of a registry."""

    framework: str
    version: str
    registered: int
    names: int
    total: Count
    """Of the operators that a run without names measures, overloads counted one by one."""
    by_name: Count
    """Of the same, those of one name counted once."""
    runnable: Count
    """Of those in `total` that have a kernel for the default device."""
    runnable_by_name: Count
    namespaces: dict[str, Count]
    categories: dict[str, Count]
    not_measured: dict[str, str]


def coverage(listing: Listing, records: Iterable[Record]) -> Coverage:
    """Returns the coverage of the records; an operator needs one case that is measured."""
    by_label: dict[str, list[Record]] = {}
    for record in records:
        by_label.setdefault(record.case.label, []).append(record)
    every = [record for group in by_label.values() for record in group]
    measured = [record for record in every if record.status is Status.OK]
    forward = {record.case.label for record in measured}
    backward = {record.case.label for record in measured if BACKWARD.name in record.summaries}
    usual = [listed for listed in listing.operators if listed.operator.is_usual]
    operators = [listed.operator for listed in usual]
    runnable = [listed.operator for listed in usual if listed.has_kernel]

    def count_groups(group: Group) -> dict[str, Count]:
        members: dict[str, list[str]] = {}
        for operator in operators:
            for key in group(operator):
                members.setdefault(key, []).append(operator.label)
        return {key: _count(names, forward, backward) for key, names in sorted(members.items())}

    def count_names(chosen: Iterable[Operator]) -> Count:
        labels: dict[str, set[str]] = {}
        for operator in chosen:
            labels.setdefault(operator.name, set()).add(operator.label)
        return Count(
            len(labels),
            sum(bool(forward & own) for own in labels.values()),
            sum(bool(backward & own) for own in labels.values()),
        )

    return Coverage(
        framework=listing.framework,
        version=listing.version,
        registered=listing.registered,
        names=sum(len(operator.names) for operator in operators),
        total=_count([operator.label for operator in operators], forward, backward),
        by_name=count_names(operators),
        runnable=_count([operator.label for operator in runnable], forward, backward),
        runnable_by_name=count_names(runnable),
        namespaces=count_groups(lambda operator: [operator.namespace]),
        categories=count_groups(lambda operator: [operator.category]),
        not_measured={
            listed.operator.label: _reason(listed, by_label.get(listed.operator.label, []))
            for listed in usual
            if listed.operator.label not in forward
        },
    )


def _count(names: Sequence[str], forward: set[str], backward: set[str]) -> Count:
    return Count(len(names), len(forward.intersection(names)), len(backward.intersection(names)))


def _reason(listed: ListedOperator, records: Sequence[Record]) -> str:
    if records:
        return f"{records[0].status.value}: {one_line(records[0].reason)}"
    return listed.reason or NOT_RUN


class _CoverageRow(NamedTuple):
    """A group of operators with its count, or an operator that is not measured."""

    kind: str
    name: str
    counted: Count | None = None
    reason: str = ""


KIND: Field[_CoverageRow] = Field("kind", None, WORD, lambda row: row.kind)

COUNTS: tuple[Field[_CoverageRow], ...] = (
    Field("distinct", "Distinct", NUMBER, lambda row: row.counted and row.counted.distinct),
    Field("forward", "Forward", NUMBER, lambda row: row.counted and row.counted.forward),
    Field(
        "percent",
        "%",
        number("{:.1f}".format),
        lambda row: row.counted and round(row.counted.percent, 2),
    ),
    Field("backward", "Backward", NUMBER, lambda row: row.counted and row.counted.backward),
)


def _name(title: str) -> Field[_CoverageRow]:
    return Field("name", title, LABEL, lambda row: row.name)


REASON: Field[_CoverageRow] = Field("reason", "Reason", TEXT, lambda row: row.reason)


def _coverage_rows(found: Coverage) -> list[_CoverageRow]:
    groups = {
        "total": {"": found.total},
        "namespace": found.namespaces,
        "category": found.categories,
    }
    rows = [
        _CoverageRow(kind, name, count)
        for kind, counts in groups.items()
        for name, count in counts.items()
    ]
    missing = sorted(found.not_measured.items())
    return rows + [_CoverageRow("not measured", name, None, reason) for name, reason in missing]


def as_json(found: Coverage) -> dict[str, object]:
    """Returns the coverage as JSON has it."""

    def values(counts: Iterable[tuple[str, Count]]) -> dict[str, dict[str, object]]:
        return {
            name: objects_of(COUNTS, [_CoverageRow("", name, count)])[0] for name, count in counts
        }

    names = ("total", "by_name", "runnable", "runnable_by_name")
    totals = values((name, getattr(found, name)) for name in names)
    return {
        "framework": found.framework,
        "version": found.version,
        "registered": found.registered,
        "names": found.names,
        **totals.pop("total"),
        **totals,
        "namespaces": values(found.namespaces.items()),
        "categories": values(found.categories.items()),
        "not_measured": found.not_measured,
    }


def _facts(found: Coverage) -> list[tuple[str, str]]:
    total = found.total
    facts = [
        ("registered names", str(found.registered)),
        ("names of operators", str(found.names)),
        ("distinct operators", str(total.distinct)),
        ("measured forward", f"{total.forward} ({total.percent:.1f} %)"),
        ("measured backward", str(total.backward)),
    ]
    if found.by_name.distinct == total.distinct:
        return facts
    return [
        *facts,
        ("those of one name together", _count_text(found.by_name)),
        ("with a kernel here", _count_text(found.runnable)),
        ("with a kernel here, by name", _count_text(found.runnable_by_name)),
    ]


def _count_text(count: Count) -> str:
    return (
        f"{count.distinct}, forward {count.forward} ({count.percent:.1f} %), "
        f"backward {count.backward}"
    )


def report_of(found: Coverage) -> Report:
    """Returns the report of the coverage."""
    rows = _coverage_rows(found)
    tables = [
        table_of((_name(kind.capitalize()), *COUNTS), [row for row in rows if row.kind == kind])
        for kind in ("namespace", "category")
    ]
    missing = [row for row in rows if row.kind == "not measured"]
    return Report(
        "coverage",
        f"{found.framework} {found.version}",
        (
            Section(facts=[Fact(label, "", text) for label, text in _facts(found)]),
            *(Section(table=table) for table in tables),
            Section(table=table_of((_name("Not measured"), REASON), missing)),
        ),
        as_json(found),
        *rows_of((KIND, _name("Name"), *COUNTS, REASON), rows),
        level=1,
    )
