"""BackendBench: a folder for each operator of ATen, with implementations of it; inputs from a log
or table of calls, else by opperf's own rules; results by test."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opperf.candidates import scores
from opperf.candidates.formats import base
from opperf.candidates.formats.base import Asked, Judged, Made, PosedProblem, ProblemSet
from opperf.candidates.model import Problem, TrialResult, VerdictStatus
from opperf.errors import UnknownOperatorError, UsageError, one_line
from opperf.extras import install_command
from opperf.model import Argument, Case, DType, MemoryFormat, OperatorTarget, Settings, TensorSpec
from opperf.sources.logged_arguments import STRIDED, Arguments, read_arguments
from opperf.sources.logged_text import (
    FORMAT_NAMES,
    InputLogs,
    Unwritable,
    arguments_text,
    split,
)

NAME = "BackendBench"

TOLERANCE = 1e-2

MOST_CALLS = 20
"""Calls of an operator that are trials, those that were made most often: a log has thousands, and
each is judged for seconds."""


class Logged(NamedTuple):
    """A call of an operator, by the name of the operator's folder."""

    operator: str
    arguments: Arguments
    times: int = 1


def _implementations(path: Path) -> dict[str, Path]:
    """Returns the implementation of each operator, by its folder's name: the first by name."""
    return {
        folder.name: files[0]
        for folder in sorted(path.glob("*__*/"))
        if (files := sorted(folder.glob(f"{folder.name}_implementation*.py")))
    }


def recognizes(path: Path) -> bool:
    """Whether there is a folder of an operator."""
    return bool(_implementations(path))


def read(asked: Asked) -> ProblemSet:
    """Returns a problem for each operator that has calls. Raises `UsageError`."""
    base.check_sets(asked, ())
    found = _implementations(asked.path)
    own: dict[str, Path] = {}
    for path in asked.candidates:
        name = path.stem.partition("_implementation")[0]
        if own.setdefault(name, path) is not path:
            raise UsageError(f"{own[name]} and {path} are both of {name}; name one of them")
    found |= own
    calls: dict[str, dict[str, Any]] = defaultdict(dict)
    for call in sorted(_calls(asked.path, found), key=lambda call: -call.times):
        kept = calls[call.operator]
        if call.operator in found and len(kept) < MOST_CALLS:
            unnamed, named = call.arguments
            named_too = {**{str(i): value for i, value in enumerate(unnamed)}, **named}
            try:
                text = arguments_text(named_too, None)
                encoded = {key: _encoded(value) for key, value in named.items()}
                kept[text] = [list(map(_encoded, unnamed)), encoded]
            except Unwritable:
                continue
    skipped = dict.fromkeys(found, "no call of it is known; add one to the log")
    problems = [_problem(asked, name, found[name], calls[name]) for name in found if calls[name]]
    return ProblemSet(NAME, problems, {name: skipped[name] for name in found if not calls[name]})


def _problem(asked: Asked, name: str, path: Path, calls: dict[str, Any]) -> PosedProblem:
    function = f"{name}_kernel_impl"
    solution = base.read_python(path, function)
    operator = ".".join(name.rpartition("__")[::2])
    settings = {"format": NAME, "operator": operator, "calls": calls, "function": function}
    solved = base.solved_by(asked, name, [solution], {}, settings)
    made = base.install(asked, ("problems", name), {}, settings)
    trials = tuple({"call": call} for call in calls)
    problem = Problem(name, base.FRAMEWORK, made, trials, rtol=TOLERANCE, atol=TOLERANCE)
    return PosedProblem(problem, *solved, facts={"operator": operator})


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
    unnamed, named = split(case.arguments, lambda name: False)
    name = f"{target.name.removeprefix('aten.')}__{target.overload or 'default'}"
    return Logged(name, (tuple(unnamed), named), case.count)


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
            yield Logged(name, read_arguments(arguments))
        except ValueError as error:
            raise UsageError(f"{path}: row {number}: args: {error}") from None


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
    by_operator = {
        posed.facts["operator"]: [
            test
            for verdict in verdicts
            for trial in verdict.trials
            for test in _tests(posed.facts["operator"], trial)
        ]
        for posed, verdicts in judged
    }
    tests = [test for own in by_operator.values() for test in own]
    tests.sort(key=lambda test: (test["op_name"], test["args"]))
    table = io.StringIO()
    summaries = [_summary(operator, own) for operator, own in by_operator.items()]
    writer = csv.DictWriter(table, list(summaries[0]) if summaries else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(summaries)
    return {
        "full_results.json": json.dumps(tests, indent=2),
        "failed_tests.json": json.dumps([test for test in tests if not _passed(test)], indent=2),
        "operator_summary.csv": table.getvalue(),
    }


def _passed(test: Mapping[str, Any]) -> bool:
    return bool(test.get("is_correct", test.get("successfully_ran")))


def _tests(operator: str, trial: TrialResult) -> Iterator[dict[str, Any]]:
    common = {"op_name": operator, "args": trial.trial["call"], "error_msg": trial.reason}
    passed = trial.status is VerdictStatus.PASSED
    yield {
        **common,
        "is_correct": passed,
        "error_type": "" if passed else trial.status.value,
        "max_abs_error": trial.max_absolute_error,
        "max_rel_error": trial.max_relative_error,
        "test_type": "correctness",
    }
    yield {
        **common,
        "speedup": scores.speedup(trial),
        "benchmark_time_ms": base.mean_ms(trial.ns),
        "reference_time_ms": base.mean_ms(trial.baselines.get(scores.REFERENCE)),
        "successfully_ran": passed and trial.ns is not None,
        "test_type": "performance",
    }


def _summary(operator: str, tests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    kinds = {
        kind: [test for test in tests if test["test_type"] == kind]
        for kind in ("correctness", "performance")
    }
    correctness, performance = kinds.values()
    speedups = [test["speedup"] for test in performance if test["speedup"]]
    counts = {f"{kind}_tests": len(own) for kind, own in kinds.items()}
    passed = {f"passed_{kind}_tests": sum(map(_passed, own)) for kind, own in kinds.items()}
    failed = {f"failed_{kind}": counts[kind] - passed[f"passed_{kind}"] for kind in counts}
    return {
        **{"operator": operator, "total_tests": len(tests)},
        **{**counts, **passed, **failed},
        "correctness_rate": passed["passed_correctness_tests"] / max(len(correctness), 1),
        "avg_speedup": sum(speedups) / max(len(speedups), 1),
        "geomean_speedup": scores.geometric_mean(speedups) or 0.0,
        "max_absolute_error": max(
            (test["max_abs_error"] or 0.0 for test in correctness), default=0.0
        ),
        "max_relative_error": max(
            (test["max_rel_error"] or 0.0 for test in correctness), default=0.0
        ),
    }
