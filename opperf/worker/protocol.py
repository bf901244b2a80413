"""The messages between the manager and a worker. A worker says first in which environment it is.
Each request is then answered. A process under another program has a batch in a file."""

from __future__ import annotations

from typing import Any, Union

from opperf.instruments.visit import CompiledAhead, FewCalls, KeptResults
from opperf.instruments.wrapped.program import Calls
from opperf.model import (
    Argument,
    Case,
    CaseLine,
    Chain,
    Listing,
    LoadedFile,
    Pass,
    Record,
    Struct,
    Target,
)
from opperf.models.base import SuiteModel
from opperf.processes.channel import Answer, Refusal, Request
from opperf.sources.chains import MadeChains
from opperf.sources.completing import Completed
from opperf.sources.operation_cases import OperationCases
from opperf.sources.operation_rows import Row
from opperf.sources.registry import Found, Plan
from opperf.sources.resolving import Resolution
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes

MEMORY = "memory"
"""Argument of a worker whose cases' memory is measured."""


AGAIN = ", last of several calls"
"""End of the places of results of the last of several calls with the same contents."""

TIMED = ", last timed call"
"""End of the places of results of the last of the calls that were timed."""

AFTER = ", after the timed calls"
"""End of the places of results of a call after those that were timed."""

OBSERVED = "observed.json"
"""Name of the file beside those of such results, an `Observed`."""

OTHER = ", with other contents"
"""End of the places of results of a call with other contents in the same storage."""

TYPE = "type of "
"""Beginning of the places of containers, of which the type is a result."""


class Value(Struct, frozen=True):
    """One value among the results of a call."""

    place: str
    """`output`, `output[0]['loss']`, `x after the call`, `gradient of x`."""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    """The framework's name of it, or Python's of a plain number; empty of anything else."""
    layout: str = ""
    file: str = ""
    """Name of the file with its elements, in NumPy's format; empty of what has none."""
    step: int = 1
    """Every how manyth element the file has."""
    text: str = ""
    """A value without elements, as Python writes it: `None`, a string, the name of a type."""
    type: str = ""
    """The class of an array; empty of anything else."""
    usual: bool = False
    """Whether inputs of the call, or arrays that the framework makes of it, are of that class."""
    unread: bool = False
    """Whether `text` is the type of an object of which nothing else is known."""


class Observed(Struct, frozen=True):
    """The results of untimed calls of a case, forward and backward."""

    values: tuple[Value, ...] = ()
    refusal: str = ""
    """Why there are none; empty if the call was made."""
    without_gradients: str = ""
    """Why there are no gradients although they were asked for."""
    unwritten: bool = False
    """Whether the case returns memory that it does not write, by the framework's rules."""
    calls: int = 0
    """Calls between the first one and that whose results are `AGAIN`; zero without that."""
    without_others: str = ""
    """Why there are no results with other contents; empty if there are, or need not be."""
    failed_others: str = ""
    """Why a call with other contents, as valid as the first, failed; empty if none has."""


class Loaded(Struct, frozen=True):
    """The files that a process has loaded by now."""

    files: tuple[LoadedFile, ...] = ()
    """Of the framework, of imported modules, and of users' targets."""
    libraries: str = ""
    """Hash of the paths of all shared libraries."""


class Trial(Struct, frozen=True):
    """The result of one call of a case, to see whether the framework accepts its inputs."""

    refusal: str = ""
    """Empty if the framework accepted the call."""
    has_nan: bool = False
    output_bytes: int = 0
    seconds: float = 0.0
    """With the framework's initialisation on a first call."""
    arguments: dict[str, Argument] = {}
    ended: bool = False
    """Whether the process ended during the call, or was killed at the timeout."""


class PlanRequest(Request[Plan], frozen=True, tag="plan"):
    """Asks for the plan of a selection."""

    selection: Selection
    found: Found = {}


class OperationsRequest(Request[OperationCases], frozen=True, tag="operations"):
    """Asks for rows of operations as cases of the framework's operators."""

    rows: tuple[Row, ...]
    selection: Selection
    namespace: str = ""


class NumericsRequest(Request[dict[str, str]], frozen=True, tag="numerics"):
    """Asks for the settings of the process that decide how precisely it computes."""


class ResolveRequest(Request[Resolution], frozen=True, tag="resolve"):
    """Asks for axes with the framework's own device and profiler filled in."""

    axes: Axes


class ListRequest(Request[Listing], frozen=True, tag="list"):
    """Asks for the registry, or for the callables at some paths."""

    paths: tuple[str, ...] = ()
    """Empty for the registry."""


class ChoicesRequest(Request[dict[str, tuple[str, ...]]], frozen=True, tag="choices"):
    """Asks for what the framework offers, by setting or group of operators."""


class ModelsRequest(Request[tuple[SuiteModel, ...]], frozen=True, tag="models"):
    """Asks for the models that a suite has for the framework."""

    suite: str
    folder: str = ""


class CheckModelsRequest(Request[None], frozen=True, tag="check_models"):
    """Asks for the models of cases to be built and read, one after the other, without a call."""

    cases: tuple[Case, ...]


class CompleteRequest(Request[tuple[Completed, ...]], frozen=True, tag="complete"):
    """Asks for cases of a source that knows no framework, as the framework calls them."""

    cases: tuple[Case, ...]
    batch_factor: float = 1.0


class ChainsRequest(Request[MadeChains], frozen=True, tag="chains"):
    """Asks for the cases of a recorded program's chains; `cases` are those of its calls."""

    chains: tuple[Chain, ...]
    cases: tuple[Case, ...]


class BuildRequest(Request[None], frozen=True, tag="build"):
    """Asks for the code of cases to be compiled, for any process with the same framework."""

    cases: tuple[Case, ...]


class UncompiledRequest(Request[tuple[str, ...]], frozen=True, tag="uncompiled"):
    """Asks for the ids of the cases that are compiled into a cache which does not have them."""

    cases: tuple[Case, ...]


class CompileRequest(Request[dict[str, CompiledAhead]], frozen=True, tag="compile"):
    """Asks for cases to be compiled into the cache. The answer has those that could be, by id."""

    cases: tuple[Case, ...]


class ScriptRequest(Request[tuple[str, ...]], frozen=True, tag="scripts"):
    """Asks for cases as scripts, or a comment with the reason why a case has none."""

    cases: tuple[Case, ...]


class MeasureRequest(Request[Record], frozen=True, tag="measure"):
    """Asks for the record of a case."""

    case: Case
    reference_work: bool = False
    rehearsed: bool = False
    """It fits in memory, as an earlier process has shown: nothing is estimated."""
    profiles: str = ""
    """Absolute path of the folder that keeps what callgrind wrote; empty to keep nothing."""
    results: KeptResults | None = None
    """None for no calls after the timed ones."""
    finds_removed_work: bool = True
    ahead: CompiledAhead | None = None
    few: FewCalls | None = None


class AlternateRequest(Request[tuple[Record, ...]], frozen=True, tag="alternate"):
    """Asks for the records of cases whose calls alternate."""

    cases: tuple[Case, ...]
    results: tuple[KeptResults | None, ...]
    few: FewCalls | None = None
    finds_removed_work: bool = True
    draw: str = ""
    """Seed of the orders."""


class LoadedRequest(Request[Loaded], frozen=True, tag="loaded"):
    """Asks for the files that were loaded for targets."""

    targets: tuple[Target, ...]


class TryRequest(Request[Trial], frozen=True, tag="try"):
    """Asks for one call of a case, to see whether the framework accepts it."""

    case: Case


class ObserveRequest(Request[Observed], frozen=True, tag="observe"):
    """Asks for the results of untimed calls of a case, in files: of the first, or also of the last
    of several, and of one with other contents in the same storage."""

    case: Case
    folder: str
    draw: int = 0
    """Number of the random numbers that the calls draw."""
    calls: int | None = 0
    """Calls after the first; None for as many as there is time for, zero for the first alone."""


class TraceRequest(Request[dict[str, str]], frozen=True, tag="trace"):
    """Asks for traces of cases. The answer has those that could not be called, with the reason."""

    cases: tuple[Case, ...]
    chrome: str
    execution: str
    """Absolute paths of the traces of the profiler and of the operators; empty for none."""
    least_s: float = 0.0
    """Seconds that the calls of each case take at least; 0 for one call."""


class ForkRequest(Request[bool], frozen=True, tag="fork"):
    """Asks for a fork of this process, which has run no operator yet, to answer the requests that
    follow. The answer is whether there is one: some devices do not work in a fork. As an argument
    of the program it says which forks there will be."""

    devices: tuple[str, ...]
    rehearsed: bool = False
    """It only calls operators eagerly, on dense tensors, whose memory is not estimated."""


class EndRequest(Request[None], frozen=True, tag="end"):
    """Asks a fork to end; the process it was forked from answers."""


AnyRequest: Any = Union[
    tuple(kind for kind in Request.__subclasses__() if kind.__module__ == __name__)
]
"""Each of these requests."""


class Kept(Struct, frozen=True, tag="kept"):
    """The record of a case as it is before what may end the process; its answer follows."""

    record: Record


class Importing(Struct, frozen=True, tag="importing"):
    """A user's module is imported, by its name or file; the same with an empty name follows."""

    name: str


Response = Answer | Refusal | Kept | Importing


class Batch(Struct, frozen=True):
    """The calls that a process makes."""

    cases: tuple[CaseLine, ...]
    """Cases, each with the id that its ranges and lines have."""
    passes: tuple[Pass, ...]
    """Passes that are profiled."""
    warmup: int
    """Calls of each pass before those that are profiled."""
    runs: int | None
    """Profiled calls of each pass; None for as many as take `PROFILED_S`."""
    lines: str
    """Path of the file to which lines are appended."""
    control: tuple[str, str] | None = None
    """Paths of pipes for commands to the program and for its answers."""
    needs_ranges: bool = False
    """Whether the program finds calls by their ranges."""
    empty_spans: int = 0
    """Number of spans to make without a call, before the cases."""


class Begun(Struct, frozen=True, tag="begun"):
    """A case whose calls begin."""

    id: str


class Made(Struct, frozen=True, tag="made"):
    """A case whose calls were made."""

    id: str
    passes: dict[Pass, Calls]
    refusals: dict[Pass, str] = {}
    """Why a pass has no calls."""


Line = Begun | Made
