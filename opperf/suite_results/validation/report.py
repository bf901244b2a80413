"""The report of a validation, for every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from opperf.plurals import pluralize
from opperf.reports.model import Cell, Report, Section, Table, Test, names, texts, words
from opperf.suite_results.validation.checks import Level
from opperf.suite_results.validation.layers import Validation

COMMAND = "suite validate"

TITLES: dict[Level, str] = {"failure": "Failures", "warning": "Warnings", "unknown": "Unknown"}
"""Titles of the findings, by their level."""

RESULTS: dict[Level, Literal["failure", "skipped", "system-out"]] = {
    "failure": "failure",
    "unknown": "skipped",
    "warning": "system-out",
}
"""Results of a layer as a test, by the worst level of what it found."""

COLUMNS = ("bench", "layer", "level", "process", "text")


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
        "findings": [{name: getattr(each, name) for name in COLUMNS} for each in found.findings],
        "warnings": list(found.run.warnings),
    }
    if as_milabench:
        data["milabench_code"] = found.milabench_code
    return Report(
        command=COMMAND,
        title=f"Validation: {found.run.name}",
        sections=[section for section in _sections(found, as_milabench) if section.has_content],
        data=data,
        header=COLUMNS,
        rows=[[getattr(each, name) for name in COLUMNS] for each in found.findings],
        tests=list(_tests(found)),
        answer=(_summary(found, as_milabench),),
    )


def _sections(found: Validation, as_milabench: bool) -> Iterator[Section]:
    for level, title in TITLES.items():
        findings = found.at(level)
        table = Table(
            (
                names("Bench", [finding.bench for finding in findings]),
                words("Layer", [])._replace(
                    cells=[
                        Cell(finding.layer, "worse" if finding.level == "failure" else "open")
                        for finding in findings
                    ]
                ),
                words("Process", [finding.process for finding in findings]),
                texts("Finding", [finding.text for finding in findings]),
            )
        )
        yield Section(title, table=table)
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
