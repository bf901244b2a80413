"""The commands on this machine."""

from __future__ import annotations

from opperf.commands.options import command, write
from opperf.errors import FOUND
from opperf.requests.machine import DoctorRequest, FrameworksRequest
from opperf.results.messages import tell


@command(DoctorRequest)
def doctor(request: DoctorRequest) -> int:
    """Report what makes timings noisy on this machine, why, and the command that fixes it."""
    from opperf.reports.machine_health import report_of

    found = request.run(tell)
    write(report_of(found), request)
    warned = any(finding.level == "warn" for finding in found.findings)
    return FOUND if warned and request.strict else 0


@command(FrameworksRequest)
def frameworks(request: FrameworksRequest) -> int:
    """List the frameworks that opperf can measure: installed versions, and the command that
    installs each of the others. With NAMES: their devices, dtypes, profilers, execution modes,
    namespaces and categories."""
    from opperf.reports.known_frameworks import report_of

    return write(report_of(request.run(tell), bool(request.names)), request)
