"""The judgement of one trial: a candidate and the reference, each in a process of its own, on the
same inputs. What is asked of the candidate to compare its results and to time it is the same, so
that no moment is another one to it."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from opperf.candidates.arm import Arm, Stopped
from opperf.candidates.comparing import (
    Allowed,
    Off,
    Results,
    allowed,
    compare,
    controls,
    follows,
    passes,
)
from opperf.candidates.contents import Content, contents, largest_of, nudged
from opperf.candidates.model import Differs, Problem, VerdictStatus
from opperf.candidates.protocol import Bind, Bytes, Layout, Make, Output
from opperf.plurals import pluralize

SEEDS = 3

MOST_SLOTS = 512
"""Most calls of a run: the results of all are in memory until its end."""

MOST_RUN_BYTES = 16 << 20
"""Most bytes of the inputs of a run, if it has a few calls: new ones are made for each."""

FEW_CALLS = 4

MAKING_S = 60.0
"""Limit on the time in which the inputs of a run are made."""


class Found(NamedTuple):
    """The largest errors for usual inputs."""

    absolute: float = 0.0
    share: float = 0.0


class Trial:
    """The arms of a trial with their inputs. Raises `Stopped` throughout."""

    def __init__(
        self,
        problem: Problem,
        trial: Mapping[str, Any],
        reference: Arm,
        others: Sequence[Arm],
        gradients: bool = False,
    ) -> None:
        self.problem, self.reference, self.others = problem, reference, others
        self.random = np.random.default_rng(secrets.randbits(128))
        self._trial, self._gradients = dict(trial), gradients
        with undecidable("make_inputs: "):
            self.layout: Layout = self._made(1)
        most = min(MOST_SLOTS, max(FEW_CALLS, MOST_RUN_BYTES // self.layout.bytes))
        self.slots = min(most, reference.pool.size // self.layout.bytes)
        if self.slots < SEEDS:
            raise Stopped(
                VerdictStatus.UNDECIDABLE,
                f"its inputs of {self.layout.bytes >> 20} MiB do not fit into the memory for them",
            )
        self._is_wide = True
        self.changes_inputs = False
        self.outputs: dict[Arm, tuple[Output, ...]] = {}

    def _made(self, count: int) -> Layout:
        seeds = tuple((np.frombuffer(secrets.token_bytes(4 * count), np.uint32) >> 1).tolist())
        file = self.problem.inputs_file or self.problem.file
        made = Make(file, self.problem.inputs, self._trial, seeds)
        return self.reference.ask(made, MAKING_S)

    def fresh(self, count: int) -> Bytes:
        """Returns contents that no process of a candidate has seen, a row for each call."""
        if self._made(count) != self.layout:
            raise Stopped(
                VerdictStatus.UNDECIDABLE, "make_inputs returns other shapes for another seed"
            )
        return self.reference.pool[: count * self.layout.bytes].reshape(count, -1).copy()

    def begin(self) -> None:
        """Has each arm called once, which may compile."""
        data = self.fresh(1)
        for arm in (self.reference, *self.others):
            with undecidable("the reference: ") if arm is self.reference else nullcontext():
                arm.write(data)
                arm.ask(Bind(self.layout, self.slots, self._gradients))
                arm.run([0], first=True)
                self.outputs[arm] = self._outputs(arm)

    def _outputs(self, arm: Arm) -> tuple[Output, ...]:
        (outputs,) = arm.look((0,))
        problem = next((each.problem for each in outputs if each.problem), "")
        differs: Differs = ""
        is_lazy = any(each.is_lazy for each in outputs)
        status = VerdictStatus.CHEATED if is_lazy else VerdictStatus.WRONG
        right = self.outputs.get(self.reference, outputs)
        if not outputs:
            problem = "nothing"
        elif not problem and len(outputs) != len(right):
            problem = f"{pluralize(len(outputs), 'result')} in place of {len(right)}"
            differs = "shape"
        for one, other in zip(outputs, right, strict=False):
            if not problem and (one.shape, one.dtype) != (other.shape, other.dtype):
                differs = "dtype" if one.shape == other.shape else "shape"
                problem = (
                    f"{one.dtype} {list(one.shape)} in place of {other.dtype} {list(other.shape)}"
                )
        if problem:
            status = (
                VerdictStatus.CHEATED
                if " of its own" in problem or "derived" in problem
                else status
            )
            raise Stopped(status, f"it returns {problem}", differs)
        return outputs

    def results(self, data: Bytes) -> Results:
        """Returns what the reference returns for these contents. Raises `Stopped` if it fails."""
        outputs = self.outputs[self.reference]
        arm = self.reference

        def run(wide: bool) -> tuple[Any, ...]:
            arm.write(data)
            arm.run([0], wide)
            return arm.read(arm.look((0,))[0] if wide else outputs, 0)

        own = run(False)
        if not np.array_equal(arm.pool[: data.size], data):
            self.changes_inputs = True
        if self._is_wide:
            try:
                wide = run(True)
                if [each.shape for each in wide] == [each.shape for each in own]:
                    return Results(outputs, own, wide)
            except Stopped as stopped:
                if stopped.status is not VerdictStatus.FAILED:
                    raise
            self._is_wide = False
        return Results(outputs, own, own)

    def called(self, arm: Arm, data: Bytes, order: Sequence[int]) -> dict[int, tuple[Any, ...]]:
        """Returns an arm's results for contents, each in the slot of its number, called in an
        order."""
        arm.write(data)
        self.check_count(arm, arm.run(order), len(order))
        found = {slot: arm.read(self.outputs[arm], call) for call, slot in enumerate(order)}
        self.check_inputs(arm, data)
        for outputs in arm.look(range(len(order))):
            if outputs != self.outputs[arm]:
                problem = next((each.problem for each in outputs if each.problem), "")
                problem = f"it returns {problem}" if problem else "its results have another form"
                raise Stopped(VerdictStatus.WRONG, f"{problem} in a later call")
        return found

    def check_count(self, arm: Arm, made: int, calls: int) -> None:
        """Raises `Stopped` if calls have returned another number of results than the first."""
        if made != calls * len(self.outputs[arm]):
            raise Stopped(
                VerdictStatus.WRONG, "it returns another number of results in a later call"
            )

    def check_inputs(self, arm: Arm, data: Bytes) -> None:
        """Raises `Stopped` if an arm has written to inputs, and the reference does not."""
        if not self.changes_inputs and not np.array_equal(arm.pool[: data.size], data.reshape(-1)):
            raise Stopped(VerdictStatus.CHEATED, "it changes its inputs")


@contextmanager
def undecidable(before: str) -> Iterator[None]:
    """Makes a failure of the problem's own code a problem that decides nothing."""
    try:
        yield
    except Stopped as stopped:
        raise Stopped(VerdictStatus.UNDECIDABLE, before + stopped.reason) from None


class Comparison:
    """Compares a candidate's results with the reference's for all contents of a trial."""

    def __init__(self, trial: Trial, candidate: Arm) -> None:
        self._trial, self._arm = trial, candidate
        with undecidable("the reference: "):
            seeds = trial.fresh(SEEDS)
            self._right = {0: trial.results(seeds[0])}
            usual = [self._right[0], *(trial.results(each) for each in seeds[1:])]
            self._check_repeatable(seeds[0])
            self.allowed = self._allowed(usual, seeds[0])
        self._check_decides(usual)
        self._contents = list(contents(trial.layout, seeds, trial.random))
        self.found = Found()

    def _allowed(
        self, right: Sequence[Results], data: Bytes, largest: float = 1.0
    ) -> list[Allowed]:
        layout = self._trial.layout
        near = self._trial.results(nudged(layout, data, self._trial.random))
        elements = sum(math.prod(place.shape) for place in layout.tensors)
        return allowed(right, near, elements, self._trial.problem, largest)

    def _check_repeatable(self, data: Bytes) -> None:
        again = self._trial.results(data)
        for one, other in zip(again.own, self._right[0].own, strict=True):
            if not np.allclose(one, other, rtol=1e-3, atol=1e-3, equal_nan=True):
                raise Stopped(
                    VerdictStatus.UNDECIDABLE, "it returns other results for equal inputs"
                )

    def _check_decides(self, usual: Sequence[Results]) -> None:
        for name, wrong in controls(usual[0], usual[1]):
            if passes(wrong, usual[0], self.allowed):
                raise Stopped(
                    VerdictStatus.UNDECIDABLE,
                    f"the problem cannot tell right from wrong: {name} would pass",
                )

    def compare(self) -> None:
        """Raises `Stopped` at the first result that is wrong."""
        first, *rest = self._contents
        size = max(1, self._trial.slots - 1)
        for begin in range(0, max(1, len(rest)), size):
            self._compare([first, *rest[begin : begin + size]])

    def _compare(self, some: Sequence[Content]) -> None:
        right: dict[int, Results] = {}
        for number, content in enumerate(some):
            try:
                right[number] = self._right[0] if not number else self._trial.results(content.data)
            except Stopped as stopped:
                # It refuses such inputs, as a singular matrix.
                if stopped.status is not VerdictStatus.FAILED:
                    raise
        order = [int(each) for each in self._trial.random.permutation(list(right))]
        found = self._trial.called(self._arm, np.stack([each.data for each in some]), order)
        wrong = [
            (number, off)
            for number in sorted(right)
            if (off := self.off(some[number], found[number], right[number])).problem
        ]
        others = {
            number: results
            for number, results in right.items()
            if some[number].kind not in ("special", "scaled")
        }
        for number, _ in wrong:
            if some[number].kind == "NaN":
                # What takes a NaN for a number may return what it does without one.
                continue
            self.check_stale(some[number].name, found[number], right[number], others)
        for usual in (True, False):
            for number, off in wrong:
                content = some[number]
                # Inputs that differ in an element may not be what the problem means, as a matrix
                # that is not symmetric.
                if (content.kind == "usual") is usual and content.kind != "near":
                    name = "" if usual else f"{content.name}: "
                    raise Stopped(VerdictStatus.WRONG, f"{name}{off.problem}")
            for number in sorted(right) if usual else ():
                if some[number].kind == "changed":
                    self._check_follows(some[number], found, right, number)

    def off(self, content: Content, found: Sequence[Any], right: Results) -> Off:
        """Returns how far results are off: the first that is wrong, if any."""
        is_scaled = content.kind == "scaled"
        if is_scaled and not all(np.isfinite(each).all() for each in (*right.own, *right.wide)):
            return Off()
        scaled = self.allowed
        if is_scaled:
            size = largest_of(self._trial.layout, content.data)
            scaled = self._allowed([right], content.data, size)
        for at, one in enumerate(found):
            usual = self.allowed[at]
            least = 0.0 if is_scaled else usual.spread
            most = usual._replace(share=max(usual.share, scaled[at].share))
            off = compare(one, right, at, most, least)
            if off.problem:
                return off
            if content.kind == "usual":
                self.found = Found(
                    max(self.found.absolute, off.absolute), max(self.found.share, off.share)
                )
        return Off()

    def check_stale(
        self, name: str, found: Sequence[Any], right: Results, others: Mapping[int, Results]
    ) -> None:
        """Raises `Stopped` for wrong results that are those of another call."""
        for results in others.values():
            if passes(found, results, self.allowed) and not passes(
                results.own, right, self.allowed
            ):
                raise Stopped(
                    VerdictStatus.CHEATED, f"it returns the results of another call for {name}"
                )

    def _check_follows(
        self,
        content: Content,
        found: Mapping[int, Sequence[Any]],
        right: Mapping[int, Results],
        number: int,
    ) -> None:
        for at in range(len(right[0].own)):
            own, before = right[number].own[at], right[0].own[at]
            if own.dtype.kind not in "fc" or not (np.isfinite(own) & np.isfinite(before)).all():
                continue
            change = right[number].wide[at] - right[0].wide[at]
            # What rounding hides of the reference's own cannot be asked for.
            if follows(before, own, change) and not follows(
                found[0][at], found[number][at], change
            ):
                raise Stopped(
                    VerdictStatus.WRONG, f"its results do not depend on input {content.changed}"
                )
