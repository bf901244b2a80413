"""What a manager and its worker say to each other: one JSON document a line."""

from __future__ import annotations

from typing import Union

from opperf.model import Case, Environment, Record, Struct
from opperf.runner.plan import Plan
from opperf.runner.selecting import Selection


class PlanRequest(Struct, frozen=True, tag="plan"):
    """Plan a selection; answered by `Planned`."""

    selection: Selection


class ResolveRequest(Struct, frozen=True, tag="resolve"):
    """Fill in what a selection leaves to the framework; answered by `Resolved`."""

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


class Measured(Struct, frozen=True, tag="measured"):
    """The answer to a `MeasureRequest`."""

    record: Record


class Refused(Struct, frozen=True, tag="refused"):
    """The worker raised an `OpperfError`, or anything else while starting or planning."""

    error: str
    """Name of the exception's class in `opperf.errors`."""
    message: str
    trace: str = ""


Request = Union[PlanRequest, ResolveRequest, MeasureRequest]
Response = Union[Ready, Planned, Resolved, Measured, Refused]
