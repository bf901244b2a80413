"""Rules in common use beside the package's procedure, on times of a thousand operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from benchmarks.verdicts.simulated_machine import RULES, Flags, Machine, look_by_look
from benchmarks.verdicts.simulation_report import MOST_FALSE, Report

OPERATORS, SLOWED = 1000, 50
RULE_REPETITIONS = 5
"""Of a thousand operators each."""
RULE_POWER = {0.05: 0.95, 0.03: 0.20}
"""Slowdowns, and the package's least power. A change of 3 % is 1 % beyond the threshold, three
standard errors of twelve blocks: a thousand cases that are all tested find a third of them."""
PACE_SD = 0.12
"""Standard deviation of a shared core's speed between visits, as observed with visits of 0.03 s on
a virtual machine with neighbours."""


@dataclass
class Score:
    """A rule's means over the repetitions."""

    identical: float = 0.0
    false: float = 0.0
    power: dict[float, float] = field(default_factory=dict)
    sweeps: float = 0.0
    ambiguous: float | None = None
    invalid: int = 0


def score(rule: Callable[[Machine], Flags], pace_sd: float, measured_pace: bool) -> Score:
    result = Score()
    for slowdown in (0.0, *RULE_POWER):
        effect = np.zeros(OPERATORS)
        effect[:: OPERATORS // SLOWED] = np.log1p(slowdown)
        truly = effect > 0
        machines = (
            Machine(seed, effect, pace_sd=pace_sd, measured_pace=measured_pace)
            for seed in range(RULE_REPETITIONS)
        )
        taken = [rule(machine) for machine in machines]
        wrong = float(np.mean([np.count_nonzero(f.slower & ~truly | f.faster) for f in taken]))
        result.invalid += sum(f.invalid for f in taken)
        if slowdown == 0.0:
            result.identical = wrong
            continue
        result.false = max(result.false, wrong)
        result.power[slowdown] = float(np.mean([f.slower[truly].mean() for f in taken]))
        result.sweeps = max(result.sweeps, float(np.mean([f.sweeps for f in taken])))
        left = [
            np.count_nonzero(~(f.slower | f.faster | f.same)) for f in taken if f.same is not None
        ]
        result.ambiguous = float(np.mean(left)) if left else None
    return result


def show_rules(report: Report) -> None:
    scores = {name: score(rule, 0.0, True) for name, rule in RULES.items()}
    ours = next(iter(scores.values()))
    shared = f"opperf, the core's speed changes by {PACE_SD:.0%}"
    scores[shared] = score(look_by_look, PACE_SD, True)
    scores[f"{shared}, --no-pace"] = score(look_by_look, PACE_SD, False)
    rows: list[list[object]] = [
        [
            name,
            f"{one.identical:.1f}",
            f"{one.false:.1f}",
            *(f"{power:.2f}" for power in one.power.values()),
            f"{one.sweeps:.1f}",
            "" if one.ambiguous is None else f"{one.ambiguous:.0f}",
        ]
        for name, one in scores.items()
    ]
    headers = ["rule", "flags, identical", f"false flags, {SLOWED} slowed"]
    headers += [f"power at {slowdown:.0%}" for slowdown in RULE_POWER] + ["sweeps", "ambiguous"]
    title = f"{OPERATORS} operators, means of {RULE_REPETITIONS} repetitions; a sweep is a process"
    report.table(f"{title} that visits all operators", headers, rows)
    for slowdown, least in RULE_POWER.items():
        kept = ours.power[slowdown] >= least
        report.check(kept, f"{OPERATORS} operators: power at {slowdown:.0%} at least {least}")
    for name in (*list(RULES)[:1], *list(scores)[-2:]):
        one = scores[name]
        # One of fifty true flags is 2 %.
        report.check(one.identical == 0, f"no flags of identical builds: {name}")
        report.check(one.false <= MOST_FALSE * SLOWED, f"false flags beside true ones: {name}")
        report.check(not one.invalid, f"no sound session invalid: {name}")
