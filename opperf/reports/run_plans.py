"""The report of planned cases, and the announcement of a run before it is measured."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from opperf.metrics import instruments_of
from opperf.model import DECLARED, DEFAULTS, Case, ModelTarget, Settings, Wrapping
from opperf.plurals import pluralize
from opperf.reports.fields import LABEL, LONG_NAME, TEXT, WORD, Field, objects_of, rows_of, table_of
from opperf.reports.model import Report, Section
from opperf.results.kept import display
from opperf.results.settings import differing_settings, noun_of, settings_text
from opperf.results.sweeps import point_text, sweep_text, swept_labels
from opperf.results.text import inputs_text


def plan_report(cases: Sequence[Case], excluded: Collection[str]) -> Report:
    """Returns the report of cases that are not measured. The inputs come last, as they may be
    long."""
    names, noun = differing_settings(cases), noun_of(cases)
    fields: tuple[Field[Case], ...] = (
        Field("operator", noun.capitalize(), LONG_NAME, lambda case: case.label),
        Field("category", "Category", LABEL, lambda case: case.category, extra=1),
        Field("rule", "Rule", LABEL, lambda case: case.origin, extra=1),
        Field("id", "Id", LABEL, lambda case: case.id),
        Field("source_id", "Id in the file", LABEL, lambda case: case.source_id, is_optional=True),
        Field(
            "settings", "Settings" if names else None, TEXT, lambda case: settings_text(case, names)
        ),
        Field("sweep", "Sweep", WORD, lambda case: point_text(case.point), is_optional=True),
        Field("inputs", "Inputs", TEXT, inputs_text),
    )
    operators = len({case.label for case in cases})
    closing = [f"{pluralize(len(cases), 'case')} of {pluralize(operators, noun)}"]
    if excluded:
        lacking = pluralize(len(excluded), "operator")
        closing.append(f"No benchmark for {lacking}: {', '.join(sorted(excluded))}")
    return Report(
        "run",
        "",
        (Section(table=table_of(fields, cases)), Section(prose=closing)),
        {"cases": objects_of(fields, cases), "excluded": sorted(excluded)},
        *rows_of(fields, cases),
    )


def announcement(
    cases: Sequence[Case], remaining: int, rounds: int, output: Path, cores: str = ""
) -> str:
    """Returns the announcement of a run, with how many measurements remain; `cores` is a sentence
    on the workers' cores."""
    labels = swept_labels(cases)
    operators = len(
        {label if case.point else _counted(case) for case, label in zip(cases, labels, strict=True)}
    )
    total = rounds * len(cases)
    done = total - remaining
    unit = "them" if rounds == 1 else f"{total} measurements"
    already = f", {done} of {unit} already done" if done else ""
    swept = sweep_text(cases)
    at_sizes = f", {swept}" if swept else ""
    in_rounds = f", {rounds} rounds" if rounds > 1 else ""
    settings = ", ".join((*_settings_in_use(cases), *_effort(cases[0].settings)))
    return (
        f"{pluralize(len(cases), 'case')} of {pluralize(operators, noun_of(cases))}"
        f"{at_sizes}"
        f"{in_rounds}{already}: {settings}, to {display(output)}{cores and '; '}{cores}"
    )


def _counted(case: Case) -> object:
    """Returns what is counted once of a case's target: a model in whatever size."""
    target = case.target
    if isinstance(target, ModelTarget):
        return target.framework, target.suite or target.file, target.name
    return target.key


def profiled_text(wrapping: Wrapping | None) -> str:
    """Returns a sentence on the programs that the cases are profiled under; empty without one."""
    if wrapping is None:
        return ""
    return f"profiled under {' and '.join(wrapper.name for wrapper in wrapping.wrappers)} too"


ALWAYS = ("device", "dtype", "profiler")
"""Settings that are always announced; others only if they differ from their defaults."""


def _settings_in_use(cases: Sequence[Case]) -> list[str]:
    """Returns the settings that are part of ids, each with all values in use."""
    found = []
    for name in (name for name, setting in DECLARED.items() if setting.identity):
        values = {DECLARED[name].text(getattr(case.settings, name)): None for case in cases}
        if name in ALWAYS:
            found.append(f"{' and '.join(values)}{' profiler' if name == 'profiler' else ''}")
        elif len(values) > 1:
            found.append(f"{name} {' and '.join(values)}")
        elif next(iter(values)) != DECLARED[name].text(DEFAULTS[name]):
            found.append(f"{name} {next(iter(values))}")
    return found


def _effort(settings: Settings) -> list[str]:
    parts = [
        "" if settings.warmup is None else f"{settings.warmup} warmup",
        *(text for instrument in instruments_of(settings) for text in instrument.effort(settings)),
    ]
    return [part for part in parts if part]
