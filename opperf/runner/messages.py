"""What a manager and its worker say to each other: one JSON document a line."""

from __future__ import annotations

from typing import Union

from opperf.model import Case, Environment, Listing, Record, Struct
from opperf.runner.trial import Trial
from opperf.sources.registry import Found, Plan, Resolution
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes


class PlanRequest(Struct, frozen=True, tag="plan"):
    """Plan a selection; answered by `PlanResponse`."""

    selection: Selection
    found: Found = {}
    """What a search has come upon."""


class ResolveRequest(Struct, frozen=True, tag="resolve"):
    """Fill in what axes leave to the framework; answered by `ResolveResponse`."""

    axes: Axes


class ListRequest(Struct, frozen=True, tag="list"):
    """List the registry; answered by `ListResponse`."""


class ScriptRequest(Struct, frozen=True, tag="scripts"):
    """Show cases as scripts; answered by `ScriptResponse`."""

    cases: tuple[Case, ...]


class MeasureRequest(Struct, frozen=True, tag="measure"):
    """Measure a case; answered by `MeasureResponse`."""

    case: Case
    paced: bool = False
    """Whether fixed work is timed between its calls."""


class TryRequest(Struct, frozen=True, tag="try"):
    """Call a case once, to see whether the framework takes it; answered by `TryResponse`."""

    case: Case


class ReadyResponse(Struct, frozen=True, tag="ready"):
    """The worker has imported its framework."""

    environment: Environment


class PlanResponse(Struct, frozen=True, tag="planned"):
    """The answer to a `PlanRequest`."""

    plan: Plan


class ResolveResponse(Struct, frozen=True, tag="resolved"):
    """The answer to a `ResolveRequest`."""

    resolution: Resolution


class ListResponse(Struct, frozen=True, tag="listed"):
    """The answer to a `ListRequest`."""

    listing: Listing


class ScriptResponse(Struct, frozen=True, tag="shown"):
    """The answer to a `ScriptRequest`: a script for each case, in the framework's own terms; where
    a case cannot be made, the reason as a comment."""

    scripts: tuple[str, ...]


class MeasureResponse(Struct, frozen=True, tag="measured"):
    """The answer to a `MeasureRequest`."""

    record: Record


class TryResponse(Struct, frozen=True, tag="tried"):
    """The answer to a `TryRequest`."""

    trial: Trial


class ErrorResponse(Struct, frozen=True, tag="refused"):
    """The worker raised an `OpperfError`, or anything else while starting or planning."""

    error: str
    """Name of the exception's class in `opperf.errors`."""
    message: str
    trace: str = ""


Request = Union[PlanRequest, ResolveRequest, ListRequest, ScriptRequest, MeasureRequest, TryRequest]
Response = Union[
    ReadyResponse,
    PlanResponse,
    ResolveResponse,
    ListResponse,
    ScriptResponse,
    MeasureResponse,
    TryResponse,
    ErrorResponse,
]
