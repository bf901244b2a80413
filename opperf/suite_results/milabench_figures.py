"""Milabench's own figures of a run, to the last digit and with its faults, so that old reports can
be continued.

Of the rates and samples of all processes of a bench together, with five or more the lowest and the
highest are dropped: of the memory, too, so that its peak is not the maximum. Rates of the warm-up
count. The score of a benchmark depends on its unit, and one that did not run counts 0. The energy
is that of the first process. A stream without its beginning or its end is passed over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from opperf.formats.milabench.streams import GpuSample, Observed
from opperf.model import Struct
from opperf.reports.fields import NAME, Field, number, objects_of, rows_of, table_of
from opperf.reports.markdown import code
from opperf.reports.model import Report, Section
from opperf.results.units import NOT_APPLICABLE
from opperf.suite_results.score_report import COMMAND
from opperf.suites.results.run import BenchResults, SuiteRun

LEAST_TRIMMED = 5
"""Fewest values of which the extremes are dropped."""

MOST_FAILURES = 0.01
"""Largest share of failures at which a run passes."""

NO_LOG = "nolog"
"""Tag of a benchmark that sends no rates, and succeeds in any case."""


class Statistics(NamedTuple):
    """Statistics of values without their extremes; NaN without any."""

    mean: float = math.nan
    std: float = math.nan
    sem: float = math.nan
    median: float = math.nan
    max: float = math.nan


def statistics_of(values: Iterable[float | None]) -> Statistics:
    """Returns the statistics of the values, which are no interval of anything."""
    known = sorted(value for value in values if value is not None)
    if len(known) >= LEAST_TRIMMED:
        known = known[1:-1]
    if not known:
        return Statistics()
    std = float(np.std(known))
    return Statistics(
        mean=float(np.mean(known)),
        std=std,
        sem=std / len(known) ** 0.5,
        median=float(np.percentile(known, 50)),
        max=float(np.percentile(known, 100)),
    )


class Row(Struct, frozen=True, kw_only=True):
    """The figures of a benchmark; the defaults are those of one that did not run."""

    bench: str
    group: str
    weight: float
    enabled: bool
    fail: float = math.nan
    n: float = math.nan
    ngpu: int = 0
    perf: float = math.nan
    sem: float = math.nan
    std: float = math.nan
    """As shares of `perf`."""
    peak_memory: float = math.nan
    """MB."""
    score: float = math.nan
    energy_kj: float = 0.0
    perf_watt: float = 0.0
    median_watt: float = math.nan


class Figures(Struct, frozen=True):
    """The figures of a run."""

    rows: tuple[Row, ...]
    score: float
    """NaN where no enabled benchmark has a weight."""
    failure_rate: float
    ignored: tuple[str, ...] = ()
    """Streams that are passed over."""

    @property
    def passes(self) -> bool:
        return self.failure_rate <= MOST_FAILURES


def figures_of(run: SuiteRun) -> Figures:
    """Returns the figures of a run."""
    rows = sorted(
        (_row(bench, run.is_milabench) for bench in run.benches),
        key=lambda row: (row.group, row.bench),
    )
    ignored = tuple(
        str(process.stream.path)
        for bench in run.benches
        for process in bench.processes
        if process.observed and process.stream and not _is_whole(process.observed)
    )
    failed = sum(row.fail for row in rows if not math.isnan(row.fail))
    tried = sum(row.n for row in rows if not math.isnan(row.n))
    return Figures(tuple(rows), total(rows), failed / max(tried, 1), ignored)


def total(rows: Sequence[Row]) -> float:
    """Returns exp(sum(w ln(score + 1)) / sum(w)) of the enabled benchmarks, NaN counting as 0."""
    # By NumPy, whose logarithm may differ from Python's in the last digit.
    scores = np.nan_to_num(np.array([row.score for row in rows]), nan=0.0)
    weights = np.array([row.weight * row.enabled for row in rows])
    if not weights.sum():
        return math.nan
    return float(np.exp(np.sum(np.log(scores + 1) * weights) / np.sum(weights)))


def _row(bench: BenchResults, is_milabench: bool) -> Row:
    facts = bench.facts
    weight, enabled = facts.weight, facts.enabled
    if is_milabench and not {"enabled", "weight"} & set(facts.config):
        # Its own defaults are no weight, and not to be run.
        weight, enabled = 0.0, False
    whole = [
        _with_device(process.observed, process.result.device)
        for process in bench.processes
        if process.observed and _is_whole(process.observed)
    ]
    group = facts.group or facts.name
    if not whole:
        return Row(bench=facts.name, group=group, weight=weight, enabled=enabled)
    perf = statistics_of(rate for seen in whole for rate in seen.all_rates)
    fail = sum(not _succeeded(seen) for seen in whole)
    loads = _by_device(whole)
    memory = [statistics_of(sample.used_mb for sample in found).max for found in loads.values()]
    power = [statistics_of(sample.power_w for sample in found).median for found in loads.values()]
    energy_kj, elapsed = _energy(whole[0])
    score = _of_devices(whole) or perf.mean
    return Row(
        bench=facts.name,
        group=group,
        weight=weight,
        enabled=enabled,
        fail=fail,
        n=len(whole),
        ngpu=max(map(_gpu_count, whole)),
        perf=perf.mean,
        sem=_quotient(perf.sem, perf.mean),
        std=_quotient(perf.std, perf.mean),
        peak_memory=max(memory, default=math.nan),
        score=score * (1 - fail / len(whole)),
        energy_kj=energy_kj,
        perf_watt=_quotient(perf.mean, _quotient(energy_kj, elapsed)),
        median_watt=sum(power) / len(power) if power else math.nan,
    )


def _with_device(seen: Observed, device: str) -> Observed:
    """Returns a stream whose configuration says the process's own GPU, as those of milabench do."""
    if not device or seen.config.get("device") is not None:
        return seen
    return seen._replace(config={**seen.config, "device": device})


def _quotient(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _is_whole(seen: Observed) -> bool:
    return None not in (seen.started, seen.ended)


def _succeeded(seen: Observed) -> bool:
    if seen.stopped or NO_LOG in seen.tags:
        return True
    return seen.exit_code == 0 and not any(map(math.isnan, seen.losses)) and bool(seen.all_rates)


def _gpu_count(seen: Observed) -> int:
    config = seen.config
    plan: Any = config.get("plan")
    method = plan.get("method") if isinstance(plan, Mapping) else "per_gpu"
    nodes = config.get("num_machines", 1)
    return int(nodes) * (len(seen.devices) if method == "njobs" else 1)


def _of_devices(whole: Sequence[Observed]) -> float:
    """Returns the sum of the mean rates of processes that have a device each; 0 without such."""
    by_device: dict[str, list[float]] = {}
    for seen in whole:
        device = seen.config.get("device")
        if device is not None:
            by_device.setdefault(str(device), []).extend(seen.all_rates)
    means = [statistics_of(rates).mean for rates in by_device.values()]
    found = sum(means)
    return found if found > 0 else 0.0


def _samples(seen: Observed) -> list[GpuSample]:
    """Returns the samples of the process's own device, or of all if it has none of its own."""
    device = seen.config.get("device")
    return [sample for sample in seen.gpus if device is None or sample.device == str(device)]


def _by_device(whole: Iterable[Observed]) -> dict[str, list[GpuSample]]:
    found: dict[str, list[GpuSample]] = {}
    for seen in whole:
        for sample in _samples(seen):
            # An idle device is none that the benchmark used.
            if sample.used_mb not in (None, 1) and sample.load:
                found.setdefault(sample.device, []).append(sample)
    return found


def _energy(seen: Observed) -> tuple[float, float]:
    """Returns the energy in kJ, each power lasting since the sample before it, and the seconds."""
    joules, last = 0.0, None
    times = [sample.time for sample in seen.gpus if sample.time is not None]
    moments: dict[float, list[GpuSample]] = {}
    for sample in _samples(seen):
        if sample.time is not None:
            moments.setdefault(sample.time, []).append(sample)
    for moment, samples in moments.items():
        if last is not None:
            joules += sum((sample.power_w or 0.0) * (moment - last) for sample in samples)
        last = moment
    return joules / 1000, times[-1] - times[0] if times else 0.0


def _column(key: str, read: Callable[[Row], float], form: str) -> Field[Row]:
    return Field(key, key, number(form.format, NOT_APPLICABLE), lambda row: _value(read(row)))


FIELDS: tuple[Field[Row], ...] = (
    Field("bench", "bench", NAME, lambda row: row.bench),
    _column("fail", lambda row: row.fail, "{:.0f}"),
    _column("n", lambda row: row.n, "{:.0f}"),
    _column("ngpu", lambda row: row.ngpu, "{:.0f}"),
    _column("perf", lambda row: row.perf, "{:.2f}"),
    _column("sem%", lambda row: row.sem, "{:.1%}"),
    _column("std%", lambda row: row.std, "{:.1%}"),
    _column("peak_memory", lambda row: row.peak_memory, "{:.0f}"),
    _column("score", lambda row: row.score, "{:.2f}"),
    _column("weight", lambda row: row.weight, "{:.2f}"),
    _column("energy (Kj)", lambda row: row.energy_kj, "{:.3f}"),
    _column("perf_watt", lambda row: row.perf_watt, "{:.3f}"),
    _column("median_watt", lambda row: row.median_watt, "{:.3f}"),
)


def milabench_report(figures: Figures, name: str, price: float | None) -> Report:
    """Returns the report of a run of a name; JSON and CSV have all digits."""
    scores: dict[str, Any] = {
        "failure_rate": figures.failure_rate,
        "passes": figures.passes,
        "score": _value(figures.score),
        "price": price,
        "rpp": _value(price / figures.score) if price and figures.score else None,
    }
    return Report(
        COMMAND,
        f"Benchmark results, as milabench: {name}",
        [
            Section("Breakdown", table=table_of(FIELDS, figures.rows)),
            Section("Scores", prose=_sentences(scores), in_answer=True),
            *(
                [Section("Passed over, without a beginning or an end", items=figures.ignored)]
                if figures.ignored
                else []
            ),
        ],
        {
            "run": name,
            "as": "milabench",
            "benches": objects_of(FIELDS, figures.rows),
            **scores,
            "ignored": list(figures.ignored),
        },
        *rows_of(FIELDS, figures.rows),
        headline=f"Suite: {code(name)}",
        answer=_sentences(scores),
    )


def _value(value: float) -> float | None:
    """Returns a figure; None where there is none, which JSON cannot express as NaN."""
    return value if math.isfinite(value) else None


def _sentences(scores: Mapping[str, Any]) -> list[str]:
    word = "PASS" if scores["passes"] else "FAIL"
    score = NOT_APPLICABLE if scores["score"] is None else f"{scores['score']:.2f}"
    said = [f"Failure rate: {scores['failure_rate']:.2%} ({word}). Score: {score}."]
    if scores["rpp"] is not None:
        said.append(f"Price: {scores['price']:.2f}. RPP (price / score): {scores['rpp']:.2f}.")
    return said
