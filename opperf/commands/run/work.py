"""The work of a run: its plan, what remains of it, and its measurement."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from opperf.commands.run.request import Request
from opperf.errors import UsageError
from opperf.execution.execute import execute_to_file
from opperf.execution.executor import Task, open_executor
from opperf.execution.forecast import pace_of
from opperf.execution.planning import plan_run
from opperf.execution.progress import make_progress
from opperf.execution.rounds import plan_visits
from opperf.execution.run_header import make_header
from opperf.execution.workers import Workers
from opperf.machine.pinning import Pinning
from opperf.model import Case, Header, Run
from opperf.results.kept import profile_folder
from opperf.sources.registry import Plan


class Work(NamedTuple):
    """The plan of a run, and how much of it remains."""

    plan: Plan
    remaining: tuple[Case, ...]
    rounds: int
    begun: Header | Run
    """First line of the run file, or a run to resume."""


def plan_work(workers: Workers, request: Request, say: Callable[[str], None]) -> Work:
    """Returns the plan of a new run, all of which remains. `say` prints what takes time.

    Raises `UsageError` if it has no case.
    """
    selection = request.selection
    plan, axes = plan_run(
        workers,
        request.framework.name,
        selection,
        request.axes,
        request.files,
        request.overriding,
        say,
    )
    _check_plan(plan)
    head = make_header(
        plan, selection, {"command": request.command}, axes, request.labels, workers.interpreters
    )
    remaining = plan_visits(plan.cases, selection.rounds, selection.settings.seed)
    return Work(plan, remaining, selection.rounds, head)


def _check_plan(plan: Plan) -> None:
    """Raises `UsageError` if there is no case."""
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


def measure_work(
    work: Work,
    run_file: Path,
    request: Request,
    workers: Workers,
    pinning: Pinning,
    started: float,
) -> Run:
    """Measures what remains, writes each record to the run file as it is made, and returns the
    file's content. `started` is the moment of the run's start, by the monotonic clock.

    Raises what `execute_to_file` and `open_executor` raise.
    """
    profiles = profile_folder(run_file, is_new=not request.resuming)
    task = Task(work.remaining, workers.interpreters, profiles)
    progress = make_progress(
        sys.stderr, len(work.remaining), request.quiet, pace_of(work.remaining)
    )
    with open_executor(request.executor, task, workers, pinning) as executor:
        return execute_to_file(
            run_file,
            work.begun,
            work.plan.cases,
            work.remaining,
            executor,
            progress,
            lambda: time.monotonic() - started,
        )
