"""What a manager and its worker say to each other: one JSON document a line."""

from __future__ import annotations

from typing import Union

from opperf.model import Case, Environment, Listing, Record, Struct
from opperf.runner.plan import Plan
from opperf.runner.selecting import Selection


class PlanRequest(Struct, frozen=True, tag="plan"):
    """Plan a selection; answered by `Planned`."""

    selection: Selection


class ResolveRequest(Struct, frozen=True, tag="resolve"):
    """Fill in what a selection leaves to the framework; answered by `Resolved`."""

    selection: Selection


class ListRequest(Struct, frozen=True, tag="list"):
    """List the registry; answered by `ListedAll`."""


class ExplainRequest(Struct, frozen=True, tag="explain"):
    """Show the cases of a selection as scripts; answered by `Explained`."""

    selection: Selection


class MeasureRequest(Struct, frozen=True, tag="measure"):
    """Measure a case; answered by `Measured`."""

    case: Case


class Ready(Struct, frozen=True, tag="ready"):
    """The worker has imported its framework."""

    environment: Environment


class Planned(Struct, frozen=True, tag="planned"):
    """The answer to a `PlanRequest`."""

    plan: Plan


class Resolved(Struct, frozen=True, tag="resolved"):
    """The answer to a `ResolveRequest`."""

    selection: Selection


class ListedAll(Struct, frozen=True, tag="listed"):
    """The answer to a `ListRequest`."""

    listing: Listing


class Explained(Struct, frozen=True, tag="explained"):
    """The answer to an `ExplainRequest`: the plan, and a script for each of its cases, in the
    framework's own terms; where a case cannot be made, the reason as a comment."""

    plan: Plan
    scripts: tuple[str, ...]


class Measured(Struct, frozen=True, tag="measured"):
    """The answer to a `MeasureRequest`."""

    record: Record


class Refused(Struct, frozen=True, tag="refused"):
    """The worker raised an `OpperfError`, or anything else while starting or planning."""

    error: str
    """Name of the exception's class in `opperf.errors`."""
    message: str
    trace: str = ""


Request = Union[PlanRequest, ResolveRequest, ListRequest, ExplainRequest, MeasureRequest]
Response = Union[Ready, Planned, Resolved, ListedAll, Explained, Measured, Refused]
