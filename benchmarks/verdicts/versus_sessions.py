"""Simulates sessions of `opperf versus`: what they flag of arms that are the same, and whether they
find one that is 10 % slower.

Processes scatter as those of pinned sessions do (`simulation.py`), with the heavy tails of a shared
machine, around a level that drifts from process to process. Prints, by the number of arms and the
scatter, the flagged rows of sessions of identical arms, the share of sessions that find the one row
in which an arm is slower, and the seconds of both at the usual time of a case.

Run: python -m benchmarks.verdicts.versus_sessions [SESSIONS]
"""

from __future__ import annotations

import itertools
import math
import statistics
import sys
from typing import NamedTuple

import numpy as np
from tabulate import tabulate

from benchmarks.verdicts.simulated_sessions import DRIFT, TAIL_FREEDOM, Condition
from benchmarks.verdicts.simulation import MEASURED, PINNED
from opperf.comparison.ab.forecast import next_stage
from opperf.comparison.ab.rehearsal import WARMUP_FACTOR
from opperf.defaults import CASE_TIME_S
from opperf.statistics.data import Arm, Replicate, Thresholds, Verdict
from opperf.statistics.verdicts import analyse_together

ROWS = 50
START_S = 1.5
"""Of a worker that imports its framework; another process of its block is a fork."""

FLAGGED = (Verdict.REGRESSED, Verdict.IMPROVED)


class Outcome(NamedTuple):
    """The end of a session."""

    flagged: int
    """Rows of identical arms that are slower or faster."""
    found: bool
    """Whether the slower row is."""
    valid: bool
    seconds: float


def simulate(seed: int, arms: int, rows: int, condition: Condition, slower: float = 0.0) -> Outcome:
    """Returns the outcome of a session in which the last arm's first row takes longer by this
    logarithm of a ratio."""
    rng = np.random.default_rng([seed, arms, rows])
    scatter = condition.scatter * np.exp(rng.normal(0.0, condition.spread, rows))
    scatter *= math.sqrt((TAIL_FREEDOM - 2) / TAIL_FREEDOM)
    names = [f"arm{n}" for n in range(arms)]
    thresholds = Thresholds()
    comparisons: list[list[Replicate]] = [[] for _ in names[1:]]
    level = seconds = 0.0
    while (stage := next_stage(comparisons, thresholds)) is not None:
        measured = set(stage.figures) or {f"{row} forward" for row in range(rows)}
        seconds += stage.n_blocks * START_S
        for place in stage.places(seed, names):
            level += rng.normal(0.0, DRIFT)
            logs = level + scatter * rng.standard_t(TAIL_FREEDOM, rows)
            logs[0] += slower if place.arm == names[-1] else 0.0
            seconds += len(measured) * WARMUP_FACTOR * CASE_TIME_S
            values = {
                name: float(logs[row])
                for row in range(rows)
                if (name := f"{row} forward") in measured
            }
            for other, own in enumerate(comparisons, 1):
                arm = _role(place.phase, place.role, names, other)
                if arm is not None:
                    own.append(Replicate(place.phase, place.block, place.position, arm, values))
    analyses = analyse_together(comparisons, thresholds)
    last = analyses[-1].verdicts
    found = any(one.case == "0 forward" and one.verdict is Verdict.REGRESSED for one in last)
    flagged = sum(
        one.verdict in FLAGGED
        for place, analysis in enumerate(analyses)
        for one in analysis.verdicts
        if not (slower and place == len(analyses) - 1 and one.case == "0 forward")
    )
    return Outcome(flagged, found, all(one.valid for one in analyses), seconds)


def _role(phase: str, role: str, names: list[str], other: int) -> Arm | None:
    """Returns the role of a process in the comparison of an arm with the first; None for none."""
    if phase == "control":
        return "A" if role == names[0] else "B"
    roles: dict[str, Arm] = {names[0]: "A", names[other]: "B"}
    return roles.get(role)


def main() -> None:
    """Prints a row for each number of arms."""
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    table = []
    measured = Condition("measured", *MEASURED["forward"])
    for arms, condition in itertools.product((2, 4), (measured, PINNED)):
        same = [simulate(seed, arms, ROWS, condition) for seed in range(sessions)]
        slower = math.log(1.1)
        few = [simulate(seed, arms, 5, condition, slower) for seed in range(sessions)]
        table.append(
            [
                f"{arms}, {condition.name}",
                sum(one.flagged for one in same),
                sum(not one.valid for one in same),
                round(statistics.mean(one.seconds for one in same)),
                f"{sum(one.found for one in few)} of {sessions}",
                round(max(one.seconds for one in few)),
            ]
        )
    flagged = f"flagged of {ROWS} rows each"
    headers = ["arms", flagged, "invalid", "s", "10 % found of 5 rows", "s at most"]
    print(tabulate(table, headers))


if __name__ == "__main__":
    main()
