"""robust-kbench: a folder for each task, with `func_forward.py`, `func_backward.py` and the
configurations of both; results by configuration."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from opperf.candidates.formats import base
from opperf.candidates.formats.base import Asked, Judged, Made, PosedProblem, ProblemSet, Solution
from opperf.candidates.model import Verdict, VerdictStatus
from opperf.errors import UsageError
from opperf.formats.documents import read_form

NAME = "robust-kbench"

TOLERANCE = 1e-5
"""Absolute and relative, by its default."""

CUDA_REASON = "CUDA is not compiled here; name a Python file with its function"

BACKWARD = "backward"


def files(path: Path) -> list[Path]:
    """Returns the files of passes, those of a task together."""
    folders = [path, *sorted(path.glob("*/"))]
    named = (folder / f"func_{each}.py" for folder in folders for each in ("forward", BACKWARD))
    return [file for file in named if file.is_file()]


def read(asked: Asked) -> ProblemSet:
    """Returns a problem for each task and pass; its configurations are the trials. Raises
    `UsageError` and `RunFileError`."""
    found = {file: _trials(file) for file in files(asked.path)}
    parts = [part for trials in found.values() for trial in trials for part in trial.values()]
    sizes = base.check_sets(asked, (name for part in parts for name in part))
    problems = []
    for file, trials in found.items():
        sized = [
            {key: base.with_sizes(part, sizes) for key, part in trial.items()} for trial in trials
        ]
        problems.append(_problem(asked, file, sized))
    return ProblemSet(NAME, problems, {})


def _pass(path: Path) -> str:
    return path.stem.removeprefix("func_")


def _trials(file: Path) -> list[dict[str, dict[str, Any]]]:
    """Returns the products of the configurations: several where there are several."""
    path = file.with_name(f"config_{_pass(file)}.json")
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


def _problem(asked: Asked, path: Path, trials: Sequence[dict[str, Any]]) -> PosedProblem:
    kind = _pass(path)
    is_backward = kind == BACKWARD
    autograd = ["AutogradFunction"] * is_backward
    file = base.read_python(path, "Model", "get_inputs", "forward_fn", *autograd)
    content = {path.name: file.text}
    own = [other for other in sorted(path.parent.glob("*.py")) if "func_" not in other.name]
    found = map(base.read_python, dict.fromkeys([*own, *asked.candidates]))
    # A forward pass is that of the arguments alone.
    needed = content if is_backward else {}
    solutions = base.solutions_in((each for each in found if kind in each.names), needed)
    cuda = sorted(path.parent.glob(f"{kind}*.cu"))
    solutions += [Solution(each.name, refusal=CUDA_REASON) for each in cuda]
    name = f"{path.resolve().parent.name}/{kind}"
    functions = {"reference": "forward_fn", "function": kind, "backward": is_backward}
    settings = {"format": NAME, "problem": path.name, **functions}
    return base.pose(asked, name, TOLERANCE, content, settings, solutions, trials)


def results(judged: Sequence[Judged], made: Made) -> dict[str, str]:
    """Returns `test_results.json` and `eval_results.json` of each candidate; times are means in
    milliseconds."""
    found = {}
    for verdict in (verdict for each in judged for verdict in each.verdicts):
        folder = f"{verdict.problem}/{verdict.candidate}"
        found[f"{folder}/test_results.json"] = json.dumps(_test(verdict, made), indent=4)
        means = [trial.ns.mean / 1e6 for trial in verdict.trials if trial.ns is not None]
        if means:
            times = {"summary": {"avg_mean_time": fmean(means)}}
            found[f"{folder}/eval_results.json"] = json.dumps(times, indent=4)
    return found


def _test(verdict: Verdict, made: Made) -> dict[str, Any]:
    settings: dict[str, dict[str, Any]] = {
        _label(trial.trial): {
            "correct": trial.status is VerdictStatus.PASSED,
            "max_diff": trial.max_absolute_error,
        }
        for trial in verdict.trials
    }
    errors = [each["max_diff"] for each in settings.values() if each["max_diff"] is not None]
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
