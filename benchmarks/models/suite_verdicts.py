"""Error rates of `opperf suite compare`, where programs scatter from one start to the next, beside
those of a comparison of ratios without intervals, and the time to read a large run.

    python benchmarks/models/suite_verdicts.py [SUITES]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from opperf.comparison.suites.comparing import verdicts_of
from opperf.model import BenchFacts
from opperf.statistics.data import Thresholds, Verdict
from opperf.suites.results.performance import Performance, Sample
from opperf.suites.results.ratios import Pair, estimates, ratios_of, total_of
from opperf.suites.results.run import load
from opperf.suites.results.scores import scores_of

BENCHES = 30

CHANGED = 6
"""Benches of each suite that are slower, by `SLOWER`."""

SLOWER = 0.9

WITHIN = 0.002
"""Standard error of a program's rate within one start, as a share."""

SCATTERS = (0.01, 0.03)
"""Standard deviations from one start to the next."""

ATTEMPTS = (1, 2, 3, 5)

STREAMS, RATES = 1000, 100
"""Size of the run that is read."""


def performance(draw: np.random.Generator, level: float, scatter: float, n: int) -> Performance:
    """Returns the performance of a bench of some attempts, around its level."""
    values = level * np.exp(draw.normal(0, scatter, n) + draw.normal(0, WITHIN, n))
    return Performance(
        level, "items/s", {"case": [Sample(v, "items/s", WITHIN) for v in values]}, None
    )


def judge(draw: np.random.Generator, scatter: float, n: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Returns, of a suite measured twice, which benches are said to have regressed, which are by a
    ratio alone, and whether the interval of the total has the true one."""
    truth = np.where(np.arange(BENCHES) < CHANGED, SLOWER, 1.0)
    levels = np.exp(draw.normal(3, 2, BENCHES))
    pairs = {
        str(number): Pair(
            performance(draw, level, scatter, n), performance(draw, level * true, scatter, n)
        )
        for number, (level, true) in enumerate(zip(levels, truth, strict=True))
    }
    found, assumed = estimates(list(pairs.values()))
    benches = [BenchFacts(name) for name in pairs]
    rows = verdicts_of(pairs, benches, found, assumed, Thresholds())
    verdicts = np.array([row.verdict is Verdict.REGRESSED for row in rows])
    ratios = np.array([ratio.value for ratio in ratios_of(found, assumed)])
    total = total_of(found, [1.0] * BENCHES)
    assert total is not None
    has = total.low <= float(np.exp(np.log(truth).mean())) <= total.high
    return verdicts, ratios < 1 - Thresholds().threshold, has


def error_rates(suites: int) -> None:
    """Prints the share of false verdicts, of changes that are found, and of intervals of totals
    that have the true one."""
    print(f"{suites} suites of {BENCHES} benches, {CHANGED} of them slower by {1 - SLOWER:.0%}")
    print("scatter  runs | opperf: false  found | ratio alone: false  found | totals in interval")
    for scatter in SCATTERS:
        for n in ATTEMPTS:
            draw = np.random.default_rng(1)
            judged = [judge(draw, scatter, n) for _ in range(suites)]
            own, alone = (np.array([one[side] for one in judged]) for side in (0, 1))
            figures = [
                share
                for said in (own, alone)
                for share in (
                    said[:, CHANGED:].sum() / max(1, said.sum()),
                    said[:, :CHANGED].mean(),
                )
            ]
            inside = np.mean([has for _, _, has in judged])
            print(
                f"{scatter:7.0%} {n:5d} | {figures[0]:13.1%} {figures[1]:6.0%} | "
                f"{figures[2]:18.1%} {figures[3]:6.0%} | {inside:.1%}"
            )


def reading() -> None:
    """Prints the time to read a run of many streams, beside that of reading their lines of JSON."""
    import json

    with tempfile.TemporaryDirectory() as folder:
        for number in range(STREAMS):
            name = f"bench{number % 200}"
            config = {"name": name, "tag": [name, str(number // 200)], "weight": 1.0}
            config["plan"] = {"method": "njobs", "n": 5}
            lines = [("config", config), ("start", {"time": 0.0, "command": []})]
            lines += [("data", {"task": "train", "rate": 10.0 + i % 3}) for i in range(RATES)]
            lines += [("end", {"time": 9.0, "return_code": 0})]
            text = "".join(
                json.dumps({"event": event, "data": data, "pipe": None}) + "\n"
                for event, data in lines
            )
            Path(folder, f"{name}.{number // 200}.data").write_text(text)
        begun = time.perf_counter()
        for path in Path(folder).iterdir():
            for line in path.read_text().splitlines():
                json.loads(line)
        plain = time.perf_counter() - begun
        begun = time.perf_counter()
        run = load([Path(folder)])
        loaded = time.perf_counter() - begun
        scores_of(run)
        run.milabench_figures()
        scored = time.perf_counter() - begun - loaded
    print(
        f"{STREAMS} streams of {RATES} rates: read in {loaded / plain:.1f} times the time of their "
        f"JSON ({loaded:.2f} s), scored in {scored:.2f} s"
    )


if __name__ == "__main__":
    error_rates(int(sys.argv[1]) if sys.argv[1:] else 200)
    reading()
