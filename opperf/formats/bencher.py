"""Bencher's metric format, version 0 (`bencher run --adapter json`): an object of measures for each
benchmark, and nothing of the run. A measure has a `value` and, if there is an interval,
`lower_value` and `upper_value`; units are set in Bencher itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from opperf.formats.documents import TIME, as_form, is_rate, parse, read_bytes
from opperf.formats.exporting import Export, Written
from opperf.formats.figures import (
    Benchmark,
    ForeignFile,
    Given,
    Intake,
    Machine,
    figure,
    number_of,
    number_or_null,
)
from opperf.formats.model import Entry, Point
from opperf.instruments.times import BACKWARD, FORWARD
from opperf.metrics import metrics_by_name
from opperf.model import Struct

UNITS = {"latency": TIME, "build-time": "s", "file-size": "bytes"}
"""Of measures that every project of Bencher has; those of others are set in Bencher itself."""

MEASURES = {"time": "latency", FORWARD.name: "latency", BACKWARD.name: "backward-latency"}
"""Metrics whose measure has another name. Every project of Bencher has `latency`, in nanoseconds;
the other measures are created by their first use, in the metric's unit."""

OWN = {measure: name for name, measure in MEASURES.items()}
"""Metrics of opperf by their measures."""


class Measure(Struct, frozen=True):
    """A figure with its bounds."""

    value: float | None
    lower_value: float | None = None
    upper_value: float | None = None


def recognise_value(value: Any) -> bool:
    """Whether a file's content is of that form."""
    return (
        isinstance(value, dict)
        and bool(value)
        and all(
            isinstance(measures, dict)
            and bool(measures)
            and all(isinstance(found, dict) and "value" in found for found in measures.values())
            for measures in value.values()
        )
    )


def read(path: Path, given: Given) -> Intake:
    """Returns the run of a file, at the commit that the user states. Raises `RunFileError`."""
    value = parse(read_bytes(path), path)
    benchmarks = {
        name: {
            measure: as_form(one, Measure, path, f"{name}.{measure}")
            for measure, one in as_form(measures, dict[str, Any], path, name).items()
        }
        for name, measures in as_form(value, dict[str, Any], path).items()
    }
    file = ForeignFile("bencher", path, given, [])
    return file.single_run(value, lambda machine: _entries(benchmarks, machine))


def _entries(benchmarks: Mapping[str, Mapping[str, Measure]], machine: Machine) -> Iterator[Entry]:
    known = metrics_by_name()
    for name, measures in benchmarks.items():
        for measure, one in measures.items():
            metric = known.get(OWN.get(measure, measure))
            unit = metric.unit if metric else UNITS.get(measure, "")
            smaller = metric.lower_is_better if metric else not is_rate(measure)
            value, low, high = map(number_of, (one.value, one.lower_value, one.upper_value))
            point = Point(n=1, median=value, low=low, high=high)
            yield figure(Benchmark(name), measure, unit, machine, point, smaller)


LOST = (
    *("earlier runs", "time of the commit", "author", "subject", "branch", "start", "command"),
    *("labels", "machine", "failures", "metrics", "category", "tolerances", "numbers of samples"),
    *("quartiles", "samples"),
)
"""Facts that are not read again of what was written: the format has no place for them."""


def write(export: Export) -> Written:
    """Returns the medians of the latest run."""
    found: dict[str, dict[str, Any]] = {}
    for entry in export.latest().figures:
        point = entry.point
        bounds = {"lower_value": point.low, "upper_value": point.high}
        known = {key: at for key, at in bounds.items() if number_or_null(at) is not None}
        measure = MEASURES.get(entry.key.metric, entry.key.metric)
        name = str(export.names[entry.key.case])
        found.setdefault(name, {})[measure] = {"value": point.median, **known}
    return Written(found, export.left_out_of_latest())
