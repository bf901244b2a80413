"""A simulated machine with a thousand operators, and rules in common use that judge its times.

Every process has a random level of every operator, iterations have a floor, a tail and spikes, the
machine drifts from process to process of an interleaved session, and two separate runs differ by a
fixed offset, without the drift. A shared core also changes its speed from one visit of an operator
to the next, and the package's procedure measures that with reference work, or does not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.verdicts.simulated_sessions import (
    PEER_CONFIRM,
    PEER_CONTROL,
    PEER_FLOOR,
    PEER_SCREEN,
    candidates,
    judge_confirmed,
)
from opperf.model import OWN
from opperf.statistics.blocks import BLOCK, effects
from opperf.statistics.data import Phase, Replicate, Thresholds, Verdict
from opperf.statistics.design import block_order
from opperf.statistics.false_discovery import reject
from opperf.statistics.order_statistics import compare_samples
from opperf.statistics.paired_t import Estimate, estimate
from opperf.statistics.verdicts import analyse, needing_more_blocks

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
PACE_ERROR = 0.005
"""Error with which reference work measures a core's speed."""
SLOPES = (0.5, 1.5)
"""Slope of an operator's time against that of the reference work."""

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass
class Machine:
    """The simulated machine. `effect` is B's slowdown by operator, in log units."""

    seed: int
    effect: Floats
    process_sd: float = PROCESS_SD
    pace_sd: float = 0.0
    """Standard deviation of the core's speed between visits."""
    measured_pace: bool = True
    """Whether reference work is timed."""
    level: float = 0.0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        # Separate draws, so that the machines differ in the speed only.
        self.of_pace = np.random.default_rng([self.seed, 1])
        self.slopes = self.of_pace.uniform(*SLOPES, self.effect.size)
        self.names = [f"operator{number:04d}" for number in range(self.effect.size)]

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
        every = np.arange(self.effect.size)
        a = np.array([self.process("A", every) for _ in range(processes)])
        self.level += self.rng.choice([-1.0, 1.0]) * RUN_OFFSET
        return a, np.array([self.process("B", every) for _ in range(processes)])

    def replicates(
        self, phase: Phase, blocks: Iterable[int], cases: Collection[str]
    ) -> list[Replicate]:
        """The blocks of a phase of an interleaved session."""
        names = sorted(cases)
        operators = np.searchsorted(self.names, names)
        measured = []
        for block in blocks:
            for position, arm in enumerate(block_order(self.seed, phase, block)):
                self.level += self.rng.normal(0.0, DRIFT)
                build = "A" if phase == "control" else arm
                medians = np.median(self.process(build, operators), axis=1)
                pace = self.of_pace.normal(0.0, self.pace_sd, operators.size)
                medians += self.slopes[operators] * pace
                values = dict(zip(names, medians.tolist(), strict=True))
                read = pace + self.of_pace.normal(0.0, PACE_ERROR, operators.size)
                reference = {}
                if self.pace_sd and self.measured_pace:
                    both = zip(medians.tolist(), read.tolist(), strict=True)
                    works = [{OWN: own, "work": work} for own, work in both]
                    reference = dict(zip(names, works, strict=True))
                measured.append(Replicate(phase, block, position, arm, values, reference))
        return measured


@dataclass
class Flags:
    """The operators that a rule flags, and its cost in sweeps of all operators."""

    slower: Mask
    faster: Mask
    sweeps: float
    same: Mask | None = None
    """None of a rule that does not distinguish same from ambiguous."""
    invalid: bool = False


def look_by_look(machine: Machine) -> Flags:
    """The package's procedure."""
    thresholds = Thresholds()
    measured = machine.replicates("control", range(thresholds.control_blocks), machine.names)
    cases: Collection[str] = machine.names
    before = 0
    for n_blocks in thresholds.looks:
        measured += machine.replicates("comparison", range(before, n_blocks), cases)
        before = n_blocks
        found = analyse(measured, thresholds)
        cases = needing_more_blocks(found)
        if not (found.valid and cases):
            break
    visits = sum(len(one.values) for one in measured)
    slower, faster, same = (
        np.array([one.verdict is verdict for one in found.verdicts])
        for verdict in (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.SAME)
    )
    return Flags(slower, faster, visits / len(machine.names), same, not found.valid)


def screen_and_confirm(machine: Machine) -> Flags:
    """A screen, and fresh blocks of the candidates (`simulated_sessions.screen_and_confirm`)."""
    of_control = _estimates(machine, "control", PEER_CONTROL, machine.names)
    screen = _estimates(machine, "comparison", PEER_SCREEN, machine.names)
    delta = max(Thresholds().margin, float(np.percentile(np.abs(of_control.mean), PEER_FLOOR)))
    chosen = candidates(screen, delta)
    names = [name for name, one in zip(machine.names, chosen, strict=True) if one]
    few = _estimates(machine, "comparison", PEER_CONFIRM, names)
    confirm = Estimate(*np.full((4, chosen.size), np.nan))
    for name, values in vars(few).items():
        getattr(confirm, name)[chosen] = values
    found = judge_confirmed(screen, confirm, chosen, delta, 0, invalid=False)
    sweeps = BLOCK * (PEER_CONTROL + PEER_SCREEN + PEER_CONFIRM * chosen.mean())
    return Flags(found.slower, found.faster, sweeps, found.same)


def _estimates(machine: Machine, phase: Phase, blocks: int, names: list[str]) -> Estimate:
    return estimate(effects(machine.replicates(phase, range(blocks), names), phase, names))


def ranks_of_iterations(machine: Machine) -> Flags:
    (a,), (b,) = machine.runs_apart(1)
    p = stats.mannwhitneyu(a, b, axis=1).pvalue
    return directed(p < LEVEL, np.median(b, axis=1) - np.median(a, axis=1), 2)


def t_of_pooled_iterations(machine: Machine) -> Flags:
    runs = (run.transpose(1, 0, 2) for run in machine.runs_apart(PROCESSES))
    a, b = (run.reshape(len(run), -1) for run in runs)
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
    """The package's hint from two files."""
    (a,), (b,) = (np.exp(run) for run in machine.runs_apart(1))
    margin = Thresholds().margin
    said = [compare_samples(name, a[row], b[row], margin) for row, name in enumerate(machine.names)]
    found = np.array([one.verdict is Verdict.SUSPECT for one in said])
    return directed(found, np.array([one.effect for one in said]), 2)


def directed(found: Mask, difference: Floats, sweeps: float) -> Flags:
    return Flags(found & (difference > 0), found & (difference < 0), sweeps)


RULES: dict[str, Callable[[Machine], Flags]] = {
    "opperf: interleaved, look by look": look_by_look,
    "screen and confirm": screen_and_confirm,
    "ranks of iterations, two runs": ranks_of_iterations,
    f"t test of iterations pooled over {PROCESSES} processes, two runs": t_of_pooled_iterations,
    f"medians of {PROCESSES} processes, false-discovery correction, two runs": t_of_medians,
    f"medians more than {CRUDE:.0%} apart, two runs": crude_threshold,
    "opperf: suspects, two runs": suspects,
}
