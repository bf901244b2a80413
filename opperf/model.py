"""The vocabulary: what can be measured (`Case`) and what was measured (`Record`).

Every type here is frozen and serialises to JSON and back without loss. No framework is
imported, so a run file can be read on a machine that has none of them. It is longer than other
modules because a vocabulary is read as a whole.
"""

from __future__ import annotations

import enum
import hashlib
import math
from collections.abc import Iterator
from typing import Any, Literal, Union

import msgspec

SCHEMA_VERSION = 1
"""Version of the run file's lines. Raised when a reader of the old lines would misread
the new ones; adding a field with a default is no such change."""


class Struct(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=False):
    """Base of the vocabulary. Unknown fields are ignored on reading, so that an older
    opperf can read a newer file of the same schema version."""


class Kind(str, enum.Enum):
    """What an operator's parameter takes."""

    TENSOR = "tensor"
    TENSORS = "tensors"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    SHAPE = "shape"
    FLOATS = "floats"
    ENUM = "enum"
    STRING = "string"
    OTHER = "other"


class Parameter(Struct, frozen=True):
    """One declared argument of an operator."""

    name: str
    kind: Kind
    required: bool
    default: str | None = None
    """As the framework prints it; None when the parameter is required."""
    choices: tuple[str, ...] = ()
    """Allowed values of an `ENUM`, else empty."""
    declared: str = ""
    """The framework's own words for the type."""


class Operator(Struct, frozen=True):
    """One distinct operator of a framework: all its aliases name the same kernel."""

    framework: str
    namespace: str
    name: str
    """The name users know it by; among the aliases is the registry's own."""
    aliases: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    """Every namespace that any of its names is in."""
    parameters: tuple[Parameter, ...] = ()
    category: str = ""
    public: bool = True
    """Whether the framework offers it in a namespace meant for users."""
    variadic: str | None = None
    """Name of the parameter that counts a variable number of tensors, if there is one."""
    differentiable: bool | None = None
    """None until it has been tried."""

    @property
    def names(self) -> tuple[str, ...]:
        """The name, then the aliases."""
        return (self.name, *self.aliases)

    @property
    def tensors(self) -> tuple[Parameter, ...]:
        """The parameters that take a tensor or a list of tensors."""
        return tuple(p for p in self.parameters if p.kind in (Kind.TENSOR, Kind.TENSORS))

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, or None."""
        return next((p for p in self.parameters if p.name == name), None)


class Listed(Struct, frozen=True):
    """An operator and where its inputs come from."""

    operator: Operator
    rule: str = ""
    """The rule that makes its inputs; empty where there is none."""
    reason: str = ""
    """Why there is none."""


class Listing(Struct, frozen=True):
    """A framework's registry, as `opperf list` shows it."""

    framework: str
    version: str
    registered: int
    """Names in the registry, whatever they are for."""
    operators: tuple[Listed, ...]
    """Every distinct operator, sorted by name."""


Scalar = Union[bool, int, float, str, None]


class Fill(Struct, frozen=True):
    """How a tensor is filled: a distribution with its domain, or literal data.

    `normal`: mean `low`, standard deviation `high`. `uniform`: in [low, high).
    `integers`: whole numbers in [low, high), whatever the dtype. `constant`: `low`
    everywhere. `sequence`: 0, 1, 2, ... `boolean`: zeros and ones, as many of each. `odds`:
    `low` zeros to `high` ones. `permutation`: 0..n-1 shuffled along the last axis.
    `simplex`: positive, summing to 1 along the last axis.
    `positive_definite`, `lower_triangular`: well-conditioned matrices in the last two axes.
    `boxes`: corner boxes (x1, y1, x2, y2) with x1 < x2, y1 < y2 in [low, high).
    `literal`: `data`. `given`: an object the caller holds, known here by its `digest` only.
    `same`: the very tensor that the argument named by `data` is, for operators that write to
    an input; `data` is the name, or `name.index` for an element of a list.
    """

    distribution: Literal[
        "normal",
        "uniform",
        "integers",
        "constant",
        "sequence",
        "boolean",
        "odds",
        "permutation",
        "simplex",
        "positive_definite",
        "lower_triangular",
        "boxes",
        "literal",
        "given",
        "same",
    ] = "normal"
    low: float = 0.0
    high: float = 1.0
    data: Any = None
    digest: str = ""
    of: str = ""
    """The argument, named as for `same`, whose numbers these are, in this tensor's dtype. That
    argument has to be of the same shape and filled alike; both of real numbers. Empty: numbers
    of its own."""


UNKNOWN = (-1,)
"""Shape of a tensor that the framework is to tell from the others'."""


class TensorSpec(Struct, frozen=True):
    """A tensor to be made: its shape, dtype, contents and layout."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    fill: Fill = Fill()
    layout: str = "dense"
    """`dense`, `csr`, `row_sparse`, or `file`: the operator is given the path of a file of these
    bytes."""
    gradient: bool = False
    """Whether the backward pass computes a gradient for it."""
    flavour: str = ""
    """Array type where a framework has several, as in `TensorSpec(flavour="np")`."""

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count


Element = Union[TensorSpec, bool, int, float, str, None, tuple[Scalar, ...]]
Argument = Union[TensorSpec, bool, int, float, str, None, tuple[Element, ...]]
"""A value a case passes: a tensor, a list of tensors, or a plain value."""


class OperatorTarget(Struct, frozen=True, tag="operator"):
    """A registered operator, by its canonical name."""

    framework: str
    name: str

    @property
    def label(self) -> str:
        """What the operator is called in results."""
        return self.name


class CallableTarget(Struct, frozen=True, tag="callable"):
    """A Python callable, by dotted path."""

    framework: str
    path: str

    @property
    def label(self) -> str:
        """The callable's own name, without its module."""
        return self.path.rpartition(".")[2]


Target = Union[OperatorTarget, CallableTarget]


class Settings(Struct, frozen=True):
    """How a case is run."""

    device: str = "cpu(0)"
    dtype: str = "float32"
    profiler: str = "native"
    warmup: int | None = None
    """Calls before any is timed; None for as many as it takes to get warm."""
    runs: int | None = None
    """Samples of each pass; None for as many as the precision takes."""
    precision: float = 0.02
    """How well the median is to be known: the reach of its 95 % interval, as a share of it."""
    threads: int | None = None
    """Compute threads of the framework; None leaves its own choice."""
    seed: int = 0
    max_time_s: float | None = None
    """Seconds a case is timed for at most, shared among its passes; None for no limit where `runs`
    are given, and for a usual one where they are not."""
    timeout_s: float = 300.0
    mode: Literal["train", "predict"] = "predict"
    """Whether operators that care (dropout, normalisation) run as in training."""
    cache: Literal["hot", "cold"] = "hot"
    """Whether a call finds its inputs where the one before left them, or in no cache."""
    memory: bool = True
    """Whether peaks of memory are measured beside the times."""

    def identity(self) -> dict[str, Any]:
        """The settings that are part of what is measured. How often, how long and with
        which random numbers it is measured are not."""
        return {
            "device": self.device,
            "dtype": self.dtype,
            "profiler": self.profiler,
            "threads": self.threads,
            "mode": self.mode,
            "cache": self.cache,
        }


Pass = Literal["forward", "backward"]


class Case(Struct, frozen=True):
    """One thing to measure."""

    target: Target
    arguments: dict[str, Argument]
    settings: Settings = Settings()
    passes: tuple[Pass, ...] = ("forward", "backward")
    """`backward` asks for it; whether there is a gradient is found by trying."""
    origin: str = ""
    """Which rule, file or call made the case."""
    category: str = ""
    tags: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Hash of target, arguments and settings: the same on every machine."""
        content = {
            "target": self.target,
            "arguments": self.arguments,
            "settings": self.settings.identity(),
        }
        canonical = msgspec.json.encode(content, order="deterministic")
        return hashlib.sha256(canonical).hexdigest()[:16]

    @property
    def label(self) -> str:
        """What the measured thing is called in results."""
        return self.target.label

    def tensors(self) -> Iterator[tuple[str, TensorSpec]]:
        """Every tensor of the arguments, lists flattened, each with its argument's name."""
        for name, argument in self.arguments.items():
            if isinstance(argument, TensorSpec):
                yield name, argument
            elif isinstance(argument, tuple):
                for element in argument:
                    if isinstance(element, TensorSpec):
                        yield name, element


class MetricKind(str, enum.Enum):
    """Kind of a metric, which decides how its figures are compared."""

    KERNEL = "kernel"
    """Time that kernels run, as the framework's own profiler has it."""
    WALL = "wall"
    """Time on the wall clock."""
    MEMORY = "memory"
    """Bytes allocated: the same on every run."""
    COUNT = "count"
    """Events counted: the same on every run, but for a tolerance."""
    DERIVED = "derived"
    """Computed from other metrics, and scattered as they are."""


class Metric(Struct, frozen=True):
    """A quantity that is measured: all that printers, joins, exports and verdicts ask about it."""

    name: str
    """Its key in `Record.summaries`."""
    unit: str
    """Of its samples and summaries: `ns`, `B`, or a unit that is shown as it is."""
    kind: MetricKind
    title: str
    """Its name in the headers of tables."""
    description: str = ""
    lower_is_better: bool = True
    usual: bool = True
    """Whether tables, exports and comparisons have it where no metric is named. The others are
    parts, sums or other readings of those."""
    relative_tolerance: float = 0.0
    absolute_tolerance: float = 0.0
    """Largest difference at which two figures count as equal, for a kind that is the same on every
    run: a share of the first, or an amount in the unit, whichever is larger."""

    @property
    def is_time(self) -> bool:
        """Whether it is a time, by whatever clock."""
        return self.kind in (MetricKind.KERNEL, MetricKind.WALL)

    @property
    def is_steady(self) -> bool:
        """Whether it is the same on every run, so that one figure is all there is to know."""
        return self.kind in (MetricKind.MEMORY, MetricKind.COUNT)


class NoteCode(str, enum.Enum):
    """Subject of a note."""

    NOISY = "noisy"
    """The samples drift, have two levels, or leave the median less certain than was asked."""
    DISPATCH = "dispatch"
    """Kernels are less than half of what a call takes."""
    NAN = "nan"
    """An output has a NaN."""
    NO_GRADIENT = "no_gradient"
    """The operator has no gradient for these inputs, so that there is no figure."""
    NO_KERNEL = "no_kernel"
    """The pass runs no kernel, so that there is no figure."""
    NOT_PRISTINE = "not_pristine"
    """Peaks of memory are from a process that had run operators before."""
    COLD_CACHE = "cold_cache"
    """How calls were kept from finding their inputs in a cache."""
    ROUND_FAILED = "round_failed"
    """A later visit of the case gave no samples."""
    FALLBACK = "fallback"
    """The function runs on another library than the framework's own kernels."""


WITHOUT_FIGURE = (NoteCode.NO_GRADIENT, NoteCode.NO_KERNEL)
"""Codes that say why a metric that was asked for has no figure."""


class Note(Struct, frozen=True):
    """A remark that belongs beside a figure."""

    metric: str
    """Name of the metric; empty for the whole case."""
    code: str
    """One of `NoteCode`, or a code of a later version: programs go by it."""
    message: str
    """For people; its wording may change."""


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


class Record(Struct, frozen=True):
    """What came of one case."""

    case: Case
    id: str
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

    def note(self, metric: str, *codes: NoteCode) -> Note | None:
        """The first note on a metric that has one of these codes."""
        return next((one for one in self.notes if one.metric == metric and one.code in codes), None)


class Environment(Struct, frozen=True):
    """What a reader needs in order to trust or distrust a number."""

    opperf: str
    framework: str
    versions: dict[str, str]
    features: dict[str, bool]
    python: str
    platform: str
    hostname: str
    cpu: str
    cores: int
    threads: dict[str, str]
    """Thread settings in force, by environment variable."""
    memory_bytes: int
    load_1min: float
    governor: str
    devices: tuple[str, ...]
    allocator: str = ""
    """What was asked of the C library's allocator, as that decides how often fresh pages
    are faulted in."""
    health: dict[str, str] = {}
    """What else makes timings noisy, by finding of `opperf doctor`: how each stands, `unknown`
    where it cannot be read. What is of the moment is `ok` unless it made timings noisy."""


class Header(Struct, frozen=True, tag="header", tag_field="line"):
    """First line of a run file."""

    schema: int
    started: str
    """ISO 8601, UTC."""
    environment: Environment
    options: dict[str, Any]
    planned: tuple[str, ...]
    """Ids of the cases planned, in order."""
    no_benchmark: dict[str, str] = {}
    """Operators asked for that no rule makes inputs for, each with the reason."""


class RecordLine(Struct, frozen=True, tag="record", tag_field="line"):
    """A line of a run file that holds one record."""

    record: Record


class Closing(Struct, frozen=True, tag="closing", tag_field="line"):
    """Last line of a run file: the run was finished."""

    finished: str
    elapsed_s: float
    counts: dict[str, int]


class Run(Struct, frozen=True):
    """A run file's content."""

    header: Header
    records: tuple[Record, ...]
    closing: Closing | None = None


def shown_argument(argument: Argument) -> Any:
    """An argument as users write it: a tensor as its shape, a list of tensors as a list of
    shapes, a plain value as it is."""
    if isinstance(argument, TensorSpec):
        return list(argument.shape)
    if isinstance(argument, tuple):
        return [shown_argument(element) for element in argument]
    return argument


def shown_arguments(case: Case) -> dict[str, Any]:
    """The case's arguments by name, each as `shown_argument` gives it."""
    return {name: shown_argument(value) for name, value in case.arguments.items()}
