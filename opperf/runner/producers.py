"""Values of the metrics of other packages: what produces them, and when.

A package declares a metric in the group `opperf.metrics`, and what produces its values, under the
metric's name, in the group `opperf.producers`: a function of the prepared case and its record. The
worker calls it once for each case that ended ok, after everything was measured; it may call the
case again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import msgspec

from opperf.declared import declared, load_declared
from opperf.errors import UnsupportedError, UsageError, one_line, unknown
from opperf.metrics import BUILT_IN, metrics_by_name
from opperf.model import Metric, Note, NoteCode, Record
from opperf.profilers.summary import summarise
from opperf.runner.prepared import PreparedCase

GROUP = "opperf.producers"

Producer = Callable[[PreparedCase, Record], "float | Sequence[float] | None"]
"""Returns a case's value of a metric, or its samples, in the metric's unit; None or nothing where
it has none."""


@functools.cache
def producers() -> tuple[tuple[Metric, Producer], ...]:
    """Returns every metric that another package produces, and what produces it.

    Raises `UsageError` for a producer that cannot be loaded, is not callable, or is of a metric
    that no package declares or that opperf itself measures.
    """
    found = []
    for entry in declared(GROUP):
        metric = metrics_by_name().get(entry.name)
        place = f"the producer {entry.value}, an entry point of the group {GROUP},"
        if metric is None:
            error = unknown("metric", entry.name, metrics_by_name())
            raise UsageError(f"{place} is of an {error}")
        if metric in BUILT_IN:
            raise UsageError(
                f"{place} is of {entry.name}, which opperf measures; rename its metric"
            )
        producer = load_declared(entry)
        if not callable(producer):
            raise UsageError(f"{place} is not a function; fix its package, or remove it")
        found.append((metric, producer))
    return tuple(found)


def with_produced(prepared: PreparedCase, record: Record) -> Record:
    """Returns the record with the metrics of other packages. One whose producer fails has a note in
    place of a value."""
    for metric, producer in producers():
        try:
            samples = _samples(producer(prepared, record))
        except UnsupportedError as error:
            record = _with_note(record, metric, str(error))
            continue
        except Exception as error:
            record = _with_note(record, metric, f"{type(error).__name__}: {error}")
            continue
        if samples:
            record = msgspec.structs.replace(
                record,
                summaries={**record.summaries, metric.name: summarise(samples, metric.unit)},
                samples={**record.samples, metric.name: samples},
            )
    return record


def _samples(made: float | Sequence[float] | None) -> list[float]:
    """Returns what a producer returned as a list. Raises `ValueError` for what is no number."""
    if made is None:
        return []
    samples = [float(made)] if isinstance(made, (int, float)) else [float(one) for one in made]
    if not all(map(math.isfinite, samples)):
        raise ValueError("not all of its values are finite numbers")
    return samples


def _with_note(record: Record, metric: Metric, reason: str) -> Record:
    note = Note(metric.name, NoteCode.NOT_PRODUCED, one_line(reason))
    return msgspec.structs.replace(record, notes=(*record.notes, note))
