"""An operator with its cases and their scripts as text, Markdown, CSV and values for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os.path import commonprefix
from typing import Any

import msgspec

from opperf.model import Case, ListedOperator, Parameter, Record, Run, Status, display_arguments
from opperf.plurals import pluralize
from opperf.reports import replays
from opperf.reports.fields import LABEL, TEXT, WORD, Field, rows_of, table_of
from opperf.reports.markdown import plain
from opperf.reports.model import Fact, Report, Section
from opperf.results.columns import json_cell
from opperf.results.details import display_details
from opperf.results.figures import CaseFigures
from opperf.results.roofline import rooflines_of
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
        *([("called by", operator.caller)] if operator.caller else []),
        ("rule", listed.rule or f"none: {listed.reason}"),
    ]


PARAMETERS: tuple[Field[Parameter], ...] = (
    Field("name", "Parameter", LABEL, lambda parameter: parameter.name),
    Field("kind", "Kind", LABEL, lambda parameter: parameter.kind.value),
    Field(
        "required", "", LABEL, lambda parameter: "required" if parameter.required else "optional"
    ),
    Field("default", "Default", LABEL, lambda parameter: parameter.default),
    Field("choices", "Choices", TEXT, lambda parameter: parameter.choices),
)


def split_preamble(scripts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the lines with which all scripts begin, and the rest of each script."""
    begins = [script.partition("\n\n")[0].splitlines() for script in scripts if "\n\n" in script]
    shared = list(commonprefix(begins)) if len(begins) > 1 else []
    head = "".join(f"{line}\n" for line in shared)
    rests = [script.removeprefix(head).lstrip("\n") for script in scripts]
    return shared, rests


def _preamble(shared: Sequence[str]) -> list[Section]:
    return [Section(prose=[f"{PREAMBLE}:"], code=shared)] if shared else []


def _section(title: str, case: Case, rest: str, *said: str, settings: str = "") -> Section:
    facts = f"{case.origin}, {case.settings.phase} phase, {case.settings.dtype}"
    return Section(
        f"{title}: {inputs_text(case)}",
        prose=[
            *([case.why] if case.why else []),
            f"{facts}, {settings}" if settings else facts,
            *said,
        ],
        code=rest.splitlines(),
    )


def _report(
    name: str, sections: Sequence[Section], data: Any, cases: Sequence[Case], scripts: Sequence[str]
) -> Report:
    rows = rows_of(CASES, zip(cases, scripts, strict=True))
    return Report("show", "", sections, data, *rows, headline=plain(name), level=1)


def report_of(listed: ListedOperator, cases: Sequence[Case], scripts: Sequence[str]) -> Report:
    """Returns the facts and parameters of an operator, and its cases with whole scripts."""
    shared, rests = split_preamble(scripts)
    sections = [
        Section(facts=[Fact(label, "", text) for label, text in _facts(listed)]),
        Section(table=table_of(PARAMETERS, listed.operator.parameters)),
        *_preamble(shared),
        *(
            _section(f"Case {number} of {len(cases)}, {case.id}", case, rest)
            for number, (case, rest) in enumerate(zip(cases, rests, strict=True), 1)
        ),
    ]
    shown = [
        {"id": case.id, "inputs": inputs_text(case), "case": case, "script": script}
        for case, script in zip(cases, scripts, strict=True)
    ]
    data = {"operator": listed.operator, "rule": listed.rule, "cases": shown}
    return _report(listed.operator.label, sections, data, cases, scripts)


def report_of_run(
    name: str, run: Run, cases: Sequence[Case], scripts: Mapping[str, str], left: int
) -> Report:
    """Returns cases of a run file with their figures and scripts, by id; `left` are not shown."""
    records = {record.id: record for record in run.records}
    listed = [scripts[case.id] for case in cases]
    shared, rests = split_preamble(listed)
    facts = [
        Fact("run", "", name),
        Fact("command", "", str(run.header.options.get("command", ""))),
        Fact("started", "", run.header.started),
    ]
    sections = [Section(facts=facts), *_preamble(shared)]
    names = differing_settings(run.cases)
    for case, rest in zip(cases, rests, strict=True):
        record = records.get(case.id)
        title, settings = f"{case.id}, {case.label}", settings_text(case, names)
        sections.append(_section(title, case, rest, _figures_text(record), settings=settings))
        if record is not None:
            sections += replays.sections_of(record)
    if left:
        sections.append(Section(prose=[f"{pluralize(left, 'case')} more; --id chooses others"]))
    values = [
        {
            "id": case.id,
            "inputs": inputs_text(case),
            "case": case,
            "record": _without_peaks(records.get(case.id)),
            "script": script,
        }
        for case, script in zip(cases, listed, strict=True)
    ]
    data = {"run": name, "header": run.header, "cases": values}
    return _report(name, sections, data, cases, listed)


def _without_peaks(record: Record | None) -> Record | None:
    """Returns a record as its line has it."""
    return record and msgspec.structs.replace(record, peaks=None)


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
    texts += [f"{metric} {own.sentence}" for metric, own in rooflines_of(record).items()]
    texts += [f"{program}'s report {file}" for program, file in record.profiles.items()]
    return ", ".join(texts)


CASES: tuple[Field[tuple[Case, str]], ...] = (
    Field("id", None, WORD, lambda row: row[0].id),
    Field("operator", None, WORD, lambda row: row[0].label),
    Field("inputs", None, WORD, lambda row: json_cell(display_arguments(row[0]))),
    Field("details", None, WORD, lambda row: json_cell(display_details(row[0]))),
    Field("why", None, WORD, lambda row: row[0].why),
    Field("rule", None, WORD, lambda row: row[0].origin),
    Field("phase", None, WORD, lambda row: row[0].settings.phase),
    Field("dtype", None, WORD, lambda row: row[0].settings.dtype),
    Field("script", None, WORD, lambda row: row[1]),
)
"""Columns of CSV: inputs and details are JSON."""
