"""Shares of a session's time by activity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opperf.comparison.ab.session import Process
from opperf.instruments.compilation import FIRST_CALL
from opperf.model import Record
from opperf.results.text import duration

NS_PER_S = 1e9

STARTS = "starting processes and importing"
SAMPLES, WARMUP, COMPILATION, REST = (
    "samples",
    "warmup",
    "compilation",
    "inputs, first use and the rest",
)
"""Parts of the time of a process; the first is what none of its cases took."""


def parts_of(records: Iterable[Record]) -> dict[str, float]:
    """Returns the seconds that cases took, by part."""
    found = dict.fromkeys((SAMPLES, WARMUP, COMPILATION, REST), 0.0)
    for record in records:
        sampled_s = sum(waits.wall_s for waits in record.waits.values())
        first = record.summaries.get(FIRST_CALL.name)
        compiled_s = min(first.median / NS_PER_S if first else 0.0, record.busy_s)
        found[SAMPLES] += sampled_s
        found[COMPILATION] += compiled_s
        found[WARMUP] += max(0.0, record.busy_s - sampled_s - compiled_s)
        found[REST] += max(0.0, record.wall_s - max(record.busy_s, sampled_s))
    return {part: seconds for part, seconds in found.items() if seconds}


def spent(processes: Sequence[Process]) -> str:
    """Returns what the time of all processes went to, in a sentence, the largest part first."""
    total_s = sum(process.line.wall_s for process in processes)
    found = parts_of(record for process in processes for record in process.records)
    found[STARTS] = max(0.0, total_s - sum(found.values()))
    parts = sorted(found.items(), key=lambda part: -part[1])
    shares = ", ".join(f"{part} {seconds / total_s:.0%}" for part, seconds in parts if total_s)
    return f"the processes took {duration(total_s)}: {shares}" if shares else ""
