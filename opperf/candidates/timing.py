"""Times of candidates beside those of the reference and of baselines, by the judge's own clock:
from the request for some calls until all their results are in memory. Each call gets inputs that
were never seen before; how many calls there are is set by the reference's speed, whatever a
candidate does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from opperf.candidates.arm import Arm, Stopped
from opperf.candidates.comparing import differing, passes
from opperf.candidates.contents import Content
from opperf.candidates.model import VerdictStatus
from opperf.candidates.protocol import Bytes, Run
from opperf.candidates.trial import FEW_CALLS, Comparison, Trial

ROUNDS = 9
"""Fewest whose second and second-last ratio are a 96 % interval of the median."""

RUN_NS = 5e6
"""Time of a run of the reference: some fifty times what its beginning and end vary by."""

COMPARED_BYTES = 1 << 20
"""Bytes of results that are compared at once: they stay in the processor's caches."""

SUSPECTS = 8
"""Calls of each round that are compared with float64, drawn of those whose results differ from the
reference's: all of an honest candidate's may, where rounding is as large as what is allowed."""

KEPT_SHARE = 0.6
"""Share of a run's processor time that the same run takes again, on the same inputs, beside the
reference's share, from which results are kept. A second run may find its inputs in the processor's
caches. What other programs do meanwhile is in the time on the wall."""

NEAR_CALLS = 3
"""Calls before and after one, whose results it may return in place of its own."""

INTERRUPTIONS, MOST_INTERRUPTIONS = 3, 20
"""Runs in which inputs are exchanged half-way, and how often that is tried."""

INTERRUPTED_NS, INTERRUPTED_BYTES, MOST_INTERRUPTED = 20e6, 128 << 20, 10_000
"""Time of such a run, several slices of a busy processor's, and most bytes of its results, and most
of these."""


class Times(NamedTuple):
    """Nanoseconds of the run of each round, by arm."""

    by_arm: Mapping[Arm, Sequence[int]]
    start_ns: int
    """The shortest run of no call."""
    calls: int
    """Calls of each run."""

    def per_call(self, arm: Arm) -> list[float]:
        return [max(1.0, (run - self.start_ns) / self.calls) for run in self.by_arm[arm]]


class Timing:
    """Times the arms of a trial. Raises `Stopped` as it finds that the candidate cheats."""

    def __init__(self, trial: Trial, candidate: Arm, comparison: Comparison) -> None:
        self._trial, self._candidate, self._comparison = trial, candidate, comparison
        reference = trial.reference
        self._start_ns = min(reference.timed(Run(()))[0] for _ in range(9))
        few = min(FEW_CALLS, trial.slots)
        reference.write(trial.fresh(few))
        taken = min(reference.timed(Run(tuple(range(few))))[0] for _ in range(3))
        call_ns = max(1.0, (taken - self._start_ns) / few)
        self._calls = int(min(trial.slots, max(few, RUN_NS // call_ns)))
        self._run = Run(tuple(range(self._calls)))

    def measure(self) -> Times:
        """Returns the times of all arms, whose order changes from round to round."""
        arms = [self._trial.reference, *self._trial.others]
        by_arm: dict[Arm, list[int]] = {arm: [] for arm in arms}
        used: dict[Arm, list[int]] = {arm: [] for arm in arms}
        again: dict[Arm, list[int]] = {arm: [] for arm in arms}
        for _ in range(ROUNDS):
            data = self._trial.fresh(self._calls)
            self._start_ns = min(self._start_ns, self._trial.reference.timed(Run(()))[0])
            order = [arms[at] for at in self._trial.random.permutation(len(arms))]
            for arm in order:
                arm.write(data)
                taken, processor_ns, made = arm.timed(self._run)
                by_arm[arm].append(taken)
                used[arm].append(processor_ns)
                if arm is self._candidate:
                    self._trial.check_count(arm, made, self._calls)
                    self._trial.check_inputs(arm, data)
            suspects = self._suspects()
            drawn = self._trial.random.permutation(suspects)[:SUSPECTS]
            found = {int(call): self._results(self._candidate, int(call)) for call in drawn}
            for arm in order:
                again[arm].append(arm.timed(self._run)[1])
            self._check(found, data)
        if not self._trial.changes_inputs:
            self._check_kept(used, again)
        return Times(by_arm, self._start_ns, self._calls)

    def _results(self, arm: Arm, call: int) -> tuple[Any, ...]:
        return arm.read(self._trial.outputs[arm], call)

    def _suspects(self) -> list[int]:
        """Returns the calls of the latest runs after which the candidate's results are not as near
        to the reference's as is allowed."""
        found: list[int] = []
        made = sum(output.bytes for output in self._trial.outputs[self._candidate])
        size = max(1, COMPARED_BYTES // max(1, made))
        for begin in range(0, self._calls, size):
            some = range(begin, min(begin + size, self._calls))
            both = (
                zip(*(self._results(arm, call) for call in some), strict=True)
                for arm in (self._candidate, self._trial.reference)
            )
            differs = np.zeros(len(some), bool)
            for own, right, most in zip(*both, self._comparison.allowed, strict=True):
                differs |= differing(np.stack(own), np.stack(right), most)
            found.extend(some[at] for at in np.flatnonzero(differs))
        return found

    def _check_kept(
        self, first: Mapping[Arm, Sequence[int]], again: Mapping[Arm, Sequence[int]]
    ) -> None:
        """Raises `Stopped` if the candidate's second runs are so much shorter than its first,
        beside the reference's, that it has kept results."""
        shares = {
            arm: [two / one for one, two in zip(first[arm], again[arm], strict=True)]
            for arm in (self._candidate, self._trial.reference)
        }
        own, right = (median(each) for each in shares.values())
        shortest = min(again[self._candidate]) / min(first[self._candidate])
        if max(own, shortest) < KEPT_SHARE * min(1.0, right):
            raise Stopped(
                VerdictStatus.CHEATED,
                f"it keeps results: on inputs that it has had, a call takes {own:.0%} of the time",
            )

    def _check(self, found: Mapping[int, Sequence[Any]], data: Bytes) -> None:
        """Compares results of some calls with the reference's."""
        for call, results in found.items():
            right = self._trial.results(data[call])
            off = self._comparison.off(Content("", data[call]), results, right)
            if off.problem:
                near = range(max(0, call - NEAR_CALLS), min(self._calls, call + NEAR_CALLS + 1))
                others = {other: self._trial.results(data[other]) for other in near}
                self._comparison.check_stale("a call among many", results, right, others)
                raise Stopped(VerdictStatus.WRONG, f"a call among many: {off.problem}")

    def interrupt(self, call_ns: float) -> None:
        """Stops the candidate during runs. The results of the calls that it has made have to be in
        memory. The inputs of those that it has not made yet are exchanged, and its results have to
        be those of the new ones."""
        outputs = self._trial.outputs[self._candidate]
        made = sum(output.bytes for output in outputs)
        most = min(INTERRUPTED_BYTES // max(1, made), MOST_INTERRUPTED // len(outputs))
        most = max(self._calls, most)
        calls = max(FEW_CALLS, int(min(most, max(self._calls, INTERRUPTED_NS // call_ns))))
        done = 0
        for _ in range(MOST_INTERRUPTIONS):
            if self._interrupted(calls, call_ns):
                done += 1
            else:
                # On a busy machine all may be over before this process gets a processor.
                calls = max(FEW_CALLS, min(most, 2 * calls))
            if done == INTERRUPTIONS:
                return
        raise Stopped(
            VerdictStatus.UNDECIDABLE,
            "this machine is too busy to look at its memory during its calls; judge it again",
        )

    def _interrupted(self, calls: int, call_ns: float) -> bool:
        """Does it once, and returns whether the candidate was between its first and last call."""
        arm, slots = self._candidate, self._calls
        data = self._trial.fresh(slots)
        arm.write(data)
        run = Run(tuple(call % slots for call in range(calls)))
        arm.send(run)
        # A candidate that forges the number of its call is stopped at some moment all the same.
        limit_s = self._trial.random.uniform(0.2, 2.0) * calls * call_ns / 1e9
        at = min(arm.stop_at(int(self._trial.random.integers(1, calls - 1)), limit_s), calls)
        self._check_interrupted(data, {at - 1, at - 2, *self._drawn(at)}, "after its call returns")
        exchanged = np.roll(data, -1, 0)
        if 0 <= at < calls:
            # It may be reading these.
            exchanged[at % slots] = data[at % slots]
        arm.write(exchanged)
        arm.go_on()
        self._trial.check_count(arm, arm.answer(run), calls)
        arm.stop()
        later = {each for each in (at + 1, *self._drawn(calls)) if at < each < calls}
        self._check_interrupted(exchanged, later, "before its call is made")
        return 0 <= at < calls - 1

    def _drawn(self, calls: int) -> list[int]:
        return [int(self._trial.random.integers(calls))] if calls > 0 else []

    def _check_interrupted(self, data: Bytes, calls: Collection[int], when: str) -> None:
        """Raises `Stopped` if the results of calls are not in memory now."""
        for call in sorted(each for each in calls if each >= 0):
            found = self._candidate.read(self._trial.outputs[self._candidate], call)
            right = self._trial.results(data[call % len(data)])
            if not passes(found, right, self._comparison.allowed):
                raise Stopped(VerdictStatus.CHEATED, f"it does the work of a call {when}")
