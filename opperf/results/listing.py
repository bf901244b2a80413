"""A registry as text: a line for each operator, or the details of one."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from opperf.model import Case, ListedOperator, Parameter
from opperf.results.text import inputs_text, pluralize, truncate

HEADERS = ("Operator", "Namespace", "Category", "Rule", "Parameters", "Aliases")


def parameter_text(parameter: Parameter) -> str:
    """Returns a parameter as in a signature: `axis=None`, or the name alone if it is required."""
    if parameter.required or parameter.default is None:
        return parameter.name
    return f"{parameter.name}={parameter.default}"


def list_text(operators: Sequence[ListedOperator], width: int | None = None) -> str:
    """Returns a line for each operator, no wider than `width`; long columns are last."""
    rows = [
        (
            listed.operator.name,
            listed.operator.namespace,
            listed.operator.category,
            listed.rule or "none",
            ", ".join(map(parameter_text, listed.operator.parameters)),
            ", ".join(listed.operator.aliases),
        )
        for listed in operators
    ]
    table = tabulate(rows, HEADERS, tablefmt="plain", disable_numparse=True)
    lines = [truncate(line.rstrip(), width) for line in table.splitlines()]
    without = sum(not listed.rule for listed in operators)
    closing = pluralize(len(operators), "operator") + (
        f", {without} without a rule" if without else ""
    )
    return "\n".join([*lines, "", closing])


def operator_text(listed: ListedOperator, cases: Sequence[Case], scripts: Sequence[str]) -> str:
    """Returns the details of an operator: its facts, its parameters, and each case with the script
    that reproduces it."""
    operator = listed.operator
    facts = [
        ("operator", operator.name),
        ("framework", operator.framework),
        ("namespaces", ", ".join(operator.namespaces or (operator.namespace,))),
        ("category", operator.category),
        ("aliases", ", ".join(operator.aliases) or "none"),
        ("rule", listed.rule or f"none: {listed.reason}"),
    ]
    rows = [
        (
            parameter.name,
            parameter.kind.value,
            "required" if parameter.required else "optional",
            "" if parameter.default is None else parameter.default,
            ", ".join(parameter.choices),
        )
        for parameter in operator.parameters
    ]
    sections = [tabulate(facts, tablefmt="plain", disable_numparse=True)]
    if rows:
        headers = ("Parameter", "Kind", "", "Default", "Choices")
        sections.append(tabulate(rows, headers, disable_numparse=True))
    for number, (case, script) in enumerate(zip(cases, scripts, strict=True), 1):
        title = f"Case {number} of {len(cases)}, {case.id}: {inputs_text(case)}"
        facts_of_case = f"{case.origin}, {case.settings.phase} phase, {case.settings.dtype}"
        indented = "\n".join(f"    {line}".rstrip() for line in script.splitlines())
        why = f"{case.why}\n" if case.why else ""
        sections.append(f"{title}\n{why}{facts_of_case}\n\n{indented}")
    return "\n\n".join(sections)
