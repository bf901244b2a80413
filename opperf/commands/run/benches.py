"""Plans the run of a suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from opperf.execution.run_header import make_header
from opperf.execution.workers import Workers
from opperf.model import BenchFacts, Header
from opperf.requests.resolved_run import ResolvedRun
from opperf.sources.registry import Plan
from opperf.sources.varying import vary
from opperf.suite_runs.planning import SuiteRun, plan_suite


def plan_benches(
    workers: Workers, request: ResolvedRun, suite: SuiteRun, say: Callable[[str], None]
) -> tuple[Plan, Header]:
    """Returns the plan of a suite, and the first line of its run file. Raises as `plan_suite`."""
    plan, benches = plan_suite(workers, suite, request.selection, say)
    plan, benches = _on_nodes(plan, benches, request.axes.get("node", ()))
    head = make_header(
        plan,
        request.selection,
        request.command,
        request.axes,
        request.labels,
        workers.interpreters,
    )
    return plan, msgspec.structs.replace(head, benches=benches)


def _on_nodes(
    plan: Plan, benches: tuple[BenchFacts, ...], nodes: Sequence[str]
) -> tuple[Plan, tuple[BenchFacts, ...]]:
    """Returns the plan with each case once for every node, if there are any, and the benches."""
    if not nodes:
        return plan, benches
    on_nodes = {case.id: vary([case], {"node": tuple(nodes)}) for case in plan.cases}
    cases = tuple(case for made in on_nodes.values() for case in made)
    facts = tuple(
        msgspec.structs.replace(
            bench, cases=tuple(case.id for id in bench.cases for case in on_nodes.get(id, ()))
        )
        for bench in benches
    )
    return msgspec.structs.replace(plan, cases=cases), facts
