"""Screens options: a case and the same with another value, measured in turns in one process."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from typing import Protocol

import msgspec

from benchmarks.inputs.option_scan.variants import Variant, attempts, left_to_inference
from opperf.errors import one_line
from opperf.model import Case, Operator, Pass, Record, Status
from opperf.model.declaring import Struct
from opperf.worker.protocol import Trial

CHANGE = 0.2
"""The smallest change of interest: what moves the time by less needs no case of its own."""

SUSPECTED = math.log(1.15)
"""Change of the median pair from which on a variant is measured again: a fifth less the error of a
few pairs, as what is missed here is missed for good."""

LIKE = math.log(1.08)
"""Largest change in every one of the first pairs of a variant that is measured no more. Pairs of
one process differ by a few percent."""

FIRST_PAIRS, MOST_PAIRS = 2, 5
"""Pairs that each variant has, and those of one that they do not decide: the median of five ignores
two that were disturbed."""

SCREEN_S = 0.02
"""Time limit of a case in a pair: some hundred calls of a fast operator."""

PRECISION = 0.02
"""Precision of a median in a pair: a tenth of the change of interest."""

SLOW_S = 0.1
"""Duration of all passes from which on a case is called once in place of `SCREEN_S`: so long a call
is hardly disturbed, and less than a tenth of this is a warm-up."""

TRY_TIMEOUT_S, TIMEOUT_S = 20.0, 60.0
"""Limits on a call that tries a value, and on a case: no default case takes a second a call."""


class Measurer(Protocol):
    """What screening needs of a worker."""

    def measure(self, case: Case) -> Record: ...

    def try_call(self, case: Case, timeout_s: float) -> Trial: ...


class Screened(Struct, frozen=True, tag="screened", tag_field="line"):
    """The result of a variant in one process."""

    key: str
    variant: Variant
    process: int = 1
    """1, or 2 for a further process, in which those that were suspected are measured again."""
    other: Case | None = None
    """The case with the value, as the framework accepted it."""
    reason: str = ""
    """Why there are no ratios."""
    call_s: float = 0.0
    """Seconds of all passes of the slower case."""
    ratios: dict[Pass, list[float]] = {}
    """Logarithms of the ratios of the pairs."""
    before: dict[Pass, float] = {}
    """Median of the case without the value, in the metric's unit."""

    @property
    def suspected(self) -> dict[Pass, float]:
        """The passes that seem to have changed, with the median of their ratios."""
        medians = {one: statistics.median(found) for one, found in self.ratios.items()}
        return {one: found for one, found in medians.items() if abs(found) >= SUSPECTED}


class Screen:
    """Screens variants in the process of a worker."""

    def __init__(self, worker: Measurer) -> None:
        self._worker = worker
        self._follow: dict[str, bool] = {}

    def first(self, variant: Variant, operator: Operator) -> Screened:
        """Tries a variant, and measures it beside its case."""
        blank = Screened(variant.key, variant)
        other, reason = self._accepted(variant, operator)
        if other is None:
            return msgspec.structs.replace(blank, reason=reason)
        return compare(msgspec.structs.replace(blank, other=other), self._worker)

    def again(self, earlier: Screened) -> Screened:
        """Measures a variant that another process has measured."""
        blank = Screened(earlier.key, earlier.variant, process=2, other=earlier.other)
        return compare(blank, self._worker)

    def _accepted(self, variant: Variant, operator: Operator) -> tuple[Case | None, str]:
        """Returns the case with the value, as the framework accepts it; or None, and the first
        refusal."""
        reason = ""
        for case in attempts(variant, operator, self._shapes_follow(variant.case)):
            trial = self._worker.try_call(once(case), TRY_TIMEOUT_S)
            if not trial.refusal:
                return msgspec.structs.replace(case, arguments=trial.arguments), ""
            reason = reason or one_line(trial.refusal)
            if trial.ended:
                break
        return None, f"refused: {reason}"

    def _shapes_follow(self, case: Case) -> bool:
        """Whether the framework infers the shapes that a case has from its first tensor's. Then
        those of a variant are inferred too: a framework may accept others and write out of
        bounds."""
        if case.id not in self._follow:
            blank = left_to_inference(case)
            self._follow[case.id] = blank != case and (
                self._worker.try_call(once(blank), TRY_TIMEOUT_S).arguments == case.arguments
            )
        return self._follow[case.id]


def compare(screened: Screened, worker: Measurer) -> Screened:
    """Measures the pairs of an accepted variant."""
    other = screened.other
    assert other is not None
    pair = (screened.variant.case, other)
    first = [worker.measure(once(case)) for case in pair]
    for record, name in zip(first, ("without the value", "with the value"), strict=True):
        if record.status is not Status.OK:
            return _without(screened, f"{name}: {record.status.value}: {record.reason}")
    # Every pass runs twice in a case of one call.
    call_s = max(record.busy_s for record in first) / 2
    ratios: dict[Pass, list[float]] = {}
    before: dict[Pass, list[float]] = {}
    for number in range(MOST_PAIRS):
        if number >= (1 if call_s > SLOW_S else FIRST_PAIRS) and _is_decided(ratios):
            break
        order = (0, 1) if number % 2 == 0 else (1, 0)
        found = {place: worker.measure(paced(pair[place], call_s, SCREEN_S)) for place in order}
        ended = next((one for one in found.values() if one.status is not Status.OK), None)
        if ended is not None:
            return _without(screened, f"{ended.status.value}: {ended.reason}")
        for one in pair[0].passes:
            medians = [_median(found[place], one) for place in (0, 1)]
            if all(medians):
                ratios.setdefault(one, []).append(math.log(medians[1] / medians[0]))
                before.setdefault(one, []).append(medians[0])
    if not ratios:
        return _without(screened, "no pass runs a kernel in both")
    middle = {one: statistics.median(times) for one, times in before.items()}
    return msgspec.structs.replace(screened, call_s=call_s, ratios=ratios, before=middle)


def _without(screened: Screened, reason: str) -> Screened:
    return msgspec.structs.replace(screened, reason=reason)


def _is_decided(ratios: dict[Pass, list[float]]) -> bool:
    """Whether further pairs are not needed: no pass has changed in any pair."""
    return all(abs(one) < LIKE for found in ratios.values() for one in found)


def _median(record: Record, metric: Pass) -> float:
    """Returns the median of a pass; 0 where it runs no kernel."""
    summary = record.summaries.get(metric)
    return max(0.0, summary.median) if summary is not None else 0.0


def once(case: Case) -> Case:
    """Returns the case with one timed call of each pass."""
    settings = msgspec.structs.replace(
        case.settings, warmup=0, runs=1, max_time_s=None, memory=False, timeout_s=TIMEOUT_S
    )
    return msgspec.structs.replace(case, settings=settings)


def paced(case: Case, call_s: float, seconds: float) -> Case:
    """Returns the case as it is measured: for some seconds, or once if it is slow."""
    if call_s > SLOW_S:
        return once(case)
    settings = msgspec.structs.replace(
        case.settings,
        warmup=None,
        runs=None,
        precision=PRECISION,
        max_time_s=seconds,
        memory=False,
        timeout_s=TIMEOUT_S,
    )
    return msgspec.structs.replace(case, settings=settings)


def candidates(lines: Iterable[Screened]) -> dict[str, tuple[Pass, ...]]:
    """Returns the variants that both processes suspect of a change in the same direction, by key,
    with the passes in which they do."""
    seen: dict[int, dict[str, Screened]] = {1: {}, 2: {}}
    for line in lines:
        seen[line.process][line.key] = line
    found: dict[str, tuple[Pass, ...]] = {}
    for key, again in seen[2].items():
        earlier = seen[1][key].suspected
        passes = tuple(
            one
            for one, ratio in again.suspected.items()
            if one in earlier and earlier[one] * ratio > 0
        )
        if passes:
            found[key] = passes
    return found
