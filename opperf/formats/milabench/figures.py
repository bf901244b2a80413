"""Milabench's own figures of a run, to the last digit and with its faults, so that old reports can
be continued.

Of the rates and samples of all processes of a bench together, with five or more the lowest and the
highest are dropped: of the memory, too, so that its peak is not the maximum. Rates of the warm-up
count. The score of a benchmark depends on its unit, and one that did not run counts 0. The energy
is that of the first process. A stream without its beginning or its end is passed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from opperf.formats.milabench.streams import GpuSample, Observed
from opperf.model import BenchFacts

LEAST_TRIMMED = 5
"""Fewest values of which the extremes are dropped."""

MOST_FAILURES = 0.01
"""Largest share of failures at which a run passes."""

NO_LOG = "nolog"
"""Tag of a benchmark that sends no rates, and succeeds in any case."""


def trimmed(values: Iterable[float | None]) -> list[float]:
    """Returns the values in order, without their extremes; a NaN without any."""
    known = sorted(value for value in values if value is not None)
    return (known[1:-1] if len(known) >= LEAST_TRIMMED else known) or [math.nan]


class Row(NamedTuple):
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


class Figures(NamedTuple):
    """The figures of a run."""

    rows: Sequence[Row]
    score: float
    """NaN where no enabled benchmark has a weight."""
    failure_rate: float
    ignored: Sequence[str]
    """Streams that are passed over."""

    @property
    def passes(self) -> bool:
        return self.failure_rate <= MOST_FAILURES


class ProcessStream(NamedTuple):
    """The stream of a process."""

    path: Path
    observed: Observed
    device: str
    """Its own GPU; empty without one."""

    @property
    def is_whole(self) -> bool:
        return None not in (self.observed.started, self.observed.ended)

    @property
    def with_device(self) -> Observed:
        """The stream, whose configuration says the process's own GPU, as those of milabench do."""
        seen = self.observed
        if not self.device or seen.config.get("device") is not None:
            return seen
        return seen._replace(config={**seen.config, "device": self.device})


def figures_of(
    benches: Iterable[tuple[BenchFacts, Sequence[ProcessStream]]], is_milabench: bool
) -> Figures:
    """Returns the figures of the benches of a run, which milabench made or opperf."""
    listed = list(benches)
    rows = sorted(
        (_row(facts, streams, is_milabench) for facts, streams in listed),
        key=lambda row: (row.group, row.bench),
    )
    ignored = [str(each.path) for _, streams in listed for each in streams if not each.is_whole]
    failed = sum(row.fail for row in rows if not math.isnan(row.fail))
    tried = sum(row.n for row in rows if not math.isnan(row.n))
    return Figures(rows, total(rows), failed / max(tried, 1), ignored)


def total(rows: Sequence[Row]) -> float:
    """Returns exp(sum(w ln(score + 1)) / sum(w)) of the enabled benchmarks, NaN counting as 0."""
    # By NumPy, whose logarithm may differ from Python's in the last digit.
    scores = np.nan_to_num(np.array([row.score for row in rows]), nan=0.0)
    weights = np.array([row.weight * row.enabled for row in rows])
    if not weights.sum():
        return math.nan
    return float(np.exp(np.sum(np.log(scores + 1) * weights) / np.sum(weights)))


def _row(facts: BenchFacts, streams: Sequence[ProcessStream], is_milabench: bool) -> Row:
    weight, enabled = facts.weight, facts.enabled
    if is_milabench and not {"enabled", "weight"} & set(facts.config):
        # Its own defaults are no weight, and not to be run.
        weight, enabled = 0.0, False
    whole = [each.with_device for each in streams if each.is_whole]
    row = Row(facts.name, facts.group or facts.name, weight, enabled)
    if not whole:
        return row
    rates = trimmed(rate for seen in whole for rate in seen.all_rates)
    perf, std = float(np.mean(rates)), float(np.std(rates))
    fail = sum(not _succeeded(seen) for seen in whole)
    loads = _by_device(whole).values()
    power = [np.percentile(trimmed(each.power_w for each in found), 50) for found in loads]
    memory = [trimmed(each.used_mb for each in found)[-1] for found in loads]
    energy_kj, elapsed = _energy(whole[0])
    return row._replace(
        fail=fail,
        n=len(whole),
        ngpu=max(map(_gpu_count, whole)),
        perf=perf,
        sem=_quotient(std / len(rates) ** 0.5, perf),
        std=_quotient(std, perf),
        peak_memory=max(memory, default=math.nan),
        score=(_of_devices(whole) or perf) * (1 - fail / len(whole)),
        energy_kj=energy_kj,
        perf_watt=_quotient(perf, _quotient(energy_kj, elapsed)),
        median_watt=float(sum(power) / len(power)) if power else math.nan,
    )


def _quotient(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


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
    found = sum(float(np.mean(trimmed(rates))) for rates in by_device.values())
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
