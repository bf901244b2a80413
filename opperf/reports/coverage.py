"""Computes the coverage of a registry: the operators with measurements, from a run's records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from opperf.errors import one_line
from opperf.instruments.times import BACKWARD
from opperf.model import ListedOperator, Listing, Operator, Record, Status, Struct
from opperf.reports.model import Fact, Report, Section, Table, numbers, texts, words

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

    def as_json(self) -> dict[str, object]:
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
            "by_name": convert(self.by_name),
            "runnable": convert(self.runnable),
            "runnable_by_name": convert(self.runnable_by_name),
            "namespaces": {name: convert(count) for name, count in self.namespaces.items()},
            "categories": {name: convert(count) for name, count in self.categories.items()},
            "not_measured": self.not_measured,
        }


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


COUNT_TITLES = ("Distinct", "Forward", "%", "Backward")


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
    missing = sorted(found.not_measured.items())
    columns = (
        words("Not measured", [name for name, _ in missing], is_whole=True),
        texts("Reason", [reason for _, reason in missing]),
    )
    header, rows = coverage_rows(found)
    return Report(
        command="coverage",
        title=f"{found.framework} {found.version}",
        sections=(
            Section(facts=[Fact(label, "", text) for label, text in _facts(found)]),
            Section(table=_counts_table("Namespace", found.namespaces)),
            Section(table=_counts_table("Category", found.categories)),
            *([Section(table=Table(columns))] if missing else []),
        ),
        data=found.as_json(),
        header=header,
        rows=rows,
        level=1,
    )


def _counts_table(title: str, counts: dict[str, Count]) -> Table:
    cells = list(zip(*map(_count_cells, counts.values()), strict=True)) or [()] * len(COUNT_TITLES)
    return Table((words(title, counts), *map(numbers, COUNT_TITLES, cells)))


def _count_cells(count: Count) -> list[str]:
    return [str(count.distinct), str(count.forward), f"{count.percent:.1f}", str(count.backward)]


def coverage_rows(found: Coverage) -> tuple[Sequence[str], list[list[str]]]:
    """Returns header and rows of the total, namespaces, categories and what was not measured."""
    groups = {
        "total": {"": found.total},
        "namespace": found.namespaces,
        "category": found.categories,
    }
    rows = [
        [kind, name, *_count_cells(count), ""]
        for kind, counts in groups.items()
        for name, count in counts.items()
    ]
    empty = [""] * len(COUNT_TITLES)
    rows += [
        ["not measured", name, *empty, reason]
        for name, reason in sorted(found.not_measured.items())
    ]
    return ("kind", "name", "distinct", "forward", "percent", "backward", "reason"), rows
