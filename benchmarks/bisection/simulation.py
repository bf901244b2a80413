"""Simulated bisections: how often `opperf bisect` names the right commit, and at what cost.

Blocks scatter as `opperf ab` was seen to (docs/measuring.md), and builds of equal code differ by an
offset. The peer is a plain binary search that believes the same steps: a commit is bad if its
estimate is nearer to BAD's than to GOOD's, and is measured once. Both begin only where the ends
differ. Intervals are Clopper and Pearson's, at 99 %. Ends with 1 if a target is missed beyond its
interval.
Run: python -m benchmarks.bisection.simulation [--repetitions N]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass, field

import msgspec
import numpy as np
from scipy.stats import beta

from benchmarks.verdicts.simulated_sessions import Condition, Session
from benchmarks.verdicts.simulation_report import Report
from opperf.history.bisection.bisecting import HIGH, LOW, Options
from opperf.history.bisection.posterior import Estimate, Search
from opperf.statistics.blocks import Effects
from opperf.statistics.data import Thresholds
from opperf.statistics.decisions import Decisions, look
from opperf.statistics.paired_t import estimate

REPETITIONS = 200
LOSS = 0.05
COMMITS = 30
LEAST_RIGHT = 0.95
"""Of the searches that name one commit or a range: it has the right one."""

QUIET = Condition("pinned, measured", 0.016, spread=0.46)
"""Scatter of operators of a few microseconds in sessions of `ab_on_mxnet.py`."""
BUSY = Condition("pinned, shared machine", 0.039, spread=0.46)
ROWS = (
    (QUIET, COMMITS, 0.005, 0.0),
    (QUIET, 200, 0.005, 0.0),
    (QUIET, COMMITS, 0.01, 0.0),
    (QUIET, COMMITS, 0.005, 0.1),
    (BUSY, COMMITS, 0.005, 0.0),
)
"""Machine, commits, offset between builds, and share of the commits that do not build."""


@dataclass
class World:
    """A repository on a machine: commit `first_bad` lost `LOSS`."""

    seed: int
    condition: Condition
    commits: int
    offset: float
    broken: float
    builds: set[int] = field(default_factory=set)
    steps: int = 0

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.seed, self.commits])
        self.first_bad = int(rng.integers(1, self.commits + 1))
        self.offsets = rng.normal(0.0, self.offset, self.commits + 1)
        spread = rng.normal(0.0, self.condition.spread)
        self.scatter = self.condition.scatter * math.exp(spread)
        fails = rng.random(self.commits + 1) < self.broken
        fails[[0, self.commits]] = False
        self.fails = fails

    def measure(self, place: int, thresholds: Thresholds) -> tuple[Estimate, bool]:
        """Returns a step, and whether it shows a loss: a session of `ab`, look by look."""
        self.steps += 1
        self.builds.add(place)
        change = math.log1p(LOSS) if place >= self.first_bad else 0.0
        effect = np.array([change + self.offsets[place] - self.offsets[0]])
        condition = Condition("", self.scatter, spread=0.0)
        session = Session(self.seed * 1000 + self.steps, effect, condition)
        control = _effects(session.measure("control", range(thresholds.control_blocks)))
        decisions, measured = Decisions.none(1), np.empty((1, 0))
        for n_blocks in thresholds.looks:
            new = session.measure("comparison", range(measured.shape[1], n_blocks))
            measured = np.concatenate([measured, new], axis=1)
            look([decisions], [estimate(_effects(measured), control)], thresholds)
            if decisions.decided.all():
                break
        values = (decisions.mean, decisions.error, decisions.freedom, decisions.n)
        found = Estimate(*(float(value[0]) for value in values))
        return found, bool(decisions.changed[0] and decisions.mean[0] > 0)


def _effects(values: np.ndarray) -> Effects:
    return Effects(values, np.zeros(len(values)))


@dataclass
class Outcome:
    """What a search named, and what it took."""

    first: int
    last: int
    steps: int
    builds: int
    settled: bool


def thresholds_of(effect: float) -> Thresholds:
    """Returns the thresholds of a step, as `Bisecting` has them."""
    return msgspec.structs.replace(
        Thresholds(), threshold=math.expm1(LOW * effect), same_within=math.expm1(HIGH * effect)
    )


def by_posterior(world: World) -> Outcome | None:
    """Returns what opperf finds; None where the ends do not differ."""
    end, differs = world.measure(world.commits, Thresholds())
    if not differs:
        return None
    options = Options()
    search = Search(world.commits, options.build_scatter, options.confidence)
    search.add(world.commits, end)
    while world.steps < options.most_steps and (place := search.choose()) is not None:
        if world.fails[place]:
            search.skipped.add(place)
        else:
            search.add(place, world.measure(place, thresholds_of(end.effect))[0])
    answer = search.answer()
    return Outcome(answer.first, answer.last, world.steps, len(world.builds), search.is_settled)


def by_halves(world: World) -> Outcome | None:
    """Returns what a plain binary search finds; None where the ends do not differ."""
    end, differs = world.measure(world.commits, Thresholds())
    if not differs:
        return None
    good, bad = 0, world.commits
    while True:
        between = [place for place in range(good + 1, bad) if not world.fails[place]]
        if not between:
            return Outcome(good + 1, bad, world.steps, len(world.builds), True)
        place = between[len(between) // 2]
        found, _ = world.measure(place, thresholds_of(end.effect))
        if found.effect > end.effect / 2:
            bad = place
        else:
            good = place


def interval(hits: int, number: int) -> tuple[float, float]:
    low = float(beta.ppf(0.005, hits, number - hits + 1)) if hits else 0.0
    high = float(beta.isf(0.005, hits + 1, number - hits)) if hits < number else 1.0
    return low, high


def main() -> int:
    """Prints the table; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    repetitions = parser.parse_args().repetitions
    report, begun = Report(), time.monotonic()
    rows: list[list[object]] = []
    for condition, commits, offset, broken in ROWS:
        for name, procedure in (("opperf", by_posterior), ("binary search", by_halves)):
            worlds = [
                World(seed, condition, commits, offset, broken) for seed in range(repetitions)
            ]
            pairs = [(world, found) for world in worlds if (found := procedure(world)) is not None]
            number = len(pairs)
            settled = [(world, found) for world, found in pairs if found.settled]
            right = sum(found.first <= world.first_bad <= found.last for world, found in settled)
            one = sum(found.first == found.last == world.first_bad for world, found in pairs)
            low, high = interval(right, len(settled))
            rows.append(
                [
                    condition.name,
                    commits,
                    f"{offset:.1%}",
                    f"{broken:.0%}",
                    name,
                    number,
                    f"{len(settled) / number:.2f}",
                    f"{right / len(settled):.3f} [{low:.3f}, {high:.3f}]",
                    f"{one / number:.3f}",
                    f"{np.mean([found.steps for _, found in pairs]):.1f}",
                    f"{np.mean([found.builds for _, found in pairs]):.1f}",
                ]
            )
            if name == "opperf":
                where = f"{condition.name}, {commits} commits, offset {offset:.1%}"
                report.check(high >= LEAST_RIGHT, f"right at least {LEAST_RIGHT:.0%}: {where}")
    headers = ["machine", "commits", "offset", "broken", "search", "begun", "answered", "right"]
    headers += ["the commit", "steps", "builds"]
    report.table(f"Bisections of a loss of {LOSS:.0%}, {repetitions} each", headers, rows)
    print(f"\n{time.monotonic() - begun:.0f} s")
    for target in dict.fromkeys(report.missed):
        print(f"MISSED: {target}")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
