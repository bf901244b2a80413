"""Records: the results of cases."""

from __future__ import annotations

import enum
import math
from typing import Final, Literal

from opperf.model.cases import Case
from opperf.model.declaring import Struct
from opperf.model.metrics import MetricKind, Note, NoteCode, Verification
from opperf.model.peaks import Peaks


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
    ci_low: float
    ci_high: float
    """95 % confidence interval of the median, from order statistics, or the extremes."""
    loops: int = 1
    """Calls per sample, which is their mean."""
    outliers_low: int = 0
    outliers_high: int = 0
    """Samples beyond Tukey's fences, 1.5 interquartile ranges from the quartiles: not removed."""

    @property
    def half_width(self) -> float | None:
        """Largest distance from the median to a finite bound of its interval; None without one."""
        if self.n < 2 or not (math.isfinite(self.ci_low) and math.isfinite(self.ci_high)):
            return None
        return max(self.ci_high - self.median, self.median - self.ci_low)


class Status(str, enum.Enum):
    """How a case ended."""

    OK = "ok"
    """It was measured."""
    SKIPPED = "skipped"
    """It cannot be measured here: the framework, build or machine does not support it."""
    FAILED = "failed"
    """An error was raised."""
    CRASHED = "crashed"
    """Its process ended: a signal, or too little memory."""
    TIMEOUT = "timeout"
    """It took longer than it may."""

    @property
    def is_failure(self) -> bool:
        """Whether it was to be measured, and was not."""
        return self in (Status.FAILED, Status.CRASHED, Status.TIMEOUT)


class GpuState(Struct, frozen=True, kw_only=True):
    """State of a GPU while a case was measured, by several readings."""

    readings: int
    throttled: int = 0
    """Readings at which the GPU had a reason to lower its clocks."""
    reasons: tuple[str, ...] = ()
    lowest_mhz: int | None = None
    highest_mhz: int | None = None
    """Clocks of its processors (SM), while it was not idle; None if they cannot be read."""
    temperature_c: int | None = None

    def merge(self, other: GpuState) -> GpuState:
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
    waited_s: float | None = None
    """Seconds that ready threads of the process waited for a core; None if unknown."""
    preempted: int = 0
    blocked: int = 0
    pressure_s: float | None = None
    """Seconds in which some thread of the machine waited for a core; None if unknown."""
    stolen_s: float | None = None
    """Seconds of all cores that the hypervisor gave to other guests; None if unknown."""
    share: float = 0.0
    """Share of a typical sample that has to be waits: of those of the process's threads, and of
    what was stolen, the part that the longer samples do not explain."""

    def merge(self, other: Waits) -> Waits:
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
    return None if first is None or other is None else first + other


class Place(Struct, frozen=True):
    """The place, in a schedule of arms, of the process that measured a record."""

    phase: str
    """`control`: all arms are the first. `comparison`: each is itself. `coarse`: the same, with all
    threads. `counts`: each once."""
    block: int
    position: int
    arm: str
    role: str
    """Name of the arm that it stands for: another one in the control."""


class Part(Struct, frozen=True):
    """The calls of one operator in a target that makes several: in one of its calls."""

    name: str
    calls: int
    made: int = 0
    """Number of the calls that were made; the others are omitted."""
    time_ns: float | None = None
    """Time of those that were made, summed; None if they were not timed."""
    recorded_ns: float | None = None
    """Time of all its calls in the program that was recorded, summed; None if it is unknown."""
    made_recorded_ns: float | None = None
    """That of the calls that were made."""
    reason: str = ""
    """Why calls are omitted: of several reasons, the most frequent."""


class ProcessResult(Struct, frozen=True, kw_only=True):
    """The results of one process of a program that has several, or of its only one."""

    name: str
    """Its tags: `0`, `1` ... of several at once, `D0` of the one on a GPU."""
    rank: int = 0
    node: str = ""
    device: str = ""
    """GPU that it has alone; empty if it sees all, or none."""
    status: Status
    reason: str = ""
    exit_code: int | None = None
    """None if it was killed before it ended."""
    stopped: bool = False
    """Whether it was stopped, as it had made all observations that were wanted."""
    rate: Summary | None = None
    """Items per second after the warm-up."""
    warmup: int = 0
    """Number of observations before."""
    losses: tuple[float, ...] = ()
    stream: str = ""
    """Name of the file of its events, in the folder of streams beside the run file."""


class Role(str, enum.Enum):
    """Why a file was loaded for a case."""

    MEASURED = "measured"
    """It has what is measured, and Python has found it: interpreters that differ load their own."""
    NAMED = "named"
    """The user has named the file itself, so that all load the same."""
    PART = "part"
    """Another file of the package, or one that defines what is measured."""


class LoadedFile(Struct, frozen=True):
    """A file that a process has loaded for a case."""

    name: str
    """Of the module; of a file that the user named, its path as it was given."""
    file: str
    """Absolute path, links followed."""
    digest: str
    """Beginning of the SHA-256 of its content."""
    role: Role = Role.PART

    def __str__(self) -> str:
        return f"{self.name} {self.digest} {self.file}"


OWN = "operator"
"""Key of the operator's own calls in `Outcome.reference`, beside the pieces of reference work."""


KnownBy = Literal["formula", "count", "minimal"]


class Outcome(Struct, frozen=True, kw_only=True):
    """The results of one case, without the case itself."""

    status: Status
    summaries: dict[str, Summary] = {}
    """By metric: `forward`, `backward`, `total` (both as one), `memory` and so on."""
    samples: dict[str, list[float]] = {}
    """Raw samples by metric, in the summary's unit, in the order they were taken."""
    warmup: dict[str, list[float]] = {}
    """By pass, the wall-clock times of its warmup calls, each with its synchronisation, in
    nanoseconds; empty unless their number was set. Of a program, the rates before the warm-up's
    end, under `rate`."""
    reason: str = ""
    notes: tuple[Note, ...] = ()
    reference: dict[str, dict[str, float]] = {}
    """By pass, the trimmed mean in nanoseconds of the operator's own calls, under `OWN`, and of
    each piece of reference work timed between them; empty without reference work."""
    waits: dict[str, Waits] = {}
    wall_s: float = 0.0
    """Wall time of the case in seconds, inputs and warmup included."""
    busy_s: float = 0.0
    """Seconds of `wall_s` in the operator's own calls, warmup included."""
    rounds: int = 1
    """Number of rounds that measured the case; the samples are those of all rounds, in order."""
    operation: str = ""
    """The canonical operation of the call; empty if it is unknown."""
    moved_bytes: int = 0
    """Bytes that a call has to read and write: those of its inputs and outputs, of a gather only
    what is read. One that is several inputs counts once; a sparse one by its stored elements; a
    view, which is neither read nor written, does not count."""
    moved_backward_bytes: int = 0
    """Likewise of a backward pass: the gradients of the outputs, and those of the inputs."""
    known_by: dict[str, KnownBy] = {}
    """How the operations and bytes of passes are known, by `flops`, `flops_backward`, `moved_bytes`
    and `moved_backward_bytes`: by the formula of its operation, by the framework's own count, or as
    the minimal traffic, each tensor whole and once."""
    time_kind: MetricKind | None = None
    """None if nothing was timed."""
    gpu: GpuState | None = None
    """None without one, or without NVIDIA's library."""
    environment: str = ""
    """Id of the environment it was measured in; empty if no process has started it."""
    parts: tuple[Part, ...] = ()
    """Operators of a target that calls several, those that took longest first; empty for any
    other."""
    node: str = ""
    """Name of the node of a cluster that measured it; empty for this machine."""
    place: Place | None = None
    """None in a run."""
    profiles: dict[str, str] = {}
    """By program that profiled the case's calls, the name of the file that it wrote, in the folder
    of profiles beside the run file."""
    verification: Verification | None = None
    """None unless it was asked for."""
    processes: tuple[ProcessResult, ...] = ()
    """Those of a program; empty of any other target."""
    loaded: tuple[LoadedFile, ...] = ()
    """Files of a user's target; empty of a framework's own."""


class Record(Outcome, frozen=True, kw_only=True):
    """A case and its results."""

    case: Case
    id: str
    peaks: Peaks | None = None
    """Those of its device in its environment, which a run has given it; no part of its line."""

    @property
    def is_wrong(self) -> bool:
        """Whether its results were verified, and are wrong: its time is shown, and ranked and
        compared nowhere."""
        return self.verification is not None and self.verification.is_wrong

    @property
    def is_failed(self) -> bool:
        """Whether the case failed, or its results are wrong."""
        return self.status.is_failure or self.is_wrong

    @property
    def ended(self) -> str:
        """How the case ended: its status, or `wrong`."""
        return "wrong" if self.is_wrong else self.status.value

    @property
    def why_without_figures(self) -> str:
        """Why no figure is compared with another: there is none, or the result is wrong; empty
        where they are."""
        if self.status is not Status.OK:
            return f"{self.status.value}: {self.reason}"
        found = self.verification
        return f"wrong result: {found.failed}: {found.reason}" if found and found.is_wrong else ""

    def note(self, metric: str, *codes: NoteCode) -> Note | None:
        """Returns the first note on a metric with one of these codes, or None."""
        return next(
            (note for note in self.notes if note.metric == metric and note.code in codes), None
        )


SameResults = Literal["same", "different", "not compared"]

DIFFERENT: Final = "different"
"""The outcome that is a finding."""


class Tolerance(Struct, frozen=True):
    """Largest error of an element of B: `rtol` of A's, and `atol`; None: by the precision."""

    rtol: float | None = None
    atol: float | None = None


class Difference(Struct, frozen=True, omit_defaults=False):
    """A place in which the results of B differ from those of A."""

    place: str
    text: str
    index: tuple[int, ...] | None = None
    """Of the element with the largest error, or the first that is finite in one arm only."""
    absolute: float | None = None
    """Largest absolute error; None without two numbers to subtract."""
    relative: float | None = None
    """That error as a share of A's element; None likewise, and of zero."""
    share: float = 1.0
    lacks: str = ""
    """The arm that has no such pass, where the other one has it."""

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class Check(Struct, frozen=True):
    """How the results of a case in A and of its partner in B compare."""

    outcome: SameResults
    note: str = ""
    """Why they are not compared, or what is not; empty where all of it is."""
    differences: tuple[Difference, ...] = ()
    """The first ones: outputs, then what a call wrote to, then gradients."""
    count: int = 0

    def with_later(self, later: Check) -> Check:
        """Returns the check with what a later comparison has found besides."""
        return Check(
            DIFFERENT if later.outcome == DIFFERENT else self.outcome,
            "; ".join(filter(None, (self.note, later.note))),
            (*self.differences, *later.differences),
            self.count + later.count,
        )

    @property
    def line(self) -> str:
        """The first difference, and how many there are besides, as one line; or the note."""
        first = next(map(str, self.differences), "")
        more = f"; {self.count - 1} more" if self.count > 1 else ""
        return f"{first}{more}" if first else self.note
