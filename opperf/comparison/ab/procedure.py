"""The stages of a session: the control, the blocks of the arms from one look to the next, and the
coarse look with all threads.

The coarse look comes after the first look at the verdicts: a session that is invalid there wastes
no time on it, and one that is interrupted later has it.

The next stage is a function of the replicates so far, so that a resumed session has the stages of
an uninterrupted one. It depends only on blocks that were complete before it began.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from opperf.comparison.statistics.blocks import BLOCK
from opperf.comparison.statistics.data import Analysis, Phase, Replicate, Thresholds
from opperf.comparison.statistics.design import block_order
from opperf.comparison.statistics.verdicts import analyse, needing_more_blocks
from opperf.model import Place

AMBIGUOUS_SHARE = 0.5
"""Share of the figures that a forecast counts as ambiguous after the first look, on average over
the blocks that follow: some half of those that scatter by 4 %, fewer of quieter ones."""


class Stage(NamedTuple):
    """Blocks that are measured before the next look at the data."""

    phase: Phase
    first_block: int
    n_blocks: int
    figures: tuple[str, ...]
    """Those that are measured; empty for all."""

    def places(self, seed: int, arms: Sequence[str], done: Iterable[Place] = ()) -> Iterator[Place]:
        """Yields its processes in their order, without those that are done."""
        have = {(place.phase, place.block, place.position) for place in done}
        control = self.phase == "control"
        roles = arms[:2] if control else arms
        for block in range(self.first_block, self.first_block + self.n_blocks):
            for position, role in enumerate(block_order(seed, self.phase, block, roles)):
                if (self.phase, block, position) not in have:
                    arm = arms[0] if control else role
                    yield Place(self.phase, block, position, arm, role)


def fixed_stages(thresholds: Thresholds) -> tuple[Stage, Stage]:
    """Returns the stages that every session has."""
    return (
        Stage("control", 0, thresholds.control_blocks, ()),
        Stage("comparison", 0, thresholds.looks[0], ()),
    )


def coarse_stage(thresholds: Thresholds) -> Stage:
    """Returns the stage of the coarse look, which has no blocks in a session without one."""
    return Stage("coarse", 0, thresholds.coarse_blocks, ())


def next_stage(
    comparisons: Sequence[Sequence[Replicate]], thresholds: Thresholds, lost: Collection[str] = ()
) -> Stage | None:
    """Returns the first stage that is not complete; None where the session is complete or invalid.
    `comparisons` have the replicates of each comparison of two arms, those of the control in all;
    `lost` are figures that can be measured no more."""
    for stage in fixed_stages(thresholds):
        if not _is_complete(comparisons, stage):
            return stage
    stage = coarse_stage(thresholds)
    if not _is_complete(comparisons, stage):
        early = _analyse_early(comparisons, thresholds, thresholds.looks[0])
        return stage if all(analysis.valid for analysis in early) else None
    for taken, following in pairwise(thresholds.looks):
        early = _analyse_early(comparisons, thresholds, taken)
        left = dict.fromkeys(
            figure for analysis in early for figure in needing_more_blocks(analysis)
        )
        figures = tuple(figure for figure in left if figure not in lost)
        if not all(analysis.valid for analysis in early) or not figures:
            return None
        stage = Stage("comparison", taken, following - taken, figures)
        if not _is_complete(comparisons, stage):
            return stage
    return None


def _analyse_early(
    comparisons: Iterable[Iterable[Replicate]], thresholds: Thresholds, n_blocks: int
) -> list[Analysis]:
    """Returns the analyses after `n_blocks` of the arms."""
    return [
        analyse(
            [
                replicate
                for replicate in replicates
                if replicate.phase != "comparison" or replicate.block < n_blocks
            ],
            thresholds,
        )
        for replicates in comparisons
    ]


def _is_complete(comparisons: Iterable[Iterable[Replicate]], stage: Stage) -> bool:
    blocks = range(stage.first_block, stage.first_block + stage.n_blocks)
    return all(
        counted[block] == BLOCK
        for replicates in comparisons
        for counted in [
            Counter(replicate.block for replicate in replicates if replicate.phase == stage.phase)
        ]
        for block in blocks
    )
