"""A history as the data of pages that show many commits: github-action-benchmark's, and the records
of PyTorch's dashboard."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from opperf.formats.model import OK, Entry
from opperf.history.export.collecting import Exported, ExportedRun, Files
from opperf.history.model import number_or_null
from opperf.history.verdicts import SessionVerdict
from opperf.plurals import pluralize
from opperf.reports.formats import json_of
from opperf.results.units import unit_of

TOOLS = {True: "customSmallerIsBetter", False: "customBiggerIsBetter"}
"""Of github-action-benchmark, by whether lower is better."""


def iso_time(seconds: float) -> str:
    """Returns a time as ISO 8601; empty if it is unknown."""
    if math.isnan(seconds):
        return ""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()


def excluded(count: int) -> tuple[str, ...]:
    """Returns a sentence on outcomes for which a form has no place."""
    return (f"excluded: {pluralize(count, 'outcome')} without a figure",) if count else ()


def write_github(exported: Exported) -> Files:
    """Returns `data.js`: a group for each machine, and for each direction of what is better."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for run in exported.runs:
        own: dict[tuple[str, bool], list[Entry]] = {}
        for entry in run.figures:
            own.setdefault((entry.key.environment, entry.facts.lower_is_better), []).append(entry)
        for (environment, is_lower), entries in own.items():
            group = _group(exported, environment, is_lower)
            groups.setdefault(group, []).append(_commit_data(run, entries, is_lower, exported))
    last = exported.runs[-1].stored
    data = {"lastUpdate": round(last.started * 1e3), "repoUrl": "", "entries": groups}
    text = f"window.BENCHMARK_DATA = {json_of(data)}"
    left = sum(len(run.outcomes) for run in exported.runs)
    return Files({"": text.encode()}, (*excluded(left), *exported.excluded_verdicts(True)))


def _group(exported: Exported, environment: str, is_lower: bool) -> str:
    host = exported.host(environment)
    place = f"{host} {environment}" if host else environment
    return f"{exported.project.name} on {place}{'' if is_lower else ', larger is better'}"


def _commit_data(
    run: ExportedRun, entries: list[Entry], is_lower: bool, exported: Exported
) -> dict[str, Any]:
    commit = run.stored.commit
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
        "date": round(run.stored.started * 1e3),
        "tool": TOOLS[is_lower],
        "benches": [_bench(entry, run, exported) for entry in entries],
    }


def _bench(entry: Entry, run: ExportedRun, exported: Exported) -> dict[str, Any]:
    point = entry.point
    unit = unit_of(entry.facts.unit)
    bench = {
        "name": f"{exported.names[entry.key.case]} {entry.key.metric}",
        "value": point.median / unit.size,
        "unit": unit.name,
    }
    width = max(point.high - point.median, point.median - point.low)
    if math.isfinite(width):
        bench["range"] = f"± {width / unit.size}"
    said = [verdict.sentence for verdict in exported.verdicts_at(run, entry)]
    lines = [f"median of {pluralize(point.n, 'sample')}", f"case {entry.key.case}", *said]
    return {**bench, "extra": "\n".join(lines)}


def write_pytorch(exported: Exported) -> Files:
    """Returns the records of all figures and outcomes."""
    records = [_record(entry, run, exported) for run in exported.runs for entry in run.entries]
    return Files({"": json_of(records).encode()}, exported.excluded_verdicts(True))


def _record(entry: Entry, run: ExportedRun, exported: Exported) -> dict[str, Any]:
    stored, facts, name = run.stored, entry.facts, exported.names[entry.key.case]
    return {
        "timestamp": round(stored.started),
        "schema_version": "v3",
        "name": stored.identity,
        "repo": exported.project.name,
        "head_branch": stored.branch,
        "head_sha": stored.commit.sha,
        "runners": [_runner(exported.environments[entry.key.environment].facts)],
        "benchmark": {
            "name": exported.project.name,
            "mode": "",
            "dtype": "",
            "extra_info": {"inputs": name.parameters} if name.parameters else {},
        },
        "model": {"name": name.called, "type": facts.category, "origins": [stored.source]},
        "metric": _metric(entry, exported.verdicts_at(run, entry)),
    }


def _metric(entry: Entry, verdicts: Sequence[SessionVerdict]) -> dict[str, Any]:
    point = entry.point
    if point.status != OK:
        reason = f"{point.status}: {point.reason}"
        name = entry.key.metric or "status"
        return {"name": name, "benchmark_values": [], "extra_info": {"failure": reason}}
    extra: dict[str, Any] = {
        "unit": entry.facts.unit,
        "lower_is_better": entry.facts.lower_is_better,
        "n": point.n,
        "low": number_or_null(point.low),
        "high": number_or_null(point.high),
    }
    if verdicts:
        extra["verdicts"] = [
            {
                "verdict": verdict.verdict.value,
                "ratio": number_or_null(verdict.ratio),
                "low": number_or_null(verdict.low),
                "high": number_or_null(verdict.high),
                "against": verdict.a.sha,
                "session": verdict.session,
            }
            for verdict in verdicts
        ]
    return {
        "name": entry.key.metric,
        "benchmark_values": [*point.samples] or [point.median],
        "target_value": None,
        "extra_info": extra,
    }


def _runner(facts: Mapping[str, Any]) -> dict[str, Any]:
    gpus = [str(gpu.get("model", "")) for gpu in facts.get("gpus") or ()]
    return {
        "name": str(facts.get("hostname") or facts.get("machine") or ""),
        "type": "",
        "cpu_info": str(facts.get("cpu", "")),
        "cpu_count": _count(facts.get("cores")),
        "gpu_info": gpus[0] if gpus else "",
        "gpu_count": len(gpus),
    }


def _count(cores: Any) -> int:
    text = str(cores)
    return int(text) if text.isdecimal() else 0
