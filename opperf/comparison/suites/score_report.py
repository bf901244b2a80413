"""The report of a run of a suite, for every format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from opperf.comparison import compared
from opperf.formats.figures import number_or_null
from opperf.formats.milabench.figures import Row as MilabenchRow
from opperf.machine.environment import machine_text
from opperf.model import Environment
from opperf.plurals import pluralize
from opperf.reports.fields import (
    GENERAL,
    MEMORY,
    NAME,
    NUMBER,
    TEXT,
    WORD,
    Field,
    figure,
    number,
    objects_of,
    rows_of,
    table_of,
)
from opperf.reports.markdown import code
from opperf.reports.model import ColumnKind, Fact, Report, Section
from opperf.results.units import NOT_APPLICABLE, Figure, Unit, format_figure, mark_legend
from opperf.suites.results.performance import Performance
from opperf.suites.results.ratios import Ratio
from opperf.suites.results.run import SuiteRun
from opperf.suites.results.saving_sizes import batch_size_of
from opperf.suites.results.scores import Group, Row, Scores, scores_of

COMMAND = "suite report"

PER_MONEY = 1000
"""Amount of money of which the performance is given: that of one is a small number."""

PLAIN = Unit("", 1.0)


def _digits(value: float) -> str:
    return str(format_figure(Figure(value), PLAIN))


PERCENT = number(lambda share: f"{100 * share:.1f} %", NOT_APPLICABLE)

FAILURES = ColumnKind(tone=lambda fail: "worse" if fail else "", is_number=True)

PERFORMANCE = figure(PLAIN)


def figure_of(performance: Performance | None) -> Figure | None:
    """Returns a performance as a figure: one without an interval is uncertain."""
    if performance is None:
        return None
    width = performance.half_width
    return Figure(performance.value, width, unreliable=width is None)


def ratio_text(ratio: Ratio | None) -> str:
    """Returns a ratio with its interval; `---` without one."""
    if ratio is None:
        return NOT_APPLICABLE
    return f"{compared.ratio_text(ratio.value)} ({compared.interval_text(ratio.low, ratio.high)})"


BENCH: Field[Row] = Field("bench", "Bench", NAME, lambda row: row.facts.name)

WHY: Field[Row] = Field("why", None, TEXT, lambda row: row.why)

FAIL: Field[Row] = Field("fail", "Fail", FAILURES, lambda row: row.fail)

MEASURED: tuple[Field[Row], ...] = (
    Field("perf", "Perf", PERFORMANCE, lambda row: figure_of(row.performance)),
    Field("unit", "Unit", WORD, lambda row: row.performance and row.performance.unit),
)

PEAK: Field[Row] = Field("peak_memory_bytes", "Peak memory", MEMORY, lambda row: row.peak_bytes)

FIELDS: tuple[Field[Row], ...] = (
    BENCH,
    FAIL,
    Field("n", "n", NUMBER, lambda row: row.n),
    Field("ngpu", "GPUs", NUMBER, lambda row: row.gpus),
    *MEASURED,
    Field("attempts", None, NUMBER, lambda row: row.performance.attempts if row.performance else 0),
    Field("sem", "sem", PERCENT, lambda row: row.performance and row.performance.error),
    Field("std", "std", PERCENT, lambda row: row.performance and row.performance.spread),
    PEAK,
    Field(
        "score",
        "Score",
        NUMBER,
        lambda row: row.ratio and row.ratio.value,
        lambda row: ratio_text(row.ratio),
    ),
    Field("score_low", None, NUMBER, lambda row: row.ratio and row.ratio.low),
    Field("score_high", None, NUMBER, lambda row: row.ratio and row.ratio.high),
    Field("weight", "Weight", GENERAL, lambda row: row.facts.weight),
    Field("energy_j", None, NUMBER, lambda row: row.energy_j),
    Field(
        "",
        "Energy kJ",
        number(_digits, NOT_APPLICABLE),
        lambda row: None if row.energy_j is None else row.energy_j / 1000,
    ),
    Field("group", None, WORD, lambda row: row.facts.group),
    Field("env", None, WORD, lambda row: row.facts.env),
    WHY,
)

POINT: Field[Row] = Field("point", None, WORD, lambda row: row.facts.point)


def _group_fields(key: str) -> tuple[Field[Group], ...]:
    return (
        Field("", key.capitalize(), NAME, lambda group: group.value),
        Field("", "Benches", NUMBER, lambda group: group.benches),
        Field("", "Fail", NUMBER, lambda group: group.fail),
        Field("", "Perf", PERFORMANCE, lambda group: group.perf),
        Field("", "Unit", WORD, lambda group: group.unit),
        Field("", "Score", NUMBER, lambda group: group.total, lambda one: ratio_text(one.total)),
    )


def values(scores: Scores) -> dict[str, Any]:
    """Returns the figures as values of JSON."""

    def ratio(found: Ratio | None) -> dict[str, Any] | None:
        return found._asdict() if found else None

    return {
        "run": scores.run.name,
        "baseline": scores.baseline.name if scores.baseline else None,
        "benches": objects_of((*FIELDS, POINT), scores.rows),
        "total": ratio(scores.total),
        "groups": [{**group._asdict(), "total": ratio(group.total)} for group in scores.groups],
        "price": scores.price,
        "per_money": scores.per_money,
        "assumed_scatter": scores.scatter,
        "warnings": list(scores.run.warnings),
    }


def report_of(scores: Scores) -> Report:
    """Returns the report."""
    return Report(
        COMMAND,
        f"Suite: {scores.run.name}",
        [section for section in _sections(scores) if section.has_content],
        values(scores),
        *rows_of(FIELDS, scores.rows),
        answer=_totals(scores),
    )


def _sections(scores: Scores) -> Iterator[Section]:
    yield Section(facts=list(_facts(scores)))
    yield Section("Benches", table=table_of(FIELDS, scores.rows), below=_legend(scores))
    lacking = [row for row in scores.rows if row.why]
    yield Section("In no total", table=table_of((BENCH, replace(WHY, title="Reason")), lacking))
    for key in dict.fromkeys(group.key for group in scores.groups):
        groups = [group for group in scores.groups if group.key == key]
        yield Section(f"By {key}", table=table_of(_group_fields(key), groups))
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
    counted = sum(row.performance is not None and row.facts.weight > 0 for row in scores.rows)
    mean = scores.mean
    if not counted:
        return "No total: no bench with a weight has a figure."
    if mean.perf is None:
        return "No total: rates of different units have no mean; --baseline RUN gives ratios."
    return (
        f"Total: {_digits(mean.perf)} {mean.unit}, the geometric mean of {counted} of "
        f"{pluralize(len(scores.rows), 'bench')} by weight; --baseline RUN gives ratios."
    )


RunRow = tuple[str, Row]
"""A bench of a run of some name."""

RUNS: tuple[Field[RunRow], ...] = (
    Field("run", "Run", NAME, lambda row: row[0]),
    *(
        field.of(lambda row: row[1])
        for field in (
            BENCH,
            Field(
                "batch_size",
                "Batch",
                number(str, NOT_APPLICABLE),
                lambda row: batch_size_of(row.facts),
            ),
            FAIL,
            *MEASURED,
            PEAK,
        )
    ),
)


def runs_report_of(runs: Mapping[str, SuiteRun]) -> Report:
    """Returns the report of runs by their names: a row for each bench of each. A batch of another
    size is another program, so that there are no ratios."""
    scores = {name: scores_of(run) for name, run in runs.items()}
    rows = [(name, row) for name, found in scores.items() for row in found.rows if row.n]
    return Report(
        COMMAND,
        "Runs",
        [Section(table=table_of(RUNS, rows))],
        {name: values(found) for name, found in scores.items()},
        *rows_of(RUNS, rows),
    )


def _milabench(key: str, form: str, read: Callable[[MilabenchRow], float]) -> Field[MilabenchRow]:
    return Field(
        key, key, number(form.format, NOT_APPLICABLE), lambda row: number_or_null(read(row))
    )


MILABENCH: tuple[Field[MilabenchRow], ...] = (
    Field("bench", "bench", NAME, lambda row: row.bench),
    _milabench("fail", "{:.0f}", lambda row: row.fail),
    _milabench("n", "{:.0f}", lambda row: row.n),
    _milabench("ngpu", "{:.0f}", lambda row: row.ngpu),
    _milabench("perf", "{:.2f}", lambda row: row.perf),
    _milabench("sem%", "{:.1%}", lambda row: row.sem),
    _milabench("std%", "{:.1%}", lambda row: row.std),
    _milabench("peak_memory", "{:.0f}", lambda row: row.peak_memory),
    _milabench("score", "{:.2f}", lambda row: row.score),
    _milabench("weight", "{:.2f}", lambda row: row.weight),
    _milabench("energy (Kj)", "{:.3f}", lambda row: row.energy_kj),
    _milabench("perf_watt", "{:.3f}", lambda row: row.perf_watt),
    _milabench("median_watt", "{:.3f}", lambda row: row.median_watt),
)


def milabench_report(run: SuiteRun, price: float | None) -> Report:
    """Returns the report of a run with milabench's own figures; JSON and CSV have all digits."""
    figures, name = run.milabench_figures(), run.name
    score = number_or_null(figures.score)
    rpp = price / score if price and score else None
    word = "PASS" if figures.passes else "FAIL"
    shown = NOT_APPLICABLE if score is None else f"{score:.2f}"
    said = [f"Failure rate: {figures.failure_rate:.2%} ({word}). Score: {shown}."]
    if rpp is not None:
        said.append(f"Price: {price:.2f}. RPP (price / score): {rpp:.2f}.")
    ignored = Section("Passed over, without a beginning or an end", items=figures.ignored)
    return Report(
        COMMAND,
        f"Benchmark results, as milabench: {name}",
        [
            Section("Breakdown", table=table_of(MILABENCH, figures.rows)),
            Section("Scores", prose=said, in_answer=True),
            *([ignored] if figures.ignored else []),
        ],
        {
            "run": name,
            "as": "milabench",
            "benches": objects_of(MILABENCH, figures.rows),
            "failure_rate": figures.failure_rate,
            "passes": figures.passes,
            "score": score,
            "price": price,
            "rpp": rpp,
            "ignored": list(figures.ignored),
        },
        *rows_of(MILABENCH, figures.rows),
        headline=f"Suite: {code(name)}",
        answer=said,
    )
