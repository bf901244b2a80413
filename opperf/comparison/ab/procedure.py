"""The stages of a session: the control, the blocks of A and B from one look to the next, and the
coarse look with all threads.

The coarse look comes after the first look at the verdicts: a session that is invalid there wastes
no time on it, and one that is interrupted later has it.

The next stage is a function of the replicates so far, so that a resumed session has the stages of
an uninterrupted one. It depends only on blocks that were complete before it began.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from opperf.comparison.statistics.data import Analysis, Arm, Phase, Replicate, Thresholds
from opperf.comparison.statistics.design import block_order
from opperf.comparison.statistics.verdicts import analyse, undecided

UNDECIDED = 0.5
"""Share of the figures that a forecast counts as undecided after the first look, on average over
the blocks that follow: some half of those that scatter by 4 %, fewer of quieter ones."""


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
    """The stages that every session has."""
    return (
        Stage("control", 0, thresholds.control_blocks, ()),
        Stage("comparison", 0, thresholds.looks[0], ()),
    )


def coarse_stage(thresholds: Thresholds) -> Stage:
    """The stage of the coarse look, which has no blocks in a session without one."""
    return Stage("coarse", 0, thresholds.coarse_blocks, ())


def next_stage(
    replicates: Sequence[Replicate], thresholds: Thresholds, lost: Collection[str] = ()
) -> Stage | None:
    """The first stage that is not complete; None where the session is complete or invalid. `lost`
    are figures that can be measured no more."""
    for stage in fixed_stages(thresholds):
        if not _is_complete(replicates, stage):
            return stage
    stage = coarse_stage(thresholds)
    if not _is_complete(replicates, stage):
        return stage if _analyse_early(replicates, thresholds, thresholds.looks[0]).valid else None
    for taken, following in pairwise(thresholds.looks):
        analysis = _analyse_early(replicates, thresholds, taken)
        figures = tuple(figure for figure in undecided(analysis) if figure not in lost)
        if not analysis.valid or not figures:
            return None
        stage = Stage("comparison", taken, following - taken, figures)
        if not _is_complete(replicates, stage):
            return stage
    return None


def _analyse_early(
    replicates: Sequence[Replicate], thresholds: Thresholds, n_blocks: int
) -> Analysis:
    """The analysis after `n_blocks` of A and B."""
    early = [one for one in replicates if one.phase != "comparison" or one.block < n_blocks]
    return analyse(early, thresholds)


def _is_complete(replicates: Sequence[Replicate], stage: Stage) -> bool:
    # Any seed will do: only the places count, and not their order.
    return next(stage.places(0, replicates), None) is None
