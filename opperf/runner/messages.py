"""The protocol between the manager and a worker: one JSON document per line."""

from __future__ import annotations

from typing import Union

from opperf.model import Case, Environment, Listing, Record, Struct
from opperf.runner.observed import Observed
from opperf.runner.trial import Trial
from opperf.sources.completing import Completed
from opperf.sources.registry import Found, Plan, Resolution
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes

MEMORY = "memory"
"""Argument of a worker whose cases' memory is measured."""


class PlanRequest(Struct, frozen=True, tag="plan"):
    """Asks for the plan of a selection."""

    selection: Selection
    found: Found = {}
    """Inputs that a search has found."""


class ResolveRequest(Struct, frozen=True, tag="resolve"):
    """Asks for axes with the framework's own device and profiler filled in."""

    axes: Axes


class ListRequest(Struct, frozen=True, tag="list"):
    """Asks for the registry, or for the callables at some paths."""

    paths: tuple[str, ...] = ()
    """Dotted paths; empty for the registry."""


class ChoicesRequest(Struct, frozen=True, tag="choices"):
    """List what the framework offers for settings; answered by `ChoicesResponse`."""


class CompleteRequest(Struct, frozen=True, tag="complete"):
    """Asks for cases of a source that knows no framework, as the framework calls them."""

    cases: tuple[Case, ...]
    batch_factor: float = 1.0
    """Factor by which their batch is scaled."""


class BuildRequest(Struct, frozen=True, tag="build"):
    """Asks for the code of cases to be compiled, for any process with the same framework."""

    cases: tuple[Case, ...]


class ScriptRequest(Struct, frozen=True, tag="scripts"):
    """Asks for cases as scripts."""

    cases: tuple[Case, ...]


class MeasureRequest(Struct, frozen=True, tag="measure"):
    """Asks for the record of a case."""

    case: Case
    reference_work: bool = False
    """Whether reference work is timed between its calls."""
    profiles: str = ""
    """Absolute path of the folder that keeps what callgrind wrote of it; empty to keep nothing."""


class TryRequest(Struct, frozen=True, tag="try"):
    """Asks for one call of a case, to see whether the framework accepts it."""

    case: Case


class ObserveRequest(Struct, frozen=True, tag="observe"):
    """Asks for the results of one untimed call of a case, in files."""

    case: Case
    folder: str
    """Absolute path of an empty folder."""
    draw: int = 0
    """Number of the random numbers that the call draws: the same for the same number."""


class TraceRequest(Struct, frozen=True, tag="trace"):
    """Asks for traces of cases, each called once."""

    cases: tuple[Case, ...]
    chrome: str
    execution: str
    """Absolute paths of the traces of the profiler and of the operators; empty for none."""


class ForkRequest(Struct, frozen=True, tag="fork"):
    """Asks for a fork of this process, which answers the requests that follow. The process has run
    no operator yet."""

    devices: tuple[str, ...]
    """Those that the fork uses."""


class EndRequest(Struct, frozen=True, tag="end"):
    """Asks a fork to end; the process it was forked from answers with `EndResponse`."""


class ReadyResponse(Struct, frozen=True, tag="ready"):
    """The worker has imported its framework."""

    environment: Environment


class PlanResponse(Struct, frozen=True, tag="planned"):
    """Answers a `PlanRequest`."""

    plan: Plan


class ResolveResponse(Struct, frozen=True, tag="resolved"):
    """Answers a `ResolveRequest`."""

    resolution: Resolution


class ListResponse(Struct, frozen=True, tag="listed"):
    """Answers a `ListRequest`."""

    listing: Listing


class ChoicesResponse(Struct, frozen=True, tag="offered"):
    """The answer to a `ChoicesRequest`."""

    choices: dict[str, tuple[str, ...]]
    """The framework's words by setting or group of operators."""


class CompleteResponse(Struct, frozen=True, tag="completed"):
    """Answers a `CompleteRequest`, case by case."""

    completed: tuple[Completed, ...]


class BuildResponse(Struct, frozen=True, tag="built"):
    """Answers a `BuildRequest` once all is compiled that can be."""


class ScriptResponse(Struct, frozen=True, tag="shown"):
    """Answers a `ScriptRequest` with a script for each case, or a comment with the reason why it
    has none."""

    scripts: tuple[str, ...]


class MeasureResponse(Struct, frozen=True, tag="measured"):
    """Answers a `MeasureRequest`."""

    record: Record


class TryResponse(Struct, frozen=True, tag="tried"):
    """Answers a `TryRequest`."""

    trial: Trial


class ObserveResponse(Struct, frozen=True, tag="observed"):
    """Answers an `ObserveRequest`."""

    observed: Observed


class TraceResponse(Struct, frozen=True, tag="traced"):
    """Answers a `TraceRequest` once the files are written."""

    failed: dict[str, str]
    """Cases that could not be called, by id, with the reason."""


class ForkResponse(Struct, frozen=True, tag="forked"):
    """Answers a `ForkRequest`."""

    forked: bool
    """Whether there is a fork: some frameworks or devices do not work in one."""


class EndResponse(Struct, frozen=True, tag="ended"):
    """Answers an `EndRequest` once the fork has ended."""


class ErrorResponse(Struct, frozen=True, tag="refused"):
    """Answers any request that raised an exception."""

    error: str
    """Name of the exception's class in `opperf.errors`."""
    message: str
    trace: str = ""


Request = Union[
    PlanRequest,
    ResolveRequest,
    ListRequest,
    ChoicesRequest,
    CompleteRequest,
    BuildRequest,
    ScriptRequest,
    MeasureRequest,
    TryRequest,
    ObserveRequest,
    TraceRequest,
    ForkRequest,
    EndRequest,
]
Response = Union[
    ReadyResponse,
    PlanResponse,
    ResolveResponse,
    ListResponse,
    ChoicesResponse,
    CompleteResponse,
    BuildResponse,
    ScriptResponse,
    MeasureResponse,
    TryResponse,
    ObserveResponse,
    TraceResponse,
    ForkResponse,
    EndResponse,
    ErrorResponse,
]
