"""Results as PyTorch's suite of instruction counts writes them: one JSON object, whose values are
the times and the counts of each benchmark, of all repeats.

A benchmark is one pass of one case: `mm[self: (2, 3), mat2: (3, 4); torch] forward`. Times are in
seconds; both are for a single call.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from opperf.formats.documents import read_form, read_seconds
from opperf.formats.figures import (
    Benchmark,
    ForeignFile,
    Given,
    Intake,
    Machine,
    figure,
    point_of_samples,
)
from opperf.formats.model import Entry
from opperf.instruments.instructions import CALLGRIND
from opperf.model import PASSES, Run, Status, Struct
from opperf.results.figures import case_name, distinct_names

VERSION = 0
"""The version of the suite with this layout."""

NS_PER_S = 1e9

COUNTS = dict(zip(PASSES, (metric.name for metric in CALLGRIND.metrics), strict=False))
"""The metric with the counts of each pass, whose times have its own name."""


def instruction_counts_text(run: Run, names: Sequence[str] = ()) -> str:
    """Returns the object of a run."""
    return json.dumps(instruction_counts(run), indent=2) + "\n"


def instruction_counts(run: Run) -> dict[str, Any]:
    """Returns the object of a run; `md5` is equal for runs of the same cases."""
    measured = [record for record in run.records if record.status is Status.OK]
    cases = " ".join(sorted(case.id for case in run.cases))
    names = distinct_names({record.id: case_name(record.case) for record in measured})
    return {
        "version": VERSION,
        "md5": hashlib.md5(cases.encode(), usedforsecurity=False).hexdigest(),
        "start_time": _seconds(run.header.started),
        "end_time": None if run.closing is None else _seconds(run.closing.finished),
        "values": {
            f"{names[record.id]} {label}": {
                "times": [time / NS_PER_S for time in _finite(record.samples.get(label))],
                "counts": _finite(record.samples.get(metric)),
            }
            for record in measured
            for label, metric in COUNTS.items()
            if label in record.samples or metric in record.samples
        },
    }


def _seconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp())


def _finite(samples: list[float] | None) -> list[float]:
    return [sample for sample in samples or () if math.isfinite(sample)]


class Measured(Struct, frozen=True):
    """The repeats of a benchmark."""

    times: list[float | None] = []
    counts: list[float | None] = []


class File(Struct, frozen=True):
    """A file."""

    values: dict[str, Measured]
    md5: str = ""
    start_time: float | None = None


def recognise_value(value: Any) -> bool:
    """Whether a file's content is of that suite."""
    return isinstance(value, dict) and {"version", "md5", "values"} <= set(value)


def read(path: Path, given: Given) -> Intake:
    """Returns the run of a file, at the commit that the user states. Raises `RunFileError`."""
    content = read_form(path, File)
    file = ForeignFile("instruction-counts", path, given, [])
    commit, machine = file.commit(), file.machine({})
    begun = read_seconds(content.start_time, path, "start_time")
    identity = [commit.sha, content.md5, content.start_time]
    entries = _entries(content.values, machine)
    return file.intake([file.run(identity, commit, begun, entries, [machine])])


def _entries(values: Mapping[str, Measured], machine: Machine) -> Iterator[Entry]:
    for name, measured in values.items():
        case, _, label = name.rpartition(" ")
        benchmark = Benchmark(case if label in COUNTS else name)
        time, counts = (label, COUNTS[label]) if label in COUNTS else ("time", COUNTS[PASSES[0]])
        if measured.times:
            point = point_of_samples(measured.times)
            yield figure(benchmark, time, "seconds", machine, point)
        if measured.counts:
            yield figure(benchmark, counts, "", machine, point_of_samples(measured.counts))


LOST = (
    *("commit", "branch", "end", "command", "labels", "environments", "failures"),
    *("other metrics", "settings", "category"),
)
"""Facts of a run that are not read again of what was written: the format has no place for them."""
