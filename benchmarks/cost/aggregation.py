"""Time of `opperf aggregate` over many records, beside that of parsing their JSON alone.

Generates records of PyTorch/XLA's form (four backends, a run each day), aggregates them by each
report in a process of its own, and prints its seconds of processor, and from its start to its end.

Run: python benchmarks/cost/aggregation.py [RECORDS]
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WANTED_S = 5.0
"""Seconds in which a report of `RECORDS` is wanted."""

RECORDS = 100_000

MODELS = 100

BACKENDS = ((None, None), (None, "inductor"), ("PJRT", "openxla"), ("PJRT", None))

NAMES = ("eager", "inductor", "openxla+dynamo", "openxla+lazytensor")

REPORTS = ("speedup", "latest", "latest_grouped", "histogram", "failures", "records")


def generate(path: Path, number: int) -> None:
    """Writes so many records, of which one in fifty failed."""
    generator = random.Random(0)
    with path.open("w") as file:
        for index in range(number):
            day, place = divmod(index, MODELS * len(BACKENDS))
            model, (xla, dynamo) = place // len(BACKENDS), BACKENDS[place % len(BACKENDS)]
            base = 0.01 * (1 + model)
            times = [base * generator.uniform(1, 1.1) for _ in range(10)]
            record = {
                "model": {"suite_name": "torchbench", "model_name": f"model_{model}"},
                "experiment": {
                    "accelerator": "cuda",
                    "accelerator_model": "One of Tesla V100-SXM2-16GB, ...",
                    "xla": xla,
                    "xla_flags": None,
                    "dynamo": dynamo,
                    "torch_xla2": None,
                    "test": "eval",
                    "batch_size": 16,
                },
                "repeat": 10,
                "iterations_per_run": 1,
                "metrics": {"total_time": times, "per_iter_time": times}
                if generator.random() > 0.02
                else {"error": "RuntimeError: out of memory"},
                "outputs_file": None,
                "timestamp": 1_600_000_000 + 86_400 * day,
            }
            file.write(json.dumps(record) + "\n")


def children_s() -> float:
    """Seconds of processor that ended processes used; the clock counts other programs' too."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(number: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        generate(path, number)
        begin = time.process_time()
        for line in path.read_bytes().splitlines():
            json.loads(line)
        parsing = time.process_time() - begin
        size = path.stat().st_size / 1e6
        print(f"{number} records, {size:.0f} MB; json.loads alone: {parsing:.2f} s of processor")
        for report in REPORTS:
            command = [sys.executable, "-m", "opperf", "aggregate", path, "--report", report]
            begin, before = time.perf_counter(), children_s()
            subprocess.run([*command, "--backends", *NAMES], check=True, capture_output=True)
            busy, taken = children_s() - before, time.perf_counter() - begin
            print(
                f"{report:15} {busy:.2f} s of processor, {busy / parsing:.1f} times json.loads; "
                f"{taken:.2f} s in all; {WANTED_S:g} s wanted"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS)
