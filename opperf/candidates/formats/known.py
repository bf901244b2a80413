"""The known formats: which a file or folder is of, and how each is read, written and scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from opperf.candidates import scores
from opperf.candidates.formats import backendbench, flashinfer, gpu_mode, kernelbench, robust_kbench
from opperf.candidates.formats.base import Asked, Judged, Made, PosedProblem, ProblemSet
from opperf.candidates.model import TrialResult, Verdict
from opperf.errors import UsageError

FORMATS: Mapping[str, Any] = {
    module.NAME: module
    for module in (flashinfer, gpu_mode, robust_kbench, backendbench, kernelbench)
}
"""Modules, each with `files` by which it is recognised, `read` and `results`; the most particular
first."""

NAMELESS = frozenset({gpu_mode.NAME, robust_kbench.NAME})
"""Formats in which the name of a candidate's file does not say which problem it solves."""

COUNTED = {**dict.fromkeys(FORMATS, "best"), kernelbench.NAME: "first"}
"""Of several candidates of an author for a problem, the one that its scores are of. KernelBench
analyses the first sample alone."""


def format_of(path: Path) -> str:
    """Returns the name of the format of a file or folder; empty if it is of none."""
    return next((name for name, each in FORMATS.items() if each.files(path)), "")


def read(asked: Asked) -> ProblemSet:
    """Returns the problems of a file or folder. Raises `UsageError` and `RunFileError`."""
    name = format_of(asked.path)
    if not name:
        raise UsageError(
            f"{asked.path} has no problems of kernels that opperf reads: {', '.join(FORMATS)}"
        )
    found: ProblemSet = FORMATS[name].read(asked)
    names = [posed.problem.name for posed in found.problems]
    for each in names:
        if names.count(each) > 1:
            raise UsageError(f"{asked.path} has two problems {each!r}; name the folder of one")
    return found


def results(name: str, judged: Sequence[Judged], made: Made) -> dict[str, str]:
    """Returns the texts of a format's files of results, by their path in a folder."""
    whole = [
        Judged(posed, [_completed(posed, verdict) for verdict in verdicts])
        for posed, verdicts in judged
    ]
    return dict(FORMATS[name].results(whole, made))


def _completed(posed: PosedProblem, verdict: Verdict) -> Verdict:
    """Returns a verdict with all trials of its problem: those that it ended before, as itself."""
    trials = list(verdict.trials)
    for index, trial in enumerate(posed.problem.trials):
        if index == len(trials) or trials[index].trial != trial:
            trials[index:] = [TrialResult(trial, verdict.status, verdict.reason)]
    return msgspec.structs.replace(verdict, trials=tuple(trials))


def scored(name: str, judged: Sequence[Judged]) -> dict[str, float]:
    """Returns the scores of other judges, by name; of each author where there are several. Of each
    problem one candidate of an author counts; none where all need what is not here. Trials that
    only check count as correct or not, and their times not at all."""
    authors = dict.fromkeys(each.author for posed, _ in judged for each in posed.candidates)
    found: dict[str, float] = {}
    for author in authors:
        counted = []
        unsolved = 0
        for posed, verdicts in judged:
            names = {each.name for each in posed.candidates if each.author == author}
            own = [_timed(posed, each) for each in verdicts if each.candidate in names]
            if own:
                counted.append(own[0] if COUNTED[name] == "first" else scores.best(own))
            unsolved += not names and all(each.author != author for each in posed.refused)
        prefix = f"{author}: " if len(authors) > 1 else ""
        own_scores = scores.scores(counted, unsolved)
        found |= {f"{prefix}{score}": value for score, value in own_scores.items()}
    return found


def _timed(posed: PosedProblem, verdict: Verdict) -> Verdict:
    whole = _completed(posed, verdict)
    return msgspec.structs.replace(whole, trials=whole.trials[posed.checks :])
