"""What `opperf ab` gains by giving each case the time that its scatter deserves, by simulation.

Sessions of twenty cases whose values scatter between processes and, less the longer a process
measures them, within: each case by amounts of its own. Policies: the same time for all, and the
package's allocation after the first look, from the scatter that was estimated there. Prints for
each the seconds of a session, the changes found, false flags where nothing changed or all cases
differ by the threshold, and the coverage of the intervals: blocks before and after the first look
scatter by different amounts.

Run: python -m benchmarks.verdicts.visit_allocation [--sessions N]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opperf.defaults import CASE_TIME_S, LONGEST_VISIT_S, SHORTEST_VISIT_S
from opperf.statistics.blocks import BLOCK, Effects
from opperf.statistics.data import Thresholds
from opperf.statistics.decisions import Decisions, look
from opperf.statistics.design import LEAST_SHARE, best_seconds
from opperf.statistics.paired_t import estimate

Floats = NDArray[np.float64]

CASES, CHANGED = 20, 2
BETWEEN, BETWEEN_SPREAD = 0.013, 0.5
"""Geometric mean and spread of the cases' standard deviation between processes, as measured on a
shared machine less what reference work explains."""
WITHIN, WITHIN_SPREAD = 0.003, 0.9
"""The same within a process, for a second of samples: 1.3 % in 0.05 s."""
TAILS = 4.0
"""Degrees of freedom of Student's t distribution of processes."""
START_S, OVERHEAD_S = 1.3, 0.012
"""Seconds of a block for its workers, and of a visit of a case beside its samples."""
POLICIES = {"0.02 s": 0.02, "0.05 s": 0.05, "0.1 s": 0.1, "0.2 s": 0.2, "allocated": None}
SITUATIONS = {
    "nothing": (0.0, 0.0),
    "a tenth by 5 %": (0.05, 0.0),
    "all at the margin": (0.0, 0.02),
}


@dataclass
class Result:
    seconds: float
    found: float
    false: bool
    covered: float


def run(seed: int, change: float, null: float, seconds: float | None) -> Result:
    """Returns what a session of this policy found; `seconds` None for the package's."""
    rng = np.random.default_rng(seed)
    thresholds = Thresholds()
    effect = np.log1p(null) * rng.choice([-1.0, 1.0], CASES)
    if change:
        effect[:CHANGED] = np.log1p(change)
    between = BETWEEN * np.exp(rng.normal(0.0, BETWEEN_SPREAD, CASES))
    within = WITHIN * np.exp(rng.normal(0.0, WITHIN_SPREAD, CASES))
    times = np.full(CASES, CASE_TIME_S if seconds is None else seconds)

    def blocks(number: int) -> Floats:
        """Effects without a change; the contrast of four visits has the variance of one."""
        shape = (CASES, number, BLOCK)
        noise = rng.standard_t(TAILS, shape) / np.sqrt(TAILS / (TAILS - 2))
        scatter = np.sqrt(between**2 + within**2 / times)
        signs = np.array([-1.0, 1.0, 1.0, -1.0])
        return np.asarray(scatter[:, None] * (noise @ signs) / 2)

    control = effects_of(blocks(thresholds.control_blocks))
    spent = (thresholds.control_blocks * BLOCK) * (times + OVERHEAD_S).sum()
    spent += thresholds.control_blocks * START_S
    decisions, measured = Decisions.none(CASES), np.empty((CASES, 0))
    for n_blocks in thresholds.looks:
        new = blocks(n_blocks - measured.shape[1]) + effect[:, None]
        new[decisions.decided] = np.nan
        measured = np.concatenate([measured, new], axis=1)
        left = ~decisions.decided
        spent += new.shape[1] * (START_S + BLOCK * (times[left] + OVERHEAD_S).sum())
        found = estimate(effects_of(measured), control)
        look([decisions], [found], thresholds)
        if decisions.decided.all():
            break
        if seconds is None:
            whole = found.error**2 * n_blocks
            cost_s = OVERHEAD_S + START_S / (BLOCK * CASES)
            for case in np.flatnonzero(np.isfinite(whole)):
                own = within[case] ** 2 / times[case]
                left_over = max(whole[case] - own, LEAST_SHARE * whole[case])
                best = best_seconds(cost_s, within[case] ** 2, left_over)
                times[case] = min(max(best, SHORTEST_VISIT_S), LONGEST_VISIT_S)
    flags = decisions.changed
    true = np.abs(effect) > thresholds.margin + 1e-9
    covered = (decisions.low <= effect) & (effect <= decisions.high)
    right = flags & (np.sign(decisions.mean) == np.sign(effect))
    return Result(
        float(spent),
        float(right[:CHANGED].mean()) if change else 0.0,
        bool((flags & ~true).any()),
        float(covered.mean()),
    )


def effects_of(values: Floats) -> Effects:
    return Effects(values, np.zeros(len(values)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--sessions", type=int, default=300, help="of each row")
    sessions = parser.parse_args().sessions
    print(f"{'B':20}{'time of a case':16}{'seconds':>9}{'found':>8}{'any false':>11}{'covered':>9}")
    for name, (change, null) in SITUATIONS.items():
        for policy, seconds in POLICIES.items():
            results = [run(seed, change, null, seconds) for seed in range(sessions)]
            means = (
                np.mean([one.seconds for one in results]),
                np.mean([one.found for one in results]),
                np.mean([one.false for one in results]),
                np.mean([one.covered for one in results]),
            )
            found = f"{means[1]:8.2f}" if change else f"{'':8}"
            print(f"{name:20}{policy:16}{means[0]:9.1f}{found}{means[2]:11.3f}{means[3]:9.3f}")


if __name__ == "__main__":
    main()
