"""Checks that `opperf ab` finds the operators of MXNet, or PyTorch, that changed, and no others.

Sessions of `opperf ab` of two kinds, as a user runs them, with the default options:

- alike: the arms differ in a variable that has no effect. No operator may be reported as changed.
- slowed: in B, some operators compute more rows than their inputs have, by a module on PYTHONPATH
  (`slowed/`), which A loads too, without more rows. They must be found, and no others.

Prints a line for each session, and the totals; the exit code is 1 if a target is missed.

Run: python benchmarks/verdicts/ab_on_mxnet.py [ten | hundred | many | few | torch] [alike | slowed]
     [--sessions N] [more options of opperf ab]

`ten`: ten operators at small sizes, forward and backward, two of them slower by a tenth in B; ten
sessions of each kind. `torch`: the same with ten of PyTorch's, slowed forward only.
`hundred`: a hundred operators, forward, three of them slower; a session of each.
`many`: several hundred, forward, fifteen of them with a tenth more rows; a session of each. `few`:
a dozen, three of which compute twice the rows, in under a minute on an idle machine: a quick check.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SLOWED = Path(__file__).resolve().parent / "slowed"


@dataclass(frozen=True)
class Plan:
    """The operators that are measured, the number and size of the changes, and the targets."""

    chosen: tuple[str, ...]
    slowed: dict[str, float]
    """Operators, each with the share of rows that it has more in B."""
    least_found: float
    """Share of the slowed operators that must be found over all sessions."""
    least_cases: int
    options: tuple[str, ...]
    sessions: int = 1
    most_flagged: int = 0
    """Sessions that may have a false flag."""
    framework: str = "mxnet"
    slowed_options: tuple[str, ...] = ()
    """More options where operators are slowed."""


PLANS = {
    "ten": Plan(
        chosen=(
            *("tanh", "softmax", "exp", "sqrt", "sigmoid"),
            *("broadcast_add", "broadcast_mul", "sum", "dot", "LayerNorm"),
        ),
        # A tenth more time, as measured: the ratios that the script prints.
        slowed={"tanh": 0.1, "softmax": 0.33},
        least_found=0.9,
        least_cases=10,
        options=(),
        sessions=10,
        most_flagged=1,
    ),
    "torch": Plan(
        framework="torch",
        chosen=(
            *("tanh", "softmax.int", "exp", "sqrt", "sigmoid"),
            *("add.Tensor", "mul.Tensor", "sum", "mm", "layer_norm"),
        ),
        slowed={"tanh": 0.2, "exp": 0.2},
        least_found=0.9,
        least_cases=10,
        options=(),
        sessions=10,
        most_flagged=1,
        slowed_options=("--no-backward",),
    ),
    "hundred": Plan(
        chosen=("--category", "unary,rounding,reduction"),
        slowed=dict.fromkeys(("erfinv", "gammaln", "tan"), 0.3),
        least_found=1.0,
        least_cases=100,
        options=("--no-backward", "--threads", "1"),
    ),
    "many": Plan(
        chosen=(
            "--category",
            "unary,binary_scalar,binary_broadcast,binary_elementwise,binary_misc,rounding,"
            "reduction,activation,indexing,rearrange,join_split,shape,sorting_searching,expanding,"
            "optimizer",
            # A hundred times slower than the others at this size.
            "--exclude",
            "_npi_norm",
        ),
        # A hundred microseconds of arithmetic each, against which the overhead of a call is small.
        slowed=dict.fromkeys(
            (
                *("gamma", "gammaln", "erfinv", "erf", "expm1"),
                *("log1p", "tan", "sinh", "cosh", "tanh"),
                *("arcsinh", "arccosh", "arctanh", "cbrt", "rcbrt"),
            ),
            0.1,
        ),
        least_found=14 / 15,
        # With fewer, the sessions show little.
        least_cases=300,
        options=("--no-backward", "--threads", "1", "--case-time", "0.03"),
    ),
    "few": Plan(
        chosen=(
            *("gamma", "erfinv", "tanh", "sigmoid", "exp", "log", "sqrt", "sin"),
            *("broadcast_add", "broadcast_mul", "sum", "argmax"),
        ),
        slowed=dict.fromkeys(("gamma", "erfinv", "tanh"), 1.0),
        least_found=1.0,
        least_cases=12,
        options=(
            *("--no-backward", "--threads", "1", "--case-time", "0.03", "--threshold", "20%"),
            *("--same-within", "40%", "--blocks", "6"),
        ),
    ),
}


def session(plan: Plan, a: list[str], b: list[str], more: list[str]) -> dict[str, Any]:
    """Returns the report of a session of these arms."""
    return report_of(
        [
            *plan.chosen,
            *("--framework", plan.framework, "--size", "small", "--max-configs", "1"),
            *(word for setting in a for word in ("--a", setting)),
            *(word for setting in b for word in ("--b", setting)),
            *plan.options,
            *more,
        ]
    )


def report_of(words: list[str]) -> dict[str, Any]:
    """Returns the report of a session of `opperf ab` with these words."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "opperf", "ab", *words),
                *("--format", "json", "--report", str(Path(folder) / "ab.jsonl")),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
    if not done.stdout:
        raise SystemExit(f"opperf ab ended with exit code {done.returncode}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def alike(plan: Plan) -> tuple[list[str], list[str]]:
    return [], ["env:UNREAD=1"]


def slowed(plan: Plan) -> tuple[list[str], list[str]]:
    path = os.pathsep.join([str(SLOWED), *filter(None, [os.environ.get("PYTHONPATH")])])
    arms = dict.fromkeys(plan.slowed, 0.0), plan.slowed
    a, b = (",".join(f"{name}={share}" for name, share in arm.items()) for arm in arms)
    return [f"env:PYTHONPATH={path}", f"env:SLOWED={a}"], [
        f"env:PYTHONPATH={path}",
        f"env:SLOWED={b}",
    ]


KINDS = {"alike": alike, "slowed": slowed}

CHANGED = ("regressed", "improved")


class Tally:
    """The results of the sessions of one kind."""

    def __init__(self, plan: Plan, changed: tuple[str, ...]) -> None:
        self._plan, self._changed = plan, changed
        self._sessions = self._found = self._flagged = 0
        self._ratios: dict[str, list[float]] = defaultdict(list)
        """B over A of the slowed operators' figures, by session."""
        self._missed: list[str] = []

    def add(self, report: dict[str, Any]) -> str:
        """Counts a session; returns what it found."""
        self._sessions += 1
        rows = [row for row in report["rows"] if row["verdict"] in CHANGED]
        found = {
            row["operator"]
            for row in rows
            if row["operator"] in self._changed and row["verdict"] == "regressed"
        }
        false = [
            f"{row['operator']} {row['metric']} {row['verdict']} {row['ratio']:.3f}"
            for row in rows
            if row["operator"] not in found
        ]
        self._found += len(found)
        self._flagged += bool(false)
        for row in report["rows"]:
            if row["operator"] in self._changed and row["ratio"] is not None:
                self._ratios[f"{row['operator']} {row['metric']}"].append(row["ratio"])
        if not report["session"]["valid"]:
            self._missed.append(f"invalid: {report['session']['reason']}")
        if report["session"]["cases"] < self._plan.least_cases:
            self._missed.append(f"{report['session']['cases']} cases")
        of = f"found {len(found)} of {len(self._changed)}; " if self._changed else ""
        return f"{of}false: {', '.join(false) or 'none'}"

    def lines(self) -> Iterator[str]:
        """The totals."""
        if self._changed:
            yield f"found {self._found} of {self._sessions * len(self._changed)}"
        yield f"false flags in {self._flagged} of {self._sessions} sessions"
        if len(self._ratios) <= MOST_SHOWN:
            for figure, ratios in sorted(self._ratios.items()):
                yield f"{figure}: B/A {statistics.fmean(ratios):.3f} on average"

    def missed(self) -> list[str]:
        """The targets that were missed."""
        wanted = self._plan.least_found * self._sessions * len(self._changed)
        few = [f"{self._found} found, {wanted:.0f} wanted"] if self._found < wanted - 0.5 else []
        most = self._plan.most_flagged
        many = [f"false flags in {self._flagged} sessions"] if self._flagged > most else []
        return [*self._missed, *few, *many]


MOST_SHOWN = 6
"""Most figures whose ratios are printed one by one."""


def line(name: str, report: dict[str, Any], elapsed_s: float) -> str:
    counts = ", ".join(f"{number} {verdict}" for verdict, number in report["counts"].items())
    session = report["session"]
    return (
        f"{name}: {session['cases']} cases, {counts}; detectable "
        f"{report['detectable'] or 0.0:.1%}, core's speed {session['explained'] or 0.0:.0%} of the "
        f"scatter; {session['processes']} processes, {elapsed_s / 60:.1f} min"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan", nargs="?", choices=PLANS, default="ten")
    parser.add_argument("kind", nargs="?", choices=KINDS, help="both by default")
    parser.add_argument("--sessions", type=int, help="of each kind")
    given, more = parser.parse_known_args()
    plan = PLANS[given.plan]
    misses = []
    for name in [given.kind] if given.kind else KINDS:
        arms = KINDS[name](plan)
        tally = Tally(plan, tuple(plan.slowed) if name == "slowed" else ())
        for _ in range(given.sessions or plan.sessions):
            begun = time.monotonic()
            options = [*more, *(plan.slowed_options if name == "slowed" else ())]
            report = session(plan, *arms, options)
            print(line(name, report, time.monotonic() - begun))
            print(f"  {tally.add(report)}", flush=True)
        for total in tally.lines():
            print(f"{name}: {total}", flush=True)
        misses += [f"{name}: {miss}" for miss in tally.missed()]
    for miss in misses:
        print(f"MISSED: {miss}")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
