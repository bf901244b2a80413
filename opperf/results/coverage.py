"""Computes the coverage of a registry: the operators with measurements, from a run's records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tabulate import tabulate

from opperf.errors import one_line
from opperf.metrics import BACKWARD
from opperf.model import ListedOperator, Listing, Operator, Record, Status, Struct
from opperf.results.text import truncate

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
    """Names in the registry, including those that are not operators."""
    names: int
    """Names of operators, including aliases."""
    total: Count
    namespaces: dict[str, Count]
    categories: dict[str, Count]
    not_measured: dict[str, str]
    """Operators that were not measured forward, each with the reason."""

    def as_json(self) -> dict[str, object]:
        """Returns the coverage as plain values, including percentages."""

        def convert(count: Count) -> dict[str, float]:
            return {
                "distinct": count.distinct,
                "forward": count.forward,
                "backward": count.backward,
                "percent": round(count.percent, 2),
            }

        return {
            "framework": self.framework,
            "version": self.version,
            "registered": self.registered,
            "names": self.names,
            **convert(self.total),
            "namespaces": {name: convert(count) for name, count in self.namespaces.items()},
            "categories": {name: convert(count) for name, count in self.categories.items()},
            "not_measured": self.not_measured,
        }


def coverage(listing: Listing, records: Iterable[Record]) -> Coverage:
    """Returns the coverage of the records. An operator is measured forward if one of its cases is
    ok, and backward if one has a backward time."""
    by_label: dict[str, list[Record]] = {}
    for record in records:
        by_label.setdefault(record.case.label, []).append(record)
    measured = [record for group in by_label.values() for record in group if _is_ok(record)]
    forward = {record.case.label for record in measured}
    backward = {record.case.label for record in measured if BACKWARD.name in record.summaries}
    operators = [listed.operator for listed in listing.operators]

    def count_groups(group: Group) -> dict[str, Count]:
        members: dict[str, list[str]] = {}
        for operator in operators:
            for key in group(operator):
                members.setdefault(key, []).append(operator.name)
        return {key: _count(names, forward, backward) for key, names in sorted(members.items())}

    return Coverage(
        framework=listing.framework,
        version=listing.version,
        registered=listing.registered,
        names=sum(len(operator.names) for operator in operators),
        total=_count([operator.name for operator in operators], forward, backward),
        namespaces=count_groups(lambda operator: [operator.namespace]),
        categories=count_groups(lambda operator: [operator.category]),
        not_measured={
            listed.operator.name: _reason(listed, by_label.get(listed.operator.name, []))
            for listed in listing.operators
            if listed.operator.name not in forward
        },
    )


def _is_ok(record: Record) -> bool:
    return record.status is Status.OK


def _count(names: Sequence[str], forward: set[str], backward: set[str]) -> Count:
    return Count(len(names), len(forward.intersection(names)), len(backward.intersection(names)))


def _reason(listed: ListedOperator, records: Sequence[Record]) -> str:
    """Returns why an operator was not measured: its first case's reason, or why it has none."""
    if records:
        return f"{records[0].status.value}: {one_line(records[0].reason)}"
    return listed.reason or NOT_RUN


def coverage_text(found: Coverage, width: int | None = None) -> str:
    """Returns the coverage as tables, no wider than `width`."""
    total = found.total
    facts = [
        (f"{found.framework} {found.version}", ""),
        ("registered names", found.registered),
        ("names of operators", found.names),
        ("distinct operators", total.distinct),
        ("measured forward", f"{total.forward} ({total.percent:.1f} %)"),
        ("measured backward", total.backward),
    ]
    sections = [
        tabulate(facts, tablefmt="plain", colalign=("left", "left")),
        _counts("Namespace", found.namespaces),
        _counts("Category", found.categories),
    ]
    if found.not_measured:
        rows = tabulate(sorted(found.not_measured.items()), ("Not measured", "Reason"))
        sections.append("\n".join(truncate(line, width) for line in rows.splitlines()))
    return "\n\n".join(sections)


def _counts(title: str, counts: dict[str, Count]) -> str:
    rows = [
        (name, count.distinct, count.forward, f"{count.percent:.1f}", count.backward)
        for name, count in counts.items()
    ]
    table: str = tabulate(
        rows,
        (title, "Distinct", "Forward", "%", "Backward"),
        disable_numparse=True,
        colalign=("left", "right", "right", "right", "right"),
    )
    return table
