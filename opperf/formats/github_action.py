"""Data of github-action-benchmark: `data.js` of its pages, its JSON, or the list of figures that
tools hand it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from opperf.formats.documents import (
    as_form,
    is_rate,
    label,
    parse,
    read_bytes,
    read_seconds,
    read_sha,
)
from opperf.formats.exporting import Export, Written, export_of, iso_time
from opperf.formats.figures import Benchmark, ForeignFile, Given, Intake, Machine, figure, number_of
from opperf.formats.model import Entry, Point, Submission
from opperf.model import Run, Struct
from opperf.plurals import pluralize
from opperf.repository import Commit
from opperf.results.units import unit_of

SOURCE = "github-action-benchmark"

ASSIGNED = re.compile(rb"\s*window\.BENCHMARK_DATA\s*=\s*")

LARGER_IS_BETTER = frozenset({"benchmarkjs", "pytest", "customBiggerIsBetter"})
"""Tools whose figures are rates."""

OWN_EXTRA = re.compile(r"median of (\d{1,9}) samples?\b")
"""The words of opperf's exports on a figure, whose range is then the half-width of an interval."""

OWN_RANGE = re.compile(r"±\s*(\d[\d.]*(?:e[-+]?\d+)?)", re.IGNORECASE)


class Person(Struct, frozen=True):
    """An author of a commit."""

    name: str | None = None
    username: str | None = None


class CommitFacts(Struct, frozen=True):
    """The commit of a run."""

    id: str
    message: str = ""
    timestamp: str | None = None
    author: Person | None = None


class Bench(Struct, frozen=True):
    """A figure."""

    name: str
    value: float | None
    unit: str = ""
    range: str | None = None
    extra: str | None = None


class CommitRun(Struct, frozen=True):
    """The figures of a commit."""

    commit: CommitFacts
    date: float
    benches: list[Bench]
    tool: str = ""


def recognise_text(text: bytes) -> bool:
    """Whether a file's content is a page's script."""
    return ASSIGNED.match(text) is not None


def recognise_value(value: Any) -> bool:
    """Whether a file's content is the data of a page, or a list of figures."""
    if isinstance(value, list):
        return bool(value) and all(
            isinstance(bench, dict) and {"name", "unit", "value"} <= set(bench) for bench in value
        )
    return isinstance(value, dict) and isinstance(value.get("entries"), dict)


def read(path: Path, given: Given) -> Intake:
    """Returns the runs of a file. Raises `RunFileError`."""
    text = read_bytes(path)
    assigned = ASSIGNED.match(text)
    if assigned:
        text = text[assigned.end() :].rstrip().removesuffix(b";")
    value = parse(text, path)
    file = ForeignFile(SOURCE, path, given, [])
    if isinstance(value, list):
        benches = as_form(value, list[Bench], path)
        return file.single_run(value, lambda machine: _entries(benches, "", machine))
    groups = as_form(value, dict[str, Any], path).get("entries")
    submissions = []
    for group, listed in as_form(groups, dict[str, Any], path, "entries").items():
        runs = as_form(listed, list[CommitRun], path, f"entries.{group}")
        # A group is of one job of a CI, and so of one kind of machine, as far as that is known.
        machine = file.machine({"machine": given.machine or group})
        for number, run in enumerate(runs):
            at = f"entries.{group}[{number}]"
            identity = [group, run.commit.id, run.date]
            commit = _commit(run.commit, path, at)
            when = read_seconds(run.date, path, f"{at}.date", 1e-3)
            entries = _entries(run.benches, run.tool, machine)
            submissions.append(file.run(identity, commit, when, entries, [machine]))
    if not given.machine:
        file.warnings.append(
            f"{path}: it says on no machine where it was measured; each of its groups is taken for "
            "one"
        )
    return file.intake(submissions)


def _commit(facts: CommitFacts, path: Path, at: str) -> Commit:
    author = facts.author or Person()
    return Commit(
        read_sha(facts.id, path, f"{at}.commit.id"),
        time=read_seconds(facts.timestamp, path, f"{at}.commit.timestamp"),
        author=label(author.name or author.username or ""),
        subject=label(facts.message.partition("\n")[0]),
    )


def _entries(benches: Iterable[Bench], tool: str, machine: Machine) -> Iterator[Entry]:
    for bench in benches:
        larger = tool in LARGER_IS_BETTER or is_rate(bench.unit)
        yield figure(Benchmark(bench.name), "value", bench.unit, machine, _point(bench), not larger)


def _point(bench: Bench) -> Point:
    """Returns the point of a figure: of others than opperf's, it is not said what the range is."""
    said = OWN_EXTRA.match(bench.extra or "")
    reach = OWN_RANGE.match(bench.range or "")
    value = number_of(bench.value)
    if not said:
        return Point(n=1, median=value)
    width = float(reach[1]) if reach else math.nan
    return Point(n=int(said[1]), median=value, low=value - width, high=value + width)


TOOLS = {True: "customSmallerIsBetter", False: "customBiggerIsBetter"}
"""By whether lower is better."""


LOST = (
    *("branch", "command", "labels", "machine", "failures", "category", "tolerances"),
    *("shorter halves of intervals", "quartiles", "samples"),
)
"""Facts that are not read again of what was written: the format has no place for them."""


def write(export: Export) -> Written:
    """Returns `data.js`: a group for each machine, and for each direction of what is better."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for run in export.runs:
        own: dict[tuple[str, bool], list[Entry]] = {}
        for entry in run.figures:
            own.setdefault((entry.key.environment, entry.facts.lower_is_better), []).append(entry)
        for (environment, is_lower), entries in own.items():
            host = str(run.environments.get(environment, {}).get("hostname") or "")
            place = f"{host} {environment}".strip()
            group = f"{export.project} on {place}{'' if is_lower else ', larger is better'}"
            groups.setdefault(group, []).append(_commit_data(run, entries, is_lower, export))
    data = {"lastUpdate": round(export.runs[-1].started * 1e3), "repoUrl": "", "entries": groups}
    text = f"window.BENCHMARK_DATA = {json.dumps(data, indent=2, ensure_ascii=False)}\n"
    return Written(text, export.left_out(*export.runs, has_remarks=True))


def write_run(run: Run) -> Written:
    """Returns the figures of a run for which smaller is better, as `customSmallerIsBetter` takes
    them. Raises `RunFileError` without one."""
    export = export_of(run)
    last = export.latest()
    figures = last.figures
    larger = sum(not entry.facts.lower_is_better for entry in figures)
    warnings = export.left_out_of_latest()
    if larger:
        warnings.append(f"excluded: {pluralize(larger, 'figure')} for which larger is better")
    listed = [entry for entry in figures if entry.facts.lower_is_better]
    return Written([_bench(entry, last, export) for entry in listed], warnings)


def _commit_data(
    run: Submission, entries: Iterable[Entry], is_lower: bool, export: Export
) -> dict[str, Any]:
    commit = run.commit
    person = {"name": commit.author, "username": commit.author, "email": ""}
    return {
        "commit": {
            "author": person,
            "committer": person,
            "id": commit.sha,
            "message": commit.subject,
            "timestamp": iso_time(commit.time),
            "url": "",
        },
        "date": round(run.started * 1e3),
        "tool": TOOLS[is_lower],
        "benches": [_bench(entry, run, export) for entry in entries],
    }


def _bench(entry: Entry, run: Submission, export: Export) -> dict[str, Any]:
    point = entry.point
    unit = unit_of(entry.facts.unit)
    said = [remark.sentence for remark in export.remarks.get((run.id, entry.key), ())]
    lines = [f"median of {pluralize(point.n, 'sample')}", f"case {entry.key.case}", *said]
    width = max(point.high - point.median, point.median - point.low)
    return {
        "name": f"{export.names[entry.key.case]} {entry.key.metric}",
        "unit": unit.name,
        "value": point.median / unit.size,
        **({"range": f"± {width / unit.size}"} if math.isfinite(width) else {}),
        "extra": "\n".join(lines),
    }
