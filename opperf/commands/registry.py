"""The commands on a framework's registry, the known frameworks and this machine."""

from __future__ import annotations

from opperf.commands.options import command, write
from opperf.errors import FOUND, INTERRUPTED
from opperf.requests.coverage import CoverageRequest
from opperf.requests.machine import DoctorRequest, FrameworksRequest
from opperf.requests.registry import ListRequest, ShowRequest
from opperf.results.messages import tell


@command(
    ListRequest,
    name="list",
    examples={
        "The operators of a name or pattern": "opperf list relu 'broadcast_*'",
        "What makes the cases of a category": "opperf list --category gemm --rules",
        "All operators of a category, for a program": (
            "opperf list --category reduction -o operators.json"
        ),
    },
)
def list_operators(request: ListRequest) -> int:
    """List operators: name, number of cases, category, parameters, the rule that makes their
    inputs, aliases. Patterns ignore case, unless an operator has exactly that name. Of a folder of
    KernelBench, robust-kbench, GPU MODE, BackendBench or FlashInfer-Bench, list its problems and
    their candidates."""
    return write(request.run(tell), request)


@command(
    ShowRequest,
    examples={
        "An operator and its first case": "opperf show relu --max-configs 1",
        "What makes its cases, by file and line": "opperf show relu --rules",
        "The script of a case with other inputs": "opperf show relu --dtype float64 --size small",
    },
)
def show(request: ShowRequest) -> int:
    """Show one operator, its cases, and for each a script that makes the call in the framework
    alone; or the cases of a run file, or of a session of `opperf ab`, with their figures, too."""
    return write(request.run(tell), request)


@command(CoverageRequest)
def coverage(request: CoverageRequest) -> int:
    """Report how much of the registry is measured, by the records of RUNFILE. Without one, every
    operator is run once, at a small size."""
    from opperf.reports.coverage import report_of

    found = request.run(tell)
    if found is None:
        return INTERRUPTED
    write(report_of(found), request)
    if request.least is not None and found.total.percent < request.least:
        tell(
            f"opperf: {found.total.percent:.2f} % of the distinct operators are measured, less "
            f"than {request.least:g} %"
        )
        return FOUND
    return 0


@command(DoctorRequest)
def doctor(request: DoctorRequest) -> int:
    """Report what makes timings noisy on this machine, why, and the command that fixes it; or with
    --peaks measure how fast it is at most."""
    from opperf.reports.this_machine import report_of_health, report_of_peaks

    if request.peaks:
        write(report_of_peaks(request.measure_peaks(tell)), request)
        return 0
    found = request.run(tell)
    write(report_of_health(found), request)
    warned = any(finding.level == "warn" for finding in found.findings)
    return FOUND if warned and request.strict else 0


@command(FrameworksRequest)
def frameworks(request: FrameworksRequest) -> int:
    """List the frameworks that opperf can measure: installed versions, and the command that
    installs each of the others. With NAMES: their devices, dtypes, profilers, execution modes,
    namespaces and categories."""
    from opperf.reports.this_machine import report_of_frameworks

    return write(report_of_frameworks(request.run(tell), bool(request.names)), request)
