"""What was measured of a case."""

from __future__ import annotations

import enum
import math

from opperf.model.base import Struct
from opperf.model.cases import Case
from opperf.model.metrics import MetricKind, Note, NoteCode


class Summary(Struct, frozen=True):
    """Statistics of one metric's samples, all in `unit`."""

    unit: str
    n: int
    mean: float
    median: float
    min: float
    max: float
    p50: float
    p90: float
    p99: float
    mad: float
    """Median absolute deviation from the median."""
    ci_low: float
    ci_high: float
    """95 % confidence interval of the median, from order statistics; with too few samples
    for one, the extremes."""
    loops: int = 1
    """Calls that each sample is the mean of."""
    outliers_low: int = 0
    outliers_high: int = 0
    """Samples beyond Tukey's fences, 1.5 interquartile ranges from the quartiles: counted, and
    kept."""

    @property
    def half_width(self) -> float | None:
        """How far the median's interval reaches from it at most; None of a single sample, and
        where it has no finite bounds."""
        if self.n < 2 or not (math.isfinite(self.ci_low) and math.isfinite(self.ci_high)):
            return None
        return max(self.ci_high - self.median, self.median - self.ci_low)


class Status(str, enum.Enum):
    """How a case ended."""

    OK = "ok"
    SKIPPED = "skipped"
    FAILED = "failed"
    CRASHED = "crashed"
    TIMEOUT = "timeout"


OWN = "operator"
"""Stands for the operator's own calls among pieces of fixed work."""


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of one case, without the case itself."""

    status: Status
    summaries: dict[str, Summary] = {}
    """By metric: `forward`, `backward`, `total` (both as one), `memory` and so on."""
    samples: dict[str, list[float]] = {}
    """Raw samples by metric, in the summary's unit, in the order they were taken."""
    reason: str = ""
    """Why the status is not ok, as one line a person can act on."""
    notes: tuple[Note, ...] = ()
    """Remarks that belong beside the figures."""
    paces: dict[str, dict[str, float]] = {}
    """By pass, the middle mean in nanoseconds of the pass's own calls, `OWN`, and of each piece of
    fixed work that was timed between them; empty where none was."""
    wall_s: float = 0.0
    """Wall time the case took, inputs and warm-up included, in seconds."""
    busy_s: float = 0.0
    """Seconds of it in which the operator's own calls ran, warm-up included."""
    rounds: int = 1
    """How many times the case was visited; the samples are those of all visits, in turn."""
    moved_bytes: int = 0
    """Bytes of the inputs and of the outputs: what a call has to read and write at least. A tensor
    that is both, or several inputs, counts once; a sparse one by what it stores; and a view, which
    is neither read nor written, not at all."""
    time_kind: MetricKind | None = None
    """Kind of its times, which is its profiler's; None where nothing was timed."""
    environment: str = ""
    """Id of the environment it was measured in; empty where no process has begun it."""


class Record(Outcome, frozen=True, kw_only=True):
    """A case and what came of it."""

    case: Case
    id: str

    def note(self, metric: str, *codes: NoteCode) -> Note | None:
        """The first note on a metric that has one of these codes."""
        return next((one for one in self.notes if one.metric == metric and one.code in codes), None)
