"""A worker process: imports one framework, then plans and measures what it is told to.

`opperf.runner.worker FRAMEWORK SETTINGS`, started by `launch.py`, reads requests from standard
input and writes responses to what was its standard output. Whatever the framework itself prints
goes to standard error, so that it cannot break the conversation.
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
from opperf.runner.fresh import Fresh
from opperf.runner.listing import list_operators, script
from opperf.runner.measure import measure
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
from opperf.runner.pristine import begin_pristine
from opperf.runner.process import begin_child
from opperf.runner.trial import try_call
from opperf.sources.bound import NOTHING_BOUND
from opperf.sources.choices import choices
from opperf.sources.registry import plan, resolve

PROCESS_SETTINGS: dict[str, Any] = {}
"""The settings that this process was started with, without those at their defaults."""


def measured(framework: Framework, request: MeasureRequest) -> MeasureResponse:
    """The record of a case, whatever becomes of it.

    Raises `WorkerError` for a case of another process's settings.
    """
    case = request.case
    if case.settings.process() != PROCESS_SETTINGS:
        raise errors.WorkerError(
            f"{case.label} is to be measured with {case.settings.process()}, and this process was "
            f"started with {PROCESS_SETTINGS}"
        )
    try:
        record = measure(
            case, framework, memory=Fresh(NOTHING_BOUND), reference_work=request.reference_work
        )
        return MeasureResponse(record=record)
    except Exception as error:
        # An error of opperf's own in one case must not cost the cases after it.
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
    MeasureRequest: measured,
    TryRequest: lambda framework, request: TryResponse(trial=try_call(request.case, framework)),
}
"""What there is to say to a request, by its type."""


def serve(requests: Iterable[bytes], responses: BinaryIO, framework_name: str) -> None:
    """Answer requests until there are no more."""
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
        begin_pristine(framework)
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
    """An exception in the form it crosses to the manager."""
    known = isinstance(error, errors.OpperfError)
    return ErrorResponse(
        error=type(error).__name__ if known else "WorkerError",
        message=str(error) if known else errors.one_line(f"{type(error).__name__}: {error}"),
        trace=traceback.format_exc(),
    )


def main() -> None:
    """Serve on standard input and output."""
    responses = begin_child()
    PROCESS_SETTINGS.update(msgspec.json.decode(sys.argv[2]))
    serve(sys.stdin.buffer, responses, sys.argv[1])


if __name__ == "__main__":
    main()
