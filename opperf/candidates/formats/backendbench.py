"""BackendBench: a folder for each operator of ATen, with implementations of it; inputs from a log
or table of calls, else by opperf's own rules; results by test."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any, NamedTuple

from opperf.candidates import scores
from opperf.candidates.formats import base
from opperf.candidates.formats.base import Asked, Judged, Made, PosedProblem, ProblemSet
from opperf.candidates.model import TrialResult, VerdictStatus
from opperf.errors import UnknownOperatorError, UsageError, one_line
from opperf.extras import install_command
from opperf.model import (
    Argument,
    Case,
    DType,
    MemoryFormat,
    OperatorTarget,
    Settings,
    TensorSpec,
    iter_tensors,
)
from opperf.sources.logged_arguments import STRIDED, read_arguments
from opperf.sources.logged_text import FORMAT_NAMES, InputLogs, Unwritable, arguments_text, split

NAME = "BackendBench"

TOLERANCE = 1e-2

MOST_CALLS = 20
"""Calls of an operator that are trials, those that were made most often: a log has thousands, and
each is judged for seconds."""


class Logged(NamedTuple):
    """A call of an operator, by the name of the operator's folder."""

    operator: str
    arguments: Mapping[str, Argument]
    times: int = 1


def files(path: Path) -> dict[str, Path]:
    """Returns the implementation of each operator, by its folder's name: the first by name."""
    return {
        folder.name: files[0]
        for folder in sorted(path.glob("*__*/"))
        if (files := sorted(folder.glob(f"{folder.name}_implementation*.py")))
    }


def read(asked: Asked) -> ProblemSet:
    """Returns a problem for each operator that has calls. Raises `UsageError`."""
    base.check_sets(asked, ())
    found = files(asked.path)
    own: dict[str, Path] = {}
    for path in asked.candidates:
        name = path.stem.partition("_implementation")[0]
        if own.setdefault(name, path) is not path:
            raise UsageError(f"{own[name]} and {path} are both of {name}; name one of them")
    found |= own
    calls: dict[str, dict[str, Any]] = {name: {} for name in found}
    for call in sorted(_calls(asked.path, found), key=lambda call: -call.times):
        kept = calls.get(call.operator, {})
        if call.operator in calls and len(kept) < MOST_CALLS:
            with suppress(Unwritable):
                text = arguments_text(call.arguments, None)
                unnamed, named = split(call.arguments, lambda name: False)
                encoded = {key: _encoded(value) for key, value in named.items()}
                kept[text] = [
                    list(map(_encoded, unnamed)),
                    encoded,
                    _bound([*unnamed, *named.values()]),
                ]
    problems = [_problem(asked, name, found[name], calls[name]) for name in found if calls[name]]
    skipped = dict.fromkeys(found, "no call of it is known; add one to the log")
    return ProblemSet(NAME, problems, {name: skipped[name] for name in found if not calls[name]})


def _problem(asked: Asked, name: str, path: Path, calls: dict[str, Any]) -> PosedProblem:
    function = f"{name}_kernel_impl"
    settings = {"format": NAME, "operator": _operator(name), "calls": calls, "function": function}
    solutions = base.solutions_in([base.read_python(path, function)], {})
    trials = [{"call": call} for call in calls]
    return base.pose(asked, name, TOLERANCE, {}, settings, solutions, trials)


def _operator(name: str) -> str:
    return ".".join(name.rpartition("__")[::2])


def _bound(arguments: Iterable[Argument]) -> int:
    """Returns the bound of integers: no index is beyond the axis of a tensor that it is into."""
    axes = (axis for each in arguments for spec in iter_tensors(each) for axis in spec.shape)
    return min((axis for axis in axes if axis > 1), default=2)


def _encoded(value: Argument) -> Any:
    """Returns an argument as the functions of a problem read it. Raises `Unwritable`."""
    if isinstance(value, TensorSpec):
        return {"shape": value.shape, "dtype": value.dtype}
    if isinstance(value, tuple):
        return [_encoded(each) for each in value]
    if isinstance(value, (DType, MemoryFormat)):
        return ["opperf:torch", FORMAT_NAMES.get(value.name, value.name)]
    if value == STRIDED:
        return ["opperf:torch", value]
    if value is None or isinstance(value, (bool, int, float, str)):
        # Candidates are judged on the CPU.
        return "cpu" if str(value).startswith("cuda") else value
    raise Unwritable("a complex number")


def _calls(path: Path, operators: Iterable[str]) -> Iterator[Logged]:
    """Yields calls of the logs and tables in a folder; by rule if there is none."""
    logs = [file for file in sorted(path.glob("*.txt")) if InputLogs().recognizes(file)]
    tables = sorted(path.glob("*.parquet"))
    for log in logs:
        for case in InputLogs().open(log).cases():
            yield _logged(case)
    for table in tables:
        yield from _table(table)
    if not (logs or tables):
        yield from _by_rule(operators)


def _logged(case: Case) -> Logged:
    target = case.target
    assert isinstance(target, OperatorTarget)
    name = f"{target.name.removeprefix('aten.')}__{target.overload or 'default'}"
    return Logged(name, case.arguments, case.count)


def _table(path: Path) -> Iterator[Logged]:
    if importlib.util.find_spec("pyarrow") is None:
        raise UsageError(f"{path} needs pyarrow: {install_command('pyarrow')}")
    parquet = importlib.import_module("pyarrow.parquet")
    try:
        rows = parquet.read_table(path, columns=["op_name", "args"]).to_pylist()
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is no table of calls: {one_line(str(error))}") from error
    for number, row in enumerate(rows):
        operator, arguments = row["op_name"], row["args"]
        if not (isinstance(operator, str) and isinstance(arguments, str)):
            raise UsageError(f"{path}: row {number}: op_name and args are no texts")
        name = "__".join(operator.removeprefix("aten.").rsplit(".", 1))
        try:
            unnamed, named = read_arguments(arguments)
        except ValueError as error:
            raise UsageError(f"{path}: row {number}: args: {error}") from None
        yield Logged(name, {**{str(i): value for i, value in enumerate(unnamed)}, **named})


def _by_rule(names: Iterable[str]) -> Iterator[Logged]:
    # Only here, as all else needs no process.
    from opperf.execution.planning import plan_cases
    from opperf.sources.selecting import Selection
    from opperf.worker.client import Worker

    with Worker(base.FRAMEWORK, Settings()) as worker:
        for name in names:
            patterns = (f"aten.{'.'.join(name.rsplit('__', 1))}",)
            try:
                selection = worker.resolve_selection(Selection(patterns=patterns, size="small"))
                plan = plan_cases(worker, base.FRAMEWORK, selection, lambda text: None)
            except UnknownOperatorError:
                # It is listed as one without calls.
                continue
            yield from map(_logged, plan.cases)


def results(judged: Sequence[Judged], made: Made) -> dict[str, str]:
    """Returns `full_results.json`, `failed_tests.json` and `operator_summary.csv`."""
    # An operator has one candidate.
    by_operator = {_operator(posed.problem.name): own.trials for posed, (own,) in judged}
    both = by_operator.items()
    tests = [test for name, trials in both for trial in trials for test in _tests(name, trial)]
    tests.sort(key=lambda test: (test["op_name"], test["args"]))
    failed = [test for test in tests if not test.get("is_correct", test.get("successfully_ran"))]
    table = io.StringIO()
    summaries = [_summary(name, trials) for name, trials in both]
    writer = csv.DictWriter(table, list(summaries[0]) if summaries else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(summaries)
    return {
        "full_results.json": json.dumps(tests, indent=2),
        "failed_tests.json": json.dumps(failed, indent=2),
        "operator_summary.csv": table.getvalue(),
    }


def _passed(trial: TrialResult) -> bool:
    return trial.status is VerdictStatus.PASSED


def _is_timed(trial: TrialResult) -> bool:
    return _passed(trial) and trial.ns is not None


def _tests(operator: str, trial: TrialResult) -> Iterator[dict[str, Any]]:
    common = {"op_name": operator, "args": trial.trial["call"], "error_msg": trial.reason}
    yield {
        **common,
        "is_correct": _passed(trial),
        "error_type": "" if _passed(trial) else trial.status.value,
        "max_abs_error": trial.max_absolute_error,
        "max_rel_error": trial.max_relative_error,
        "test_type": "correctness",
    }
    yield {
        **common,
        "speedup": scores.speedup(trial),
        "benchmark_time_ms": base.mean_ms(trial.ns),
        "reference_time_ms": base.mean_ms(trial.baselines.get(scores.REFERENCE)),
        "successfully_ran": _is_timed(trial),
        "test_type": "performance",
    }


def _summary(operator: str, trials: Sequence[TrialResult]) -> dict[str, Any]:
    count, right, timed = len(trials), sum(map(_passed, trials)), sum(map(_is_timed, trials))
    speedups = [ratio for trial in trials if (ratio := scores.speedup(trial))]
    return {
        "operator": operator,
        "total_tests": 2 * count,
        "correctness_tests": count,
        "performance_tests": count,
        "passed_correctness_tests": right,
        "passed_performance_tests": timed,
        "failed_correctness": count - right,
        "failed_performance": count - timed,
        "correctness_rate": right / max(count, 1),
        "avg_speedup": fmean(speedups or [0.0]),
        "geomean_speedup": geometric_mean(speedups) if speedups else 0.0,
        "max_absolute_error": max(trial.max_absolute_error or 0.0 for trial in trials),
        "max_relative_error": max(trial.max_relative_error or 0.0 for trial in trials),
    }
