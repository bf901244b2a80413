"""The stages of a session: control, screen, confirm, and further blocks for ambiguous cases.

The next stage is a function of the replicates so far, so that a resumed session has the stages of
an uninterrupted one. It depends only on blocks that were complete before it began.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from opperf.compare.statistics.data import Analysis, Arm, Phase, Replicate, Thresholds
from opperf.compare.statistics.design import block_order
from opperf.compare.statistics.verdicts import analyse, candidates, next_round

CANDIDATES = 0.05
"""Share of the figures that a forecast counts as candidates: those that the screen's rates let
through where nothing has changed, and a few that have."""


class Place(NamedTuple):
    """The place of a process in a session."""

    phase: Phase
    block: int
    position: int
    label: Arm
    """The arm in the analysis."""
    arm: Arm
    """The arm that is measured: A throughout the control."""


class Stage(NamedTuple):
    """Blocks that are measured before the next look at the data."""

    phase: Phase
    first_block: int
    n_blocks: int
    figures: tuple[str, ...]
    """Those that are measured; empty for all."""

    def places(self, seed: int, done: Iterable[Replicate] = ()) -> Iterator[Place]:
        """Its processes in their order, without those that are done."""
        have = {(one.phase, one.block, one.position) for one in done}
        for block in range(self.first_block, self.first_block + self.n_blocks):
            for position, label in enumerate(block_order(seed, self.phase, block)):
                if (self.phase, block, position) not in have:
                    arm: Arm = "A" if label == "A" or self.phase == "control" else "B"
                    yield Place(self.phase, block, position, "A" if label == "A" else "B", arm)


def fixed_stages(thresholds: Thresholds) -> tuple[Stage, Stage]:
    """The stages that every valid session has."""
    return (
        Stage("control", 0, thresholds.control_blocks, ()),
        Stage("screen", 0, thresholds.screen_blocks, ()),
    )


def next_stage(replicates: Sequence[Replicate], thresholds: Thresholds) -> Stage | None:
    """The first stage that is not complete; None where the session is complete or invalid."""
    for stage in fixed_stages(thresholds):
        if not _is_complete(replicates, stage):
            return stage
        if not analyse(replicates, thresholds).valid:
            return None
    chosen = candidates(replicates, thresholds)
    confirm = Stage("confirm", 0, thresholds.confirm_blocks, chosen)
    measured = thresholds.confirm_blocks if chosen else 0
    if chosen and not _is_complete(replicates, confirm):
        return confirm
    if thresholds.block_cap <= thresholds.confirm_blocks:
        return None
    while True:
        found = next_round(_analysis(replicates, thresholds, measured), measured)
        if found is None:
            return None
        stage = Stage("confirm", found.first_block, found.n_blocks, found.cases)
        if not _is_complete(replicates, stage):
            return stage
        measured += found.n_blocks


def _analysis(replicates: Sequence[Replicate], thresholds: Thresholds, confirmed: int) -> Analysis:
    """The analysis of a session with its first confirm blocks only."""
    early = [one for one in replicates if one.phase != "confirm" or one.block < confirmed]
    return analyse(early, thresholds)


def _is_complete(replicates: Sequence[Replicate], stage: Stage) -> bool:
    # Any seed will do: only the places count, and not their order.
    return next(stage.places(0, replicates), None) is None
