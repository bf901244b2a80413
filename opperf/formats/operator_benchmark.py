"""Results of PyTorch's own operator benchmark, `--output-json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from opperf.formats.documents import MEMORY, TIME, Known, as_form, known_unit, parse, read_bytes
from opperf.formats.exporting import Export, Written
from opperf.formats.figures import Benchmark, ForeignFile, Given, Intake, Machine, figure, number_of
from opperf.formats.model import Entry, Point
from opperf.model import Struct
from opperf.plurals import pluralize


class Test(Struct, frozen=True, rename={"memory": "peak memory", "bandwidth": "memory bandwidth"}):
    """A test: its name, what it ran on, and its figures."""

    test_name: str
    latency: float | None
    input_config: str = ""
    mode: str = "Eager"
    run: str = "Forward"
    memory: float | None = None
    bandwidth: float | None = None
    latency_unit: str = msgspec.field(default="us", name="latency unit")
    memory_unit: str = msgspec.field(default="KB", name="memory unit")
    bandwidth_unit: str = msgspec.field(default="GB/s", name="memory bandwidth unit")


class Figure(NamedTuple):
    """A figure of a test."""

    metric: str
    value: float | None
    unit: Known
    lower_is_better: bool = True


KB = Known(MEMORY, 1024.0)
"""Its `KB`, of what the system and the allocators say in bytes."""


def recognise_value(value: Any) -> bool:
    """Whether a file's content is a list of tests."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(test, dict) and {"test_name", "latency"} <= set(test) for test in value)
    )


def read(path: Path, given: Given) -> Intake:
    """Returns the run of a file, at the commit that the user states. Raises `RunFileError`."""
    value = parse(read_bytes(path), path)
    tests = as_form(value, list[Test], path)
    file = ForeignFile("operator_benchmark", path, given, [])
    return file.single_run(value, lambda machine: _entries(tests, machine, path))


def _entries(tests: Iterable[Test], machine: Machine, path: Path) -> Iterator[Entry]:
    for test in tests:
        benchmark = Benchmark(
            test.test_name,
            {"inputs": test.input_config, "mode": test.mode},
            shown=test.input_config,
            framework="torch",
        )
        run = test.run.lower()
        memory = KB if test.memory_unit == "KB" else known_unit(test.memory_unit)
        for found in (
            Figure(run, number_of(test.latency), known_unit(test.latency_unit)),
            Figure(f"{run}_memory", test.memory, memory),
            Figure(f"{run}_bandwidth", test.bandwidth, known_unit(test.bandwidth_unit), False),
        ):
            # Zero is what it has for a peak or a bandwidth that it did not measure.
            if found.value or (found.metric == run and found.value is not None):
                point = Point(n=1, median=found.value)
                yield figure(
                    benchmark, found.metric, found.unit, machine, point, found.lower_is_better
                )


RUNS = {"forward": "Forward", "backward": "Backward"}
"""Its words for passes, by the metric with the time."""


LOST = (
    *("earlier runs", "time of the commit", "author", "subject", "branch", "start", "command"),
    *("labels", "machine", "failures", "other figures", "category", "tolerances"),
    *("numbers of samples", "intervals", "quartiles", "samples"),
)
"""Facts that are not read again of what was written: the format has no place for them."""


def write(export: Export) -> Written:
    """Returns the times of passes of the latest run, with memory and bandwidth."""
    figures = export.latest().figures
    by_case: dict[str, dict[str, Entry]] = {}
    for entry in figures:
        by_case.setdefault(entry.key.case, {})[entry.key.metric] = entry
    tests: list[dict[str, Any]] = []
    written = 0
    for case, metrics in by_case.items():
        for metric, word in RUNS.items():
            time = metrics.get(metric)
            if time is None or time.facts.unit != TIME:
                continue
            name = export.names[case]
            test = {
                "test_name": name.called,
                "input_config": name.parameters,
                "mode": "Eager",
                "run": word,
                "latency": time.point.median / known_unit("us").size,
                "latency unit": "us",
            }
            written += 1
            memory = metrics.get(f"{metric}_memory") or metrics.get(
                "memory" if metric == "forward" else ""
            )
            if memory is not None and memory.facts.unit == MEMORY:
                test |= {"peak memory": memory.point.median / KB.size, "memory unit": "KB"}
                written += 1
            bandwidth = metrics.get(f"{metric}_bandwidth")
            if bandwidth is not None:
                test["memory bandwidth"] = bandwidth.point.median
                test["memory bandwidth unit"] = bandwidth.facts.unit
                written += 1
            tests.append(test)
    left = len(figures) - written
    of_no_pass = [f"excluded: {pluralize(left, 'figure')} of no pass"] if left else []
    return Written(tests, [*export.left_out_of_latest(), *of_no_pass])
