"""Confirms what a screening suspects, by the statistics of `opperf ab`.

A is a case, B the same with another value of an option, in interleaved blocks of fresh processes.
`opperf ab` itself pairs cases of the same arguments; blocks, order, measuring and verdicts are its
own here too. The threshold is a fifth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

import msgspec

from benchmarks.option_scan.screen import CHANGE, Screened, paced
from opperf.comparison.ab.measure import measure
from opperf.comparison.ab.procedure import Stage, next_stage
from opperf.comparison.ab.session import ReplicateLine, key
from opperf.comparison.ab.workers import BlockWorkers, Start
from opperf.comparison.statistics.data import Analysis, Arm, Thresholds
from opperf.comparison.statistics.verdicts import analyse
from opperf.execution.progress import Quiet
from opperf.model import Case, Pass
from opperf.model.base import Struct

THRESHOLDS = Thresholds(
    threshold=CHANGE,
    # Twice as much, as in `Thresholds` themselves.
    same_within=2 * CHANGE,
    # A change of a half is found in the first look; a quarter may take one or two further looks.
    block_cap=8,
)

SEED = 0
"""Of the orders of processes and cases."""

CONFIRM_S = 0.04
"""Time limit of a case: its error is then far below that between processes, some percent."""


class Pairs(Struct, frozen=True, tag="round", tag_field="line"):
    """A round: the variants that are confirmed together, each with its passes."""

    passes: dict[str, tuple[Pass, ...]]


def confirm(
    pairs: Pairs,
    screened: Mapping[str, Screened],
    done: Sequence[ReplicateLine],
    start: Start,
    add: Callable[[ReplicateLine], None],
    may_go_on: Callable[[], bool],
) -> None:
    """Measures the rest of a round, process by process, while `may_go_on`; `done` are those that it
    has already, and `add` keeps a further one."""
    lines = list(done)
    while True:
        stage = next_stage([one.replicate for one in lines], THRESHOLDS, _ended(pairs, lines))
        if stage is None:
            return
        places = stage.places(SEED, [one.replicate for one in lines])
        for _, block in groupby(places, lambda place: place.block):
            if not may_go_on():
                return
            with BlockWorkers(start) as workers:
                for place in block:
                    cases = cases_at(stage, pairs, screened, lines, place.arm)
                    line = measure(place, cases, SEED, workers, Quiet())
                    lines.append(line)
                    add(line)


def cases_at(
    stage: Stage,
    pairs: Pairs,
    screened: Mapping[str, Screened],
    lines: Iterable[ReplicateLine],
    arm: Arm,
) -> dict[str, Case]:
    """Returns the cases that a process of an arm measures, by variant."""
    gone = {name for line in lines for name, lost in line.lost.items() if lost.ended}
    found: dict[str, Case] = {}
    for name, own in pairs.passes.items():
        passes = tuple(one for one in own if not stage.figures or key(name, one) in stage.figures)
        if passes and name not in gone:
            one = screened[name]
            case = one.variant.case if arm == "A" else one.other
            assert case is not None
            measured = paced(case, one.call_s, CONFIRM_S)
            found[name] = msgspec.structs.replace(measured, passes=passes)
    return found


def _ended(pairs: Pairs, lines: Iterable[ReplicateLine]) -> frozenset[str]:
    """The figures of variants that have ended a process, and are measured no more."""
    gone = {name for line in lines for name, lost in line.lost.items() if lost.ended}
    return frozenset(key(name, one) for name in gone for one in pairs.passes[name])


def is_complete(pairs: Pairs, lines: Sequence[ReplicateLine]) -> bool:
    """Whether a round has all its processes."""
    replicates = [one.replicate for one in lines]
    return next_stage(replicates, THRESHOLDS, _ended(pairs, lines)) is None


def verdicts(lines: Sequence[ReplicateLine]) -> Analysis:
    """Returns the analysis of a round so far."""
    return analyse([one.replicate for one in lines], THRESHOLDS)
