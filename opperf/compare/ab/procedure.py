"""What a session measures next: control, screen, confirm, and what it takes to settle the rest.

A function of what has been measured, so that a session that was interrupted goes on as it would
have. Each stage is decided by whole blocks that were complete before it began.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from opperf.compare.statistics.data import Analysis, Arm, Phase, Replicate, Rules
from opperf.compare.statistics.design import block_order
from opperf.compare.statistics.verdicts import analyse, candidates, next_round

CANDIDATES = 0.05
"""Share of the figures that a forecast takes for candidates: what the screen's generous rates let
through where nothing has changed, and a few that have."""


class Place(NamedTuple):
    """Where in a session a process is."""

    phase: Phase
    block: int
    position: int
    label: Arm
    """As the analysis has it."""
    arm: Arm
    """What is measured: A, in all of the control."""


class Stage(NamedTuple):
    """Blocks that are measured without looking at what they give."""

    phase: Phase
    first_block: int
    n_blocks: int
    figures: tuple[str, ...]
    """Empty for all there are."""

    def places(self, seed: int, done: Iterable[Replicate] = ()) -> Iterator[Place]:
        """Its processes in their order, but for those that are done."""
        have = {(one.phase, one.block, one.position) for one in done}
        for block in range(self.first_block, self.first_block + self.n_blocks):
            for position, label in enumerate(block_order(seed, self.phase, block)):
                if (self.phase, block, position) not in have:
                    arm: Arm = "A" if label == "A" or self.phase == "control" else "B"
                    yield Place(self.phase, block, position, "A" if label == "A" else "B", arm)


def fixed_stages(rules: Rules) -> tuple[Stage, Stage]:
    """The stages that every valid session has."""
    return (
        Stage("control", 0, rules.control_blocks, ()),
        Stage("screen", 0, rules.screen_blocks, ()),
    )


def next_stage(replicates: Sequence[Replicate], rules: Rules) -> Stage | None:
    """The stage that is not complete; None where there is nothing more to measure, or no use."""
    for stage in fixed_stages(rules):
        if not _complete(replicates, stage):
            return stage
        if not analyse(replicates, rules).valid:
            return None
    chosen = candidates(replicates, rules)
    confirm = Stage("confirm", 0, rules.confirm_blocks, chosen)
    measured = rules.confirm_blocks if chosen else 0
    if chosen and not _complete(replicates, confirm):
        return confirm
    if rules.block_cap <= rules.confirm_blocks:
        return None
    while True:
        found = next_round(_analysis(replicates, rules, measured), measured)
        if found is None:
            return None
        stage = Stage("confirm", found.first_block, found.n_blocks, found.cases)
        if not _complete(replicates, stage):
            return stage
        measured += found.n_blocks


def _analysis(replicates: Sequence[Replicate], rules: Rules, confirmed: int) -> Analysis:
    """The analysis of a session with its first confirm blocks only."""
    early = [one for one in replicates if one.phase != "confirm" or one.block < confirmed]
    return analyse(early, rules)


def _complete(replicates: Sequence[Replicate], stage: Stage) -> bool:
    # Which order a block has is of no matter here: every place has its process, or has not.
    return next(stage.places(0, replicates), None) is None
