"""KernelBench: a file with `Model`, `get_inputs` and `get_init_inputs` for each problem, in folders
by level, and files with `ModelNew`; results in `eval_results.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opperf.candidates.formats import base
from opperf.candidates.formats.base import Asked, Judged, Made, ProblemSet, PythonFile
from opperf.candidates.model import Verdict, VerdictStatus
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


def _texts(path: Path) -> dict[Path, bytes]:
    found = [path] if path.is_file() else [*path.glob("*.py"), *path.glob("*/*.py")]
    files = (file for file in found if file.suffix == ".py" and file.is_file())
    return {file: base.read_file(file) for file in sorted(files, key=_order)}


def _order(path: Path) -> tuple[str, int, str]:
    # Their names begin with a number: 2 before 10.
    return str(path.parent), len(path.name.partition("_")[0]), path.name


def files(path: Path) -> list[Path]:
    """Returns the files with `get_init_inputs`."""
    return [file for file, text in _texts(path).items() if MARK.search(text)]


def read(asked: Asked) -> ProblemSet:
    """Returns the problems, each with its candidates. Raises `UsageError`."""
    sets = dict(asked.sets)
    precision = sets.pop(PRECISION, "fp32")
    if precision not in PRECISIONS:
        raise unknown(PRECISION, precision, PRECISIONS)
    texts = _texts(asked.path)
    solving = (file for file, text in texts.items() if CLASS.search(text))
    own = list(dict.fromkeys([*solving, *asked.candidates]))
    stated = [
        base.read_python(file, "Model", "get_inputs", "get_init_inputs")
        for file, text in texts.items()
        if file not in own and MARK.search(text)
    ]
    base.check_sets(asked._replace(sets=sets), (name for file in stated for name in file.constants))
    solutions: dict[str, list[PythonFile]] = {_name(file.path): [] for file in stated}
    for path in own:
        solutions[_solved(path, list(solutions))].append(base.read_python(path, "ModelNew"))
    dtype, tolerance = PRECISIONS[precision]
    problems = []
    for file in stated:
        name, content = _name(file.path), {file.path.name: file.text}
        settings = {"format": NAME, "problem": file.path.name, "constants": sets, "dtype": dtype}
        solved = base.solutions_in(solutions[name], content)
        problems.append(base.pose(asked, name, tolerance, content, settings, solved))
    return ProblemSet(NAME, problems, {})


def _name(path: Path) -> str:
    level = path.parent.name
    return f"{level}/{path.stem}" if re.fullmatch(r"level_?\d+", level) else path.stem


def _solved(path: Path, names: Sequence[str]) -> str:
    """Returns the name of the problem that a file solves. Raises `UsageError`."""
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
        level, _, stem = posed.problem.name.rpartition("/")
        samples = levels.setdefault(level, {}).setdefault(stem.partition("_")[0], [])
        for number, verdict in enumerate(verdicts):
            generated = GENERATED.fullmatch(verdict.candidate)
            sample = int(generated["sample"]) if generated else number
            samples.append({"sample_id": sample, **_result(verdict, made)})
    return {
        str(Path(level if len(levels) > 1 else "", "eval_results.json")): json.dumps(
            found, indent=4
        )
        for level, found in levels.items()
    }


RETURNED = frozenset({VerdictStatus.PASSED, VerdictStatus.WRONG, VerdictStatus.CHEATED})


def _result(verdict: Verdict, made: Made) -> dict[str, Any]:
    passed = verdict.status is VerdictStatus.PASSED
    times = verdict.trials[0].ns if passed else None
    means = {} if times is None else {"mean": times.mean, "min": times.min, "max": times.max}
    stats: dict[str, Any] = {name: figure / 1e6 for name, figure in means.items()}
    if times is not None:
        stats |= {"num_trials": times.n, "hardware": made.hardware}
    return {
        "compiled": verdict.status in RETURNED,
        "correctness": passed,
        "metadata": {
            "hardware": made.hardware,
            "status": verdict.status.value,
            "reason": verdict.reason,
        },
        "runtime": stats.get("mean", -1.0),
        "runtime_stats": stats,
    }
