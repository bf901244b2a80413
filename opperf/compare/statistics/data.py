"""The input of an analysis (`Replicate`, `Thresholds`) and its results (`Analysis`).

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
    """The verdict on one case."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    SAME = "same"
    AMBIGUOUS = "ambiguous"
    """Neither a change beyond delta nor equivalence within it could be shown."""
    INVALID = "invalid"
    """A differed from itself, or was not compared with itself, so that no verdict is possible."""
    SUSPECT = "suspect"
    """Two separate runs differ; only interleaved runs can show whether the case does."""
    UNSUSPICIOUS = "unsuspicious"
    """Two separate runs do not differ; that does not prove equivalence."""


class Replicate(Struct, frozen=True):
    """The results of one fresh process that measured every case once."""

    phase: Phase
    block: int
    """Number of the block within its phase, from 0."""
    position: int
    """Place in the block, 0 to 3."""
    arm: Arm
    values: dict[str, float]
    """By case, the natural logarithm of the median of its iterations; of a case that failed,
    nothing or NaN. A case may be any string that is unique to one metric of one case."""
    reference: dict[str, dict[str, float]] = {}
    """By case, logarithms of the trimmed means of its own calls, `model.OWN`, and of each piece of
    reference work that was timed between them; empty where none was."""


class Thresholds(Struct, frozen=True):
    """The thresholds, error rates and numbers of blocks of a session."""

    threshold: float = 0.02
    """Smallest change of interest, as a share: 0.02 is 2 %."""
    control_q: float = 0.01
    """Highest chance that a session in which A does not differ from itself is declared invalid: a
    session is hours of measuring."""
    screen_q: float = 0.30
    """False discovery rate among the candidates. High, as a false candidate costs only time, and a
    change that is no candidate is missed."""
    screen_p: float = 0.05
    """Level at which a case whose ratio is beyond delta is a candidate by itself."""
    confirm_q: float = 0.05
    """False discovery rate among the cases that are reported as regressed or improved."""
    same_level: float = 0.05
    """Chance that a case whose change is as large as delta is reported as the same, in each phase.
    The field's convention."""
    control_blocks: int = 4
    """Where processes scatter by 1 %, the 99th percentile of the means of four blocks is 1.4 %,
    well below the threshold; that of two is 2 %."""
    screen_blocks: int = 6
    """Of a thousand cases whose processes scatter by 1 %, four blocks leave 280 ambiguous, five
    130, and six 50. A slowdown of 3 % becomes a candidate with any of them, 19 times of 20."""
    confirm_blocks: int = 12
    """Of slowdowns of 3 %, eight find less than half and twelve almost four fifths. As only
    candidates are measured, they cost a sixth of the screen where one case in twenty has
    changed."""
    block_cap: int = 12
    """Most confirm blocks of a case. Where that is more than `confirm_blocks`, ambiguous cases get
    more blocks, and their p-values are corrected for the number of looks at the data."""

    @property
    def margin(self) -> float:
        """The threshold as a logarithm of a ratio."""
        return math.log1p(self.threshold)

    @property
    def looks(self) -> int:
        """Most looks at a case's confirm blocks: their number doubles from one look to the next
        until it is the cap."""
        return 1 + math.ceil(math.log2(max(self.block_cap / self.confirm_blocks, 1.0)))


class CaseVerdict(Struct, frozen=True):
    """The verdict on one case, and the figures behind it; None where one could not be computed."""

    case: str
    verdict: Verdict
    effect: float | None = None
    """Mean over the blocks of log B - log A."""
    low: float | None = None
    high: float | None = None
    """Bounds of the effect, each at the level `Thresholds.same_level`: the 90 % interval at 5 %.
    A case is the same when both lie within delta."""
    p: float | None = None
    """p-value of the hypothesis that the effect is within delta, not corrected for the number of
    cases."""
    phase: Phase | None = None
    """Phase whose blocks were analysed; None where there are none, as in a comparison of two
    files."""
    n_blocks: int = 0
    """Complete blocks of that phase."""
    more_blocks: int | None = None
    """Further confirm blocks that are expected to decide an ambiguous case; None where no
    reasonable number would, or where none is needed."""
    note: str = ""
    """Why the verdict is ambiguous or weaker, as one line."""

    @property
    def ratio(self) -> float | None:
        """B over A."""
        return None if self.effect is None else math.exp(self.effect)


class Shift(Struct, frozen=True):
    """The change that all cases have in common. It is not subtracted from any case's effect."""

    verdict: Verdict
    """Verdict on the shift against the threshold: `same` may be a shift that is small."""
    effect: float | None = None
    """Mean over the screen's blocks of the median case's effect."""
    low: float | None = None
    high: float | None = None
    """Its 95 % confidence interval."""
    p: float | None = None
    """p-value of the hypothesis that there is no shift at all."""
    n_blocks: int = 0
    note: str = ""


class Analysis(Struct, frozen=True):
    """The results of a session."""

    valid: bool
    thresholds: Thresholds
    delta: float
    """Largest effect, in either direction, that counts as no change."""
    floor: float | None
    """Noise floor, the effect of A against itself that 99 of 100 cases do not exceed; None without
    a control."""
    shift: Shift
    verdicts: tuple[CaseVerdict, ...]
    """One for every case that any replicate measured, sorted by case."""
    reason: str = ""
    """Why the session is invalid, and what to do."""
    explained: float | None = None
    """Share of the median case's variance within blocks that the core's speed explains and that is
    subtracted; None where nothing is."""
    note: str = ""
    """Why nothing is subtracted although reference work was timed."""


class Round(Struct, frozen=True):
    """The confirm blocks to measure next."""

    cases: tuple[str, ...]
    first_block: int
    n_blocks: int
