"""The table of cases, and the announcement of a run before it is measured."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from opperf.metrics import instruments_of
from opperf.model import DECLARED, DEFAULTS, Case, ModelTarget, Settings, Wrapping
from opperf.plurals import pluralize
from opperf.results.kept import display
from opperf.results.settings import differing_settings, noun_of, settings_text
from opperf.results.sweeps import point_text, sweep_text, swept_labels
from opperf.results.terminal import Column, table_text
from opperf.results.text import inputs_text, wrap


def cases_table(cases: Sequence[Case], excluded: Collection[str], width: int | None = None) -> str:
    """Returns a table of the cases. The inputs come last, as they may be long."""
    names = differing_settings(cases)
    sources = [case.source_id for case in cases]
    points = [point_text(case.point) for case in cases]
    columns = [
        Column(noun_of(cases).capitalize(), [case.label for case in cases], wraps=True),
        Column("Category", [case.category for case in cases], extra=1, is_whole=True),
        Column("Rule", [case.origin for case in cases], extra=1, is_whole=True),
        Column("Id", [case.id for case in cases], is_text=False),
        *([Column("Id in the file", sources, is_text=False)] if any(sources) else []),
        *(
            [Column("Settings", [settings_text(case, names) for case in cases], wraps=True)]
            if names
            else []
        ),
        *([Column("Sweep", points)] if any(points) else []),
        Column("Inputs", [inputs_text(case) for case in cases], wraps=True),
    ]
    text = table_text(columns, width)
    operators = len({case.label for case in cases})
    noun = noun_of(cases)
    lines = ["", f"{pluralize(len(cases), 'case')} of {pluralize(operators, noun)}"]
    if excluded:
        lines.append(
            f"No benchmark for {pluralize(len(excluded), 'operator')}: "
            + ", ".join(sorted(excluded))
        )
    return "\n".join([text, *(wrap(line, width) if width else line for line in lines)])


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
