"""The figures of a run of a suite: a row for each bench, and the total against a baseline machine.

A bench that did not run is a row without figures, and is in no total: neither as 0 nor as 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from opperf.defaults import ASSUMED_SCATTER
from opperf.formats.milabench.streams import STREAM_MB
from opperf.model import BenchFacts, Status
from opperf.results.figures import CaseFigures
from opperf.statistics.weights import geometric_mean
from opperf.suites.results.performance import Performance, performance_of, why_not_comparable
from opperf.suites.results.ratios import (
    Pair,
    Ratio,
    by_key,
    check_keys,
    common_cases,
    estimates,
    ratios_of,
    rows_by,
    total_of,
)
from opperf.suites.results.run import Attempt, BenchResults, SuiteRun


class Row(NamedTuple):
    """The figures of a bench; None for one that is not known."""

    facts: BenchFacts
    fail: int
    n: int
    """Processes of programs, and cases of what is none, in all attempts."""
    gpus: int
    performance: Performance | None
    peak_bytes: float | None
    """Maximum of all samples: of the memory of any one GPU, or without one of the program's."""
    energy_j: float | None
    """Mean over the attempts that worked."""
    ratio: Ratio | None
    """To the baseline machine."""
    why: str
    """Why it has no performance, or no ratio; empty if it has what was asked for."""


class Group(NamedTuple):
    """The benches of one value of a key."""

    key: str
    value: str
    benches: int
    fail: int
    total: Ratio | None
    perf: float | None
    """Weighted geometric mean, of benches of one unit."""
    unit: str


class Scores(NamedTuple):
    """The figures of a run."""

    run: SuiteRun
    baseline: SuiteRun | None
    rows: tuple[Row, ...]
    total: Ratio | None
    groups: tuple[Group, ...]
    price: float | None
    scatter: float

    @property
    def mean(self) -> Group:
        """All benches as one group: its performance is None if their units differ."""
        return _group("", "", self.rows, self.total)

    @property
    def per_money(self) -> float | None:
        """Total over price; None without either."""
        return None if self.total is None or not self.price else self.total.value / self.price


def scores_of(
    run: SuiteRun,
    baseline: SuiteRun | None = None,
    by: Sequence[str] = (),
    price: float | None = None,
    scatter: float = ASSUMED_SCATTER,
) -> Scores:
    """Returns the figures of a run. Raises `UsageError` for a key that no bench has."""
    facts = [bench.facts for bench in run.benches]
    check_keys(by, facts)
    own = [performance_of(bench) for bench in run.benches]
    pairs: dict[int, Pair] = {}
    refused: dict[int, str] = {}
    others = {bench.facts.name: bench for bench in baseline.benches} if baseline else {}
    for number, (bench, performance) in enumerate(zip(run.benches, own, strict=True)):
        if baseline is None or performance is None:
            continue
        pair = _pair(others.get(bench.facts.name), bench, performance)
        if isinstance(pair, str):
            refused[number] = pair
        else:
            pairs[number] = pair
    found, assumed = estimates(list(pairs.values()), scatter)
    ratios = dict(zip(pairs, ratios_of(found, assumed), strict=True))
    weights = [facts[number].weight for number in pairs]
    rows = tuple(
        _row(bench, performance, ratios.get(number), refused.get(number, ""))
        for number, (bench, performance) in enumerate(zip(run.benches, own, strict=True))
    )
    groups = []
    for key in by:
        place = {number: index for index, number in enumerate(pairs)}
        members = rows_by(key, facts)
        in_pairs = {
            value: [place[number] for number in numbers if number in place]
            for value, numbers in members.items()
        }
        totals = by_key({value: rows for value, rows in in_pairs.items() if rows}, found, weights)
        groups += [
            _group(key, value, [rows[number] for number in numbers], totals.get(value))
            for value, numbers in members.items()
        ]
    total = total_of(found, weights) if pairs else None
    return Scores(run, baseline, rows, total, tuple(groups), price, scatter)


def _pair(other: BenchResults | None, bench: BenchResults, performance: Performance) -> Pair | str:
    """Returns a bench with that of the baseline, or why they cannot be compared."""
    if other is None:
        return "not in the baseline"
    why = why_not_comparable(other, bench)
    if why:
        return f"not comparable with the baseline: {why}"
    base = performance_of(other)
    if base is None:
        return "the baseline has no figure of it"
    pair = Pair(base, performance)
    return pair if common_cases(pair) else "no case that worked on both machines"


def _row(
    bench: BenchResults, performance: Performance | None, ratio: Ratio | None, refused: str
) -> Row:
    attempts = bench.all
    ended = [
        status
        for attempt in attempts
        for status in (
            [process.result.status for process in attempt.processes] or [attempt.record.status]
        )
    ]
    missing = sum(attempt.missing for attempt in attempts) + len(bench.failed_rounds)
    fail = sum(map(_failures, attempts)) + missing
    if not ended and bench.was_to_run:
        fail = 1
    energies = [
        joules
        for attempt in attempts
        if attempt.worked and (joules := _energy(attempt)) is not None
    ]
    devices = {
        sample.device
        for process in bench.processes
        if process.observed
        for sample in process.observed.gpus
    }
    gpus = bench.facts.gpus or len(devices)
    peaks = [_peak(attempt, gpus) for attempt in attempts]
    return Row(
        facts=bench.facts,
        fail=fail,
        n=len(ended) + missing,
        gpus=gpus,
        performance=performance,
        peak_bytes=max(filter(None, peaks), default=None),
        energy_j=sum(energies) / len(energies) if energies else None,
        ratio=ratio,
        why=refused if performance else _why_nothing(bench),
    )


def _failures(attempt: Attempt) -> int:
    """Returns how many processes failed: one of an attempt that failed though all ended well, as
    one without an observation."""
    failed = sum(process.result.status is not Status.OK for process in attempt.processes)
    return max(failed, attempt.record.status is not Status.OK)


def _why_nothing(bench: BenchResults) -> str:
    facts = bench.facts
    if facts.why_not:
        return facts.why_not
    if not (facts.enabled or bench.all):
        return "disabled"
    reasons = (attempt.reason for attempt in bench.all if not attempt.worked)
    return next(reasons, "no figure" if bench.all else "never started")


def _peak(attempt: Attempt, gpu_count: int) -> float | None:
    sampled = [
        sample.used_mb * STREAM_MB
        for process in attempt.processes
        if process.observed
        for sample in process.observed.gpus
        if sample.used_mb is not None
    ]
    if sampled:
        return max(sampled)
    # Of several GPUs the record has the memory of all together.
    gpus = ("gpu_memory",) if gpu_count <= 1 else ()
    for name in (*gpus, "memory", "program_memory"):
        found = CaseFigures(attempt.record).of(name)
        if found is not None and math.isfinite(found.summary.max):
            return found.summary.max
    return None


def _energy(attempt: Attempt) -> float | None:
    found = CaseFigures(attempt.record).of("energy")
    if found is not None:
        return found.median
    by_device: dict[str, list[tuple[float, float]]] = {}
    for process in attempt.processes:
        for sample in process.observed.gpus if process.observed else ():
            if sample.time is not None and sample.power_w is not None:
                # Processes that see the same device sample it more than once.
                by_device.setdefault(sample.device, []).append((sample.time, sample.power_w))
    joules = [_integral(sorted(set(samples))) for samples in by_device.values()]
    return math.fsum(joules) if joules else None


def _integral(samples: Sequence[tuple[float, float]]) -> float:
    return math.fsum(
        (later - time) * (power + next_power) / 2
        for (time, power), (later, next_power) in zip(samples, samples[1:], strict=False)
    )


def _group(key: str, value: str, rows: Sequence[Row], total: Ratio | None) -> Group:
    measured = [row for row in rows if row.performance and row.facts.weight]
    units = {row.performance.unit for row in measured if row.performance}
    mean = None
    if len(units) == 1:
        mean = geometric_mean(
            [row.performance.value for row in measured if row.performance],
            [row.facts.weight for row in measured],
        )
    fail = sum(row.fail for row in rows)
    return Group(key, value, len(rows), fail, total, mean, next(iter(units), "") if mean else "")
