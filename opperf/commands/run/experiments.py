"""Plans a run of experiments, and has the commands that repeat what failed in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import msgspec

from opperf.errors import RunFileError
from opperf.execution.dumps import write_dumps
from opperf.execution.execute import plan_visits
from opperf.execution.executor import ISOLATED
from opperf.execution.run_header import make_header
from opperf.execution.workers import Workers
from opperf.experiments.matrix import Matrix
from opperf.experiments.planning import plan_experiments
from opperf.experiments.repeating import command_of_case
from opperf.model import Case, Header, Run, Status
from opperf.parameters import spelling
from opperf.requests.keeping import check_same
from opperf.requests.resolved_run import ResolvedRun
from opperf.results.output import STDOUT
from opperf.sources.registry import Plan

FAILURES = (Status.FAILED, Status.CRASHED, Status.TIMEOUT)

MATRIX, REMOVED = "matrix", "removed"
"""Keys of a header's options: models and axes of experiments, and the number of cases that each
rule removed."""


def plan_matrix(
    workers: Workers, request: ResolvedRun, matrix: Matrix, say: Callable[[str], None]
) -> tuple[Plan, Header]:
    """Returns the plan of new experiments, and the first line of their run file. Raises as
    `plan_experiments`."""
    plan, axes, removed = plan_experiments(
        workers, matrix, request.selection, request.axes, request.files, request.overriding, say
    )
    head = make_header(
        plan,
        request.selection,
        request.command,
        axes,
        request.labels,
        workers.interpreters,
        more={MATRIX: matrix, REMOVED: {rule.rule: rule.cases for rule in removed}},
    )
    return plan, head


def visits_of(plan: Plan, request: ResolvedRun) -> tuple[Case, ...]:
    """Returns the cases in the order of their measurement: that of the product, unless one process
    measures many."""
    selection = request.selection
    together = request.executor != ISOLATED
    return plan_visits(plan.cases, selection.rounds, selection.settings.seed, together=together)


def repeating(run: Run) -> Iterator[str]:
    """Yields the commands that repeat what did not end well, each a line."""
    failed = [record for record in run.records if record.status in FAILURES]
    if failed:
        yield "\nTo repeat what failed:"
    for record in failed:
        yield f"{command_of_case(record.case, run.header.interpreters)}  # {record.status.value}"


def dump(workers: Workers, run: Run, request: ResolvedRun) -> Iterator[str]:
    """Writes what the cases do inside, if that is asked for, and yields lines on it."""
    if request.dumps:
        name = "stdout" if request.output == STDOUT else request.output.name
        folder = request.output.with_name(f"{name}.dumps")
        yield from write_dumps(workers, run, request.dumps, folder, request.traced_s)


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
