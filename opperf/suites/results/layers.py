"""The layers of validation, each declared once: a name, what it finds, and its function of a bench.

A finding is a failure, or a warning: of a figure that is measured, but that a reader should doubt;
or that nobody can say whether it is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from opperf.errors import unknown
from opperf.suites.results import checks
from opperf.suites.results.checks import Found, differing, processes_of
from opperf.suites.results.run import BenchResults, SuiteRun

EXEMPT = "nolog"
"""Tag of a benchmark that sends no rates."""

LEAST_SUM = 30
"""Sum of rates below which it warns."""


def milabench_error(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields processes whose code is not 0, unless they were stopped early."""
    for name, process in processes_of(bench):
        seen = process.observed
        if seen is not None and seen.exit_code and not seen.stopped:
            said = f": {seen.errors[-1]}" if seen.errors else ""
            yield Found("failure", f"exit code {seen.exit_code}{said}", name)


def milabench_ensure_rate(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
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


def milabench_loss(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields processes with a NaN, and those whose loss grew after the first."""
    for name, process in processes_of(bench):
        losses = process.losses
        if any(map(math.isnan, losses)):
            yield Found("failure", "the loss is NaN", name)
        elif any(later > first for first, later in zip(losses[1:], losses[2:], strict=False)):
            yield Found("warning", "the loss grew", name)


def milabench_planning(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields that other numbers of processes sent a loss than were planned."""
    for attempt in bench.all:
        sent = sum(bool(process.losses) for process in attempt.processes)
        yield from differing("sent a loss", sent, bench.facts.processes)


def milabench_version(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields processes without the event meta, and those whose meta has no tag of milabench."""
    for name, process in processes_of(bench):
        seen = process.observed
        if seen is None or seen.meta is None:
            yield Found("failure", "no event meta", name)
        elif not (
            isinstance(seen.meta.get("milabench"), dict) and seen.meta["milabench"].get("tag")
        ):
            yield Found("warning", "the event meta has no tag of milabench", name)


class Layer(NamedTuple):
    """A layer."""

    name: str
    check: Callable[[BenchResults, SuiteRun], Iterable[Found]]
    by_default: bool = True


OWN = tuple(
    Layer(check.__name__, check)
    for check in (
        *(checks.started, checks.timeout, checks.error, checks.ensure_rate, checks.loss),
        *(checks.usage, checks.samples, checks.planning, checks.version, checks.throttle),
        *(checks.drift, checks.environment),
    )
)
"""Layers of opperf, by the names of their functions."""

MILABENCH = (
    Layer("error", milabench_error),
    Layer("ensure_rate", milabench_ensure_rate),
    Layer("loss", milabench_loss, by_default=False),
    Layer("usage", checks.usage, by_default=False),
    Layer("planning", milabench_planning, by_default=False),
    Layer("version", milabench_version),
)
"""Layers of milabench, as it decides."""

ALL = "all"


@dataclass(frozen=True)
class Validation:
    """The findings on a run."""

    run: SuiteRun
    layers: tuple[Layer, ...]
    findings: tuple[Found, ...]

    def of(self, bench: str, level: checks.Level | None = None) -> tuple[Found, ...]:
        return tuple(
            found
            for found in self.findings
            if found.bench == bench and level in (None, found.level)
        )

    def at(self, level: checks.Level) -> tuple[Found, ...]:
        return tuple(found for found in self.findings if found.level == level)

    @property
    def failures(self) -> tuple[Found, ...]:
        return self.at("failure")

    @property
    def warnings(self) -> tuple[Found, ...]:
        return self.at("warning")

    @property
    def milabench_code(self) -> int:
        """Milabench's exit code: the bitwise OR of the layers' numbers of failures."""
        code = 0
        for layer in self.layers:
            code |= sum(found.layer == layer.name for found in self.failures)
        return code


def choose_layers(names: Sequence[str], as_milabench: bool) -> tuple[Layer, ...]:
    """Returns the named layers, or the default ones. Raises `UsageError` for an unknown name."""
    known: Mapping[str, Layer] = {
        layer.name: layer for layer in (MILABENCH if as_milabench else OWN)
    }
    if ALL in names:
        return tuple(known.values())
    for name in names:
        if name not in known:
            raise unknown("layer of validation", name, (*known, ALL))
    return tuple(
        layer for layer in known.values() if (layer.name in names if names else layer.by_default)
    )


def validate(run: SuiteRun, layers: Sequence[Layer]) -> Validation:
    """Returns what the layers find, by bench."""
    return Validation(run, tuple(layers), tuple(_findings(run, layers)))


def _findings(run: SuiteRun, layers: Sequence[Layer]) -> Iterator[Found]:
    for bench in run.benches:
        if not bench.was_to_run:
            continue
        for layer in layers:
            for found in layer.check(bench, run):
                yield found._replace(bench=bench.facts.name, layer=layer.name)
