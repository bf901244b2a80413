"""Scores of other judges by their names, from verdicts; each says what it does with failures, and
none counts a tie as faster. A ratio is the judge's: the median over the rounds in which both ran of
the baseline's time over the candidate's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from opperf.candidates.model import TrialResult, Verdict, VerdictStatus

REFERENCE = "reference"
"""The baseline that every trial has."""


def speedup(trial: TrialResult, baseline: str = REFERENCE) -> float | None:
    """Returns the ratio of a trial that passed; None of any other, or without times."""
    ratio = trial.ratios.get(baseline)
    return None if ratio is None or trial.status is not VerdictStatus.PASSED else ratio.median


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """Returns the geometric mean; None of no ratios."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else None


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return math.fsum(found) / len(found) if found else 0.0


def _passed(verdict: Verdict) -> bool:
    return verdict.status is VerdictStatus.PASSED


def _ratio(verdict: Verdict) -> float | None:
    """Returns the geometric mean of a verdict's trials; None unless all of them passed."""
    ratios = [speedup(trial) for trial in verdict.trials]
    found = [each for each in ratios if each is not None]
    return geometric_mean(found) if _passed(verdict) and len(found) == len(ratios) else None


def _ratio_with_failures(verdict: Verdict) -> float:
    """Returns BackendBench's ratio of an operator: a trial that failed counts as 1, as if the
    baseline were called in its place."""
    return geometric_mean([speedup(trial) or 1.0 for trial in verdict.trials]) or 1.0


def fast_p(verdicts: Sequence[Verdict], p: float, unsolved: int = 0) -> float:
    """Returns KernelBench's share of all verdicts that passed with a ratio of more than `p`; with 0
    it is the share that passed. Problems without a candidate, `unsolved`, count as failed."""
    fast = [_passed(each) and (p <= 0 or (_ratio(each) or 0.0) > p) for each in verdicts]
    return _mean([*fast, *[False] * unsolved])


def geometric_mean_of_correct(verdicts: Sequence[Verdict]) -> float:
    """Returns KernelBench's geometric mean of those that passed; 0 of none."""
    ratios = [_ratio(verdict) for verdict in verdicts]
    return geometric_mean([ratio for ratio in ratios if ratio is not None]) or 0.0


def pass_rate(verdicts: Sequence[Verdict]) -> float:
    """Returns BackendBench's mean over verdicts of the share of trials that passed; one without
    trials counts as 0."""
    return _mean(
        _mean(trial.status is VerdictStatus.PASSED for trial in verdict.trials)
        for verdict in verdicts
    )


def geometric_mean_of_all(verdicts: Sequence[Verdict]) -> float:
    """Returns BackendBench's geometric mean, in which a failure counts as 1; 0 of none."""
    return geometric_mean([_ratio_with_failures(each) for each in verdicts]) or 0.0


def perf_at_p(verdicts: Sequence[Verdict], p: float) -> float:
    """Returns BackendBench's share of all verdicts that passed with a ratio of more than `p`."""
    return _mean(_passed(each) and _ratio_with_failures(each) > p for each in verdicts)


def mean_speedup(verdicts: Sequence[Verdict]) -> float:
    """Returns FlashInfer-Bench's mean over verdicts of the mean ratio of their workloads: 0 of one
    with any failure."""
    return _mean(0.0 if _ratio(each) is None else _mean(_ratios(each)) for each in verdicts)


def win_at_p(verdicts: Sequence[Verdict], p: float) -> float:
    """Returns FlashInfer-Bench's mean over verdicts of the share of workloads with a ratio of more
    than `p`: 0 of one with any failure."""
    return _mean(
        0.0 if _ratio(each) is None else _mean(ratio > p for ratio in _ratios(each))
        for each in verdicts
    )


def _ratios(verdict: Verdict) -> Iterable[float]:
    return (speedup(trial) or 0.0 for trial in verdict.trials)


THRESHOLDS = (0.0, 1.0, 1.5, 2.0)
"""Ratios of fast_p that are shown: with 0 it is the share that passed."""


def scores(verdicts: Sequence[Verdict], unsolved: int = 0) -> dict[str, float]:
    """Returns all scores by name; `unsolved` is the number of problems without a candidate."""
    return {
        **{f"fast_{p:g}": fast_p(verdicts, p, unsolved) for p in THRESHOLDS},
        "geometric mean of correct": geometric_mean_of_correct(verdicts),
        "pass rate": pass_rate(verdicts),
        "geometric mean, failures as 1": geometric_mean_of_all(verdicts),
        "perf@1": perf_at_p(verdicts, 1.0),
        "mean speed-up, 0 on failure": mean_speedup(verdicts),
        "win@1": win_at_p(verdicts, 1.0),
    }
