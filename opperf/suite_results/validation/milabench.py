"""The checks of milabench's layers, as it decides, its faults included: a rate is a sum, a timeout
is no failure, and neither is a bench that never started."""

from __future__ import annotations

import math
from collections.abc import Iterator

from opperf.suite_results.suite_run import BenchResults, SuiteRun
from opperf.suite_results.validation.checks import Found, differing, processes_of

EXEMPT = "nolog"
"""Tag of a benchmark that sends no rates."""

LEAST_SUM = 30
"""Sum of rates below which it warns."""


def error(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields processes whose code is not 0, unless they were stopped early."""
    for name, process in processes_of(bench):
        seen = process.observed
        if seen is not None and seen.exit_code and not seen.stopped:
            said = f": {seen.errors[-1]}" if seen.errors else ""
            yield Found("failure", f"exit code {seen.exit_code}{said}", name)


def ensure_rate(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields processes without rates, by their sum."""
    for name, process in processes_of(bench):
        seen = process.observed
        if seen is None or EXEMPT in seen.tags:
            continue
        total = sum(seen.all_rates)
        if not total > 0:
            yield Found("failure", "no rate", name)
        elif total < LEAST_SUM:
            yield Found("warning", f"the sum of its rates is {total:.4g}", name)


def loss(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields processes with a NaN, and those whose loss grew after the first."""
    for name, process in processes_of(bench):
        losses = process.losses
        if any(map(math.isnan, losses)):
            yield Found("failure", "the loss is NaN", name)
        elif any(later > first for first, later in zip(losses[1:], losses[2:], strict=False)):
            yield Found("warning", "the loss grew", name)


def planning(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields that other numbers of processes sent a loss than were planned."""
    for attempt in bench.all:
        sent = sum(bool(process.losses) for process in attempt.processes)
        yield from differing("sent a loss", sent, bench.facts.processes)


def version(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields processes without the event meta, and those whose meta has no tag of milabench."""
    for name, process in processes_of(bench):
        seen = process.observed
        if seen is None or seen.meta is None:
            yield Found("failure", "no event meta", name)
        elif not (
            isinstance(seen.meta.get("milabench"), dict) and seen.meta["milabench"].get("tag")
        ):
            yield Found("warning", "the event meta has no tag of milabench", name)
