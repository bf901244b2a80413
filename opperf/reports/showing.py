"""An operator with its cases and their scripts as text, Markdown, CSV and values for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os.path import commonprefix
from typing import Any

import msgspec

from opperf.model import Case, ListedOperator, Record, Run, Status, display_arguments
from opperf.plurals import pluralize
from opperf.reports import replays
from opperf.reports.markdown import plain
from opperf.reports.model import Fact, Report, Section, Table, texts, words
from opperf.results.details import display_details
from opperf.results.figures import CaseFigures
from opperf.results.settings import differing_settings, settings_text
from opperf.results.text import inputs_text
from opperf.results.units import choose_unit, format_figure

PARAMETER_TITLES = ("Parameter", "Kind", "", "Default", "Choices")

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


def _parameter_rows(listed: ListedOperator) -> list[tuple[str, ...]]:
    return [
        (
            parameter.name,
            parameter.kind.value,
            "required" if parameter.required else "optional",
            "" if parameter.default is None else parameter.default,
            ", ".join(parameter.choices),
        )
        for parameter in listed.operator.parameters
    ]


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
        command="show",
        title="",
        sections=tuple(_sections(listed, cases, scripts)),
        data=operator_as_values(listed, cases, scripts),
        header=CASE_TITLES,
        rows=case_rows(cases, scripts),
        headline=plain(listed.operator.label),
        level=1,
    )


def _sections(
    listed: ListedOperator, cases: Sequence[Case], scripts: Sequence[str]
) -> Iterator[Section]:
    yield Section(facts=[Fact(label, "", text) for label, text in _facts(listed)])
    rows = _parameter_rows(listed)
    if rows:
        cells = zip(*rows, strict=True)
        columns = [
            texts(title, column) if title == "Choices" else words(title, column, is_whole=True)
            for title, column in zip(PARAMETER_TITLES, cells, strict=True)
        ]
        yield Section(table=Table(tuple(columns)))
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
        command="show",
        title="",
        sections=tuple(sections),
        data={"run": name, "header": run.header, "cases": values},
        header=CASE_TITLES,
        rows=case_rows(cases, listed),
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


CASE_TITLES = ("id", "operator", "inputs", "details", "why", "rule", "phase", "dtype", "script")


def case_rows(cases: Sequence[Case], scripts: Sequence[str]) -> list[list[str]]:
    """Returns a row for each case, with inputs and details as JSON."""
    return [
        [
            case.id,
            case.label,
            _json(display_arguments(case)),
            _json(display_details(case)),
            case.why,
            case.origin,
            case.settings.phase,
            case.settings.dtype,
            script,
        ]
        for case, script in zip(cases, scripts, strict=True)
    ]


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
