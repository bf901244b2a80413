"""The known formats: which a file or folder is of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from opperf.candidates import scores
from opperf.candidates.formats import (
    backendbench,
    flashinfer,
    gpu_mode,
    kernelbench,
    robust_kbench,
)
from opperf.candidates.formats.base import Asked, Judged, Made, ProblemSet, completed
from opperf.errors import UsageError


class Format(NamedTuple):
    """How a format is recognised, read and written."""

    recognizes: Callable[[Path], bool]
    read: Callable[[Asked], ProblemSet]
    results: Callable[[Sequence[Judged], Made], Mapping[str, str]]


FORMATS = {
    module.NAME: Format(module.recognizes, module.read, module.results)
    for module in (flashinfer, gpu_mode, robust_kbench, backendbench, kernelbench)
}
"""The most particular first."""


def format_of(path: Path) -> str:
    """Returns the name of the format of a file or folder; empty if it is of none."""
    return next((name for name, each in FORMATS.items() if each.recognizes(path)), "")


def read(asked: Asked) -> ProblemSet:
    """Returns the problems of a file or folder. Raises `UsageError` and `RunFileError`."""
    name = format_of(asked.path)
    if not name:
        raise UsageError(
            f"{asked.path} has no problems of kernels that opperf reads: {', '.join(FORMATS)}"
        )
    found = FORMATS[name].read(asked)
    names = [posed.problem.name for posed in found.problems]
    for each in names:
        if names.count(each) > 1:
            raise UsageError(f"{asked.path} has two problems {each!r}; name the folder of one")
    return found


def results(name: str, judged: Sequence[Judged], made: Made) -> dict[str, str]:
    """Returns the texts of a format's files of results, by their path in a folder."""
    whole = [
        Judged(posed, [completed(posed, verdict) for verdict in verdicts])
        for posed, verdicts in judged
    ]
    return dict(FORMATS[name].results(whole, made))


def scored(judged: Sequence[Judged]) -> dict[str, float]:
    """Returns the scores of other judges, by name; of each author where there are several. Trials
    that only check count as correct or not, and their times not at all."""
    authors = dict.fromkeys(each.author for posed, _ in judged for each in posed.candidates)
    return {
        f"{author}: {name}" if len(authors) > 1 else name: score
        for author in authors
        for name, score in _scores_of(author, judged).items()
    }


def _scores_of(author: str, judged: Sequence[Judged]) -> dict[str, float]:
    verdicts = []
    unsolved = 0
    for posed, own in judged:
        names = {each.name for each in posed.candidates if each.author == author}
        unsolved += not names
        for verdict in own:
            if verdict.candidate in names:
                whole = completed(posed, verdict)
                timed = whole.trials[posed.checks :]
                verdicts.append(msgspec.structs.replace(whole, trials=timed))
    return scores.scores(verdicts, unsolved)
