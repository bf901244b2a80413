"""An operator with its cases and their scripts as text, Markdown, CSV and values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import commonprefix
from typing import Any

import msgspec

from opperf.model import Case, ListedOperator, display_arguments
from opperf.results.details import display_details
from opperf.results.listing import Content
from opperf.results.markdown import grid
from opperf.results.terminal import Column, table_text
from opperf.results.text import inputs_text, wrap

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
    """Returns the lines, before the first empty one, with which all scripts begin, and the rest of
    each script. Of a single script these are none."""
    begins = [script.partition("\n\n")[0].splitlines() for script in scripts if "\n\n" in script]
    shared = list(commonprefix(begins)) if len(begins) > 1 else []
    head = "".join(f"{line}\n" for line in shared)
    rests = [script.removeprefix(head).lstrip("\n") for script in scripts]
    return shared, rests


def operator_text(
    listed: ListedOperator,
    cases: Sequence[Case],
    scripts: Sequence[str],
    width: int | None = None,
) -> str:
    """Returns the details of an operator, no wider than `width`: its facts, its parameters, and
    each case with the script that reproduces it. Scripts are never cut."""
    labels, values = zip(*_facts(listed), strict=True)
    columns = [
        Column(labels[0], labels[1:], is_whole=True),
        Column(values[0], values[1:], wraps=True),
    ]
    first, _, *others = table_text(columns, width).splitlines()
    sections = ["\n".join([first, *others])]
    rows = _parameter_rows(listed)
    if rows:
        cells = zip(PARAMETER_TITLES, zip(*rows, strict=True), strict=True)
        table = [
            Column(title, column, wraps=True, is_whole=title != "Choices")
            for title, column in cells
        ]
        sections.append(table_text(table, width))
    preamble, rests = split_preamble(scripts)
    if preamble:
        sections.append(f"{PREAMBLE}:\n\n{_indent(preamble)}")
    for number, (case, rest) in enumerate(zip(cases, rests, strict=True), 1):
        title = f"Case {number} of {len(cases)}, {case.id}: {inputs_text(case)}"
        lines = [title, *([case.why] if case.why else []), _facts_of_case(case)]
        head = "\n".join(wrap(line, width) if width else line for line in lines)
        sections.append(f"{head}\n\n{_indent(rest.splitlines())}")
    return "\n\n".join(sections)


def _indent(lines: Sequence[str]) -> str:
    return "\n".join(f"    {line}".rstrip() for line in lines)


def operator_markdown(listed: ListedOperator, cases: Sequence[Case], scripts: Sequence[str]) -> str:
    """Returns the details of an operator as a Markdown page."""
    sections = [f"# {listed.operator.label}", grid(("Fact", "Value"), _facts(listed), 2)]
    rows = _parameter_rows(listed)
    if rows:
        sections.append(grid(PARAMETER_TITLES, rows, len(PARAMETER_TITLES)))
    preamble, rests = split_preamble(scripts)
    if preamble:
        sections.append(f"{PREAMBLE}:\n\n{_indent(preamble)}")
    for number, (case, rest) in enumerate(zip(cases, rests, strict=True), 1):
        lines = [
            f"## Case {number} of {len(cases)}, {case.id}",
            f"`{inputs_text(case)}`",
            case.why,
            _facts_of_case(case),
            _indent(rest.splitlines()),
        ]
        sections += [line for line in lines if line]
    return "\n\n".join(sections)


CASE_TITLES = ("Id", "Operator", "Inputs", "Details", "Why", "Rule", "Phase", "Dtype", "Script")


def case_rows(cases: Sequence[Case], scripts: Sequence[str]) -> Content:
    """Returns a table of the cases, with inputs and details as JSON."""
    rows = [
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
    return CASE_TITLES, rows


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
