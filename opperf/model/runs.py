"""The lines of a run file, and the environment of a run."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.model.cases import Case
from opperf.model.chains import Chain
from opperf.model.declaring import ID_LENGTH, Struct, digest
from opperf.model.peaks import Peaks
from opperf.model.records import Check, Outcome, Place, Record, Summary

SCHEMA_VERSION = 2
"""Version of the run file's lines; raised when readers of old ones would misread new ones."""


class Environment(Struct, frozen=True):
    """Machine, versions and options of a measurement, as far as they affect it."""

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
    """By environment variable, and the framework's compute threads, where it says them."""
    memory_bytes: int
    load_1min: float
    governor: str
    devices: tuple[str, ...]
    allocator: str = ""
    """Settings of the C library's allocator, which decide how often fresh pages are faulted in."""
    health: dict[str, str] = {}
    """State of each check of `opperf doctor`, by name; `unknown` if it cannot be read. A check that
    changes from moment to moment is `ok` unless it made timings noisy."""

    commit: str = ""
    cpus: str = ""
    """Cores that the process is pinned to, `3` or `0-1`; empty if it may use the whole machine."""
    caches: dict[str, str] = {}
    gpus: tuple[dict[str, str], ...] = ()
    peaks: tuple[Peaks, ...] = ()
    """Those of its devices that `opperf doctor --peaks` has measured."""

    @property
    def id(self) -> str:
        return digest(self)[:ID_LENGTH]

    def peaks_of(self, device: str) -> Peaks | None:
        """Returns the peaks of a device, named as settings do; None if they were not measured."""
        return next((peaks for peaks in self.peaks if peaks.device == device), None)


class Interpreter(Struct, frozen=True):
    """A Python interpreter that runs workers, of another environment than opperf's own."""

    path: str
    label: str = ""
    framework: str = ""
    """The one framework it is for; empty for all."""
    requirements: str = ""
    """Those of an environment that opperf installed, as `--with` takes them."""
    packages: tuple[str, ...] = ()
    """Every package of such an environment with its version, as `pip freeze` prints them."""

    @property
    def words(self) -> tuple[str, str]:
        """The option that names it on a command line, and its value."""
        return ("--with", self.requirements) if self.requirements else ("--python", str(self))

    def __str__(self) -> str:
        label = f"{self.label}:" if self.label else ""
        framework = f"{self.framework}=" if self.framework else ""
        return f"{label}{framework}{self.path}"


SELECTION, AXES, REQUEST = "selection", "axes", "request"
"""Keys of a header's options: the selection, its axes, and the values of the request, unless they
are the usual ones, in which a run that resumes it may not differ."""


class CompiledProgram(Struct, frozen=True):
    """A program that a compiler made of operators of a recorded one, such as by `jax.jit`."""

    name: str
    """Of the function or module, with its line; unique among those of the recording."""
    runs: int
    """While it was recorded."""
    time_ns: float | None = None
    """Of these runs, the operators that they call included; None if they were not waited for."""
    kernels: dict[str, float] = {}
    """Times of its own kernels in these runs, in nanoseconds, as far as a profile has them."""


class Program(Struct, frozen=True):
    """A program whose calls were recorded."""

    command: str
    """Its command, or the path of its trace."""
    framework: str
    steps: int = 1
    """Number of steps whose calls the cases count."""
    calls: int = 0
    """Number of the operator calls in them; 0 if unknown."""
    machine: str = ""
    """Name and processor of the machine that it ran on; empty if unknown."""
    step: Summary | None = None
    """Times of its steps without a recorder, in nanoseconds; None if they are unknown."""
    recorded_step: Summary | None = None
    """Times of its steps while they were recorded, in nanoseconds."""
    recorded_ns: float | None = None
    """Time of all that was recorded, in nanoseconds, the start of the program and what follows its
    last step included if they were; None if it is unknown."""
    compiled: tuple[CompiledProgram, ...] = ()
    """Those that ran while it was recorded."""
    notes: tuple[str, ...] = ()
    """A sentence each on what its reader must know."""
    chains: tuple[Chain, ...] = ()
    """Those of the first recorded step."""


class BenchFacts(Struct, frozen=True):
    """A bench of a suite, as reports need it beside its records."""

    name: str
    group: str = ""
    tags: tuple[str, ...] = ()
    enabled: bool = True
    weight: float = 1.0
    point: dict[str, Any] = {}
    """Values of its matrix, by key."""
    cases: tuple[str, ...] = ()
    """Ids of its cases."""
    expected: int = 0
    """Observations that each process of it was to make; 0 of what is no program."""
    processes: int = 1
    """Number of its processes, of all nodes; 0 if that is not known."""
    gpus: int = 0
    """Number of GPUs that it uses together."""
    gpu_load: float | None = None
    gpu_memory: float | None = None
    """Least mean use of each GPU, as shares; None for any."""
    env: str = ""
    """Label of its environment; empty for opperf's own."""
    version: str = ""
    """Hash of the files of its script; empty if it has none, or if it is unknown."""
    why_not: str = ""
    """Why it was not run: disabled, or what the system lacks; empty if it was to be."""
    is_broken: bool = False
    """Whether that is an error of the bench or of its environment, and so a failure."""
    config: dict[str, Any] = {}
    """The bench as its file has it, resolved."""


class _Selection(Struct, frozen=True):
    """The part of a selection that is read again."""

    fuzz: dict[str, int | None] | None = None
    shapes: dict[str, tuple[int, ...]] = {}
    partition: tuple[int, int] | None = None


class Header(Struct, frozen=True, tag="header", tag_field="line"):
    """First line of a run file."""

    schema: int
    started: str
    options: dict[str, Any]
    excluded: dict[str, str] = {}
    labels: dict[str, str] = {}
    interpreters: tuple[Interpreter, ...] = ()
    id: str = ""
    """Identity of the run, which its copies share."""
    program: Program | None = None
    """The program whose calls are the cases; None of any other run."""
    wrapping: Wrapping | None = None
    """Programs that the cases are profiled under; None without one."""
    benches: tuple[BenchFacts, ...] = ()
    """Of a suite, in the order of its file; empty of any other run."""
    session: dict[str, Any] = {}
    """Plan of a session, which `comparison.ab.session` reads; empty of a run."""

    def __post_init__(self) -> None:
        msgspec.convert(self.options.get(SELECTION) or {}, _Selection)


class EnvironmentLine(Struct, frozen=True, tag="environment", tag_field="line"):
    """An environment, in a line before its first record."""

    id: str
    environment: Environment


class CaseLine(Struct, frozen=True, tag="case", tag_field="line"):
    """A planned case; these lines are in the planned order."""

    id: str
    case: Case


class RecordLine(Outcome, frozen=True, kw_only=True, tag="record", tag_field="line"):
    """The results of a planned case."""

    id: str

    @classmethod
    def of(cls, record: Record) -> RecordLine:
        return cls(id=record.id, **{name: getattr(record, name) for name in _OUTCOME})

    def record(self, case: Case) -> Record:
        return Record(case=case, id=self.id, **{name: getattr(self, name) for name in _OUTCOME})


_OUTCOME = tuple(field.name for field in msgspec.structs.fields(Outcome))


class ProcessLine(Struct, frozen=True, tag="process", tag_field="line"):
    """A process of a schedule of arms that has measured all of its cases."""

    place: Place
    started: str
    wall_s: float
    checks: dict[str, dict[str, Check]] | None = None
    """Findings of calls after the timed ones, beside the session's checks, by arm and group; None
    if results were not compared after this process."""


class Closing(Struct, frozen=True, tag="closing", tag_field="line"):
    """Last line of the file of a finished run."""

    finished: str
    elapsed_s: float
    counts: dict[str, int]
    moved: dict[str, tuple[int, float]] = {}
    """Of figures of a session with a gain: the bytes that a call has to move, and the nanoseconds
    in which this machine copies as many."""


class Run(Struct, frozen=True):
    """The content of a run file."""

    header: Header
    records: tuple[Record, ...]
    closing: Closing | None = None
    environments: dict[str, Environment] = {}
    cases: tuple[Case, ...] = ()
    processes: tuple[ProcessLine, ...] = ()

    def __post_init__(self) -> None:
        # However a run was made: measured, read, merged or imported.
        if any(environment.peaks for environment in self.environments.values()):
            records = tuple(map(self._with_peaks, self.records))
            msgspec.structs.force_setattr(self, "records", records)

    def _with_peaks(self, record: Record) -> Record:
        environment = self.environments.get(record.environment)
        found = environment and environment.peaks_of(record.case.settings.device)
        if found is record.peaks:
            return record
        return msgspec.structs.replace(record, peaks=found)

    @property
    def planned(self) -> tuple[str, ...]:
        return tuple(case.id for case in self.cases)

    @property
    def environment(self) -> Environment | None:
        """The first environment; most runs have no other, and those without a record may have
        none."""
        return next(iter(self.environments.values()), None)


BATCH_SIZE = 50
"""Cases of one process, by PARAM's default: a framework's import, of seconds, is then a small part
of what they take under a profiler."""


class Wrapper(Struct, frozen=True):
    """A program that profiles the process which it runs."""

    name: str
    """Key in the table of programs: `ncu`, `nsys`, `perf stat`, or the name of any other one."""
    words: tuple[str, ...]
    """The program and the user's arguments."""
    warmup: int
    """Calls of each pass before those that are profiled."""
    runs: int | None
    """Profiled calls of each pass; None for as many as take a tenth of a second."""


class Wrapping(Struct, frozen=True):
    """Profiling of a run's cases under other programs."""

    wrappers: tuple[Wrapper, ...]
    batch_size: int = BATCH_SIZE
    """Largest number of cases of one process."""
    cuda_device: int | None = None
    """The only GPU that the process sees, by CUDA's index; None for those of the cases."""
