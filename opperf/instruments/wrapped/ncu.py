"""NVIDIA Nsight Compute: figures of the kernels of each profiled call.

Only kernels inside the range `opperf` are profiled, of both kinds of NVTX ranges, as a framework
may launch kernels from threads of its own: `--nvtx-include` takes one that the calling thread
pushed with a slash behind its name, and one of the whole process without.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from opperf.errors import UsageError
from opperf.frameworks.capabilities import DOMAIN
from opperf.instruments.instrument import SUFFIXES
from opperf.instruments.wrapped.program import (
    NAME,
    RANGE,
    CallsMade,
    Findings,
    ProcessFiles,
    WrappingProgram,
    is_given,
    read_text,
    wrapped_metric,
)
from opperf.model import Metric, MetricKind, Note, NoteCode, Pass, Wrapper

Values = list[tuple[float, float]]
"""Values of a call's kernels, each with the kernel's time as its weight."""


def total(values: Values) -> float:
    """Returns the sum of the values."""
    return sum(value for value, _ in values)


def mean(values: Values) -> float:
    """Returns the mean of the values by weight; the plain one where nothing has a weight."""
    weight = sum(weight for _, weight in values)
    if not weight:
        return total(values) / len(values)
    return sum(value * weight for value, weight in values) / weight


def largest(values: Values) -> float:
    """Returns the largest value."""
    return max(value for value, _ in values)


class Column(NamedTuple):
    """A metric of ncu's, and opperf's for a call with all of its kernels."""

    source: str
    metrics: tuple[Metric, Metric]
    """Of the forward and the backward pass."""
    combine: Callable[[Values], float]


TIME = "gpu__time_duration.sum"
"""The weight of a kernel beside the others of its call."""


def _column(
    source: str, combine: Callable[[Values], float], name: str, unit: str, text: str, **more: Any
) -> Column:
    return Column(source, wrapped_metric(f"ncu_{name}", unit, text, **more), combine)


COLUMNS = (
    _column(TIME, total, "time", "ns", "time of the kernels, at ncu's own clocks,", usual=True),
    _column(
        "sm__throughput.avg.pct_of_peak_sustained_elapsed",
        mean,
        "compute",
        "%",
        "throughput of the GPU's processors, as a share of the largest possible",
        lower_is_better=False,
        usual=True,
    ),
    _column(
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
        mean,
        "memory",
        "%",
        "throughput of the GPU's caches and memory, as a share of the largest possible",
        lower_is_better=False,
        usual=True,
    ),
    _column(
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        mean,
        "occupancy",
        "%",
        "active warps, as a share of those that a processor can hold",
        lower_is_better=False,
    ),
    _column("dram__bytes_read.sum", total, "read", "B", "bytes read from the GPU's memory"),
    _column("dram__bytes_write.sum", total, "written", "B", "bytes written to the GPU's memory"),
    _column(
        "lts__t_sector_hit_rate.pct",
        mean,
        "l2_hits",
        "%",
        "share of accesses to the L2 cache that find their data there",
        title="ncu L2 hits",
        lower_is_better=False,
    ),
    _column(
        "l1tex__t_sector_hit_rate.pct",
        mean,
        "l1_hits",
        "%",
        "share of accesses to the L1 cache that find their data there",
        title="ncu L1 hits",
        lower_is_better=False,
    ),
    _column(
        "smsp__inst_executed.sum",
        total,
        "instructions",
        "instructions",
        "instructions that warps executed",
        kind=MetricKind.COUNT,
        relative_tolerance=0.01,
    ),
    _column(
        "launch__registers_per_thread",
        largest,
        "registers",
        "registers",
        "registers of a thread, of the kernel that has most",
        kind=MetricKind.COUNT,
    ),
)
"""Metrics that are asked for, and that every GPU from Volta on has. The tolerance of instructions:
loops that wait for other blocks repeat by chance."""

OWN = "ncu."
"""Before the names of other metrics, in lower case."""

KERNELS = wrapped_metric(
    "ncu_kernels", "kernels", "kernels of a call", MetricKind.COUNT, usual=True
)

BY_SOURCE = {column.source: column for column in COLUMNS}

ENDINGS: dict[str, Callable[[Values], float]] = {".sum": total, ".max": largest}
"""How values of kernels are combined, by a metric's ending; others are weighted means."""

UNITS = {
    "nsecond": ("ns", 1.0),
    "usecond": ("ns", 1e3),
    "msecond": ("ns", 1e6),
    "second": ("ns", 1e9),
    "us": ("ns", 1e3),
    "ms": ("ns", 1e6),
    "s": ("ns", 1e9),
    "byte": ("B", 1.0),
    "Kbyte": ("B", 1e3),
    "Mbyte": ("B", 1e6),
    "Gbyte": ("B", 1e9),
    "inst": ("instructions", 1.0),
    "register/thread": ("registers", 1.0),
}
"""opperf's unit of each of ncu's, and the factor: ncu scales by powers of 1000 where its user's
configuration asks for that. Other units are kept."""

CHOOSING = ("--metrics", "--set", "--section")
"""Options that choose what ncu measures: with one of the user's, opperf asks for nothing more."""

NOT_METRICS = ("device__attribute_", "launch__", "profiler__", "smsp__pcsamp_")
"""Beginnings of columns that ncu adds by itself: facts of the device and the launch, and tables of
samples; those of `COLUMNS` are read nevertheless."""


class Ncu(WrappingProgram):
    """NVIDIA Nsight Compute's `ncu`."""

    name = "ncu"
    metrics = (*(metric for column in COLUMNS for metric in column.metrics), *KERNELS)
    needs_ranges = True
    # Each kernel is repeated once for each group of counters, some 50 of them in the largest set,
    # and its memory is restored before each.
    slowdown = 100.0

    def check(self, wrapper: Wrapper, devices: Iterable[str]) -> None:
        others = [device for device in devices if not device.startswith("gpu")]
        if others:
            raise UsageError(
                f"--ncu: Nsight Compute profiles kernels of a GPU, and these cases run on "
                f"{others[0]}; add --ctx gpu"
            )

    def command(self, wrapper: Wrapper, files: ProcessFiles) -> list[str]:
        program, *own = wrapper.words
        asked = ["--metrics", ",".join(BY_SOURCE)] if not is_given(own, *CHOOSING) else []
        includes = [f"{domain}{RANGE}{end}" for domain in ("", f"{DOMAIN}@") for end in ("/", "")]
        return [
            program,
            *("--csv", "--page", "raw", "--print-units", "base"),
            *("--log-file", str(files.table)),
            *("--force-overwrite", "--export", str(files.report)),
            *("--target-processes", "all", "--nvtx"),
            *(word for include in includes for word in ("--nvtx-include", include)),
            *asked,
            *own,
        ]

    def read(
        self, files: ProcessFiles, made: CallsMade, empty: Mapping[str, float]
    ) -> dict[str, Findings]:
        text = read_text(files.table)
        reason = _error(text) or _error(read_text(files.log)) or "it launched no kernel"
        calls: dict[tuple[str, Pass], dict[int, list[Kernel]]] = {}
        for kernel in kernels(text):
            if (match := NAME.search(kernel.ranges)) is not None:
                key = match["id"], cast(Pass, match["name"])
                calls.setdefault(key, {}).setdefault(int(match["number"]), []).append(kernel)
        found = {}
        for case, passes in made.items():
            own = found[case] = Findings()
            for name in passes:
                numbered = calls.get((case, name), {})
                if not numbered:
                    text = f"ncu has no figures of the {name} pass: {reason}"
                    own.notes.append(Note("", NoteCode.NOT_PROFILED, text))
                for _, listed in sorted(numbered.items()):
                    _add(own, name, listed)
        return found


class Kernel(NamedTuple):
    """A line of ncu's table."""

    ranges: str
    """Ranges around its launch."""
    values: dict[str, tuple[float, str]]
    """By ncu's name of the metric, the value and the unit, which are opperf's."""


def kernels(text: str) -> Iterator[Kernel]:
    """Yields the kernels of ncu's CSV, whose first line has the names of the columns, and whose
    second line has their units. Lines before it are messages."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = csv.reader(lines)
    titles, units = next(rows, []), next(rows, [])
    for row in rows:
        if len(row) != len(titles):
            # The process was ended while the line was written.
            continue
        cells = dict(zip(titles, row, strict=True))
        ranges = " ".join(cell for title, cell in cells.items() if "Range" in title)
        values = {}
        for title, cell, unit in zip(titles, row, units, strict=True):
            if "__" in title and (title in BY_SOURCE or not title.startswith(NOT_METRICS)):
                own_unit, factor = UNITS.get(unit, (unit, 1.0))
                value = _number(cell)
                if value is not None:
                    values[title] = (factor * value, own_unit)
        yield Kernel(ranges, values)


def _number(cell: str) -> float | None:
    """Returns the number of a cell, with commas between thousands; None for any other."""
    try:
        value = float(cell.replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _add(findings: Findings, name: Pass, listed: Sequence[Kernel]) -> None:
    place = list(SUFFIXES).index(name)
    _keep(findings, KERNELS[place].name, len(listed), KERNELS[place].unit)
    sources = dict.fromkeys(source for kernel in listed for source in kernel.values)
    for source in sources:
        values = [
            (kernel.values[source][0], kernel.values.get(TIME, (0.0, ""))[0])
            for kernel in listed
            if source in kernel.values
        ]
        unit = next(kernel.values[source][1] for kernel in listed if source in kernel.values)
        column = BY_SOURCE.get(source)
        if column is not None:
            metric = column.metrics[place]
            _keep(findings, metric.name, column.combine(values), metric.unit)
            continue
        combine = next((ENDINGS[end] for end in ENDINGS if source.endswith(end)), mean)
        _keep(findings, f"{OWN}{source.lower()}{SUFFIXES[name]}", combine(values), unit)


def _keep(findings: Findings, name: str, value: float, unit: str) -> None:
    findings.samples.setdefault(name, []).append(value)
    findings.units[name] = unit


def _error(text: str) -> str:
    errors = [line for line in text.splitlines() if line.startswith("==ERROR==")]
    return errors[-1].removeprefix("==ERROR==").strip() if errors else ""
