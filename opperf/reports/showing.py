"""An operator with its cases and their scripts as text, Markdown, CSV and values for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os.path import commonprefix
from typing import Any, NamedTuple

import msgspec

from opperf.model import Case, ListedOperator, Parameter, Record, Run, Status, display_arguments
from opperf.plurals import pluralize
from opperf.reports import replays
from opperf.reports.fields import LABEL, TEXT, WORD, Field, rows_of, table_of
from opperf.reports.markdown import plain
from opperf.reports.model import Fact, Report, Section
from opperf.results.details import display_details
from opperf.results.figures import CaseFigures
from opperf.results.settings import differing_settings, settings_text
from opperf.results.text import inputs_text
from opperf.results.units import choose_unit, format_figure

PREAMBLE = "Every script begins with"
"""Title of the lines that all scripts have in common."""


def _facts(listed: ListedOperator) -> list[tuple[str, str]]:
    operator = listed.operator
    return [
        ("operator", operator.label),
        ("framework", operator.framework),
        ("namespaces", ", ".join(operator.namespaces or (operator.namespace,))),
        ("category", operator.category),
        ("aliases", ", ".join(operator.aliases) or "none"),
        ("rule", listed.rule or f"none: {listed.reason}"),
    ]


PARAMETERS: tuple[Field[Parameter], ...] = (
    Field("name", "Parameter", LABEL, lambda parameter: parameter.name),
    Field("kind", "Kind", LABEL, lambda parameter: parameter.kind.value),
    Field(
        "required",
        "",
        LABEL,
        lambda parameter: "required" if parameter.required else "optional",
    ),
    Field("default", "Default", LABEL, lambda parameter: parameter.default),
    Field("choices", "Choices", TEXT, lambda parameter: parameter.choices),
)


def _facts_of_case(case: Case) -> str:
    return f"{case.origin}, {case.settings.phase} phase, {case.settings.dtype}"


def split_preamble(scripts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the lines with which all scripts begin, and the rest of each script."""
    begins = [script.partition("\n\n")[0].splitlines() for script in scripts if "\n\n" in script]
    shared = list(commonprefix(begins)) if len(begins) > 1 else []
    head = "".join(f"{line}\n" for line in shared)
    rests = [script.removeprefix(head).lstrip("\n") for script in scripts]
    return shared, rests


def report_of(listed: ListedOperator, cases: Sequence[Case], scripts: Sequence[str]) -> Report:
    """Returns the facts and parameters of an operator, and its cases with whole scripts."""
    return Report(
        "show",
        "",
        tuple(_sections(listed, cases, scripts)),
        operator_as_values(listed, cases, scripts),
        *rows_of(CASES, map(_ShownCase, cases, scripts)),
        headline=plain(listed.operator.label),
        level=1,
    )


def _sections(
    listed: ListedOperator, cases: Sequence[Case], scripts: Sequence[str]
) -> Iterator[Section]:
    yield Section(facts=[Fact(label, "", text) for label, text in _facts(listed)])
    yield Section(table=table_of(PARAMETERS, listed.operator.parameters))
    preamble, rests = split_preamble(scripts)
    if preamble:
        yield Section(prose=[f"{PREAMBLE}:"], code=preamble)
    for number, (case, rest) in enumerate(zip(cases, rests, strict=True), 1):
        title = f"Case {number} of {len(cases)}, {case.id}"
        yield Section(
            f"{title}: {inputs_text(case)}",
            prose=[*([case.why] if case.why else []), _facts_of_case(case)],
            code=rest.splitlines(),
        )


def report_of_run(
    name: str, run: Run, cases: Sequence[Case], scripts: Mapping[str, str], left: int
) -> Report:
    """Returns cases of a run file with their figures and scripts, by id; `left` are not shown."""
    records = {record.id: record for record in run.records}
    listed = [scripts[case.id] for case in cases]
    preamble, rests = split_preamble(listed)
    facts = [
        Fact("run", "", name),
        Fact("command", "", str(run.header.options.get("command", ""))),
        Fact("started", "", run.header.started),
    ]
    sections = [Section(facts=facts)]
    if preamble:
        sections.append(Section(prose=[f"{PREAMBLE}:"], code=preamble))
    names = differing_settings(run.cases)
    for case, rest in zip(cases, rests, strict=True):
        settings = settings_text(case, names)
        sections.append(
            Section(
                f"{case.id}, {case.label}: {inputs_text(case)}",
                prose=[
                    *([case.why] if case.why else []),
                    f"{_facts_of_case(case)}{f', {settings}' if settings else ''}",
                    _figures_text(records.get(case.id)),
                ],
                code=rest.splitlines(),
            )
        )
        if case.id in records:
            sections += replays.sections_of(records[case.id])
    if left:
        sections.append(Section(prose=[f"{pluralize(left, 'case')} more; --id chooses others"]))
    values = [
        {
            "id": case.id,
            "inputs": inputs_text(case),
            "case": case,
            "record": records.get(case.id),
            "script": script,
        }
        for case, script in zip(cases, listed, strict=True)
    ]
    return Report(
        "show",
        "",
        tuple(sections),
        {"run": name, "header": run.header, "cases": values},
        *rows_of(CASES, map(_ShownCase, cases, listed)),
        headline=plain(name),
        level=1,
    )


def _figures_text(record: Record | None) -> str:
    if record is None:
        return "not measured yet"
    if record.status is not Status.OK:
        return f"{record.status.value}: {record.reason}"
    texts = []
    for metric, found in CaseFigures(record).measured.items():
        unit = choose_unit(found.unit, [found.shown])
        shown = format_figure(found.shown, unit)
        words = (metric, shown.value, unit.name, shown.share, shown.mark)
        texts.append(" ".join(word for word in words if word))
    texts += [f"{program}'s report {file}" for program, file in record.profiles.items()]
    return ", ".join(texts)


class _ShownCase(NamedTuple):
    case: Case
    script: str


CASES: tuple[Field[_ShownCase], ...] = (
    Field("id", None, WORD, lambda row: row.case.id),
    Field("operator", None, WORD, lambda row: row.case.label),
    Field("inputs", None, WORD, lambda row: _json(display_arguments(row.case))),
    Field("details", None, WORD, lambda row: _json(display_details(row.case))),
    Field("why", None, WORD, lambda row: row.case.why),
    Field("rule", None, WORD, lambda row: row.case.origin),
    Field("phase", None, WORD, lambda row: row.case.settings.phase),
    Field("dtype", None, WORD, lambda row: row.case.settings.dtype),
    Field("script", None, WORD, lambda row: row.script),
)
"""Columns of CSV: inputs and details are JSON."""


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode() if value else ""


def operator_as_values(
    listed: ListedOperator, cases: Sequence[Case], scripts: Sequence[str]
) -> dict[str, Any]:
    """Returns the details of an operator as values for JSON."""
    shown = [
        {"id": case.id, "inputs": inputs_text(case), "case": case, "script": script}
        for case, script in zip(cases, scripts, strict=True)
    ]
    return {"operator": listed.operator, "rule": listed.rule, "cases": shown}
