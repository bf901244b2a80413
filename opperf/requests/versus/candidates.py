"""Judges kernels of a user's files against a reference: `opperf versus --candidate`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from opperf.candidates.judge import Judge
from opperf.candidates.model import Candidate, Problem, Verdict, VerdictStatus
from opperf.candidates.report import code_of, report_of
from opperf.errors import UsageError
from opperf.frameworks.base import CPU
from opperf.frameworks.mentioned import mentioned_among
from opperf.machine.kept_peaks import kept
from opperf.machine.kernel import usable_cpus
from opperf.reports.model import Report
from opperf.requests.declaring import Say, unsaid
from opperf.requests.judging import Judged
from opperf.requests.versus.request import VersusRequest

FUNCTION = re.compile(r"(?P<file>.+\.py):(?P<function>\w+)")


JudgedCandidates = Judged[list[Verdict]]


def judge_candidates(request: VersusRequest, say: Say) -> JudgedCandidates:
    """Judges each candidate. Raises `UsageError` and `WorkerError`."""
    for wrong, why in (
        (", ".join(request.names), "--reference names what candidates replace; omit it"),
        ("--set" * bool(request.sets), "it is of a folder of problems; name one"),
        ("--results" * bool(request.results), "it is of a folder of problems; name one"),
    ):
        if wrong:
            raise UsageError(f"{wrong}: {why}")
    say = unsaid if request.quiet else say
    problem = _problem(request)
    candidates = [candidate_of(text) for text in request.candidates]
    verdicts = []
    with closing(judge_of(request, problem.framework)) as judge:
        for candidate in candidates:
            say(f"judging {candidate.name}")
            verdicts.append(judge.verdict(problem, candidate))
    return judged(verdicts, report_of(verdicts))


def judged(verdicts: list[Verdict], report: Report) -> JudgedCandidates:
    """Returns the verdicts with their exit code."""
    first = next((each for each in verdicts if each.status is not VerdictStatus.PASSED), None)
    reason = "" if first is None else f"{first.candidate} {first.status.value}: {first.reason}"
    return Judged(verdicts, report, code_of(verdicts), reason)


def judge_of(request: VersusRequest, framework: str) -> Judge:
    """Returns a judge, to be closed. Raises `WorkerError`."""
    threads = None if request.threads == "all" else int(request.threads)
    peaks = next((each for each in kept(usable_cpus()).peaks if each.device == CPU), None)
    return Judge(framework, peaks=peaks, threads=threads)


def _problem(request: VersusRequest) -> Problem:
    if not request.reference:
        raise UsageError(
            "--candidate needs what it replaces: an operation, e.g. softmax, or --reference "
            "ref.py:FUNCTION, and --inputs ref.py:FUNCTION, which returns the arguments for a seed"
        )
    file, function = _function("--reference", request.reference)
    inputs_file, inputs = _function("--inputs", request.making_inputs or f"{file}:make_inputs")
    named = (request.reference, *request.candidates)
    mention = mentioned_among([str(Path(text)) for text in named])
    trials: list[dict[str, Any]] = [dict(_trial(text)) for text in request.trials] or [{}]
    return Problem(
        name=function,
        framework="numpy" if mention is None else mention.framework,
        file=file,
        trials=tuple(trials),
        rtol=request.rtol,
        atol=request.atol,
        differentiated=request.gradients,
        function=function,
        inputs=inputs,
        inputs_file=inputs_file,
    )


def candidate_of(text: str) -> Candidate:
    """Returns a candidate, `FILE.py:FUNCTION`. Raises `UsageError`."""
    file, function = _function("--candidate", text)
    return Candidate(text, file, function=function)


def _function(option: str, text: str) -> tuple[str, str]:
    """Returns the absolute path of a file, and a function's name. Raises `UsageError`."""
    found = FUNCTION.fullmatch(text)
    if found is None:
        raise UsageError(f"{option} {text}: write it as FILE.py:FUNCTION")
    path = Path(found["file"]).expanduser().resolve()
    if not path.is_file():
        raise UsageError(f"{option} {text}: there is no file {found['file']}")
    return str(path), found["function"]


def _trial(text: str) -> Mapping[str, Any]:
    """Returns the keywords of a trial, `n=64 dtype=half`. Raises `UsageError`."""
    made = {}
    for part in text.split():
        name, equals, value = part.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--trial {text!r}: write NAME=VALUE, with blanks between several")
        try:
            made[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            made[name] = value
    return made
