"""The commands on results of suites."""

from __future__ import annotations

from opperf.commands.compare import finish
from opperf.commands.options import command, write
from opperf.errors import FOUND
from opperf.requests.suites.results import (
    MILABENCH,
    CompareSuitesRequest,
    ReportSuiteRequest,
    ValidateSuiteRequest,
)
from opperf.results.messages import tell


@command(ValidateSuiteRequest)
def validate(request: ValidateSuiteRequest) -> int:
    """Validate stored runs of a suite, layer by layer: what failed, and which figures to doubt.

    RUN is a run file, @last, a folder in milabench's layout, or a stream of one; several are
    repeats on one machine. Exit codes: 0 nothing failed, 1 something failed (a timeout is a
    failure), 2 a file that cannot be read."""
    from opperf.reports.validations import report_of

    found = request.run(tell)
    write(report_of(found, request.as_ == MILABENCH), request)
    return FOUND if found.failures or (request.strict and found.warnings) else 0


@command(ReportSuiteRequest)
def report(request: ReportSuiteRequest) -> int:
    """Report a run of a suite: a row for each bench, and the total against a baseline machine, a
    geometric mean of ratios by weight, in which no unit matters.

    RUN is a run file, @last, a folder in milabench's layout, or a stream of one; several are
    repeats on one machine. A bench that did not run is listed, and in no total."""
    return write(request.run(tell), request)


@command(CompareSuitesRequest)
def compare(request: CompareSuitesRequest) -> int:
    """Compare two runs of a suite, BASE (A) and NEW (B), bench by bench: the ratio of their
    performances, its interval, and a verdict; with what is not comparable, and why.

    Exit codes: 0 nothing found, 1 a bench regressed or no longer works (--fail-on), 2 a file that
    cannot be read, 3 it cannot be decided: run each side several times."""
    return finish(request.run(tell), request)
