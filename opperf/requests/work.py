"""What a run has to measure: the plan of a new one, or what remains of one that is gone on with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from opperf.errors import RunFileError, UsageError
from opperf.execution.execute import find_pending, plan_visits
from opperf.execution.executor import ISOLATED
from opperf.execution.planning import framework_axes, plan_run, process_of
from opperf.execution.run_header import make_header, read_selection
from opperf.execution.workers import Workers
from opperf.experiments.matrix import Matrix
from opperf.experiments.planning import plan_experiments
from opperf.model import BenchFacts, Case, Header, Run, Wrapping
from opperf.requests.declaring import Say
from opperf.requests.keeping import (
    check_axes,
    check_same,
    check_same_programs,
    check_selection,
    spelling,
)
from opperf.requests.resolved_run import ResolvedRun
from opperf.sources.registry import Plan
from opperf.sources.varying import Axes, vary
from opperf.suite_runs.planning import plan_suite


class Work(NamedTuple):
    """The plan of a run, and how much of it remains."""

    plan: Plan
    remaining: tuple[Case, ...]
    rounds: int
    begun: Header | Run
    """First line of the run file, or a run to resume."""

    @property
    def wrapping(self) -> Wrapping | None:
        """The programs that the cases are profiled under; None without one."""
        begun = self.begun
        return (begun.header if isinstance(begun, Run) else begun).wrapping


def plan_work(workers: Workers, request: ResolvedRun, say: Say) -> Work:
    """Returns the plan of a new run. Raises `UsageError` if it has no case."""
    selection = request.selection
    plan, axes, more, benches = _plan(workers, request, say)
    head = make_header(
        plan,
        selection,
        request.command,
        axes,
        request.labels,
        workers.interpreters,
        request.wrapping,
        more,
    )
    remaining = plan_visits(
        plan.cases,
        selection.rounds,
        selection.settings.seed,
        together=request.executor != ISOLATED,
    )
    return Work(plan, remaining, selection.rounds, msgspec.structs.replace(head, benches=benches))


class Planned(NamedTuple):
    """A plan, its axes, and what else the run file says of it."""

    plan: Plan
    axes: Axes
    more: Mapping[str, Any] = {}
    benches: tuple[BenchFacts, ...] = ()


def _plan(workers: Workers, request: ResolvedRun, say: Say) -> Planned:
    selection, axes = request.selection, request.axes
    if request.matrix is not None:
        plan, axes, removed = plan_experiments(
            workers, request.matrix, selection, axes, request.files, request.overriding, say
        )
        counts = {rule.rule: rule.cases for rule in removed}
        return Planned(plan, axes, {MATRIX: request.matrix, REMOVED: counts})
    if request.suite is not None:
        plan, benches = plan_suite(workers, request.suite, selection, say)
        plan, benches = _on_nodes(plan, benches, axes.get("node", ()))
        return Planned(plan, axes, {}, benches)
    name = request.framework.name
    plan, axes = plan_run(workers, name, selection, axes, request.files, request.overriding, say)
    if selection.partition is None:
        # Of few cases a part may have none.
        _check_plan(plan)
    return Planned(plan, axes)


def _check_plan(plan: Plan) -> None:
    if plan.cases:
        return
    if not plan.excluded:
        raise UsageError(
            "no operator matches --category, --namespace and --exclude together; `opperf list` "
            "prints all operators"
        )
    # Of overloads, the one that a plain name calls is the one meant.
    name, reason = min(plan.excluded.items(), key=lambda item: "." in item[0])
    if len(plan.excluded) == 1:
        raise UsageError(
            f"nothing to run: the selected operator has no benchmark: {name}: {reason}"
        )
    raise UsageError(
        f"nothing to run: none of the {len(plan.excluded)} selected operators has a benchmark, "
        f"e.g. {name}: {reason}"
    )


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


def resume_work(run: Run, workers: Workers, request: ResolvedRun) -> Work:
    """Returns the plan and the remaining cases of an unfinished run. Raises `RunFileError`."""
    explicit = request.explicit
    frameworks = dict.fromkeys(case.target.framework for case in run.cases)
    if request.framework.is_named and request.matrix is None:
        for framework in frameworks:
            check_same("--framework", framework, request.framework.name)
    before, axes_before = read_selection(run)
    check_selection(before, request.selection, explicit)
    if request.matrix is not None:
        check_matrix(run, request.matrix, explicit)
    # Of files and models they are kept as they were set, of operators under canonical names.
    others = {
        name: values
        for name, values in request.axes.items()
        if name in explicit and axes_before.get(name) != values
    }
    if others:
        process = process_of(axes_before, before.settings.imports)
        found = workers.of(next(iter(frameworks)), process).resolve(framework_axes(others)).axes
        asked = {name: found.get(name, values) for name, values in others.items()}
        check_axes(axes_before, asked, explicit)
    remaining = find_pending(
        run,
        request.retry,
        before.rounds,
        before.settings.seed,
        together=request.executor != ISOLATED,
    )
    if request.wrapping is not None:
        check_same_programs(run.header.wrapping, request.wrapping)
    plan = Plan(cases=run.cases, excluded=run.header.excluded, earlier=run.records)
    return Work(plan, remaining, before.rounds, run)


OF_MATRIX = {
    "names": "models",
    "filter": "filter",
    "exclude": "exclude",
    "filter_by_tier": "filter_by_tier",
    "exclude_by_tier": "exclude_by_tier",
    "sizes": "sizes",
    "batch_sizes": "batch_sizes",
    "frameworks": "frameworks",
    **dict.fromkeys(("accelerator", "xla", "dynamo", "test", "xla_flags"), "words"),
}
"""Parameters of the command that set fields of the matrix."""


def check_matrix(run: Run, asked: Matrix, explicit: Collection[str]) -> None:
    """Raises `RunFileError` if an option that the user set contradicts the experiments of the run
    to resume, or if it is a run of none."""
    try:
        before = msgspec.convert(run.header.options.get(MATRIX), Matrix)
    except msgspec.ValidationError as error:
        raise RunFileError(
            "the run to resume is not of experiments; resume it with opperf run"
        ) from error
    for parameter, field in OF_MATRIX.items():
        if parameter in explicit:
            check_same(spelling(parameter), getattr(before, field), getattr(asked, field))


MATRIX, REMOVED = "matrix", "removed"
"""Keys of a header's options: models and axes of experiments, and the number of cases that each
rule removed."""
