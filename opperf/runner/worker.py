"""A worker process: imports one framework, then answers requests to plan and to measure.

`opperf.runner.worker FRAMEWORK SETTINGS`, started by `launch.py`, reads requests from standard
input and writes responses to what was its standard output. The framework's own output goes to
standard error, so that it cannot be taken for a response.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

import msgspec

from opperf import errors
from opperf.frameworks import Framework, load
from opperf.model import Record, Status
from opperf.runner.allocator import configure_heap
from opperf.runner.environment import environment
from opperf.runner.listing import list_operators, script
from opperf.runner.measure import measure
from opperf.runner.memory_meters import PristineMeter
from opperf.runner.messages import (
    ChoicesRequest,
    ChoicesResponse,
    ErrorResponse,
    ListRequest,
    ListResponse,
    MeasureRequest,
    MeasureResponse,
    PlanRequest,
    PlanResponse,
    ReadyResponse,
    Request,
    ResolveRequest,
    ResolveResponse,
    Response,
    ScriptRequest,
    ScriptResponse,
    TryRequest,
    TryResponse,
)
from opperf.runner.pristine import start_pristine_server
from opperf.runner.process import begin_child
from opperf.runner.trial import try_call
from opperf.sources.bound import NOTHING_BOUND
from opperf.sources.choices import choices
from opperf.sources.registry import plan, resolve

PROCESS_SETTINGS: dict[str, Any] = {}
"""The settings of this process, without those at their defaults."""


def measure_case(framework: Framework, request: MeasureRequest) -> MeasureResponse:
    """Returns the record of a case, even after an error.

    Raises `WorkerError` for a case with other process settings.
    """
    case = request.case
    if case.settings.process() != PROCESS_SETTINGS:
        raise errors.WorkerError(
            f"{case.label} is to be measured with {case.settings.process()}, and this process was "
            f"started with {PROCESS_SETTINGS}"
        )
    try:
        record = measure(
            case,
            framework,
            memory=PristineMeter(NOTHING_BOUND),
            reference_work=request.reference_work,
        )
        return MeasureResponse(record=record)
    except Exception as error:
        # A fault of opperf in one case must not end the run.
        reason = errors.one_line(f"{type(error).__name__}: {error}")
        print(traceback.format_exc(), file=sys.stderr)
        return MeasureResponse(
            record=Record(case=case, id=case.id, status=Status.FAILED, reason=reason)
        )


ANSWERS: dict[type, Callable[[Framework, Any], Response]] = {
    PlanRequest: lambda framework, request: PlanResponse(
        plan=plan(framework, request.selection, request.found)
    ),
    ResolveRequest: lambda framework, request: ResolveResponse(
        resolution=resolve(framework, request.axes)
    ),
    ListRequest: lambda framework, request: ListResponse(listing=list_operators(framework)),
    ChoicesRequest: lambda framework, request: ChoicesResponse(choices=choices(framework)),
    ScriptRequest: lambda framework, request: ScriptResponse(
        scripts=tuple(script(framework, case) for case in request.cases)
    ),
    MeasureRequest: measure_case,
    TryRequest: lambda framework, request: TryResponse(trial=try_call(request.case, framework)),
}
"""Functions that answer requests, by the request's type."""


def serve(requests: Iterable[bytes], responses: BinaryIO, framework_name: str) -> None:
    """Answers requests until there are no more."""
    encoder = msgspec.json.Encoder()
    decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)

    def say(response: Response) -> None:
        responses.write(encoder.encode(response) + b"\n")
        responses.flush()

    try:
        configure_heap()
        framework = load(framework_name)
        if PROCESS_SETTINGS.get("threads") is not None:
            framework.set_threads(PROCESS_SETTINGS["threads"])
        start_pristine_server(framework)
        say(ReadyResponse(environment=environment(framework)))
    except Exception as error:
        say(refusal(error))
        return
    for line in requests:
        try:
            request = decoder.decode(line)
            response = ANSWERS[type(request)](framework, request)
        except Exception as error:
            response = refusal(error)
        say(response)


def refusal(error: Exception) -> ErrorResponse:
    """Returns the response that reports an exception to the manager."""
    known = isinstance(error, errors.OpperfError)
    return ErrorResponse(
        error=type(error).__name__ if known else "WorkerError",
        message=str(error) if known else errors.one_line(f"{type(error).__name__}: {error}"),
        trace=traceback.format_exc(),
    )


def main() -> None:
    """Serves on standard input and output."""
    responses = begin_child()
    PROCESS_SETTINGS.update(msgspec.json.decode(sys.argv[2]))
    serve(sys.stdin.buffer, responses, sys.argv[1])


if __name__ == "__main__":
    main()
