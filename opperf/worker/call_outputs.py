"""One untimed call of a case, or step of a model, whose outputs, gradients and changed arguments
are written to files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from opperf.errors import NoGradientError, OpperfError, one_line
from opperf.frameworks import Framework
from opperf.frameworks.base import Contents
from opperf.instruments.call_results import CallResults, Leaf, contents_of, step_of
from opperf.instruments.guard import guard
from opperf.instruments.prepared import PreparedCase
from opperf.instruments.times import BACKWARD
from opperf.machine.heap import filled_blocks
from opperf.model import Case, ModelTarget
from opperf.rules.engine import rules_module
from opperf.rules.not_finite import is_unwritten
from opperf.worker.binding import runnable_model
from opperf.worker.protocol import Observed, Value

SHOWN = 60


def observe(case: Case, framework: Framework, folder: Path, draw: int) -> Observed:
    """Makes the case's tensors, calls its target once, forward and backward, and writes the results
    to new files in a folder. Random numbers are seeded by the case's seed and `draw`, on which what
    it leaves unwritten depends, too. Any exception is a refusal."""
    try:
        guard(case, framework)
        with framework.scope(case), filled_blocks(draw):
            observation = _Observation(case, framework, folder, draw)
            if isinstance(case.target, ModelTarget):
                return observation.of_model(case.target)
            return observation.observed()
    except OpperfError as error:
        return Observed(refusal=one_line(str(error)))
    except Exception as error:
        reason = framework.refusal(error) or f"{type(error).__name__}: {error}"
        return Observed(refusal=one_line(reason))


class _Observation:
    """One call of a case, and what it resulted in."""

    def __init__(self, case: Case, framework: Framework, folder: Path, draw: int) -> None:
        self._case, self._framework, self._folder = case, framework, folder
        self._draw = draw
        self._written = 0

    def of_model(self, target: ModelTarget) -> Observed:
        model = runnable_model(self._case, target, self._framework)
        return Observed(tuple(self._write(model.results().items())))

    def observed(self) -> Observed:
        prepared = PreparedCase(self._case, self._framework)
        results = CallResults(prepared, self._case.settings.seed + self._draw)
        values = self._write(results.outputs())
        reason = ""
        if BACKWARD.name in self._case.passes:
            try:
                values += self._write(results.gradients())
            except NoGradientError as error:
                reason = one_line(str(error))
        listed = rules_module(self._framework.rules).NOT_FINITE
        unwritten = is_unwritten(self._case, self._framework, listed)
        return Observed(tuple(values), without_gradients=reason, unwritten=unwritten)

    def _write(self, results: Iterable[Leaf]) -> list[Value]:
        found = [(place, value, contents_of(self._framework, value)) for place, value in results]
        step = step_of(held for _, _, held in found if held is not None)
        return [
            self._plain(place, value) if held is None else self._tensor(place, held, step)
            for place, value, held in found
        ]

    def _tensor(self, place: str, held: Contents, step: int) -> Value:
        numbers = held.numbers(step)
        return Value(
            place, held.shape, held.dtype, held.layout, file=self._save(numbers), step=step
        )

    def _plain(self, place: str, value: Any) -> Value:
        """Returns a value without elements; a number has one."""
        if isinstance(value, (bool, int, float, complex)):
            try:
                return Value(place, dtype=type(value).__name__, file=self._save(np.array([value])))
            except ValueError:
                # An integer of more than 64 bits is an object.
                return Value(place, text=one_line(repr(value), SHOWN))
        if value is None or isinstance(value, (str, bytes)):
            return Value(place, text=one_line(repr(value), SHOWN))
        return Value(place, text=type(value).__name__, unread=True)

    def _save(self, numbers: Any) -> str:
        name = f"{self._written}.npy"
        self._written += 1
        np.save(self._folder / name, numbers, allow_pickle=False)
        return name
