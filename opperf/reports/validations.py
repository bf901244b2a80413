"""The report of a validation, for every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from opperf.plurals import pluralize
from opperf.reports.fields import NAME, TEXT, WORD, Field, objects_of, rows_of, table_of
from opperf.reports.model import ColumnKind, Report, Section, Test
from opperf.suites.results.checks import Found, Level
from opperf.suites.results.layers import Validation

COMMAND = "suite validate"

TITLES: dict[Level, str] = {"failure": "Failures", "warning": "Warnings", "unknown": "Unknown"}
"""Titles of the findings, by their level."""

RESULTS: dict[Level, Literal["failure", "skipped", "system-out"]] = {
    "failure": "failure",
    "unknown": "skipped",
    "warning": "system-out",
}
"""Results of a layer as a test, by the worst level of what it found."""

LAYER = ColumnKind(tone=lambda level: "worse" if level == "failure" else "open")

FIELDS: tuple[Field[Found], ...] = (
    Field("bench", "Bench", NAME, lambda found: found.bench),
    Field("layer", None, WORD, lambda found: found.layer),
    Field("level", "Layer", LAYER, lambda found: found.level, lambda found: found.layer),
    Field("process", "Process", WORD, lambda found: found.process),
    Field("text", "Finding", TEXT, lambda found: found.text),
)


def report_of(found: Validation, as_milabench: bool = False) -> Report:
    """Returns the report."""
    data: dict[str, Any] = {
        "run": found.run.name,
        "layers": [layer.name for layer in found.layers],
        "benches": [
            {
                "bench": bench.facts.name,
                "validated": bench.was_to_run,
                "failures": len(found.of(bench.facts.name, "failure")),
                "warnings": len(found.of(bench.facts.name, "warning")),
                "unknown": len(found.of(bench.facts.name, "unknown")),
            }
            for bench in found.run.benches
        ],
        "findings": objects_of(FIELDS, found.findings),
        "warnings": list(found.run.warnings),
    }
    if as_milabench:
        data["milabench_code"] = found.milabench_code
    return Report(
        COMMAND,
        f"Validation: {found.run.name}",
        [section for section in _sections(found, as_milabench) if section.has_content],
        data,
        *rows_of(FIELDS, found.findings),
        tests=list(_tests(found)),
        answer=(_summary(found, as_milabench),),
    )


def _sections(found: Validation, as_milabench: bool) -> Iterator[Section]:
    for level, title in TITLES.items():
        yield Section(title, table=table_of(FIELDS, found.at(level)))
    yield Section("Streams", items=list(found.run.warnings), is_folded=True)
    yield Section(prose=[_summary(found, as_milabench)], in_answer=True)


def _summary(found: Validation, as_milabench: bool) -> str:
    validated = [bench for bench in found.run.benches if bench.was_to_run]
    failed = {finding.bench for finding in found.failures}
    layers = ", ".join(layer.name for layer in found.layers)
    code = f" milabench would exit with {found.milabench_code}." if as_milabench else ""
    unknown = len(found.at("unknown"))
    said = [
        pluralize(len(found.failures), "failure"),
        pluralize(len(found.warnings), "warning"),
        *([f"{unknown} unknown"] if unknown else []),
    ]
    return (
        f"{len(failed)} of {len(validated)} benches failed; {', '.join(said)} by the layers: "
        f"{layers}.{code}"
    )


def _tests(found: Validation) -> Iterator[Test]:
    for bench in found.run.benches:
        name = bench.facts.name
        if not bench.was_to_run:
            why = bench.facts.why_not or "disabled"
            yield Test(bench.facts.group or name, name, name, "skipped", why)
            continue
        for layer in found.layers:
            own = [finding for finding in found.of(name) if finding.layer == layer.name]
            text = "; ".join(finding.text for finding in own)
            levels = {finding.level for finding in own}
            worst: Level = next((level for level in RESULTS if level in levels), "warning")
            yield Test(
                operator=name,
                name=layer.name,
                id=f"{name} {layer.name}",
                result=RESULTS[worst],
                message=text or "ok",
                kind=layer.name if worst == "failure" else "",
            )
