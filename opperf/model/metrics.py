"""Metrics, and notes on their values.

Verification: whether a mode computes what eager mode does.
"""

from __future__ import annotations

import enum
from typing import Literal

import msgspec

from opperf.model.declaring import Struct


class MetricKind(str, enum.Enum):
    """Kind of a metric, which decides how its values are compared."""

    KERNEL = "kernel"
    """Time in kernels, by the framework's own profiler."""
    WALL = "wall"
    MEMORY = "memory"
    """Bytes allocated: the same on every run."""
    COUNT = "count"
    """Number of events: the same on every run, within a tolerance."""
    DERIVED = "derived"
    """Computed from other metrics, and as noisy."""
    RECORDED = "recorded"
    """Time that the calls had in a recorded program: shown beside what is measured, and not
    compared."""


class Metric(Struct, frozen=True):
    """A measured quantity, with all that tables, exports and verdicts need of it."""

    name: str
    unit: str
    """Unit of its samples and summaries: `ns`, `B`, or any other, which is printed unchanged."""
    kind: MetricKind
    title: str = ""
    """By default its name in words."""
    description: str = ""
    lower_is_better: bool = True
    usual: bool = True
    """Whether reports have it unless metrics are named, as no other has it or contains it."""
    on_request: bool = False
    """Whether only an option or a kind of target makes records have it: exports have it where a
    record does."""
    forward: str = ""
    """For a metric of the backward pass, that of the forward pass, whose name selects both."""
    relative_tolerance: float = 0.0
    absolute_tolerance: float = 0.0
    """Two values within the larger of both, a share of the first and an amount, are equal."""

    def __post_init__(self) -> None:
        if not self.title:
            title = self.name.replace("_", " ").capitalize()
            msgspec.structs.force_setattr(self, "title", title)

    @property
    def is_time(self) -> bool:
        """Whether it is a time, by any clock."""
        return self.kind in (MetricKind.KERNEL, MetricKind.WALL)

    @property
    def is_steady(self) -> bool:
        """Whether it is the same on every run, so that one value is enough."""
        return self.kind in (MetricKind.MEMORY, MetricKind.COUNT)


class NoteCode(str, enum.Enum):
    """Subject of a note."""

    DRIFT = "drift"
    """Later samples tend to be larger, or smaller."""
    TWO_LEVELS = "two_levels"
    """The samples form two groups."""
    IMPRECISE = "imprecise"
    """The samples do not reach the precision."""
    BUSY = "busy"
    """Waits for a core that something else used are a notable part of a typical sample."""
    STALL = "stall"
    """Measured twice, and the first measurement took far longer: the figure is of the second."""
    DISPATCH = "dispatch"
    """Kernels take less than half of a call's time."""
    NAN = "nan"
    """An output has a NaN."""
    NO_GRADIENT = "no_gradient"
    """No value: the operator has no gradient for these inputs."""
    NO_KERNEL = "no_kernel"
    """No value: the pass runs no kernel."""
    NO_MEMORY = "no_memory"
    """No value: the framework does not report its allocations."""
    NOT_PRODUCED = "not_produced"
    """No value: what produces the metric, of another package, failed."""
    NOT_PROFILED = "not_profiled"
    """A program that the calls were profiled under has no figures, or lacks some."""
    NOT_PRISTINE = "not_pristine"
    """Memory was measured in a process that had run operators before."""
    COLD_CACHE = "cold_cache"
    """How the inputs were kept out of the caches."""
    THROTTLED = "throttled"
    """The GPU lowered its clocks while the case was measured."""
    LAUNCH_BOUND = "launch_bound"
    """The time is hardly longer than that of an empty kernel's launch, and is not ranked."""
    BATCHED = "batched"
    """Calls are timed several at a time, between two waits for the device."""
    RECORDING = "recording"
    """Recording the events inside a call took a large part of its time, and was subtracted."""
    WALL = "wall"
    """The profiler's times were longer than calls without it take: the figure is that of those."""
    UNSTEADY = "unsteady"
    """Counts of the same call differ, so that a difference between two runs means nothing."""
    ROUND_FAILED = "round_failed"
    """A later round of the case failed."""
    CONSTANT = "constant"
    """The compiler computed the results: a call only returns them."""
    DEAD_CODE = "dead_code"
    """The compiler removed most of a pass's work: the figure is that of the rest."""
    WRITTEN = "written"
    """Calls after the first have inputs that earlier ones wrote to."""
    LEFT_CHANGED = "left_changed"
    """The case left its process changed for later ones: restored, or the process was replaced."""
    INCOMPLETE = "incomplete"
    """A program made fewer observations than were wanted, its stream lacks events, or its figures a
    node."""
    MOVED = "moved"
    """By another node than the one it began on, which ended, or than what it is compared with."""
    AHEAD = "ahead"
    """Compiled before the run, while other cases were, which takes longer than alone."""
    LEAST = "least"
    """The count lacks what has no formula."""
    FORMULA = "formula"
    """The formula of the call's operations failed: they are counted, or unknown."""
    FALLBACK = "fallback"
    """The function runs on another library than the framework's own kernels."""


WITHOUT_FIGURE = (
    NoteCode.NO_GRADIENT,
    NoteCode.NO_KERNEL,
    NoteCode.NO_MEMORY,
    NoteCode.NOT_PRODUCED,
)
"""Codes that explain why a requested metric has no value."""


NOISE = (NoteCode.DRIFT, NoteCode.TWO_LEVELS, NoteCode.IMPRECISE)
"""Codes about the scatter of a metric's samples."""

REMOVED = (NoteCode.CONSTANT, NoteCode.DEAD_CODE)
"""Codes of a figure that is not of the work that was written."""

UNRELIABLE = (NoteCode.DRIFT, NoteCode.TWO_LEVELS, NoteCode.BUSY, *REMOVED)
"""Codes of a median that depends on when it was measured, however narrow its interval, or that is
of something else."""


class Note(Struct, frozen=True):
    """A remark on a value that its reader needs."""

    metric: str
    """Name of the metric; empty for the whole case."""
    code: str
    """One of `NoteCode`, or a code of a later version. For programs."""
    message: str
    """For people; the wording may change."""


class VerificationCode(str, enum.Enum):
    """How a verification ended, in the words of PyTorch/XLA's benchmarks."""

    PASS = "PASS"
    FAIL = "FAIL"
    """The results differ from those of eager mode, or of the reference, by more than rounding
    does."""
    EAGER_FAILED = "EAGER_FAILED"
    EXCEPTION_RAISED = "EXCEPTION_RAISED"
    """Eager mode runs, and the mode under test raises an exception."""
    NONDETERMINISTIC_EAGER_RUN = "NONDETERMINISTIC_EAGER_RUN"
    """Two runs of eager mode with the same seeds differ, so that nothing can be compared."""
    UNDECIDABLE = "UNDECIDABLE"
    """These inputs cannot tell right from wrong: what is certainly wrong would pass as well."""
    VERIFIER_SKIPPED = "VERIFIER_SKIPPED"
    """The case cannot be verified."""
    VERIFIER_DIDNT_RUN = "VERIFIER_DIDNT_RUN"
    """The case was not measured, or the verification itself failed."""


WRONG = (VerificationCode.FAIL,)
"""Codes of results that are wrong: their times are ranked nowhere."""

Method = Literal["", "exact", "allclose", "rmse", "cosine", "slope"]
"""How results were found equal, or different: by the equality of each element, a tolerance of each,
errors from a run in float64, or the cosine of all elements; gradients by the slopes of a reference
along directions."""


class Verification(Struct, frozen=True, kw_only=True):
    """The verification of a case's results."""

    code: VerificationCode
    method: Method = ""
    """Of the arrays that are equal, the weakest that was needed."""
    compared: int = 0
    """Number of arrays."""
    mean_relative_error: float | None = None
    max_relative_error: float | None = None
    """Errors of the elements of all floating-point results from those of eager mode (of eager mode
    itself, or by a reference, from those in float64), each as a share of the element, or of the
    root mean square of its array where that is larger. None without any, or if one is not
    finite."""
    failed: str = ""
    """The result that differs, the first of several: `output[0]`, `gradient of layer.weight`."""
    error: float | None = None
    allowed: float | None = None
    """Its error and the largest that is allowed, by the method; of the cosine the smallest."""
    reason: str = ""

    @classmethod
    def not_run(cls, reason: str) -> Verification:
        """Returns that of a case which was not verified, although that was asked for."""
        return cls(code=VerificationCode.VERIFIER_DIDNT_RUN, reason=reason)

    @property
    def is_wrong(self) -> bool:
        return self.code in WRONG

    @property
    def line(self) -> str:
        """The code, and why it is not `PASS`, as one line."""
        where = f"{self.failed}: " if self.failed else ""
        return f"{self.code.value}: {where}{self.reason}" if self.reason else self.code.value
