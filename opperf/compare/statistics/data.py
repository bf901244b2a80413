"""What a comparison is made of (`Replicate`, `Rules`) and what it says (`Analysis`).

Effects are natural logarithms of the ratio B over A: 0 is no change, above 0 is slower or
more. A threshold of 2 % is `log(1.02)` in both directions, so that swapping A and B turns
every effect, and with it every verdict, into its mirror image.
"""

from __future__ import annotations

import enum
import math
from typing import Literal

from opperf.model import Struct

Phase = Literal["control", "screen", "confirm"]
"""`control`: both arms are A. `screen`: every case, few blocks. `confirm`: the candidates, fresh
blocks."""

Arm = Literal["A", "B"]
"""Which build a process loads. In the control's blocks B is A once more."""


class Verdict(str, enum.Enum):
    """What is said of one case."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    SAME = "same"
    AMBIGUOUS = "ambiguous"
    """Neither a change beyond delta nor sameness within it could be shown."""
    INVALID = "invalid"
    """A differed from itself, or was not compared with itself: nothing can be said."""
    SUSPECT = "suspect"
    """Two runs taken apart differ; whether the case does is for interleaved runs to say."""
    UNSUSPICIOUS = "unsuspicious"
    """Two runs taken apart do not differ; that is no proof of sameness."""


class Replicate(Struct, frozen=True):
    """One fresh process, that visited every case it was given once."""

    phase: Phase
    block: int
    """Number of the block within its phase, from 0."""
    position: int
    """Place in the block, 0 to 3."""
    arm: Arm
    values: dict[str, float]
    """By case, the natural logarithm of the median of its iterations. A case that failed is
    missing, or NaN. Any name will do that tells one case, and one metric of it, from others."""
    paces: dict[str, dict[str, float]] = {}
    """By case, logarithms of the middle means of its own calls, `model.OWN`, and of each piece of
    fixed work that was timed between them; empty where none was."""


class Rules(Struct, frozen=True):
    """What a comparison goes by."""

    threshold: float = 0.02
    """Smallest change of interest, as a share: 0.02 is 2 %."""
    control_q: float = 0.01
    """Chance that a session in which A does not differ from itself is declared invalid, at most:
    a session is hours of measuring."""
    screen_q: float = 0.30
    """False discovery rate among the candidates. Generous: a false candidate costs time, and
    a change that is no candidate is lost."""
    screen_p: float = 0.05
    """Level at which a case whose ratio is beyond delta is a candidate by itself."""
    confirm_q: float = 0.05
    """False discovery rate among the cases said to have regressed or improved."""
    same_level: float = 0.05
    """Chance that a case whose change is as large as delta is said to be the same, in each phase.
    The field's convention."""
    control_blocks: int = 4
    """Where processes scatter by 1 %, the 99th percentile of the means of four blocks is 1.4 %,
    well below the threshold; that of two is 2 %."""
    screen_blocks: int = 6
    """Of a thousand cases whose processes scatter by 1 %, four blocks leave 280 ambiguous, five
    130, and six 50. A slowdown of 3 % becomes a candidate with any of them, 19 times of 20."""
    confirm_blocks: int = 12
    """Of slowdowns of 3 %, eight find less than half and twelve almost four fifths. Being blocks of
    candidates only, they cost a sixth of the screen where one case in twenty has changed."""
    block_cap: int = 12
    """Confirm blocks a case is given at most. Where that is more than `confirm_blocks`, the
    unsettled are measured on, and each further look at the data is paid for in advance."""

    @property
    def margin(self) -> float:
        """The threshold as a logarithm of a ratio."""
        return math.log1p(self.threshold)

    @property
    def looks(self) -> int:
        """How often a case's confirm blocks are looked at, at most: their number doubles from
        one look to the next until it is the cap."""
        return 1 + math.ceil(math.log2(max(self.block_cap / self.confirm_blocks, 1.0)))


class CaseVerdict(Struct, frozen=True):
    """What is said of one case, and on what grounds. What could not be computed is None."""

    case: str
    verdict: Verdict
    effect: float | None = None
    """Mean over the blocks of log B - log A."""
    low: float | None = None
    high: float | None = None
    """Bounds of the effect, each at the level of `Rules.same_level`: the 90 % interval at 5 %.
    A case is the same when both lie within delta."""
    p: float | None = None
    """Of the effect being within delta, before any correction for the number of cases."""
    phase: Phase | None = None
    """Whose data the verdict rests on; None where there are no blocks, as in a comparison of
    two files."""
    n_blocks: int = 0
    """Complete blocks of that phase."""
    more_blocks: int | None = None
    """Confirm blocks that would settle an ambiguous case; None where no reasonable number
    would, or where none is needed."""
    note: str = ""
    """Why the verdict is not a plain one, as one line."""

    @property
    def ratio(self) -> float | None:
        """B over A."""
        return None if self.effect is None else math.exp(self.effect)


class Shift(Struct, frozen=True):
    """How far all cases moved together. It is not taken out of any case's effect."""

    verdict: Verdict
    """Of the shift against the threshold: one that is the same may well be there, and small."""
    effect: float | None = None
    """Mean over the screen's blocks of the median case's effect."""
    low: float | None = None
    high: float | None = None
    """Its 95 % confidence interval."""
    p: float | None = None
    """Of there being no shift at all."""
    n_blocks: int = 0
    note: str = ""


class Analysis(Struct, frozen=True):
    """Everything that a session's replicates say."""

    valid: bool
    rules: Rules
    delta: float
    """Effects up to here, in either direction, are no change."""
    floor: float | None
    """What A differs from itself by in 99 of 100 cases, at most; None without a control."""
    shift: Shift
    verdicts: tuple[CaseVerdict, ...]
    """Of every case that any replicate measured, sorted by case."""
    reason: str = ""
    """Why the session is invalid, and what to do."""
    explained: float | None = None
    """Share of the variance within blocks, of the median case, that was the core's pace and is
    taken off; None where nothing was."""
    note: str = ""
    """Why nothing was taken off, where fixed work was timed."""


class Round(Struct, frozen=True):
    """Confirm blocks to be measured next."""

    cases: tuple[str, ...]
    first_block: int
    n_blocks: int
