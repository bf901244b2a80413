"""The registry of instruments and of their metrics. Another package adds an `Instrument` through
the entry-point group `opperf.instruments`; its metrics are in tables, exports and comparisons
too."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from opperf.declared import declared, load_declared
from opperf.errors import UsageError
from opperf.instruments.compilation import COMPILER
from opperf.instruments.instructions import CALLGRIND
from opperf.instruments.instrument import GROUP, Instrument, Launcher, Needs
from opperf.instruments.memory import MEMORY_PEAKS
from opperf.instruments.program_metrics import EXPECTED, PROGRAM_METRICS
from opperf.instruments.recorded import RECORDED_TIMES
from opperf.instruments.replays import REPLAYS
from opperf.instruments.steps import STEPS
from opperf.instruments.times import TIMES
from opperf.instruments.verification.instrument import VERIFICATION
from opperf.instruments.wrapped.programs import METRICS as WRAPPED
from opperf.instruments.wrapped.programs import OWN_NAMES
from opperf.model import Case, Metric, MetricKind, Record, ScriptTarget, Settings

BUILT_IN: tuple[Instrument, ...] = (
    TIMES,
    STEPS,
    MEMORY_PEAKS,
    CALLGRIND,
    COMPILER,
    RECORDED_TIMES,
    REPLAYS,
    VERIFICATION,
)
"""In the order of tables."""

ORDER = (
    MEMORY_PEAKS,
    CALLGRIND,
    TIMES,
    COMPILER,
    STEPS,
    RECORDED_TIMES,
    REPLAYS,
    VERIFICATION,
)
"""In the order of measuring: peaks of memory before the many calls of times."""


def _own_metrics() -> tuple[Metric, ...]:
    """Returns the metrics that opperf declares."""
    of_cases = (metric for instrument in BUILT_IN for metric in instrument.metrics)
    return (*of_cases, *WRAPPED, *PROGRAM_METRICS)


@functools.cache
def added_instruments() -> tuple[Instrument, ...]:
    """Returns the instruments of other packages, sorted by entry point. Raises `UsageError` for one
    that cannot be loaded, is no `Instrument`, or has a metric whose name is taken."""
    taken = {metric.name for metric in _own_metrics()}
    found = []
    for entry in declared(GROUP):
        instrument = load_declared(entry)
        place = f"the instrument {entry.value}, an entry point of the group {GROUP},"
        if not isinstance(instrument, Instrument):
            raise UsageError(f"{place} is not an Instrument; fix its package, or remove it")
        for metric in instrument.metrics:
            if not isinstance(metric, Metric):
                raise UsageError(
                    f"{place} has a metric that is not a Metric; fix its package, or remove it"
                )
            if metric.name in taken:
                raise UsageError(
                    f"{place} has a metric {metric.name!r}, which is another instrument's; rename "
                    "one"
                )
            taken.add(metric.name)
        found.append(instrument)
    return tuple(found)


def instruments_of(settings: Settings) -> tuple[Instrument, ...]:
    """Returns the built-in instruments that measure cases of these settings, in that order."""
    return tuple(instrument for instrument in ORDER if instrument.measures(settings))


def needs_of(settings: Settings) -> Needs:
    """Returns what the instruments of cases of these settings need together."""
    needs = [instrument.needs for instrument in instruments_of(settings)]
    together = ("pristine_fork", "fork_for_each_case", "quiet_machine")
    return Needs(**{name: any(getattr(need, name) for need in needs) for name in together})


def launcher_of(framework: str, settings: Settings) -> Launcher | None:
    """Returns what runs the worker of these settings in another program; None for nothing."""
    launchers = (chosen.launcher(framework, settings) for chosen in instruments_of(settings))
    return next(filter(None, launchers), None)


def check_instruments(settings: Sequence[Settings]) -> None:
    """Raises `UsageError` if this machine lacks what the instruments of cases need, or if they do
    not use a setting."""
    for instrument in BUILT_IN:
        instrument.check(settings)


@functools.cache
def metrics_by_name() -> dict[str, Metric]:
    """Returns every metric by its name, opperf's first. Raises as `added_instruments` does."""
    added = (metric for instrument in added_instruments() for metric in instrument.metrics)
    return {metric.name: metric for metric in (*_own_metrics(), *added)}


def metric_named(name: str, unit: str) -> Metric:
    """Returns the metric of that name; one of that unit if no installed package declares it. Those
    of a profiling program's own names are in no table unless they are named."""
    known = metrics_by_name().get(name)
    usual = not name.startswith(OWN_NAMES)
    return known or Metric(name, unit, MetricKind.DERIVED, title=name, usual=usual)


def expected_metrics(case: Case) -> tuple[str, ...]:
    """Returns the names of the metrics that a record of the case has, or a note on each."""
    if isinstance(case.target, ScriptTarget):
        return EXPECTED
    chosen = instruments_of(case.settings)
    return tuple(
        name
        for instrument in BUILT_IN
        if instrument in chosen
        for name in instrument.expected(case)
    )


def metrics_in(records: Iterable[Record]) -> tuple[Metric, ...]:
    """Returns every metric of the records, sorted."""
    units = {name: summary.unit for record in records for name, summary in record.summaries.items()}
    return sort_metrics(metric_named(name, unit) for name, unit in units.items())


def sort_metrics(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """Sorts metrics: the registered ones in their order, then the others by name."""
    at = {name: index for index, name in enumerate(metrics_by_name())}
    return tuple(sorted(metrics, key=lambda metric: (at.get(metric.name, len(at)), metric.name)))


def default_metrics() -> tuple[Metric, ...]:
    """Returns the registered metrics that are compared by default."""
    return tuple(metric for metric in metrics_by_name().values() if metric.usual)


def exported_metrics() -> tuple[Metric, ...]:
    """Returns the registered metrics that exports have even where no record has them: the usual
    ones but counts and others that are asked for."""
    return tuple(
        metric
        for metric in default_metrics()
        if metric.kind is not MetricKind.COUNT and not metric.on_request
    )
