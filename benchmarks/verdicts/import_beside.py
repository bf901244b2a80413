"""Whether a worker that is imported on another core disturbs what is measured: what `opperf ab`
would save by importing the next block's workers while it measures this one's.

Forks of one worker visit small operators on one core; in a random half of the visits another
core imports the framework, over and over. Prints by operator the ratio of the times with and
without, less what the reference work explains and without that, with 95 % intervals, and the
standard deviations between visits with and without.

Run: python -m benchmarks.verdicts.import_beside [--framework NAME] [--visits N]
     [--core N] [--other N]
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import subprocess
import sys

import msgspec
import numpy as np
from scipy import stats

from benchmarks.verdicts.fork_layouts import SETTINGS, measure_one
from benchmarks.verdicts.visit_lengths import CHOSEN, NAMES, make_worker, plan_cases

TIME_S = 0.05
"""Measured time of a case in a visit."""

LOOP = """
import os, subprocess, sys
from opperf.worker.program import module_command
while True:
    subprocess.run(
        module_command("opperf.worker.serve", sys.argv[1], "{}"),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
"""
"""Starts workers, which end as their input does."""


def beside(framework: str, core: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", LOOP, framework],
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        start_new_session=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--framework", choices=tuple(CHOSEN), default="mxnet")
    parser.add_argument("--visits", type=int, default=60, help="of each kind")
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--other", type=int, default=1)
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    kinds = [False, True] * options.visits
    # In random pairs, so that the load of the machine is that of both.
    order = [kind for pair in range(options.visits) for kind in random.sample(kinds[:2], 2)]
    rows: list[tuple[bool, list[list[float]]]] = []
    with make_worker(options.framework) as planner:
        cases = plan_cases(options.framework, planner)
    with make_worker(options.framework) as worker:
        for done, kind in enumerate(order, 1):
            print(f"\r{done}/{len(order)} visits", end="", file=sys.stderr, flush=True)
            importer = beside(options.framework, options.other) if kind else None
            try:
                worker.begin_process([SETTINGS.device])
                logs = {}
                for case in random.sample(cases, len(cases)):
                    settings = msgspec.structs.replace(SETTINGS, max_time_s=TIME_S)
                    record = measure_one(worker, msgspec.structs.replace(case, settings=settings))
                    times = record.reference["forward"]
                    logs[case.id] = [math.log(times[name]) for name in NAMES]
                rows.append((kind, [logs[case.id] for case in cases]))
            finally:
                if importer is not None:
                    os.killpg(importer.pid, signal.SIGKILL)
                    importer.wait()
    print(file=sys.stderr)
    with_it = np.array([kind for kind, _ in rows])
    logs_of = np.array([found for _, found in rows])
    print(
        f"{'operator':22}{'adjusted, % (95 %)':>26}{'raw, % (95 %)':>26}"
        f"{'sd % with':>11}{'without':>9}"
    )
    effects: list[list[float]] = []
    for operator, case in enumerate(cases):
        own, works = logs_of[:, operator, 0], logs_of[:, operator, 1:]
        centred = works - works.mean(axis=0)
        slopes, *_ = np.linalg.lstsq(centred, own - own.mean(), rcond=None)
        line, kept = "", []
        for values in (own - centred @ slopes, own):
            paired = differences(values, with_it)
            mean, half = paired.mean(), half_width(paired)
            line += f"{100 * mean:10.2f} ({100 * (mean - half):6.2f} to {100 * (mean + half):5.2f})"
            kept.append(paired)
        sds = [robust_sd((own - centred @ slopes)[chosen]) for chosen in (with_it, ~with_it)]
        effects.append(kept)
        print(f"{case.label:22}{line}{100 * sds[0]:11.2f}{100 * sds[1]:9.2f}")
    for title, number in (("adjusted", 0), ("raw", 1)):
        together = np.mean([found[number] for found in effects], axis=0)
        mean, half = together.mean(), half_width(together)
        print(f"all operators, {title}: {mean:+.2%} ({mean - half:+.2%} to {mean + half:+.2%})")


def differences(values: np.ndarray, with_it: np.ndarray) -> np.ndarray:
    """With less without, of each pair of neighbouring visits."""
    pairs, kinds = values.reshape(-1, 2), with_it.reshape(-1, 2)
    return np.where(kinds[:, 0], pairs[:, 0] - pairs[:, 1], pairs[:, 1] - pairs[:, 0])


def half_width(paired: np.ndarray) -> float:
    return float(stats.sem(paired) * stats.t.ppf(0.975, len(paired) - 1))


def robust_sd(values: np.ndarray) -> float:
    return float(stats.median_abs_deviation(values, scale="normal"))


if __name__ == "__main__":
    main()
