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
from opperf.instruments.instrument import ALWAYS, BESIDE_TIMES, GROUP, Instrument, Launcher, Needs
from opperf.instruments.memory import MEMORY_PEAKS
from opperf.instruments.program_metrics import EXPECTED, PROGRAM_METRICS, STEPS
from opperf.instruments.replays import REPLAYS
from opperf.instruments.times import RECORDED_TIMES, TIMES
from opperf.instruments.verification.instrument import VERIFICATION
from opperf.instruments.work import WORK
from opperf.instruments.wrapped.programs import METRICS as WRAPPED
from opperf.instruments.wrapped.programs import OWN_NAMES
from opperf.model import DECLARED, Case, Metric, MetricKind, Record, ScriptTarget, Settings

BUILT_IN = (
    *(TIMES, STEPS, MEMORY_PEAKS, CALLGRIND, COMPILER, WORK),
    *(RECORDED_TIMES, REPLAYS, VERIFICATION),
)
"""In the order of tables."""

ORDER = (
    *(MEMORY_PEAKS, CALLGRIND, TIMES, COMPILER, WORK, STEPS),
    *(RECORDED_TIMES, REPLAYS, VERIFICATION),
)
"""In the order of measuring: peaks of memory before the many calls of times."""

OF_NO_CASE = (*WRAPPED, *PROGRAM_METRICS)
"""Metrics that no instrument of a prepared case has."""

OF_PROCESSES = tuple(name for name, setting in DECLARED.items() if setting.process)
"""Settings of process scope."""


def _metrics_of(found: Iterable[Instrument]) -> list[Metric]:
    return [metric for instrument in found for metric in instrument.metrics]


@functools.cache
def instruments() -> tuple[Instrument, ...]:
    """Returns all instruments in the order of tables: opperf's, then those of other packages,
    sorted by entry point. Raises `UsageError` for one that cannot be loaded, is no `Instrument`, or
    has a metric or a profiler whose name is taken."""
    found: list[Instrument] = list(BUILT_IN)
    taken = {metric.name for metric in (*_metrics_of(BUILT_IN), *OF_NO_CASE)}
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
        if instrument.profiler in {other.profiler for other in found if other.is_alone}:
            raise UsageError(
                f"{place} has the profiler {instrument.profiler!r}, which is another instrument's; "
                "rename one"
            )
        found.append(instrument)
    return tuple(found)


def alone_instruments() -> dict[str, Instrument]:
    """Returns the instruments that measure alone, in place of times, by their profilers."""
    return {found.profiler: found for found in instruments() if found.is_alone}


def counts(profiler: str) -> bool:
    """Whether all that is measured under a profiler is the same on every run, as no time is."""
    alone = alone_instruments().get(profiler)
    return alone is not None and all(metric.is_steady for metric in alone.metrics)


@functools.cache
def _under(profiler: str) -> tuple[Instrument, ...]:
    """Returns the instruments of cases with a profiler, in the order of measuring."""
    own = (ALWAYS, profiler if profiler in alone_instruments() else BESIDE_TIMES)
    listed = (*ORDER, *instruments()[len(BUILT_IN) :])
    chosen = (instrument for instrument in listed if instrument.profiler in own)
    return tuple(sorted(chosen, key=lambda instrument: instrument.needs.last))


def instruments_of(settings: Settings) -> tuple[Instrument, ...]:
    """Returns the instruments that measure cases of these settings, in that order."""
    found = _under(settings.profiler)
    return tuple(instrument for instrument in found if instrument.measures(settings))


def needs_of(settings: Settings) -> Needs:
    """Returns what the instruments of cases of these settings need together."""
    needs = [instrument.needs for instrument in instruments_of(settings)]
    together = ("pristine_fork", "fork_for_each_case", "quiet_machine")
    return Needs(**{name: any(getattr(need, name) for need in needs) for name in together})


def process_settings(settings: Settings) -> Settings:
    """Returns the settings of the process that measures cases of these: those of a call are at
    their defaults, but for the profiler of an instrument that runs workers in another program."""
    found = {name: getattr(settings, name) for name in OF_PROCESSES}
    for instrument in instruments_of(settings):
        if instrument.has_launcher:
            found["profiler"] = settings.profiler
        if found["threads"] is None:
            found["threads"] = instrument.needs.threads
    return Settings(**found)


def launcher_of(framework: str, settings: Settings) -> Launcher | None:
    """Returns what runs the worker of these settings in another program; None for nothing. Raises
    `UsageError` for two."""
    found = [
        (instrument.name, launcher)
        for instrument in instruments_of(settings)
        if (launcher := instrument.launcher(framework, settings)) is not None
    ]
    if len(found) > 1:
        raise UsageError(
            f"the instruments {' and '.join(name for name, _ in found)} each run workers in another"
            " program, and only one can: remove the package of the other"
        )
    return found[0][1] if found else None


def check_instruments(settings: Sequence[Settings]) -> None:
    """Raises `UsageError` if this machine lacks what the instruments of cases need, or if they do
    not use a setting."""
    chosen = [(given, instruments_of(given)) for given in settings]
    for instrument in instruments():
        measured = [given for given, found in chosen if instrument in found]
        instrument.check(measured, [given for given, found in chosen if instrument not in found])


@functools.cache
def metrics_by_name() -> dict[str, Metric]:
    """Returns every metric by its name, opperf's first. Raises as `instruments` does."""
    added = instruments()[len(BUILT_IN) :]
    every = (*_metrics_of(BUILT_IN), *OF_NO_CASE, *_metrics_of(added))
    return {metric.name: metric for metric in every}


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
        for instrument in instruments()
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
