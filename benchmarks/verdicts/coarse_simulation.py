"""Simulates the coarse look of `opperf ab`: which losses of parallelism it finds, and what else.

Sessions of cases whose blocks scatter by 13 %, with the heavy tails of a shared machine; the
scatter of a case is 0.13 times a log-normal variable. One case takes longer in B, or none does.
Prints, by the number of cases and of blocks, the share of sessions that find a case that takes 1.5
times and twice as long, and of those without a change that name one.

Run: python benchmarks/verdicts/coarse_simulation.py [SESSIONS]
"""

from __future__ import annotations

import math
import sys

import numpy as np
from tabulate import tabulate

from opperf.statistics.data import Replicate, Thresholds, Verdict
from opperf.statistics.decisions import coarse_looks
from opperf.statistics.design import block_order

SCATTER = 0.13
"""Of a block, and so of a process: an effect is half the sum of four. As of MXNet's operators with
all threads on a shared machine."""

VARYING = 0.3
"""Scatter of the logarithm of a case's own scatter."""

TAILS = 4.0
"""Degrees of freedom of the noise, a variable of Student's t: one process in a hundred is off by
more than three times the scatter."""

FACTORS = (1.5, 2.0)

SESSIONS = 300
"""Of each cell: half a minute in all, and a share is right to within 6 %."""


def session(rng: np.random.Generator, n_blocks: int, cases: int, factor: float) -> list[Replicate]:
    """The replicates of a coarse look in which the first case takes `factor` times as long in B."""
    scatter = SCATTER * np.exp(rng.normal(0.0, VARYING, cases)) * math.sqrt((TAILS - 2) / TAILS)
    found = []
    for block in range(n_blocks):
        for position, arm in enumerate(block_order(0, "coarse", block)):
            logs = scatter * rng.standard_t(TAILS, cases)
            logs[0] += math.log(factor) if arm == "B" else 0.0
            values = {str(case): float(value) for case, value in enumerate(logs)}
            found.append(Replicate("coarse", block, position, "A" if arm == "A" else "B", values))
    return found


def share(sessions: int, n_blocks: int, cases: int, factor: float) -> float:
    """Share of sessions that find the first case; without a change, that name any."""
    thresholds = Thresholds(coarse_blocks=n_blocks)
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(sessions):
        (look,) = coarse_looks([session(rng, n_blocks, cases, factor)], thresholds)
        assert look is not None
        named = {one.case for one in look.cases if one.verdict is not Verdict.NO_CLEAR_CHANGE}
        found += "0" in named if factor > 1 else bool(named)
    return found / sessions


def main() -> None:
    """Prints the table."""
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else SESSIONS
    rows = [
        [
            cases,
            n_blocks,
            *(f"{share(sessions, n_blocks, cases, factor):.0%}" for factor in FACTORS),
            f"{share(sessions, n_blocks, cases, 1.0):.1%}",
        ]
        for cases in (2, 10, 100)
        for n_blocks in (2, 3, 4)
    ]
    headers = (
        "Cases",
        "Blocks",
        *(f"Finds {one:g} times" for one in FACTORS),
        "Names an unchanged",
    )
    print(tabulate(rows, headers, tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()
