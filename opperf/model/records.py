"""Records: the results of cases."""

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
    """95 % confidence interval of the median, from order statistics; the extremes if there are too
    few samples for one."""
    loops: int = 1
    """Calls per sample, which is their mean."""
    outliers_low: int = 0
    outliers_high: int = 0
    """Samples beyond Tukey's fences, 1.5 interquartile ranges from the quartiles: counted, not
    removed."""

    @property
    def half_width(self) -> float | None:
        """Largest distance from the median to a bound of its confidence interval; None for a single
        sample or an infinite bound."""
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


class GpuState(Struct, frozen=True, kw_only=True):
    """State of a GPU while a case was measured, by several readings."""

    readings: int
    throttled: int = 0
    """Readings at which the GPU had a reason to lower its clocks."""
    reasons: tuple[str, ...] = ()
    """Those reasons, sorted."""
    lowest_mhz: int | None = None
    highest_mhz: int | None = None
    """Clocks of its processors (SM), while it was not idle; None if they cannot be read."""
    temperature_c: int | None = None
    """The highest; None if it cannot be read."""

    def merge(self, other: GpuState) -> GpuState:
        """Returns the state by the readings of both."""
        lowest, highest, temperatures = (
            [value for value in pair if value is not None]
            for pair in (
                (self.lowest_mhz, other.lowest_mhz),
                (self.highest_mhz, other.highest_mhz),
                (self.temperature_c, other.temperature_c),
            )
        )
        return GpuState(
            readings=self.readings + other.readings,
            throttled=self.throttled + other.throttled,
            reasons=tuple(sorted({*self.reasons, *other.reasons})),
            lowest_mhz=min(lowest, default=None),
            highest_mhz=max(highest, default=None),
            temperature_c=max(temperatures, default=None),
        )


class Waits(Struct, frozen=True, kw_only=True):
    """Counts of the kernel on a busy machine while a pass was sampled."""

    wall_s: float
    """Seconds of the sampling."""
    waited_s: float | None = None
    """Seconds that threads of the process were ready and waited for a core, summed over threads;
    None if the kernel does not count them."""
    preempted: int = 0
    """Times that a thread of the process was stopped for another one."""
    blocked: int = 0
    """Times that a thread of the process waited by itself: for other threads of a kernel."""
    pressure_s: float | None = None
    """Seconds in which some thread of the machine waited for a core; None if they cannot be
    read."""
    stolen_s: float | None = None
    """Seconds that the hypervisor gave to other guests, of all cores; None if they cannot be
    read."""
    share: float = 0.0
    """Share of a typical sample that has to be waits: of those of the process's threads, and of
    what was stolen, the part that the longer samples do not explain."""

    def merge(self, other: Waits) -> Waits:
        """Returns the waits of two samplings."""
        wall_s = self.wall_s + other.wall_s
        share = (self.share * self.wall_s + other.share * other.wall_s) / wall_s
        return Waits(
            wall_s=wall_s,
            waited_s=_sum(self.waited_s, other.waited_s),
            preempted=self.preempted + other.preempted,
            blocked=self.blocked + other.blocked,
            pressure_s=_sum(self.pressure_s, other.pressure_s),
            stolen_s=_sum(self.stolen_s, other.stolen_s),
            share=share,
        )


def _sum(first: float | None, other: float | None) -> float | None:
    """Returns the sum of two numbers; None without one of them."""
    return None if first is None or other is None else first + other


class Place(Struct, frozen=True):
    """The place, in a schedule of arms, of the process that measured a record."""

    phase: str
    """`control`: all arms are the first. `comparison`: each is itself. `coarse`: the same, with all
    threads. `counts`: each once."""
    block: int
    """Number of the block in its phase, from 0."""
    position: int
    """Number of the process in its block, from 0."""
    arm: str
    """Name of the arm whose cases are measured."""
    role: str
    """Name of the arm that it stands for: another one in the control."""


OWN = "operator"
"""Key of the operator's own calls in `Outcome.reference`, beside the pieces of reference work."""


class Outcome(Struct, frozen=True, kw_only=True):
    """The results of one case, without the case itself."""

    status: Status
    summaries: dict[str, Summary] = {}
    """By metric: `forward`, `backward`, `total` (both as one), `memory` and so on."""
    samples: dict[str, list[float]] = {}
    """Raw samples by metric, in the summary's unit, in the order they were taken."""
    warmup: dict[str, list[float]] = {}
    """By pass, the wall-clock times of its warmup calls, each with its synchronisation, in
    nanoseconds; empty unless their number was set."""
    reason: str = ""
    """Why the status is not ok, in one line that a user can act on."""
    notes: tuple[Note, ...] = ()
    reference: dict[str, dict[str, float]] = {}
    """By pass, the trimmed mean in nanoseconds of the operator's own calls, under `OWN`, and of
    each piece of reference work timed between them; empty without reference work."""
    waits: dict[str, Waits] = {}
    """By pass, what the kernel counted of a busy machine while it was sampled."""
    wall_s: float = 0.0
    """Wall time of the case in seconds, inputs and warmup included."""
    busy_s: float = 0.0
    """Seconds of `wall_s` in the operator's own calls, warmup included."""
    rounds: int = 1
    """Number of rounds that measured the case; the samples are those of all rounds, in order."""
    moved_bytes: int = 0
    """Bytes that a call has to read and write at least: those of its inputs and outputs. A tensor
    that is both, or several inputs, counts once; a sparse one by its stored elements; a view, which
    is neither read nor written, does not count."""
    time_kind: MetricKind | None = None
    """Kind of its times, as its profiler measures them; None if nothing was timed."""
    gpu: GpuState | None = None
    """State of the GPU that the case used; None without one, or without NVIDIA's library."""
    environment: str = ""
    """Id of the environment it was measured in; empty if no process has started it."""
    place: Place | None = None
    """Place in a schedule of arms; None in a run."""
    profiles: dict[str, str] = {}
    """By program that profiled the case's calls, the name of the file that it wrote, in the folder
    of profiles beside the run file."""


class Record(Outcome, frozen=True, kw_only=True):
    """A case and its results."""

    case: Case
    id: str

    def note(self, metric: str, *codes: NoteCode) -> Note | None:
        """Returns the first note on a metric with one of these codes, or None."""
        return next(
            (note for note in self.notes if note.metric == metric and note.code in codes), None
        )
