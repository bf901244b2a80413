"""Verdicts on simulated builds: how often opperf's procedure and rules in common use are wrong.

A thousand operators, of which none or fifty are slower in B. Every process has a random
level of every operator, iterations have a floor, a tail and spikes, the machine drifts from process
to process of an interleaved session, and two separate runs differ by a fixed offset, without the
drift. Another machine is shared: its core changes its speed from one visit of an operator to the
next, and opperf's procedure measures that with reference work, or does not.

Prints, for each rule, the flags on identical builds, the false flags beside fifty true ones, the
power, and the costs, each the mean of twenty seeded repetitions; then how often a sound session is
declared invalid. Ends with 1 if opperf's procedure misses its targets.
Run: python benchmarks/verdict_simulation.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from tabulate import tabulate

from opperf.compare.statistics.data import Analysis, Phase, Replicate, Thresholds, Verdict
from opperf.compare.statistics.design import block_order
from opperf.compare.statistics.false_discovery import reject
from opperf.compare.statistics.order_statistics import compare_samples
from opperf.compare.statistics.verdicts import analyse, candidates
from opperf.model import OWN

OPERATORS = 1000
SLOWED = 50
REPETITIONS = 20
ITERATIONS = 30
"""Per operator and process."""
PROCESS_SD = 0.008
"""Standard deviation of an operator's level between processes, in log units as all below."""
TAIL = 0.04
"""Mean of the exponential tail of iterations above their floor."""
SPIKES = 0.02
"""Share of iterations that take longer by a factor of 1.5 to 4."""
DRIFT = 0.003
"""Standard deviation of the machine's step from one process of a session to the next, a random
walk of all operators together: ten processes later it is 1 %, as far as runs are apart."""
RUN_OFFSET = 0.01
"""Difference of all operators between two separate runs; its sign is random."""
PROCESSES = 10
"""Processes of each build for the rules in common use that take several."""
LEVEL = 0.05
"""Of the tests of those rules."""
CRUDE = 0.10
"""The crude rule's threshold."""
SOUND_SESSIONS = 300
"""Sound sessions, of which the share declared invalid is counted."""
NOISY = 4.0
"""Factor of the noise between processes in the noisier of those sessions."""

PACE_SD = 0.12
"""Standard deviation of a shared core's speed between visits, as observed with visits of 0.03 s on
a virtual machine with neighbours."""
PACE_ERROR = 0.005
"""Error with which reference work measures it."""
SLOPES = (0.5, 1.5)
"""Slope of an operator's time against that of the reference work."""

MOST_FALSE_FLAGS = 1.0
LEAST_POWER = {0.05: 0.95, 0.03: 0.60}
MOST_INVALID = 0.01

NAMES = [f"operator{number:04d}" for number in range(OPERATORS)]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass
class Machine:
    """The simulated machine. `effect` is B's slowdown by operator, in log units."""

    seed: int
    effect: Floats
    process_sd: float = PROCESS_SD
    pace_sd: float = 0.0
    gauged: bool = True
    """Whether reference work is timed."""
    level: float = 0.0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        # Separate draws, so that the machines differ in the speed only.
        self.of_pace = np.random.default_rng([self.seed, 1])
        self.slopes = self.of_pace.uniform(*SLOPES, OPERATORS)

    def process(self, arm: str, operators: NDArray[np.intp]) -> Floats:
        """Logs of the iterations of a fresh process, a row for each operator."""
        rng, shape = self.rng, (operators.size, ITERATIONS)
        luck = rng.normal(0.0, self.process_sd, operators.size)
        operator = self.level + luck + (self.effect[operators] if arm == "B" else 0.0)
        logs = operator[:, None] + TAIL * rng.standard_exponential(shape)
        spikes = rng.integers(logs.size, size=rng.binomial(logs.size, SPIKES))
        logs.flat[spikes] += rng.uniform(np.log(1.5), np.log(4.0), spikes.size)
        return logs

    def runs_apart(self, processes: int) -> tuple[Floats, Floats]:
        """Returns a run of A and one of B with this number of processes each: process, operator,
        iteration."""
        every = np.arange(OPERATORS)
        a = np.array([self.process("A", every) for _ in range(processes)])
        self.level += self.rng.choice([-1.0, 1.0]) * RUN_OFFSET
        return a, np.array([self.process("B", every) for _ in range(processes)])

    def replicates(
        self, phase: Phase, blocks: int, cases: Iterable[str] = NAMES
    ) -> list[Replicate]:
        """The blocks of a phase of an interleaved session."""
        names = list(cases)
        operators = np.searchsorted(NAMES, names)
        measured = []
        for block in range(blocks):
            for position, arm in enumerate(block_order(self.seed, phase, block)):
                self.level += self.rng.normal(0.0, DRIFT)
                build = "A" if phase == "control" else arm
                medians = np.median(self.process(build, operators), axis=1)
                pace = self.of_pace.normal(0.0, self.pace_sd, operators.size)
                medians += self.slopes[operators] * pace
                values = dict(zip(names, medians.tolist(), strict=True))
                read = pace + self.of_pace.normal(0.0, PACE_ERROR, operators.size)
                gauges = {}
                if self.pace_sd and self.gauged:
                    both = zip(medians.tolist(), read.tolist(), strict=True)
                    works = [{OWN: own, "work": work} for own, work in both]
                    gauges = dict(zip(names, works, strict=True))
                measured.append(Replicate(phase, block, position, arm, values, gauges))
        return measured


@dataclass
class Flags:
    """The operators that a rule flags, and its cost in sweeps of all operators."""

    slower: Mask
    faster: Mask
    sweeps: float
    ambiguous: int | None = None


def interleaved(machine: Machine) -> Flags:
    """opperf's procedure."""
    thresholds = Thresholds()
    measured = machine.replicates("control", thresholds.control_blocks)
    measured += machine.replicates("screen", thresholds.screen_blocks)
    chosen = candidates(measured, thresholds)
    measured += machine.replicates("confirm", thresholds.confirm_blocks, chosen)
    return flags_of(analyse(measured, thresholds), thresholds, len(chosen))


def flags_of(analysis: Analysis, thresholds: Thresholds, chosen: int) -> Flags:
    # By value: NumPy would cut the names of an enum's members short.
    said = np.array([one.verdict.value for one in analysis.verdicts])
    return Flags(
        said == Verdict.REGRESSED.value,
        said == Verdict.IMPROVED.value,
        4 * (thresholds.control_blocks + thresholds.screen_blocks)
        + 4 * thresholds.confirm_blocks * chosen / OPERATORS,
        int(np.count_nonzero(said == Verdict.AMBIGUOUS.value)),
    )


def ranks_of_iterations(machine: Machine) -> Flags:
    (a,), (b,) = machine.runs_apart(1)
    p = stats.mannwhitneyu(a, b, axis=1).pvalue
    return directed(p < LEVEL, np.median(b, axis=1) - np.median(a, axis=1), 2)


def t_of_pooled_iterations(machine: Machine) -> Flags:
    a, b = (run.transpose(1, 0, 2).reshape(OPERATORS, -1) for run in machine.runs_apart(PROCESSES))
    p = stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue
    return directed(p < LEVEL, b.mean(axis=1) - a.mean(axis=1), 2 * PROCESSES)


def t_of_medians(machine: Machine) -> Flags:
    a, b = (np.median(run, axis=2) for run in machine.runs_apart(PROCESSES))
    p = stats.ttest_ind(a, b, axis=0, equal_var=False).pvalue
    found = reject(p, LEVEL)
    return directed(found, b.mean(axis=0) - a.mean(axis=0), 2 * PROCESSES)


def crude_threshold(machine: Machine) -> Flags:
    (a,), (b,) = machine.runs_apart(1)
    difference = np.median(b, axis=1) - np.median(a, axis=1)
    return directed(np.abs(difference) > np.log1p(CRUDE), difference, 2)


def suspects(machine: Machine) -> Flags:
    """opperf's hint from two files."""
    (a,), (b,) = (np.exp(run) for run in machine.runs_apart(1))
    margin = Thresholds().margin
    said = [compare_samples(name, a[row], b[row], margin) for row, name in enumerate(NAMES)]
    found = np.array([one.verdict == Verdict.SUSPECT for one in said])
    return directed(found, np.array([one.effect for one in said]), 2)


def directed(found: Mask, difference: Floats, sweeps: float) -> Flags:
    return Flags(found & (difference > 0), found & (difference < 0), sweeps)


OPPERF = "opperf: interleaved, screened, confirmed"

SHARED = {
    f"core's speed changes by {PACE_SD:.0%}": True,
    f"core's speed changes by {PACE_SD:.0%}, --no-pace": False,
}
"""Whether opperf measures the speed of a shared machine's core."""

RULES: dict[str, Callable[[Machine], Flags]] = {
    OPPERF: interleaved,
    "ranks of iterations, two runs": ranks_of_iterations,
    f"t test of iterations pooled over {PROCESSES} processes, two runs": t_of_pooled_iterations,
    f"medians of {PROCESSES} processes, false-discovery correction, two runs": t_of_medians,
    f"medians more than {CRUDE:.0%} apart, two runs": crude_threshold,
    "opperf: suspects, two runs": suspects,
}


@dataclass
class Score:
    """Means over the repetitions."""

    identical: float = 0.0
    false: float = 0.0
    power: dict[float, float] = field(default_factory=dict)
    sweeps: float = 0.0
    ambiguous: float | None = None


def score(rule: Callable[[Machine], Flags], **machine: Any) -> Score:
    result = Score()
    for slowdown in (0.0, *LEAST_POWER):
        effect = np.zeros(OPERATORS)
        effect[:: OPERATORS // SLOWED] = np.log1p(slowdown)
        truly = effect > 0
        taken = [rule(Machine(seed, effect, **machine)) for seed in range(REPETITIONS)]
        wrong = np.mean([np.count_nonzero(f.slower & ~truly | f.faster) for f in taken])
        if slowdown == 0.0:
            result.identical = float(wrong)
            continue
        result.false = max(result.false, float(wrong))
        result.power[slowdown] = float(np.mean([f.slower[truly].mean() for f in taken]))
        result.sweeps = max(result.sweeps, float(np.mean([f.sweeps for f in taken])))
        if taken[0].ambiguous is not None:
            result.ambiguous = float(np.mean([f.ambiguous for f in taken]))
    return result


def share_invalid(process_sd: float) -> float:
    """Share of sound sessions that are declared invalid by their control."""
    thresholds = Thresholds()
    invalid = 0
    for seed in range(SOUND_SESSIONS):
        machine = Machine(seed, np.zeros(OPERATORS), process_sd)
        control = machine.replicates("control", thresholds.control_blocks)
        invalid += not analyse(control, thresholds).valid
    return invalid / SOUND_SESSIONS


def missed(ours: Score, shared: Iterable[Score], invalid: dict[str, float]) -> list[str]:
    """The targets that opperf's procedure misses."""
    checks = {
        f"false flags at most {MOST_FALSE_FLAGS:g}": max(ours.identical, ours.false)
        <= MOST_FALSE_FLAGS,
        **{
            f"power at {slowdown:.0%} at least {least}": ours.power[slowdown] >= least
            for slowdown, least in LEAST_POWER.items()
        },
        f"false flags at most {MOST_FALSE_FLAGS:g} where the core's speed changes": max(
            max(one.identical, one.false) for one in shared
        )
        <= MOST_FALSE_FLAGS,
        f"invalid less often than {MOST_INVALID:.0%}": max(invalid.values()) < MOST_INVALID,
    }
    return [name for name, kept in checks.items() if not kept]


def main() -> int:
    """Print the table and the rates; 1 if a target is missed."""
    scores = {name: score(rule) for name, rule in RULES.items()}
    scores |= {
        f"{OPPERF}, {name}": score(interleaved, pace_sd=PACE_SD, gauged=gauged)
        for name, gauged in SHARED.items()
    }
    headers = [
        "rule",
        "flags, identical",
        f"false flags, {SLOWED} slowed",
        *(f"power at {slowdown:.0%}" for slowdown in LEAST_POWER),
        "sweeps",
        "ambiguous",
    ]
    rows = [
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
    print(f"{OPERATORS} operators, means of {REPETITIONS} repetitions; a sweep is a process that")
    print("visits all operators")
    print(tabulate(rows, headers, tablefmt="github", disable_numparse=True))
    invalid = {
        "as above": share_invalid(PROCESS_SD),
        f"processes {NOISY:g} times as noisy": share_invalid(NOISY * PROCESS_SD),
    }
    for name, share in invalid.items():
        print(f"sound sessions declared invalid, {name}: {share:.1%} of {SOUND_SESSIONS}")
    misses = missed(scores[OPPERF], [scores[f"{OPPERF}, {name}"] for name in SHARED], invalid)
    for miss in misses:
        print(f"MISSED: {miss}")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
