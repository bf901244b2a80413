"""Verdicts on candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from opperf.candidates import sandbox
from opperf.candidates.arm import Arm, Nursery, Stopped
from opperf.candidates.model import Candidate, Problem, TrialResult, Verdict, VerdictStatus, worst
from opperf.candidates.protocol import Called, Changed, Layout
from opperf.candidates.timing import Timing
from opperf.candidates.trial import Comparison, Trial, undecidable
from opperf.instruments.profilers.summary import summarise
from opperf.model import Peaks

LIMITS = sandbox.Limits()

REFERENCE = "reference"
"""The name of the reference among baselines."""


class Judge:
    """Judges candidates of one framework. Each gets processes of its own, forked of one that has
    imported the framework. To be closed in the end."""

    def __init__(
        self,
        framework: str,
        limits: sandbox.Limits = LIMITS,
        peaks: Peaks | None = None,
        threads: int | None = None,
    ) -> None:
        """`threads` are those of the framework, as many as it wants by default. Raises
        `WorkerError`, and `UsageError` for an unknown framework."""
        self.limits, self.peaks = limits, peaks
        self._nursery = Nursery(framework, threads)

    def close(self) -> None:
        self._nursery.end()

    def verdict(
        self, problem: Problem, candidate: Candidate, baselines: Mapping[str, str] = {}
    ) -> Verdict:
        """Returns the verdict on a candidate. `baselines` are files with a function `candidate`, by
        name, that are timed beside it and are trusted."""
        results: list[TrialResult] = []
        called: list[str] = []
        replaced: list[str] = []
        tested: list[str] = []
        lacking: tuple[str, ...] = ()
        with ExitStack() as stack:
            reference = stack.enter_context(
                self._arm(problem.file, problem.function, problem.inputs_file)
            )
            own = stack.enter_context(self._arm(candidate.file, candidate.function))
            beside = {
                name: stack.enter_context(self._arm(file, "candidate"))
                for name, file in baselines.items()
            }
            lacking = own.lacking
            try:
                with undecidable("the problem: "):
                    reference.load()
                    for arm in beside.values():
                        arm.load()
                own.load()
            except Stopped as stopped:
                found = [_stopped({}, stopped)]
                return verdict_of(problem, candidate.name, found, unprotected=lacking)
            for trial, gradients in _passes(problem):
                results.append(
                    self._judged(problem, trial, gradients, reference, beside, own, called, tested)
                )
                replaced.extend(self._replaced(reference, results[-1]))
                if results[-1].status in (VerdictStatus.CRASHED, VerdictStatus.TIMEOUT):
                    break
        return verdict_of(problem, candidate.name, results, called, tested, lacking, replaced)

    def _replaced(self, reference: Arm, result: TrialResult) -> tuple[str, ...]:
        """Returns the operators that the reference calls, where the candidate's were seen."""
        if result.status is not VerdictStatus.PASSED:
            return ()
        try:
            return tuple(reference.ask(Called()))
        except Stopped:
            return ()

    @contextmanager
    def _arm(self, file: str, function: str, beside: str = "") -> Iterator[Arm]:
        arm = Arm(self._nursery, file, function, self.limits, beside)
        try:
            yield arm
        finally:
            arm.end()

    def _judged(
        self,
        problem: Problem,
        keywords: dict[str, Any],
        gradients: bool,
        reference: Arm,
        beside: Mapping[str, Arm],
        own: Arm,
        called: list[str],
        tested: list[str],
    ) -> TrialResult:
        try:
            trial = Trial(problem, keywords, reference, [*beside.values(), own], gradients)
            trial.begin()
            comparison = Comparison(trial, own)
            comparison.compare()
            timing = Timing(trial, own, comparison)
            times = timing.measure()
            timing.interrupt(min(times.per_call(own)))
            called.extend(own.ask(Called(), self.limits.start_s))
            left = own.ask(Changed())
            if left:
                raise Stopped(VerdictStatus.CHEATED, f"it has left {', '.join(left[:3])}")
        except Stopped as stopped:
            return _stopped(keywords, stopped)
        tested.append(_described(keywords, trial.layout, gradients))
        floor = self._floor_ns(trial, reference)
        per_call = times.per_call(own)
        others = {
            name: times.per_call(arm) for name, arm in {REFERENCE: reference, **beside}.items()
        }
        return TrialResult(
            keywords,
            VerdictStatus.PASSED,
            "",
            comparison.found.absolute,
            comparison.found.share,
            summarise(per_call, "ns", times.calls),
            {name: summarise(each, "ns", times.calls) for name, each in others.items()},
            floor,
            {name: summarise(_ratios(each, per_call, floor), "") for name, each in others.items()},
        )

    def _floor_ns(self, trial: Trial, reference: Arm) -> float | None:
        """Returns the shortest time in which inputs and results can be moved; None if unknown."""
        moved = sum(place.bytes for place in trial.layout.tensors)
        moved += sum(output.bytes for output in trial.outputs[reference])
        rates = [
            peak.rate
            for peak in (self.peaks.bandwidths if self.peaks is not None else ())
            if peak.bytes >= moved or peak.level == "memory"
        ]
        return moved / max(rates) * 1e9 if rates else None


def _ratios(other: Sequence[float], own: Sequence[float], floor: float | None) -> list[float]:
    """Returns the other's time over the candidate's in each round."""
    return [one / max(mine, floor or 0.0) for one, mine in zip(other, own, strict=True)]


def _passes(problem: Problem) -> Iterator[tuple[dict[str, Any], bool]]:
    for trial in problem.trials:
        yield trial, False
        if problem.differentiated:
            yield trial, True


def _stopped(trial: dict[str, Any], stopped: Stopped) -> TrialResult:
    return TrialResult(trial, stopped.status, stopped.reason, differs=stopped.differs)


def _described(trial: Mapping[str, Any], layout: Layout, gradients: bool) -> str:
    keywords = ", ".join(f"{name}={value}" for name, value in trial.items())
    inputs = ", ".join(f"{place.dtype} {list(place.shape)}" for place in layout.tensors)
    plain = [each[1] for each in layout.arguments if each[0] == "v"]
    values = f"; {', '.join(map(repr, plain))}" if plain else ""
    passed = ", with gradients" if gradients else ""
    return f"{keywords + ': ' if keywords else ''}{inputs}{values}, contiguous, on cpu(0){passed}"


def verdict_of(
    problem: Problem,
    candidate: str,
    results: Sequence[TrialResult],
    called: Sequence[str] = (),
    tested: Sequence[str] = (),
    unprotected: Sequence[str] = (),
    replaced: Sequence[str] = (),
) -> Verdict:
    """Returns the verdict that the results of a problem's trials make."""
    status = worst(tuple(result.status for result in results))
    deciding = next((each for each in results if each.status is status), None)
    reason = deciding.reason if deciding is not None else ""
    if reason and len(problem.trials) > 1 and deciding is not None and deciding.trial:
        keywords = ", ".join(f"{name}={value}" for name, value in deciding.trial.items())
        reason = f"{keywords}: {reason}"
    return Verdict(
        problem.name,
        candidate,
        status,
        reason,
        tuple(results),
        tuple(dict.fromkeys(called)),
        tuple(tested) if status is VerdictStatus.PASSED else (),
        tuple(dict.fromkeys(unprotected)),
        tuple(dict.fromkeys(replaced)),
    )


def judge(
    problem: Problem,
    candidates: Sequence[Candidate],
    baselines: Mapping[str, str] = {},
    **options: Any,
) -> list[Verdict]:
    """Returns the verdicts on candidates for a problem. `options` are those of `Judge`."""
    with closing(Judge(problem.framework, **options)) as judging:
        return [judging.verdict(problem, each, baselines) for each in candidates]
