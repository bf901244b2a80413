"""What compiling JAX's cases ahead saves of a quick run with an empty cache, and what it changes.

Runs `opperf run --framework jax --quick` on some thirtieths of the registry, each with
`--compile-ahead` and with `--no-compile-ahead`, in random order and each time with an empty cache.
Prints

- wall time and processor time of both, and what their parts cost: lowering, compilation, calls of
  operators, the rest of the cases, and what is outside of cases;
- the ratios of the cases' times, ahead over not, with the 95 % confidence interval of the median:
  programs are the same, but read from the cache;
- counts that differ, such as memory and operations: none should.

Run: python -m benchmarks.cost.compile_ahead [PARTS]
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from tabulate import tabulate

from opperf.instruments.profilers.summary import median_interval
from opperf.model import Record
from opperf.results.runfile import read_run

PARTS, OF = 4, 30
"""Parts of the registry that are run, of so many: a hundred cases."""

AHEAD, ALONE = "--compile-ahead", "--no-compile-ahead"

TIMES = ("forward", "backward", "lowering", "compilation", "first_call")
COUNTS = ("memory", "memory_forward", "flops", "bytes_accessed", "compile_cache_misses")

NS_PER_S = 1e9

Records = Mapping[str, Record]


def run(part: int, option: str, folder: Path) -> tuple[Records, Counter[str]]:
    """Returns the records of a part by id, and seconds by what they went to."""
    output = folder / "run.jsonl"
    command = [
        sys.executable,
        "-m",
        "opperf",
        "run",
        "--framework",
        "jax",
        "--quick",
        option,
        "-f",
        "jsonl",
    ]
    command += ["--total-partitions", str(OF), "--partition-id", str(part), "-o", str(output)]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        command,
        check=True,
        capture_output=True,
        env={**os.environ, "JAX_COMPILATION_CACHE_DIR": str(folder)},
    )
    wall_s = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    records = {record.id: record for record in read_run(output)[0].records}
    in_cases = sum(record.wall_s for record in records.values())
    busy = sum(record.busy_s for record in records.values())
    seconds = Counter(
        {
            "wall time": wall_s,
            "processor time": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "lowering": total_s(records.values(), "lowering"),
            "compilation": total_s(records.values(), "compilation"),
            "calls, lowering and compilation": busy,
            "rest of the cases": in_cases - busy,
            "outside of cases": wall_s - in_cases,
        }
    )
    return records, seconds


def total_s(records: Iterable[Record], metric: str) -> float:
    found = (record.summaries.get(metric) for record in records)
    return sum(summary.median for summary in found if summary is not None) / NS_PER_S


def medians(records: Records, metric: str) -> dict[str, float]:
    return {
        id: record.summaries[metric].median
        for id, record in records.items()
        if metric in record.summaries
    }


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PARTS
    print(f"load {os.getloadavg()[0]:.2f}, {len(os.sched_getaffinity(0))} cores", flush=True)
    seconds: dict[str, Counter[str]] = {AHEAD: Counter(), ALONE: Counter()}
    records: dict[str, dict[str, Record]] = {AHEAD: {}, ALONE: {}}
    for part in random.sample(range(OF), count):
        for option in random.sample((AHEAD, ALONE), 2):
            with tempfile.TemporaryDirectory() as folder:
                found, taken = run(part, option, Path(folder))
            records[option].update(found)
            seconds[option].update(taken)
    rows = [
        (name, alone, seconds[AHEAD][name], seconds[AHEAD][name] / alone)
        for name, alone in seconds[ALONE].items()
    ]
    print(f"{len(records[ALONE])} cases, load {os.getloadavg()[0]:.2f}")
    print(tabulate(rows, headers=("seconds", ALONE, AHEAD, "ratio"), floatfmt=("", ".1f", ".1f")))
    rows = []
    for metric in TIMES:
        ahead, alone = (medians(records[option], metric) for option in (AHEAD, ALONE))
        ratios = sorted(ahead[id] / alone[id] for id in ahead.keys() & alone.keys() if alone[id])
        rows.append((metric, len(ratios), statistics.median(ratios), *median_interval(ratios)))
    print(tabulate(rows, headers=("times", "cases", "ratio", "low", "high"), floatfmt=".3f"))
    for metric in COUNTS:
        ahead, alone = (medians(records[option], metric) for option in (AHEAD, ALONE))
        differing = sorted(
            records[ALONE][id].case.label
            for id in ahead.keys() | alone.keys()
            if ahead.get(id) != alone.get(id)
        )
        print(f"{metric}: {len(differing)} differ {', '.join(differing[:5])}")


if __name__ == "__main__":
    main()
