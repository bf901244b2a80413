"""robust-kbench: a folder for each task, with `func_forward.py`, `func_backward.py` and the
configurations of both; results by configuration."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opperf.candidates.formats import base
from opperf.candidates.formats.base import Asked, Judged, Made, PosedProblem, ProblemSet
from opperf.candidates.model import Problem, Verdict, VerdictStatus
from opperf.errors import UsageError
from opperf.formats.documents import read_form

NAME = "robust-kbench"

TOLERANCE = 1e-5
"""Absolute and relative, by its default."""

CUDA_REASON = "CUDA is not compiled here; name a Python file with its function"


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    """Yields the files of passes, each with its pass."""
    for folder in [path, *sorted(path.glob("*/"))]:
        for each in ("forward", "backward"):
            if (folder / f"func_{each}.py").is_file():
                yield folder / f"func_{each}.py", each


def recognizes(path: Path) -> bool:
    """Whether there is a task's folder."""
    return any(_files(path))


def read(asked: Asked) -> ProblemSet:
    """Returns a problem for each task and pass; its configurations are the trials. Raises
    `UsageError` and `RunFileError`."""
    found = [
        (file, each, _trials(file.with_name(f"config_{each}.json")))
        for file, each in _files(asked.path)
    ]
    parts = [part for _, _, trials in found for trial in trials for part in trial.values()]
    sizes = base.check_sets(asked, (name for part in parts for name in part))
    problems = []
    for path, each, trials in found:
        sized = [
            {key: base.with_sizes(part, sizes) for key, part in trial.items()} for trial in trials
        ]
        problems.append(_problem(asked, path, each, sized))
    return ProblemSet(NAME, problems, {})


def _trials(path: Path) -> list[dict[str, dict[str, Any]]]:
    """Returns the products of the configurations: several where the file has several."""
    found = read_form(path, dict[str, list[dict[str, Any]]])
    init, inputs, shared = (
        found.get(f"multi_{kind}_configs") or found.get(f"single_{kind}_configs") or [{}]
        for kind in ("init", "input", "shared")
    )
    if inputs == [{}] and not any(key.endswith("input_configs") for key in found):
        raise UsageError(f"{path}: no single_input_configs; add a list of keywords of get_inputs")
    return [
        {"init": {**one, **both}, "inputs": {**other, **both}}
        for one, other, both in itertools.product(init, inputs, shared)
    ]


def _problem(asked: Asked, path: Path, each: str, trials: Sequence[dict[str, Any]]) -> PosedProblem:
    is_backward = each == "backward"
    autograd = ["AutogradFunction"] * is_backward
    file = base.read_python(path, "Model", "get_inputs", "forward_fn", *autograd)
    name = f"{path.resolve().parent.name}/{each}"
    settings = {"format": NAME, "problem": path.name, "backward": is_backward}
    content = {path.name: file.text}
    own = [other for other in sorted(path.parent.glob("*.py")) if "func_" not in other.name]
    read = map(base.read_python, dict.fromkeys([*own, *asked.candidates]))
    solutions = [solution for solution in read if each in solution.names]
    # A forward pass is that of the arguments alone.
    needed = content if is_backward else {}
    candidates, refused = base.solved_by(asked, name, solutions, needed, settings)
    cuda = {file.name: CUDA_REASON for file in sorted(path.parent.glob(f"{each}*.cu"))}
    made = base.install(asked, ("problems", name), content, settings)
    problem = Problem(name, base.FRAMEWORK, made, tuple(trials), rtol=TOLERANCE, atol=TOLERANCE)
    return PosedProblem(problem, candidates, {**cuda, **refused})


def results(judged: Sequence[Judged], made: Made) -> dict[str, str]:
    """Returns `test_results.json` and `eval_results.json` of each candidate; times are means in
    milliseconds."""
    found = {}
    for _, verdicts in judged:
        for verdict in verdicts:
            folder = f"{verdict.problem}/{verdict.candidate}"
            found[f"{folder}/test_results.json"] = json.dumps(_test(verdict, made), indent=4)
            means = [trial.ns.mean / 1e6 for trial in verdict.trials if trial.ns is not None]
            if means:
                times = {"summary": {"avg_mean_time": sum(means) / len(means)}}
                found[f"{folder}/eval_results.json"] = json.dumps(times, indent=4)
    return found


def _test(verdict: Verdict, made: Made) -> dict[str, Any]:
    settings = {
        _label(trial.trial): {
            "correct": trial.status is VerdictStatus.PASSED,
            "max_diff": trial.max_absolute_error,
        }
        for trial in verdict.trials
    }
    errors = [
        trial.max_absolute_error for trial in verdict.trials if trial.max_absolute_error is not None
    ]
    summary = {
        "correct": verdict.status is VerdictStatus.PASSED,
        "max_diff": max(errors, default=None),
        "total_trials": len(verdict.trials),
        "all_configs_str": list(settings),
        **({"error": verdict.reason} if verdict.reason else {}),
    }
    return {"summary": summary, "eval_settings": settings, "device_info": made.hardware}


def _label(trial: dict[str, dict[str, Any]]) -> str:
    """Returns the name of a configuration, as robust-kbench writes it."""
    pairs = [*trial["init"].items(), *trial["inputs"].items()]
    text = "_".join(f"{name}_{value}" for name, value in pairs)
    return text.translate(str.maketrans(" .-=", "____"))
