"""Trace events, as ui.perfetto.dev and chrome://tracing show them: a track for each environment
that measured, a slice for each case, and in it one for each sample of a time.

Cases follow each other as they were measured, and the samples of a case begin with it: when each
began is in no run file. Figures are arguments of their case's slice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from opperf.formats.documents import TIME, as_form, parse, read_bytes
from opperf.formats.exporting import Export, Written
from opperf.formats.figures import Benchmark, ForeignFile, Given, Intake, Machine, figure, number_of
from opperf.formats.model import Entry, Point
from opperf.model import Struct

CASE, SAMPLE = "opperf case", "opperf sample"
"""Categories of slices."""

NS_PER_US = 1e3


class Value(Struct, frozen=True):
    """A figure among the arguments of a case's slice."""

    median: float | None
    unit: str = ""
    n: int = 1
    low: float | None = None
    high: float | None = None
    lower_is_better: bool = True

    @classmethod
    def of(cls, entry: Entry) -> Value:
        """Returns a figure, whose NaN become null in JSON."""
        at, facts = entry.point, entry.facts
        return cls(at.median, facts.unit, at.n, at.low, at.high, facts.lower_is_better)


class Slice(Struct, frozen=True):
    """A slice; of a case its arguments are its figures by metric, of a sample its case's name."""

    name: str
    cat: str = ""
    dur: float = 0.0
    args: dict[str, Any] = {}


def recognise_value(value: Any) -> bool:
    """Whether a file's content is trace events that opperf wrote."""
    events = value.get("traceEvents") if isinstance(value, dict) else None
    return isinstance(events, list) and any(
        isinstance(event, dict) and event.get("cat") == CASE for event in events
    )


def read(path: Path, given: Given) -> Intake:
    """Returns the run of a file, at the commit that the user states. Raises `RunFileError`."""
    value = parse(read_bytes(path), path)
    listed = as_form(value, dict[str, Any], path).get("traceEvents")
    slices = as_form(listed, list[Slice], path, "traceEvents")
    file = ForeignFile("perfetto", path, given, [])
    return file.single_run(value, lambda machine: _entries(slices, machine, path))


def _entries(slices: Iterable[Slice], machine: Machine, path: Path) -> Iterator[Entry]:
    samples: dict[tuple[str, str], list[float]] = {}
    for event in slices:
        if event.cat == SAMPLE:
            samples.setdefault((str(event.args.get("case")), event.name), []).append(event.dur)
    for event in slices:
        figures = event.args if event.cat == CASE else {}
        for metric, found in as_form(figures, dict[str, Value], path, event.name).items():
            median, low, high = map(number_of, (found.median, found.low, found.high))
            kept = tuple(dur * NS_PER_US for dur in samples.get((event.name, metric), ()))
            point = Point(n=found.n, median=median, low=low, high=high, samples=kept)
            benchmark = Benchmark(event.name)
            yield figure(benchmark, metric, found.unit, machine, point, found.lower_is_better)


LOST = (
    *("earlier runs", "time of the commit", "author", "subject", "branch", "start", "command"),
    *("labels", "machine", "failures", "category", "tolerances", "quartiles"),
)
"""Facts that are not read again of what was written: the format has no place for them."""


def write(export: Export) -> Written:
    """Returns the events of the latest run."""
    run = export.latest()
    events: list[dict[str, Any]] = []
    by_case: dict[tuple[str, str], list[Entry]] = {}
    for entry in run.figures:
        by_case.setdefault((entry.key.environment, entry.key.case), []).append(entry)
    ends = dict.fromkeys((environment for environment, _ in by_case), 0.0)
    tracks = {environment: {"pid": number, "tid": 0} for number, environment in enumerate(ends, 1)}
    for environment, track in tracks.items():
        host = run.environments.get(environment, {}).get("hostname", "")
        named = {"name": f"{host} {environment}".strip()}
        events.append({"ph": "M", "name": "process_name", **track, "args": named})
    for (environment, id), entries in by_case.items():
        name, record, begin = str(export.names[id]), export.records.get(id), ends[environment]
        common, end = {"ph": "X", **tracks[environment]}, begin
        times = [entry for entry in entries if entry.facts.unit == TIME]
        for entry in times:
            for dur in (sample / NS_PER_US for sample in entry.point.samples):
                place = {"ts": end, "dur": dur, "args": {"case": name}}
                events.append({**common, "name": entry.key.metric, "cat": SAMPLE, **place})
                end += dur
        ends[environment] = end = max(end, begin + (record.wall_s * 1e6 if record else 0.0))
        place = {
            "ts": begin,
            "dur": end - begin,
            "args": {entry.key.metric: Value.of(entry) for entry in entries},
        }
        events.append({**common, "name": name, "cat": CASE, **place})
    return Written({"traceEvents": events}, export.left_out_of_latest())
