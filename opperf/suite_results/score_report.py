"""The report of a run of a suite, for every format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from opperf.comparison import compared
from opperf.machine.environment import machine_text
from opperf.model import Environment
from opperf.plurals import pluralize
from opperf.reports.model import (
    Cell,
    Column,
    Fact,
    Report,
    Section,
    Table,
    Tone,
    figures,
    names,
    numbers,
    texts,
    words,
)
from opperf.results.units import (
    NOT_APPLICABLE,
    Figure,
    Unit,
    align,
    format_figure,
    mark_legend,
)
from opperf.suite_results.performance import Performance
from opperf.suite_results.ratios import Ratio
from opperf.suite_results.saving_sizes import batch_size_of
from opperf.suite_results.scores import Group, Row, Scores, scores_of, values
from opperf.suite_results.suite_run import SuiteRun

COMMAND = "suite report"

PER_MONEY = 1000
"""Amount of money of which the performance is given: that of one is a small number."""

PLAIN = Unit("", 1.0)


def report_of(scores: Scores) -> Report:
    """Returns the report."""
    shown = values(scores)
    return Report(
        command=COMMAND,
        title=f"Suite: {scores.run.name}",
        sections=[section for section in _sections(scores) if section.has_content],
        data=shown,
        header=COLUMNS,
        rows=[[bench[name] for name in COLUMNS] for bench in shown["benches"]],
        answer=_totals(scores),
    )


COLUMNS = (
    *("bench", "fail", "n", "ngpu", "perf", "unit", "attempts", "sem", "std", "peak_memory_bytes"),
    *("score", "score_low", "score_high", "weight", "energy_j", "group", "env", "why"),
)
"""Columns of CSV, as JSON names them."""


def _sections(scores: Scores) -> Iterator[Section]:
    yield Section(facts=list(_facts(scores)))
    yield Section("Benches", table=_table(scores.rows), below=_legend(scores))
    yield _without_figures(scores)
    for key in dict.fromkeys(group.key for group in scores.groups):
        groups = [group for group in scores.groups if group.key == key]
        yield Section(f"By {key}", table=_group_table(key, groups))
    if scores.run.warnings:
        yield Section("Streams", items=list(scores.run.warnings), is_folded=True)
    yield Section(prose=_totals(scores), in_answer=True)


def _facts(scores: Scores) -> Iterator[Fact]:
    yield Fact("run", scores.run.name, machine_of(scores.run.environments))
    if scores.baseline is not None:
        yield Fact("baseline", scores.baseline.name, machine_of(scores.baseline.environments))


def machine_of(environments: Mapping[str, Environment]) -> str:
    """Returns a run's machine in some words; nothing if it is not known."""
    first = next(iter(environments.values()), None)
    return "" if first is None else machine_text(first)


def _table(rows: Sequence[Row]) -> Table:
    columns = [
        names("Bench", [row.facts.name for row in rows]),
        Column("Fail", [fail_cell(row) for row in rows], is_number=True),
        numbers("n", [str(row.n) for row in rows]),
        numbers("GPUs", [str(row.gpus) for row in rows]),
        numbers("Perf", performances([row.performance for row in rows])),
        words("Unit", [row.performance.unit if row.performance else "" for row in rows]),
        numbers("sem", [percent(row.sem) for row in rows]),
        numbers("std", [percent(row.std) for row in rows]),
        figures("Peak memory", [memory_figure(row) for row in rows], "B"),
        numbers("Score", [ratio_text(row.ratio) for row in rows]),
        numbers("Weight", [f"{row.facts.weight:g}" for row in rows]),
        numbers("Energy kJ", [_kilo(row.energy_j) for row in rows]),
    ]
    return Table(tuple(columns))


def fail_cell(row: Row) -> Cell:
    """Returns the number of failures, marked where there are any."""
    tone: Tone = "worse" if row.fail else ""
    return Cell(str(row.fail), tone)


def performances(found: Sequence[Performance | None]) -> list[str]:
    """Returns the performances with their 95 % intervals, aligned."""
    return align([format_figure(figure_of(performance), PLAIN) for performance in found])


def figure_of(performance: Performance | None) -> Figure | None:
    """Returns a performance as a figure: one without an interval is uncertain."""
    if performance is None:
        return None
    width = performance.half_width
    return Figure(performance.value, width, unreliable=width is None)


def memory_figure(row: Row) -> Figure | None:
    """Returns the peak of the memory in bytes."""
    return _figure(row.peak_bytes)


def _figure(value: float | None) -> Figure | None:
    return None if value is None else Figure(value)


def _kilo(value: float | None) -> str:
    return str(format_figure(None if value is None else Figure(value / 1000), PLAIN))


def percent(share: float | None) -> str:
    """Returns a share in percent; `---` without one."""
    return NOT_APPLICABLE if share is None else f"{100 * share:.1f} %"


def ratio_text(ratio: Ratio | None) -> str:
    """Returns a ratio with its interval; `---` without one."""
    if ratio is None:
        return NOT_APPLICABLE
    return f"{compared.ratio_text(ratio.value)} ({compared.interval_text(ratio.low, ratio.high)})"


def _legend(scores: Scores) -> list[str]:
    said = [
        "Perf: items per second of all processes together after the warm-up, and its 95 % "
        "interval; of what is no program, calls per second. Peak memory is the maximum.",
        *mark_legend(figure_of(row.performance) for row in scores.rows),
    ]
    if scores.baseline is None:
        said.append("Score: the ratio to a baseline machine; --baseline RUN names its run.")
    elif any(row.ratio and row.ratio.assumed for row in scores.rows):
        said.append(
            f"Intervals of scores assume that a program's speed differs by {scores.scatter:.0%} "
            "from one start to the next, as these benches were run once, and a single observation "
            "as much again; several runs of a machine show by how much it does."
        )
    return said


def _without_figures(scores: Scores) -> Section:
    rows = [row for row in scores.rows if row.why]
    table = Table(
        (
            names("Bench", [row.facts.name for row in rows]),
            texts("Reason", [row.why for row in rows]),
        )
    )
    return Section("In no total", table=table)


def _group_table(key: str, groups: Sequence[Group]) -> Table:
    perf = align(
        [format_figure(_figure(group.perf), PLAIN) for group in groups],
    )
    return Table(
        (
            names(key.capitalize(), [group.value for group in groups]),
            numbers("Benches", [str(group.benches) for group in groups]),
            numbers("Fail", [str(group.fail) for group in groups]),
            numbers("Perf", perf),
            words("Unit", [group.unit for group in groups]),
            numbers("Score", [ratio_text(group.total) for group in groups]),
        )
    )


def _totals(scores: Scores) -> list[str]:
    if scores.baseline is None:
        return [_mean_text(scores)]
    if scores.total is None:
        return ["No total: no bench with a weight has a ratio to the baseline."]
    counted = sum(row.ratio is not None and row.facts.weight > 0 for row in scores.rows)
    said = [
        f"Total: {ratio_text(scores.total)}, the geometric mean of the ratios of "
        f"{counted} of {len(scores.rows)} benches by weight."
    ]
    if scores.per_money is not None:
        per_money = scores.per_money * PER_MONEY
        said.append(f"Per {PER_MONEY} of money: {per_money:.4g} (price {scores.price:g}).")
    return said


def _mean_text(scores: Scores) -> str:
    """Returns the total of a run without a baseline: the mean of rates, if they are of one unit."""
    counted = sum(row.performance is not None and row.facts.weight > 0 for row in scores.rows)
    mean = scores.mean
    if not counted:
        return "No total: no bench with a weight has a figure."
    if mean.perf is None:
        return "No total: rates of different units have no mean; --baseline RUN gives ratios."
    value = format_figure(_figure(mean.perf), PLAIN)
    return (
        f"Total: {value} {mean.unit}, the geometric mean of {counted} of "
        f"{pluralize(len(scores.rows), 'bench')} by weight; --baseline RUN gives ratios."
    )


def runs_report_of(runs: Mapping[str, SuiteRun]) -> Report:
    """Returns the report of runs by their names: a row for each bench of each. A batch of another
    size is another program, so that there are no ratios."""
    scores = {name: scores_of(run) for name, run in runs.items()}
    rows = [(name, row) for name, found in scores.items() for row in found.rows if row.n]
    sizes = [batch_size_of(row.facts) for _, row in rows]
    columns = (
        names("Run", [name for name, _ in rows]),
        names("Bench", [row.facts.name for _, row in rows]),
        numbers("Batch", [NOT_APPLICABLE if size is None else str(size) for size in sizes]),
        Column("Fail", [fail_cell(row) for _, row in rows], is_number=True),
        numbers("Perf", performances([row.performance for _, row in rows])),
        words("Unit", [row.performance.unit if row.performance else "" for _, row in rows]),
        figures("Peak memory", [memory_figure(row) for _, row in rows], "B"),
    )
    return Report(
        command=COMMAND,
        title="Runs",
        sections=[Section(table=Table(columns))],
        data={name: values(found) for name, found in scores.items()},
    )
