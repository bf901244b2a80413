"""What `opperf ab --gate` misses, and what it saves.

First, functions that take longer in B with the same instructions, or nearly: caches, subnormal
numbers, alignment, waiting; and one with a twentieth more instructions. Prints what the counts say
of each, and what `ab --gate` says of it without a sample of what counts call the same; then with
all of them timed, and the ratio of its times with its 90 % interval.

Then the seconds of a session of ten operators of MXNet, one of which computes a tenth more rows in
B, with `--gate` and without.

Run: python -m benchmarks.verdicts.gate_misses [functions | operators]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.verdicts.ab_on_mxnet import PLANS, SLOWED, report_of

HERE = Path(__file__).resolve().parent / "same_instructions"
FILE = HERE / "kinds.py"

KINDS = ("cache_misses", "subnormal_numbers", "alignment", "waiting", "more_work")


def session(words: list[str]) -> tuple[dict[str, Any], float]:
    """Returns the report of a session, and its seconds."""
    begun = time.monotonic()
    report = report_of([*words, "--quiet"])
    return report, time.monotonic() - begun


def show_functions() -> None:
    words = [
        *(word for kind in KINDS for word in ("--ops", f"{FILE}:{kind}")),
        *("--framework", "numpy", "--inputs", f"{FILE}:inputs", "--threads", "1"),
        *("--a", "env:MISSED=0", "--b", "env:MISSED=1", "--gate", "--gate-sample"),
    ]
    found: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    for sample in ("0%", "100%"):
        report, seconds = session([*words, sample])
        print(f"--gate-sample {sample}: {seconds:.0f} s")
        for row in report["rows"]:
            kind = row["operator"].rpartition(":")[2]
            found[kind][sample] = row["verdict"]
            found[kind]["basis"] = row["basis"].partition(",")[0]
            if sample == "100%":
                low, high = row["low"], row["high"]
                found[kind]["ratio"] = f"{row['ratio']:.2f} ({low:.2f} to {high:.2f})"
    form = "{:20}{:42}{:19}{:17}{}".format
    print(form("function", "instructions", "untimed", "with all timed", "time B/A"))
    for kind, one in found.items():
        print(form(kind, *(one.get(name, "") for name in ("basis", "0%", "100%", "ratio"))))


def show_operators() -> None:
    path = os.pathsep.join([str(SLOWED), *filter(None, [os.environ.get("PYTHONPATH")])])
    words = [
        *(*PLANS["ten"].chosen, "--framework", "mxnet", "--size", "small", "--max-configs", "1"),
        *("--no-backward", "--threads", "1"),
        *(word for arm in "ab" for word in (f"--{arm}", f"env:PYTHONPATH={path}")),
        *("--a", "env:SLOWED=tanh=0", "--b", "env:SLOWED=tanh=0.1"),
    ]
    for more in ([], ["--gate"]):
        report, seconds = session([*words, *more])
        verdicts = ", ".join(f"{number} {name}" for name, number in report["counts"].items())
        print(f"{' '.join(more) or 'all timed':12}{seconds:7.0f} s  {verdicts}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("part", nargs="?", choices=("functions", "operators"))
    part = parser.parse_args().part
    if part != "operators":
        show_functions()
    if part != "functions":
        show_operators()


if __name__ == "__main__":
    main()
