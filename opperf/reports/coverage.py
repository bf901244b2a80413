"""Computes the coverage of a registry: the operators with measurements, from a run's records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
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
from opperf.results.projection import group

NOT_RUN = "not among the records"
"""Reason of an operator that has a rule and was not run."""

Key = Callable[[Operator], str]

NAME: Key = attrgetter("name")


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
    every = list(records)
    by_label = group(every, (record.case.label for record in every))
    measured = [record for record in every if record.status is Status.OK]
    forward = {record.case.label for record in measured}
    backward = {record.case.label for record in measured if BACKWARD.name in record.summaries}
    usual = [listed for listed in listing.operators if listed.operator.is_usual]
    operators = [listed.operator for listed in usual]
    runnable = [listed.operator for listed in usual if listed.has_kernel]

    def count(chosen: Iterable[Operator], key: Key = lambda operator: operator.label) -> Count:
        listed = list(chosen)
        labels = group((operator.label for operator in listed), map(key, listed)).values()
        return Count(
            len(labels),
            sum(not forward.isdisjoint(own) for own in labels),
            sum(not backward.isdisjoint(own) for own in labels),
        )

    def count_groups(key: Key) -> dict[str, Count]:
        return {
            name: count(own) for name, own in sorted(group(operators, map(key, operators)).items())
        }

    return Coverage(
        framework=listing.framework,
        version=listing.version,
        registered=listing.registered,
        names=sum(len(operator.names) for operator in operators),
        total=count(operators),
        by_name=count(operators, NAME),
        runnable=count(runnable),
        runnable_by_name=count(runnable, NAME),
        namespaces=count_groups(attrgetter("namespace")),
        categories=count_groups(attrgetter("category")),
        not_measured={
            listed.operator.label: _reason(listed, by_label.get(listed.operator.label, []))
            for listed in usual
            if listed.operator.label not in forward
        },
    )


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
