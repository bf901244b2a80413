"""Checks that `opperf ab` finds the operators of MXNet that changed, and no others.

Two sessions of `opperf ab`, as a user runs them, over several hundred operators at small sizes:

- alike: the arms differ in a variable that has no effect. No operator may be reported as changed.
- slowed: in B, fifteen operators compute a tenth more rows than their inputs have, by a module on
  B's PYTHONPATH (`benchmarks/slowed`). At least fourteen of them must be found, and no others.

Both arms compute on one thread and one core: on shared cores, threads that wait for each other
measure the neighbours' load, and reference work gauges only the core that it runs on. Prints a line
for each session, with the smallest change that the median operator's measurements could show; the
exit code is 1 if a session misses its target.

Run: python benchmarks/ab_on_mxnet.py [--few] [alike | slowed] [more options of opperf ab]

`--few` takes a dozen operators, three of which compute twice the rows, in under a minute on an
idle machine: a quick check.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SLOWED = Path(__file__).resolve().parent / "slowed"

LEAST_CASES = 300
"""Minimum number of cases that run in both arms: with fewer, the sessions show little."""


@dataclass(frozen=True)
class Size:
    """The operators that are measured, and the number and size of the changes."""

    chosen: tuple[str, ...]
    slowed: tuple[str, ...]
    share: float
    """Added rows, as a share of the input's."""
    least_found: int
    least_cases: int
    options: tuple[str, ...]


MANY = Size(
    chosen=(
        "--category",
        "unary,binary_scalar,binary_broadcast,binary_elementwise,binary_misc,rounding,reduction,"
        "activation,indexing,rearrange,join_split,shape,sorting_searching,expanding,optimizer",
        # A hundred times slower than the others at this size.
        "--exclude",
        "_npi_norm",
    ),
    # A hundred microseconds of arithmetic each, against which the overhead of a call is small.
    slowed=(
        *("gamma", "gammaln", "erfinv", "erf", "expm1"),
        *("log1p", "tan", "sinh", "cosh", "tanh"),
        *("arcsinh", "arccosh", "arctanh", "cbrt", "rcbrt"),
    ),
    share=0.1,
    least_found=14,
    least_cases=LEAST_CASES,
    options=("--case-time", "0.03"),
)

FEW = Size(
    chosen=(
        *("gamma", "erfinv", "tanh", "sigmoid", "exp", "log", "sqrt", "sin"),
        *("broadcast_add", "broadcast_mul", "sum", "argmax"),
    ),
    slowed=("gamma", "erfinv", "tanh"),
    share=1.0,
    least_found=3,
    least_cases=12,
    options=("--case-time", "0.03", "--threshold", "20%", "--same-within", "40%", "--blocks", "6"),
)


def session(size: Size, arm: list[str], more: list[str]) -> dict[str, Any]:
    """Returns the report of a session of A, unchanged, and of this arm."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "opperf", "ab", *size.chosen),
                *("--size", "small", "--max-configs", "1", "--no-backward"),
                *("--format", "json", "--report", str(Path(folder) / "ab.jsonl")),
                *(word for setting in arm for word in ("--b", setting)),
                *size.options,
                *more,
            ],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
    if not done.stdout:
        raise SystemExit(f"opperf ab ended with exit code {done.returncode}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def alike() -> list[str]:
    return ["env:UNREAD=1"]


def slowed(size: Size) -> list[str]:
    paths = [str(SLOWED), *filter(None, [os.environ.get("PYTHONPATH")])]
    return [
        f"env:PYTHONPATH={os.pathsep.join(paths)}",
        f"env:SLOWED={','.join(size.slowed)}",
        f"env:SLOWED_SHARE={size.share}",
    ]


def missed(size: Size, report: dict[str, Any], changed: tuple[str, ...]) -> list[str]:
    """Returns the targets that a session misses."""
    said = {
        (row["operator"], row["verdict"])
        for row in report["rows"]
        if row["verdict"] in ("regressed", "improved")
    }
    found = {name for name, verdict in said if name in changed and verdict == "regressed"}
    false = sorted(f"{name} {verdict}" for name, verdict in said if name not in found)
    least = size.least_found if changed else 0
    return [
        *([] if report["valid"] else [f"invalid: {report['reason']}"]),
        *([] if report["cases"] >= size.least_cases else [f"{report['cases']} cases"]),
        *([f"{len(found)} of {len(changed)} found"] if len(found) < least else []),
        *(f"said to have changed: {name}" for name in false),
    ]


def line(name: str, report: dict[str, Any], elapsed_s: float) -> str:
    counts = ", ".join(f"{number} {verdict}" for verdict, number in report["counts"].items())
    return (
        f"{name}: {report['cases']} cases, {counts}; detectable "
        f"{report['detectable'] or 0.0:.1%}, core's speed {report['explained'] or 0.0:.0%} of the "
        f"scatter; {report['processes']} processes, {elapsed_s / 60:.1f} min"
    )


def main(words: list[str]) -> int:
    size = FEW if "--few" in words else MANY
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    sessions = {"alike": (alike(), ()), "slowed": (slowed(size), size.slowed)}
    chosen = [word for word in words if word in sessions] or list(sessions)
    more = [word for word in words if word != "--few" and word not in sessions]
    misses = []
    for name in chosen:
        arm, changed = sessions[name]
        begun = time.monotonic()
        report = session(size, arm, more)
        print(line(name, report, time.monotonic() - begun), flush=True)
        for row in report["rows"]:
            if row["verdict"] in ("regressed", "improved") or row["operator"] in changed:
                ratio = "" if row["ratio"] is None else f"{row['ratio']:.3f}"
                print(f"  {row['operator']}: {row['verdict']} {ratio} {row['note']}".rstrip())
        misses += [f"{name}: {miss}" for miss in missed(size, report, changed)]
    for miss in misses:
        print(f"MISSED: {miss}")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
