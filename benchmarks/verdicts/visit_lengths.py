"""How much a shorter visit of a case scatters, and what it saves: the figures behind the time that
`opperf ab` gives a case in a process.

Forks of a few workers visit small operators, in random order, for times of several lengths.
Prints for each length the standard deviation between forks of one worker (geometric mean of the
operators, less what the reference work explains), with its 90 % interval by a bootstrap over forks,
the seconds that a visit of a case takes, and the product of variance and seconds relative to the
best: the seconds of a session for the same standard error, but for those of new workers.

Run: python -m benchmarks.verdicts.visit_lengths [--framework NAME] [--workers N] [--forks N]
     [--core N]
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import time
from contextlib import ExitStack
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.verdicts.fork_layouts import INTERVAL, OPERATORS, RESAMPLES, SETTINGS, measure_one
from opperf.instruments.profilers.reference_work import WORKS
from opperf.model import OWN, Case, Settings
from opperf.sources.selecting import Selection
from opperf.worker.client import Worker

Floats = NDArray[np.float64]

LENGTHS_S = (0.02, 0.05, 0.1, 0.2)
"""Measured time of a case in a process."""

CHOSEN = {
    "mxnet": OPERATORS,
    "torch": (
        *("relu", "softmax.int", "exp", "sum", "mm", "tanh", "add.Tensor", "transpose_copy.int"),
        *("log", "sqrt"),
    ),
}

NAMES = (OWN, *WORKS)


class Visit(NamedTuple):
    worker: int
    length_s: float
    logs: Floats
    """By operator: the logarithms of its own time and of each reference work."""
    wall_s: float
    """Of a case."""


def settings_of(length_s: float) -> Settings:
    return msgspec.structs.replace(SETTINGS, max_time_s=length_s)


def plan_cases(framework: str, worker: Worker) -> list[Case]:
    """Returns a small case of each operator."""
    selection = Selection(
        patterns=CHOSEN[framework],
        size="small",
        configurations=1,
        backward=False,
        settings=SETTINGS,
    )
    found = {case.label: case for case in worker.plan(selection).cases}
    return list(found.values())


def make_worker(framework: str) -> Worker:
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    return Worker(framework, Settings(memory=False), variables, reference_work=True)


def take(framework: str, n_workers: int, forks: int) -> tuple[list[Visit], float]:
    """Returns the visits, and the seconds of starting a worker."""
    order = [
        (number, length)
        for number in range(n_workers)
        for length in LENGTHS_S
        for _ in range(forks)
    ]
    random.shuffle(order)
    visits: list[Visit] = []
    with ExitStack() as stack:
        workers = [stack.enter_context(make_worker(framework)) for _ in range(n_workers)]
        with make_worker(framework) as planner:
            cases = plan_cases(framework, planner)
        starts = []
        for worker in workers:
            begun = time.monotonic()
            worker.begin_process([SETTINGS.device])
            starts.append(time.monotonic() - begun)
        for done, (number, length) in enumerate(order, 1):
            print(f"\r{done}/{len(order)} processes", end="", file=sys.stderr, flush=True)
            worker = workers[number]
            begun = time.monotonic()
            worker.begin_process([SETTINGS.device])
            logs = {}
            for case in random.sample(cases, len(cases)):
                timed = msgspec.structs.replace(case, settings=settings_of(length))
                record = measure_one(worker, timed)
                logs[case.id] = [math.log(record.reference["forward"][name]) for name in NAMES]
            wall_s = (time.monotonic() - begun) / len(cases)
            visits.append(
                Visit(number, length, np.array([logs[case.id] for case in cases]), wall_s)
            )
    print(file=sys.stderr)
    return visits, float(np.median(starts))


def scatter(visits: list[Visit]) -> Floats:
    """Returns the standard deviation of each operator between forks of one worker, less what the
    reference work explains."""
    logs = np.array([one.logs for one in visits])
    workers = np.array([one.worker for one in visits])
    for number in set(workers):
        logs[workers == number] -= logs[workers == number].mean(axis=0)
    found = []
    for operator in range(logs.shape[1]):
        own, works = logs[:, operator, 0], logs[:, operator, 1:]
        slopes, *_ = np.linalg.lstsq(works, own, rcond=None)
        left = own - works @ slopes
        freedom = len(visits) - len(set(workers)) - works.shape[1]
        found.append(math.sqrt(float((left**2).sum()) / freedom))
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--framework", choices=tuple(CHOSEN), default="mxnet")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--forks", type=int, default=6, help="of each worker and length")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    visits, start_s = take(options.framework, options.workers, options.forks)
    print(f"{options.framework}: a worker starts in {start_s:.2f} s")
    print(f"{'measured s':>10}{'sd %':>8}{'interval':>16}{'visit s':>9}{'relative seconds':>18}")
    rows = []
    generator = np.random.default_rng(0)
    for length in LENGTHS_S:
        of_length = [one for one in visits if one.length_s == length]
        found = float(np.exp(np.log(scatter(of_length)).mean()))
        drawn = []
        for _ in range(RESAMPLES // 10):
            chosen = generator.integers(len(of_length), size=len(of_length))
            sample = [of_length[index] for index in chosen]
            drawn.append(float(np.exp(np.log(np.maximum(scatter(sample), 1e-9)).mean())))
        low, high = np.percentile(drawn, INTERVAL)
        rows.append((length, found, low, high, float(np.median([v.wall_s for v in of_length]))))
    best = min(sd**2 * wall for _, sd, _, _, wall in rows)
    for length, sd, low, high, wall in rows:
        print(
            f"{length:10.2f}{100 * sd:8.2f}{100 * low:8.2f}{100 * high:8.2f}{wall:9.3f}"
            f"{sd**2 * wall / best:18.2f}"
        )


if __name__ == "__main__":
    main()
