"""Plans the run of a suite."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from opperf.commands.run.request import Request
from opperf.execution.run_header import make_header
from opperf.execution.workers import Workers
from opperf.model import Header
from opperf.sources.registry import Plan
from opperf.suite_runs.planning import SuiteRun, plan_suite


def plan_benches(
    workers: Workers, request: Request, suite: SuiteRun, say: Callable[[str], None]
) -> tuple[Plan, Header]:
    """Returns the plan of a suite, and the first line of its run file. Raises as `plan_suite`."""
    plan, benches = plan_suite(workers, suite, request.selection, say)
    head = make_header(
        plan,
        request.selection,
        request.command,
        {},
        request.labels,
        workers.interpreters,
    )
    return plan, msgspec.structs.replace(head, benches=benches)
