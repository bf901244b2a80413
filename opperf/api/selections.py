"""Measures selections of operators from a Python program, in a worker process."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from opperf.api.calls import QUIET, Results, call_settings, measure_cases, one_device
from opperf.defaults import RUNS, WARMUP
from opperf.execution.progress import Progress, Quiet
from opperf.execution.workers import Workers
from opperf.frameworks import Framework, load
from opperf.model import Case, Record, Status
from opperf.results.opperf_json import results_by_operator
from opperf.sources.registry import Plan, plan
from opperf.sources.selecting import Selection
from opperf.worker.allocator import configure_heap

LOG = logging.getLogger("opperf")


def load_for_measuring(framework: str) -> Framework:
    """Returns the framework, after this process's heap is set up for measuring."""
    configure_heap(framework)
    return load(framework)


def make_plan(
    framework_name: str,
    ctx: Any,
    dtype: Any,
    profiler: str | None,
    int64_tensor: str,
    warmup: int,
    runs: int,
    **selected: Any,
) -> tuple[Framework, Plan]:
    """Returns the framework, and the plan of a selection with these settings."""
    framework = load_for_measuring(framework_name)
    settings = call_settings(framework, ctx, dtype, profiler, warmup, runs)
    selection = Selection(settings=settings, int64_tensor=int64_tensor.lower() == "on", **selected)
    return framework, plan(framework, selection)


@functools.cache
def workers() -> Workers:
    """Returns the workers of this process, with which they end."""
    return Workers()


class _Warnings(Quiet):
    """Logs a warning for each case that could not be measured, with the reason."""

    def end(self, record: Record) -> None:
        if record.status is not Status.OK:
            LOG.warning("%s: %s: %s", record.case.label, record.status.value, record.reason)


def measure_plan(made: Plan) -> Results:
    """Returns the results of every case of a plan, measured in a worker, where a crash costs only
    its own case. One that could not be measured is logged as a warning, with the reason."""
    return results_by_operator(list(measure_in_workers(made.cases, _Warnings()).values()))


def measure_in_workers(cases: Sequence[Case], progress: Progress = QUIET) -> dict[str, Record]:
    """Returns the records of cases by id, measured in a worker, so that a crash does not end this
    process."""
    try:
        return measure_cases(cases, workers(), progress)
    except BaseException:
        # A later request would read the answer to this one.
        workers().close()
        raise


Runner = Callable[..., Results]


class Runners(dict[str, Runner]):
    """The functions that measure a framework's operators, by category."""

    def __init__(self, framework: str) -> None:
        super().__init__()
        self.framework = framework

    def add(self, category: str, title: str, name: str = "") -> Runner:
        """Returns the function of a category, after it was added: of the usual name without one."""

        def measure(*arguments: Any) -> Results:
            framework, made = make_plan(self.framework, *arguments, categories=(category,))
            public = {operator.label for operator in framework.operators() if operator.public}
            cases = tuple(case for case in made.cases if case.label in public)
            return measure_plan(msgspec.structs.replace(made, cases=cases))

        self[category] = _runner(
            measure,
            name or f"run_{category}_operators_benchmarks",
            f"""Measure {title}.

    Returns `{{operator: [result, ...]}}`, a result for each configuration, with times in ms and
    memory in kB of 1000 bytes, as `run_performance_test` does. `device` is another name of `ctx`.
    """,
        )
        return self[category]

    def all(self, title: str) -> Runner:
        """Returns the function `run_all_FRAMEWORK_operator_benchmarks`, which calls every one."""

        def measure(*arguments: Any) -> Results:
            found = {name: made for run in self.values() for name, made in run(*arguments).items()}
            return dict(sorted(found.items()))

        return _runner(
            measure,
            f"run_all_{self.framework}_operator_benchmarks",
            f"""Measure every category of {title}, in a worker process.

    Returns `{{operator: [result, ...]}}`, sorted by operator, as each runner does.
    """,
        )


def _runner(measure: Runner, name: str, description: str) -> Runner:
    """Returns a function with the signature of MXNet's utility, which takes its first argument by
    the name `device` too."""

    def runner(
        ctx: Any = None,
        dtype: Any = "float32",
        profiler: Literal["native", "python"] = "native",
        int64_tensor: str = "off",
        warmup: int = WARMUP,
        runs: int = RUNS,
    ) -> Results:
        return measure(ctx, dtype, profiler, int64_tensor, warmup, runs)

    runner.__name__ = runner.__qualname__ = name
    runner.__doc__ = description

    @functools.wraps(runner)
    def called(ctx: Any = None, *others: Any, device: Any = None, **named: Any) -> Results:
        return runner(one_device(ctx, device), *others, **named)

    return called
