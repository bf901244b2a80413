"""The commands on counts of instructions and on traces of programs."""

from __future__ import annotations

from opperf.commands.options import command, write
from opperf.requests.profiles import ExplainRequest, TraceRequest
from opperf.results.messages import tell


@command(ExplainRequest)
def explain(request: ExplainRequest) -> int:
    """Show which functions made the difference between two counts of instructions, BASE and NEW:
    run files of `opperf run --profiler instructions` and the ID of a case (a prefix of it, or an
    operator that has a single case), or two files of callgrind's. A session of `opperf ab
    --profiler instructions` has both sides: `opperf explain FILE ID`.

    Exclusive counts are of a function's own code, inclusive ones of all that runs while it does;
    both are per call of the operator. Functions are matched by name and by the name of their
    library.
    """
    return write(request.run(tell), request)


@command(TraceRequest)
def trace(request: TraceRequest) -> int:
    """Show what is in traces of a program: execution traces of PyTorch and Chakra, and traces of
    PyTorch's profiler (.json, .json.gz, .tar.gz, or a folder with a file for each rank). An
    execution trace and a profiler's trace of the same process are one: with the times of the
    second. Several ranks are shown side by side. `opperf run FILE` measures the calls."""
    report = request.run(tell)
    return 0 if report is None else write(report, request)
