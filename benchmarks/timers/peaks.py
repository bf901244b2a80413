"""opperf's peaks of this machine beside those of C, and of NumPy and PyTorch alone.

A kernel in C (`gcc -O3 -march=native -fopenmp`, a pinned thread for each core), a copy or a triad
over one of the arrays that it reads, moves
arrays of the sizes that opperf chooses, by level and number of cores; NumPy and PyTorch, each in a
process of its own, multiply matrices of many extents into an array that is there. All take turns
with opperf, `--turns` times, and of each the best counts. Prints both, and opperf's as a share of
the other: 90 % to 110 % is wanted.

Run: python benchmarks/timers/peaks.py
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

from opperf.execution.device_peaks import measure_framework
from opperf.machine.bandwidth import busy_cores, levels_of, measure_bandwidths
from opperf.machine.kernel import THREAD_VARIABLES, usable_cpus
from opperf.machine.topology import caches

SOURCE = Path(__file__).with_suffix(".c")
BUILD = ("gcc", "-O3", "-march=native", "-fopenmp")
KERNELS = ("copy", "triad")
DTYPES = ("float64", "float32")
EXTENTS = "(256, 512, 1024, 1536, 2048, 3072)"

MULTIPLY = {
    "numpy": f"""
import time, numpy as np
for dtype in {DTYPES}:
    best = 0
    for n in {EXTENTS}:
        a, b, c = (np.ones((n, n), dtype) for _ in range(3))
        until = time.perf_counter() + 0.4
        while time.perf_counter() < until:
            begun = time.perf_counter(); np.matmul(a, b, out=c)
            best = max(best, 2 * n**3 / (time.perf_counter() - begun))
    print(dtype, best)
""",
    "torch": f"""
import time, torch
for dtype in {DTYPES}:
    best = 0
    for n in {EXTENTS}:
        a, b, c = (torch.ones((n, n), dtype=getattr(torch, dtype)) for _ in range(3))
        until = time.perf_counter() + 0.4
        while time.perf_counter() < until:
            begun = time.perf_counter(); torch.mm(a, b, out=c)
            best = max(best, 2 * n**3 / (time.perf_counter() - begun))
    print(dtype, best)
""",
}

Peak = tuple[str, str, int]
"""Level and kernel, or framework and dtype; threads."""


def run(words: list[str], threads: int, cpus: list[int]) -> str:
    """Returns what a program prints that has so many threads, pinned to these cores."""
    variables = {
        **os.environ,
        **dict.fromkeys(THREAD_VARIABLES, str(threads)),
        "GOMP_CPU_AFFINITY": " ".join(map(str, cpus)),
    }
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=True)
    return done.stdout


def by_c(program: Path) -> dict[Peak, float]:
    """Returns the bytes per second of the program in C."""
    found = {}
    for cpus in busy_cores(usable_cpus()):
        available = psutil.virtual_memory().available
        for level in levels_of(caches(), frozenset(cpus), available):
            for kernel in KERNELS:
                printed = run([str(program), kernel, str(level.moved)], len(cpus), cpus)
                found[level.name, kernel, len(cpus)] = float(printed)
    return found


def by_framework(framework: str, threads: int) -> dict[Peak, float]:
    """Returns the operations per second of a framework's products."""
    cpus = sorted(usable_cpus())
    lines = run([sys.executable, "-c", MULTIPLY[framework]], threads, cpus).split("\n")
    pairs = (line.split() for line in lines if line)
    return {(framework, dtype, threads): float(rate) for dtype, rate in pairs}


def by_opperf(frameworks: list[str], cores: int) -> dict[Peak, float]:
    """Returns opperf's own figures of the same."""
    found = {
        (peak.level, peak.kernel, peak.threads): peak.rate
        for peak in measure_bandwidths(usable_cpus(), lambda line: None)
    }
    for framework in frameworks:
        for reached in measure_framework(framework, cores, lambda line: None):
            found |= {(framework, one.dtype, one.threads): one.rate for one in reached.products}
    return found


def main() -> None:
    """Prints a line for each peak."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--frameworks", default="numpy,torch")
    options = parser.parse_args()
    frameworks = options.frameworks.split(",")
    cores = len(usable_cpus())
    ours: dict[Peak, float] = {}
    theirs: dict[Peak, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "peaks"
        subprocess.run([*BUILD, "-o", str(program), str(SOURCE)], check=True)
        for _ in range(options.turns):
            turn = by_c(program)
            for framework in frameworks:
                for threads in sorted({1, cores}):
                    turn |= by_framework(framework, threads)
            for best, found in ((theirs, turn), (ours, by_opperf(frameworks, cores))):
                best |= {peak: max(rate, best.get(peak, 0.0)) for peak, rate in found.items()}
    print(f"{'peak':<16} {'of':<8} threads   opperf  another   ratio  G/s")
    for (first, second, threads), rate in theirs.items():
        own = ours[first, second, threads]
        print(
            f"{first:<16} {second:<8} {threads:>7} {own / 1e9:>8.1f} {rate / 1e9:>8.1f} "
            f"{own / rate:>7.1%}"
        )


if __name__ == "__main__":
    main()
