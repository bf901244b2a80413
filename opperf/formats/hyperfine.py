"""hyperfine's results, the file of `--export-json`: an object for each command, with the times of
its runs in seconds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from opperf.formats.documents import as_form, known_unit, parse, read_bytes
from opperf.formats.exporting import Export, Written
from opperf.formats.figures import (
    Benchmark,
    ForeignFile,
    Given,
    Intake,
    Machine,
    figure,
    number_of,
    point_of_samples,
)
from opperf.formats.model import Entry, Point
from opperf.model import Struct


class Result(Struct, frozen=True):
    """The times of a command; `user` and `system` are means of processor time."""

    command: str
    mean: float | None
    median: float | None = None
    user: float | None = None
    system: float | None = None
    times: list[float | None] | None = None
    parameters: dict[str, str] = {}


def recognise_value(value: Any) -> bool:
    """Whether a file's content is of hyperfine."""
    results = value.get("results") if isinstance(value, dict) else None
    return isinstance(results, list) and all(
        isinstance(result, dict) and {"command", "mean"} <= set(result) for result in results
    )


def read(path: Path, given: Given) -> Intake:
    """Returns the run of a file, at the commit that the user states. Raises `RunFileError`."""
    value = parse(read_bytes(path), path)
    listed = as_form(value, dict[str, Any], path).get("results")
    results = as_form(listed, list[Result], path, "results")
    file = ForeignFile("hyperfine", path, given, [])
    return file.single_run(value, lambda machine: _entries(results, machine))


def _entries(results: Iterable[Result], machine: Machine) -> Iterator[Entry]:
    for result in results:
        benchmark = Benchmark(result.command, result.parameters)
        single = result.mean if result.median is None else result.median
        point = Point(n=1, median=number_of(single))
        if result.times:
            point = point_of_samples(result.times)
        yield figure(benchmark, "time", "seconds", machine, point)
        for metric, value in (("user", result.user), ("system", result.system)):
            # Zero is less than a tick of the system's clock.
            if value:
                yield figure(benchmark, metric, "seconds", machine, Point(n=1, median=value))


LOST = (
    *("earlier runs", "time of the commit", "author", "subject", "branch", "start", "command"),
    *("labels", "machine", "failures", "other figures", "category", "tolerances"),
)
"""Facts that are not read again of what was written: the format has no place for them."""


def write(export: Export) -> Written:
    """Returns the times of the latest run that have samples, each as a command."""
    kept, warnings = export.sampled_times()
    return Written({"results": [_result(entry, export) for entry in kept]}, warnings)


def _result(entry: Entry, export: Export) -> dict[str, Any]:
    times = [sample / known_unit("seconds").size for sample in entry.point.samples]
    return {
        "command": str(export.names[entry.key.case].of_metric(entry.key.metric)),
        "mean": statistics.fmean(times),
        "stddev": statistics.stdev(times) if len(times) > 1 else None,
        "median": statistics.median(times),
        "user": None,
        "system": None,
        "min": min(times),
        "max": max(times),
        "times": times,
        "exit_codes": [0] * len(times),
    }
