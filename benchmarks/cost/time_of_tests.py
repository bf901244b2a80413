"""Time of `make test` on a number of cores, by file.

The command runs on the first cores of this machine (two by default), installing included if nothing
is installed yet. Prints the wall time, the processor
time of all processes, the tests, and the files that took longest. The exit code is 1 if the tests
fail, or take longer than `--limit` minutes (8 for `test`, 30 for `test-all`).

Run: python benchmarks/cost/time_of_tests.py [test | test-all] [--cores N] [--limit MINUTES]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

LIMITS_MIN = {"test": 8.0, "test-all": 30.0}
"""Target times on two cores."""

SHOWN = 12
"""Number of files in the output."""


def seconds_by_file(report: Path) -> Counter[str]:
    """Seconds that the tests of each file took, set-up included."""
    taken: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        taken[case.get("classname", "")] += float(case.get("time", 0))
    return taken


def main() -> int:
    """Runs the tests and prints their times; 1 if they fail or take too long."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="?", choices=LIMITS_MIN, default="test")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--limit", type=float, help="minutes")
    options = parser.parse_args()
    limit_min = options.limit or LIMITS_MIN[options.target]
    cores = sorted(os.sched_getaffinity(0))[: options.cores]
    os.sched_setaffinity(0, cores)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        begun = time.monotonic()
        done = subprocess.run(
            ["make", options.target],
            cwd=ROOT,
            env=os.environ | {"PYTEST_ADDOPTS": f"--junitxml={report}"},
        )
        wall_s = time.monotonic() - begun
        taken = seconds_by_file(report)
        tests = len(list(ElementTree.parse(report).iter("testcase")))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"\nmake {options.target} on {len(cores)} cores: {wall_s / 60:.1f} min, {tests} tests, "
        f"{(used.ru_utime + used.ru_stime) / 60:.1f} min of processor time, "
        f"load {os.getloadavg()[1]:.1f} over the last five minutes"
    )
    for name, seconds in taken.most_common(SHOWN):
        print(f"{seconds:7.1f} s  {name}")
    return bool(done.returncode) or wall_s > 60 * limit_min


if __name__ == "__main__":
    sys.exit(main())
