"""The report of a comparison of two runs of a suite, for every format."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from opperf.comparison.compared import tone_of
from opperf.comparison.statistics.data import Verdict
from opperf.machine.environment import gpus_text
from opperf.reports.markdown import code
from opperf.reports.model import (
    Cell,
    Fact,
    Report,
    Section,
    Table,
    Test,
    names,
    numbers,
    texts,
    words,
)
from opperf.results.units import mark_legend
from opperf.suite_results.comparing import MISSING, Change, Comparison, Kind, Row
from opperf.suite_results.score_report import (
    figure_of,
    machine_of,
    performances,
    ratio_text,
)

COMMAND = "suite compare"

TITLES: Mapping[Kind, str] = {
    "broken": "Worked in A, not in B",
    "refused": "Not comparable",
    "fixed": "Works in B, did not in A",
    "only A": "In A only",
    "only B": "In B only",
    "neither": "Worked in neither",
}
"""Titles of the benches without a ratio, in the order of reports."""

COLUMNS: Mapping[str, Callable[[Row], Any]] = {
    "bench": lambda row: row.facts.name,
    "verdict": lambda row: row.verdict.value,
    "ratio": lambda row: row.ratio.value,
    "low": lambda row: row.ratio.low,
    "high": lambda row: row.ratio.high,
    "p": lambda row: row.p if math.isfinite(row.p) else None,
    "a": lambda row: row.base.value,
    "b": lambda row: row.new.value,
    "unit": lambda row: row.new.unit,
    "runs_a": lambda row: row.base.attempts,
    "runs_b": lambda row: row.new.attempts,
    "assumed_scatter": lambda row: row.ratio.assumed,
    "group": lambda row: row.facts.group,
    "note": lambda row: row.note,
}
"""Values of a bench by their names in JSON and CSV."""


def report_of(found: Comparison) -> Report:
    """Returns the report."""
    rows = [{name: read(row) for name, read in COLUMNS.items()} for row in found.rows]
    return Report(
        command=COMMAND,
        title=f"{found.new.name} (B) against {found.base.name} (A)",
        sections=[section for section in _sections(found) if section.has_content],
        data={
            "a": found.base.name,
            "b": found.new.name,
            "threshold": found.thresholds.threshold,
            "same_within": found.thresholds.same_within,
            "fail_on": found.fail_on,
            "benches": [
                {**values, "point": row.facts.point}
                for values, row in zip(rows, found.rows, strict=True)
            ],
            "without_ratio": [
                {
                    "bench": change.facts.name,
                    "kind": change.kind,
                    "verdict": MISSING if change.kind == "broken" else None,
                    "reason": change.reason,
                }
                for change in found.changes
            ],
            "groups": [
                {
                    **group._asdict(),
                    "ratio": group.ratio.value,
                    "low": group.ratio.low,
                    "high": group.ratio.high,
                }
                for group in found.groups
            ],
            "total": found.total._asdict() if found.total else None,
            "environment": [difference._asdict() for difference in found.differences],
            "warnings": [*found.base.warnings, *found.new.warnings],
        },
        header=tuple(COLUMNS),
        rows=[
            *(list(values.values()) for values in rows),
            *map(_missing_values, found.of_kind("broken")),
        ],
        tests=[_test(row, found.fail_on) for rows in (found.rows, found.changes) for row in rows],
        headline=f"Suite: {code(found.new.name)} against {code(found.base.name)}",
        answer=(_summary(found),),
    )


def _missing_values(change: Change) -> list[Any]:
    facts = change.facts
    own = {"bench": facts.name, "verdict": MISSING, "group": facts.group, "note": change.reason}
    return [own.get(name) for name in COLUMNS]


def _sections(found: Comparison) -> Iterator[Section]:
    sides = (("A", found.base), ("B", found.new))
    yield Section(
        facts=[Fact(label, side.name, machine_of(side.environments)) for label, side in sides]
    )
    yield _differences(found)
    rows = sorted(found.rows, key=lambda row: row.ratio.value)
    yield Section("Benches", table=_table(rows), below=_legend(found))
    for key in dict.fromkeys(group.key for group in found.groups):
        groups = [group for group in found.groups if group.key == key]
        columns = (
            names(key.capitalize(), [group.value for group in groups]),
            numbers("Benches", [str(group.benches) for group in groups]),
            numbers("Ratio [95 % interval]", [ratio_text(group.ratio) for group in groups]),
        )
        yield Section(f"By {key}", table=Table(columns))
    for kind, title in TITLES.items():
        changes = found.of_kind(kind)
        table = Table(
            (
                names("Bench", [change.facts.name for change in changes]),
                texts("Reason", [change.reason for change in changes]),
            )
        )
        yield Section(title, table=table)
    streams = [*found.base.warnings, *found.new.warnings]
    yield Section("Streams", items=streams, is_folded=True)
    yield Section(prose=[_summary(found)], in_answer=True)


def _differences(found: Comparison) -> Section:
    rows = found.differences
    columns = (
        names("Environment", [difference.name for difference in rows]),
        texts("A", [_fact_text(difference.before) for difference in rows]),
        texts("B", [_fact_text(difference.after) for difference in rows]),
    )
    return Section("The environments differ", table=Table(columns), is_folded=True)


def _fact_text(value: Any) -> str:
    """Returns a fact of an environment: of GPUs, their models with drivers."""
    if isinstance(value, (list, tuple)) and all(isinstance(gpu, Mapping) for gpu in value):
        drivers = dict.fromkeys(gpu.get("driver", "") for gpu in value)
        return f"{gpus_text(value)}, driver {', '.join(drivers)}" if value else "none"
    return str(value)


def _table(rows: Sequence[Row]) -> Table:
    columns = [
        names("Bench", [row.facts.name for row in rows]),
        numbers("Ratio [95 % interval]", [ratio_text(row.ratio) for row in rows]),
        words("Verdict", [])._replace(
            cells=[Cell(row.verdict.value, tone_of(row.verdict)) for row in rows]
        ),
        numbers("A", performances([row.base for row in rows])),
        numbers("B", performances([row.new for row in rows])),
        words("Unit", [row.new.unit for row in rows]),
        numbers("Runs", [f"{row.base.attempts}, {row.new.attempts}" for row in rows]),
    ]
    if any(row.note for row in rows):
        columns.append(texts("Note", [row.note for row in rows]))
    return Table(tuple(columns))


def _legend(found: Comparison) -> list[str]:
    sides = [side for row in found.rows for side in (row.base, row.new)]
    said = [
        "Ratio: performance of B over that of A; below 1 is worse.",
        *mark_legend(map(figure_of, sides)),
    ]
    if any(row.ratio.assumed for row in found.rows):
        said.append(
            f"Of benches that were run once on each side, a scatter of {found.scatter:.0%} between "
            "runs is assumed (--scatter), and as much again of a single observation; several runs "
            "of a side show what it is."
        )
    return said


def _summary(found: Comparison) -> str:
    counts = {verdict: found.count(verdict) for verdict in Verdict}
    parts = [f"{number} {verdict.value}" for verdict, number in counts.items() if number]
    parts += [
        f"{len(found.of_kind(kind))} {TITLES[kind][0].lower()}{TITLES[kind][1:]}"
        for kind in TITLES
        if found.of_kind(kind)
    ]
    total = f" Total: {ratio_text(found.total)}." if found.total else ""
    count = len(found.rows) + len(found.changes)
    return f"{count} benches: {', '.join(parts) or 'none in common'}.{total}"


def _test(row: Row | Change, fail_on: Sequence[str]) -> Test:
    if isinstance(row, Change):
        kind, is_open = MISSING if row.kind == "broken" else "", True
        message = f"{TITLES[row.kind]}: {row.reason}"
    else:
        kind, is_open = row.verdict.value, row.verdict is Verdict.AMBIGUOUS
        message = f"{kind}: ratio {ratio_text(row.ratio)}"
    name, is_found = row.facts.name, kind in fail_on
    own = row.facts.group or name
    if is_found:
        return Test(own, name, name, "failure", message, kind)
    return Test(own, name, name, "skipped" if is_open else "system-out", message)
