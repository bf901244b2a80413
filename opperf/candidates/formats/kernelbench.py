"""KernelBench: a file with `Model`, `get_inputs` and `get_init_inputs` for each problem, in folders
by level, and files with `ModelNew`; results in `eval_results.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opperf.candidates.formats import base
from opperf.candidates.formats.base import Asked, Judged, Made, PosedProblem, ProblemSet, PythonFile
from opperf.candidates.model import Problem, Verdict, VerdictStatus
from opperf.errors import UsageError, unknown

NAME = "KernelBench"

MARK = re.compile(rb"^def get_init_inputs\b", re.MULTILINE)

CLASS = re.compile(rb"^class ModelNew\b", re.MULTILINE)

GENERATED = re.compile(r"level_(?P<level>\d+)_problem_(?P<id>\d+)_sample_(?P<sample>\d+)_kernel")
"""Name of a candidate's file, as KernelBench writes it."""

PRECISION = "precision"
"""Set as a constant: of inputs and weights."""

PRECISIONS = {"fp32": ("float32", 1e-4), "fp16": ("float16", 1e-2), "bf16": ("bfloat16", 1e-2)}
"""The dtype of each, and its absolute and relative tolerance."""


def _files(path: Path) -> list[Path]:
    found = [path] if path.is_file() else [*path.glob("*.py"), *path.glob("*/*.py")]
    return sorted((file for file in found if file.suffix == ".py" and file.is_file()), key=_order)


def _order(path: Path) -> tuple[str, int, str]:
    # Their names begin with a number: 2 before 10.
    return str(path.parent), len(path.name.partition("_")[0]), path.name


def recognizes(path: Path) -> bool:
    """Whether there is a file with `get_init_inputs`."""
    return any(MARK.search(base.read_file(file)) for file in _files(path))


def read(asked: Asked) -> ProblemSet:
    """Returns the problems, each with its candidates. Raises `UsageError`."""
    sets = dict(asked.sets)
    precision = sets.pop(PRECISION, "fp32")
    if precision not in PRECISIONS:
        raise unknown(PRECISION, precision, PRECISIONS)
    texts = {file: base.read_file(file) for file in (*_files(asked.path), *asked.candidates)}
    own = [file for file in texts if file in asked.candidates or CLASS.search(texts[file])]
    files = [
        base.read_python(file, "Model", "get_inputs", "get_init_inputs")
        for file, text in texts.items()
        if file not in own and MARK.search(text)
    ]
    base.check_sets(asked._replace(sets=sets), (name for file in files for name in file.constants))
    solutions: dict[str, list[PythonFile]] = {_name(file.path): [] for file in files}
    for path in own:
        solutions[_solved(path, files)].append(base.read_python(path, "ModelNew"))
    dtype, tolerance = PRECISIONS[precision]
    problems = []
    for file in files:
        name = _name(file.path)
        settings = {
            **{"format": NAME, "constants": sets, "dtype": dtype},
            "problem": file.path.name,
        }
        content = {file.path.name: file.text}
        made = base.install(asked, ("problems", name), content, settings)
        problem = Problem(name, base.FRAMEWORK, made, rtol=tolerance, atol=tolerance)
        solved = base.solved_by(asked, name, solutions[name], content, settings)
        problems.append(PosedProblem(problem, *solved))
    return ProblemSet(NAME, problems, {})


def _name(path: Path) -> str:
    level = path.parent.name
    return f"{level}/{path.stem}" if re.fullmatch(r"level_?\d+", level) else path.stem


def _solved(path: Path, files: Sequence[PythonFile]) -> str:
    """Returns the name of the problem that a file solves. Raises `UsageError`."""
    names = [_name(file.path) for file in files]
    made = GENERATED.fullmatch(path.stem)
    fitting = [
        name
        for name in names
        if (
            re.fullmatch(rf"(level_?{made['level']}/)?{made['id']}_.*", name)
            if made
            else f"{path.stem}_".startswith(f"{name.rpartition('/')[2]}_")
        )
    ]
    if len(names) == 1 or fitting:
        return max(fitting or names, key=len)
    raise UsageError(
        f"{path}: its name says not which problem it solves; call it PROBLEM_{path.name}, with the "
        "name of the problem's file, or name that file alone"
    )


def results(judged: Sequence[Judged], made: Made) -> dict[str, str]:
    """Returns `eval_results.json`, the candidates by the problem's number, in a folder for each
    level if there are several; times are means in milliseconds, -1 without one."""
    levels: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for posed, verdicts in judged:
        found = levels.setdefault(posed.problem.name.rpartition("/")[0], {})
        for number, verdict in enumerate(verdicts):
            generated = GENERATED.fullmatch(verdict.candidate)
            sample = int(generated["sample"]) if generated else number
            key = verdict.problem.rpartition("/")[2].partition("_")[0]
            found.setdefault(key, []).append({"sample_id": sample, **_result(verdict, made)})
    return {
        str(Path(level if len(levels) > 1 else "", "eval_results.json")): json.dumps(
            found, indent=4
        )
        for level, found in levels.items()
    }


RETURNED = frozenset({VerdictStatus.PASSED, VerdictStatus.WRONG, VerdictStatus.CHEATED})


def _result(verdict: Verdict, made: Made) -> dict[str, Any]:
    passed = verdict.status is VerdictStatus.PASSED
    times = next((trial.ns for trial in verdict.trials if passed), None)
    metadata = {"hardware": made.hardware, "status": verdict.status.value, "reason": verdict.reason}
    stats = (
        {}
        if times is None
        else {
            "mean": times.mean / 1e6,
            "min": times.min / 1e6,
            "max": times.max / 1e6,
            "num_trials": times.n,
            "hardware": made.hardware,
        }
    )
    return {
        "compiled": verdict.status in RETURNED,
        "correctness": passed,
        "metadata": metadata,
        "runtime": stats.get("mean", -1.0),
        "runtime_stats": stats,
    }
