"""The input of an analysis (`Replicate`, `Thresholds`) and its results (`Analysis`).

Effects are natural logarithms of the ratio B over A: 0 is no change, above 0 is slower or
more. A threshold of 2 % is `log(1.02)` in both directions, so that swapping A and B turns
every effect, and with it every verdict, into its mirror image.
"""

from __future__ import annotations

import enum
import math
from statistics import NormalDist
from typing import Literal

from opperf.defaults import BLOCK_CAP
from opperf.model import Struct

Phase = Literal["control", "comparison", "coarse"]
"""`control`: both arms are A. `comparison`: A and B. `coarse`: A and B, with all threads."""

PHASES: tuple[Phase, Phase] = ("control", "comparison")
"""Phases that the verdicts are made of."""

Arm = Literal["A", "B"]
"""Which build a process loads. In the control's blocks B is A once more."""


class Verdict(str, enum.Enum):
    """The verdict on one case."""

    REGRESSED = "regressed"
    DIFFERENT = "different"
    """A and B do not compute the same, so that the figure is neither better nor the same. One that
    is worse, or not decided, keeps its verdict beside the difference."""
    MISSING = "missing"
    """A has it and B has not: its case failed there, or is not there any more."""
    IMPROVED = "improved"
    SAME = "same"
    AMBIGUOUS = "ambiguous"
    """Neither a change beyond the threshold nor equivalence within `same_within` could be shown."""
    INVALID = "invalid"
    """A differed from itself, or was not compared with itself, so that no verdict is possible."""
    SUSPECT = "suspect"
    """Two separate runs differ; only interleaved runs can show whether the case does."""
    NO_CLEAR_CHANGE = "no clear change"
    """Two separate runs do not differ; that does not prove equivalence."""
    INSTRUCTIONS_SAME = "instructions same"
    """Both arms run the same instructions, and were not timed: no proof of the same time."""


class Replicate(Struct, frozen=True):
    """The results of one fresh process that measured every case once."""

    phase: Phase
    block: int
    """Number of the block within its phase, from 0."""
    position: int
    """Place in the block: that of both arms is 0 where one process has both."""
    arm: Arm
    values: dict[str, float]
    """By case, the natural logarithm of the median of its iterations; of a case that failed,
    nothing or NaN. A case may be any string that is unique to one metric of one case."""
    reference: dict[str, dict[str, float]] = {}
    """By case, logarithms of the trimmed means of its own calls, `model.OWN`, and of each piece of
    reference work that was timed between them; empty where none was."""


FIRST_LOOK = 4
"""Blocks before the first look."""

PAIR = 2
"""Blocks of a pair, in which both orders of the arms occur (`design.block_order`)."""


BOUND = NormalDist().inv_cdf(0.95)
"""Standard errors from a mean to a bound that is wrong with a probability of 5 %."""

SAME_FACTOR = 2
"""`same_within` as a multiple of the threshold: within the threshold itself, unchanged cases that
scatter by 4 % would take a hundred blocks."""


class Thresholds(Struct, frozen=True):
    """The smallest change of interest, error rates and numbers of blocks of a session."""

    threshold: float = 0.02
    """Smallest change of interest, as a share: 0.02 is 2 %."""
    same_within: float = 0.04
    """A case is the same if its change is shown to be smaller than this share: `SAME_FACTOR` times
    the threshold, unless a user sets it."""
    control_q: float = 0.01
    """Highest chance that a sound session, which is hours of measuring, is declared invalid."""
    changed_q: float = 0.05
    """False discovery rate among the cases that are reported as regressed or improved."""
    same_level: float = 0.05
    """Chance that a change as large as `same_within` is the same: the field's convention."""
    control_blocks: int = 2
    """Enough for a test of the whole measurement, as all cases count together."""
    block_cap: int = BLOCK_CAP
    coarse_threshold: float = 0.2
    """Smallest change of interest with all threads, as a share. Blocks there scatter by 12 to 14 %,
    so that no few blocks show less; an operator that no longer runs in parallel is slower by half
    or more."""
    coarse_blocks: int = 0
    """0 for none."""

    @property
    def margin(self) -> float:
        return math.log1p(self.threshold)

    @property
    def coarse_margin(self) -> float:
        return math.log1p(self.coarse_threshold)

    @property
    def same_margin(self) -> float:
        return math.log1p(self.same_within)

    @property
    def looks(self) -> tuple[int, ...]:
        """Numbers of blocks after which the verdicts are made: 4, 6, 8, 12, 16, 24, 32, 48, each a
        third or a half more than the one before, even as blocks are balanced in pairs, and last the
        cap, two blocks or more after the look before it. A first look after two blocks would break
        the error rate: with one or two degrees of freedom a scatter may be far too small by
        chance."""
        found = [FIRST_LOOK]
        while found[-1] < self.block_cap:
            # The largest power of two in half of them.
            found.append(found[-1] + max(PAIR, 1 << (found[-1] // 2).bit_length() - 1))
        return (*(n for n in found if n + PAIR <= self.block_cap), self.block_cap)


class CaseVerdict(Struct, frozen=True):
    """The verdict on one case, and the figures behind it; None where one could not be computed."""

    case: str
    verdict: Verdict
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    """Bounds of the effect, each wrong with the probability `Thresholds.same_level` over all looks:
    the 90 % interval at 5 %. A case is the same when both lie within `same_within`."""
    p: float | None = None
    """Sequential p-value of the hypothesis that the effect is within the threshold, the smallest of
    all looks so far; not corrected for the number of cases."""
    detectable: float | None = None
    """Log ratio of the smallest change that all blocks up to the cap find four times out of five,
    given the scatter of those that it has."""
    n_blocks: int = 0
    note: str = ""
    error: float | None = None
    freedom: float | None = None
    """Standard error of the effect, and its degrees of freedom."""

    @property
    def ratio(self) -> float | None:
        """B over A."""
        return None if self.effect is None else math.exp(self.effect)


class Shift(Struct, frozen=True):
    """The change that all cases have in common. It is not subtracted from any case's effect."""

    verdict: Verdict
    """Verdict on the shift against the threshold: `same` may be a shift that is small."""
    effect: float
    """Mean of the median case's effect over the blocks up to the first look."""
    low: float
    high: float
    """Its 95 % confidence interval."""
    p: float
    n_blocks: int
    note: str = ""


def none_if_nan(value: float) -> float | None:
    """The value, or None for NaN."""
    return None if math.isnan(value) else float(value)


class CoarseLook(Struct, frozen=True):
    """The results of the coarse look with all threads, which has no part in the verdicts."""

    n_blocks: int
    cases: tuple[CaseVerdict, ...]
    """Sorted by case: whether a change beyond `Thresholds.coarse_threshold` could be shown, by a
    single test."""


class Analysis(Struct, frozen=True):
    """The results of a session."""

    valid: bool
    thresholds: Thresholds
    shift: Shift | None
    """None with too few cases or without a look."""
    verdicts: tuple[CaseVerdict, ...]
    looks: int = 0
    reason: str = ""
    explained: float | None = None
    """Share of the median case's variance that the core's speed explains; None if unadjusted."""
    note: str = ""
    coarse: CoarseLook | None = None
    """The coarse look with all threads; None before its blocks are complete, and without them."""
