"""Bencher's metric format: an object of measures for each benchmark, and nothing of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from opperf.formats.documents import TIME, as_form, is_rate, parse, read_bytes
from opperf.formats.figures import (
    Benchmark,
    Given,
    Intake,
    Machine,
    figure,
    number_of,
    submit_value,
)
from opperf.formats.model import Entry, Point
from opperf.metrics import metrics_by_name
from opperf.model import Struct
from opperf.results.exports import MEASURES

UNITS = {"latency": TIME, "build-time": "s", "file-size": "bytes"}
"""Of measures that every project of Bencher has; those of others are set in Bencher itself."""

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
    return submit_value(
        "bencher", value, path, given, lambda machine: _entries(benchmarks, machine)
    )


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
