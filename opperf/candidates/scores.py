"""Scores of other judges by their names, from verdicts; each says what it does with failures, and
none counts a tie as faster. A ratio is the judge's: the median over the rounds in which both ran of
the baseline's time over the candidate's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, geometric_mean

from opperf.candidates.model import TrialResult, Verdict, VerdictStatus

REFERENCE = "reference"
"""The baseline that every trial has."""

THRESHOLDS = (0.0, 1.0, 1.5, 2.0)
"""Ratios of fast_p that are shown: with 0 it is the share that passed."""


def speedup(trial: TrialResult) -> float | None:
    """Returns the ratio of a trial that passed; None of any other, or without times."""
    ratio = trial.ratios.get(REFERENCE)
    return None if ratio is None or trial.status is not VerdictStatus.PASSED else ratio.median


def _ratios(verdict: Verdict) -> list[float]:
    """Returns the ratios of a verdict's trials; none unless all of them passed."""
    found = [ratio for trial in verdict.trials if (ratio := speedup(trial)) is not None]
    is_whole = verdict.status is VerdictStatus.PASSED and len(found) == len(verdict.trials)
    return found if is_whole else []


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0


def _geometric_mean(ratios: Sequence[float]) -> float:
    return geometric_mean(ratios) if ratios else 0.0


def _pass_rate(verdict: Verdict) -> float:
    return _mean(trial.status is VerdictStatus.PASSED for trial in verdict.trials)


def best(verdicts: Sequence[Verdict]) -> Verdict:
    """Returns the verdict with the highest mean ratio, 0 of one with any failure; of equal ones
    that with most trials that passed, and the first of those."""
    return max(verdicts, key=lambda each: (_mean(_ratios(each)), _pass_rate(each)))


def scores(verdicts: Sequence[Verdict], unsolved: int = 0) -> dict[str, float]:
    """Returns all scores by name: KernelBench's to the geometric mean of correct ones, for which
    problems without a candidate, `unsolved`, are failures; BackendBench's to perf@1, for which a
    trial that failed counts as 1, as if the baseline were called in its place; FlashInfer-Bench's,
    for which a verdict with any failure counts as 0."""
    passed = [each.status is VerdictStatus.PASSED for each in verdicts]
    ratios = [_ratios(each) for each in verdicts]
    means = [_geometric_mean(own) for own in ratios]
    with_failures = [
        _geometric_mean([speedup(trial) or 1.0 for trial in each.trials]) or 1.0
        for each in verdicts
    ]
    both = list(zip(passed, means, strict=True))
    return {
        **{
            f"fast_{p:g}": _mean(
                [*(ok and (p <= 0 or mean > p) for ok, mean in both), *[False] * unsolved]
            )
            for p in THRESHOLDS
        },
        "geometric mean of correct": _geometric_mean([mean for mean in means if mean]),
        "pass rate": _mean(map(_pass_rate, verdicts)),
        "geometric mean, failures as 1": _geometric_mean(with_failures),
        "perf@1": _mean(ok and ratio > 1 for ok, ratio in zip(passed, with_failures, strict=True)),
        "mean speed-up, 0 on failure": _mean(map(_mean, ratios)),
        "win@1": _mean(_mean(ratio > 1 for ratio in own) for own in ratios),
    }
