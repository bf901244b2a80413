"""How long the search for work that a compiler removes takes, beside what a process of `ab` does.

A process of `ab` measures each case for --case-time, after it has compiled it. For functions of few
and of many operators, prints the time of the search, and its share of that of the measurement, in
the same process, whose start and import it does not count; of a network with weights too.

Run: python -m benchmarks.timers.dead_code_cost [--mode compile] [--case-time 0.05] [--repeats 3]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from tabulate import tabulate

from opperf.frameworks import load
from opperf.instruments import compilation
from opperf.instruments.prepared import Bound
from opperf.instruments.visit import Visit
from opperf.model import CallableTarget, Case, Settings, TensorSpec
from opperf.worker import measure as measuring

SIZE = 512


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


def chain(x: torch.Tensor) -> torch.Tensor:
    for _ in range(100):
        x = torch.sin(x) + 0.5
    return x


def products(x: torch.Tensor) -> torch.Tensor:
    for _ in range(20):
        x = torch.tanh(x @ x)
    return x


def search_seconds(function: Callable[..., Any], mode: str, case_s: float) -> tuple[float, float]:
    """Returns the seconds of the search, and of the whole measurement."""
    settings = Settings(profiler="python", mode=mode, memory=False, max_time_s=case_s)
    arguments = {"x": TensorSpec((SIZE, SIZE), gradient=True)}
    case = Case(CallableTarget("torch", "user.function"), arguments, settings)
    spent: list[float] = []

    def timed(visit: Visit) -> None:
        begun = time.perf_counter()
        compilation.note_removed_work(visit)
        spent.append(time.perf_counter() - begun)

    torch._dynamo.reset()
    begun = time.perf_counter()
    with mock.patch.object(measuring, "note_removed_work", timed):
        record = measuring.measure(case, load("torch"), Bound(function=function))
    assert record.status.value == "ok", record.reason
    return spent[0], time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", default="compile")
    parser.add_argument("--case-time", type=float, default=0.05)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for function in (softmax, chain, products):
        pairs = [
            search_seconds(function, asked.mode, asked.case_time) for _ in range(asked.repeats)
        ]
        search, whole = (statistics.median(column) for column in zip(*pairs, strict=True))
        share = statistics.median(search / whole for search, whole in pairs)
        rows.append((function.__name__, f"{search:.3f}", f"{whole:.3f}", f"{share:.1%}"))
    print(tabulate(rows, headers=["Function", "Search (s)", "Measurement (s)", "Share"]))


if __name__ == "__main__":
    main()
