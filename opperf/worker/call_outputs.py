"""Untimed calls of a case, or steps of a model, whose outputs, gradients and changed arguments are
written to files: on request, and after the calls that were timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from opperf.errors import NoGradientError, one_line
from opperf.frameworks import Framework
from opperf.frameworks.base import Contents
from opperf.frameworks.models import RunnableModel
from opperf.instruments.call_results import (
    MOST_BYTES,
    OUTPUT,
    CallResults,
    Leaf,
    contents_of,
    leaves,
    parts_of,
    seed_all,
    step_of,
)
from opperf.instruments.peaks import guard
from opperf.instruments.prepared import PreparedCase, reason_of
from opperf.instruments.restoring import FreshInputs
from opperf.instruments.times import BACKWARD
from opperf.instruments.visit import KeptResults, Visit
from opperf.machine.heap import filled_blocks
from opperf.model import SEQUENCES, Case, ModelTarget
from opperf.rules.deviations import is_unwritten
from opperf.rules.engine import rules_module
from opperf.worker.binding import runnable_model
from opperf.worker.protocol import AFTER, AGAIN, OBSERVED, OTHER, TIMED, TYPE, Observed, Value

SHOWN = 60

T = TypeVar("T")

SEVERAL_S = 0.1
LEAST_CALLS, MOST_CALLS = 8, 10_000
"""Seconds that several calls take where nothing is timed, and how many there are at least and at
most: a function that returns something else after some calls mostly does so by then."""

MOST_GRADIENTS = 100
"""Of these calls, those with a backward pass, which takes the longer time."""

MOST_BYTES_LATER = MOST_BYTES // 16
"""Of calls after the first: what another call returns is wrong in most of its elements."""

MOST_BYTES_TIMED = 2**20
"""Of calls after the timed ones: those of all cases of a process are kept."""

SHORT_S = 0.01
"""Seconds of a first call from which the next one after the timed calls is kept."""


def observe(
    case: Case, framework: Framework, folder: str, draw: int = 0, calls: int | None = 0
) -> Observed:
    """Makes the case's tensors, calls its target, forward and backward, and writes the results to
    new files in a folder: of the first call, and if `calls` are not zero of the last of several,
    and of one with other contents in the same storage. Random numbers are seeded by the case's seed
    and `draw`, on which what it leaves unwritten depends, too. Any exception is a refusal."""
    try:
        guard(case, framework)
        with framework.scope(case), filled_blocks(draw):
            if isinstance(case.target, ModelTarget):
                model = runnable_model(case, framework)
                return _Observation(case, framework, Path(folder), draw).of_model(model, "")
            prepared = PreparedCase(case, framework)
            return _Observation(case, framework, Path(folder), draw).observed(prepared, calls)
    except Exception as error:
        return Observed(refusal=reason_of(error, framework))


class _Observation:
    def __init__(
        self,
        case: Case,
        framework: Framework,
        folder: Path,
        draw: int,
        most_bytes: int = MOST_BYTES_LATER,
    ) -> None:
        self._case, self._framework, self._folder = case, framework, folder
        self._seed, self._most_bytes = case.settings.seed + draw, most_bytes
        self._usual: set[type] = set()
        self._values: list[Value] = []
        self._written = 0

    def of_model(self, model: RunnableModel, end: str) -> Observed:
        """Observes a step from the beginning, and a forward pass with other inputs."""
        self._begin(model)
        self._write(model.results().items(), end, MOST_BYTES if not end else self._most_bytes)
        if model.refresh_inputs is not None:
            self._begin(model)
            model.refresh_inputs()
            outputs = model()
            self._framework.synchronize(self._case.settings.device)
            self._write(leaves(OUTPUT, outputs), end + OTHER, self._most_bytes)
        return Observed(tuple(self._values))

    def _begin(self, model: RunnableModel) -> None:
        model.reset()
        seed_all(self._framework, self._seed)

    def observed(self, prepared: PreparedCase, calls: int | None) -> Observed:
        """Observes the first call, and further ones."""
        results = self._results(prepared)
        self._write(results.outputs(), "", MOST_BYTES)
        self._values += _containers(OUTPUT, results.take_returned(), self._framework.name)
        reason = self._gradients(results, "", MOST_BYTES)
        if isinstance(self._case.target, SEQUENCES):
            calls = 0
        elif calls is None:
            calls = results.calls_within(SEVERAL_S, LEAST_CALLS, MOST_CALLS)
        elif calls:
            results.calls_within(SEVERAL_S, calls, calls)
        without = failed = ""
        if calls:
            self._write(results.outputs_again(), AGAIN, self._most_bytes)
            if not reason:
                self._gradients(results, AGAIN, self._most_bytes, min(calls, MOST_GRADIENTS))
            without, failed = self._others(prepared, results, "", not reason)
        listed = rules_module(self._framework.rules).NOT_FINITE
        return Observed(
            tuple(self._values),
            without_gradients=reason,
            unwritten=is_unwritten(self._case, self._framework, listed),
            calls=calls,
            without_others=without,
            failed_others=failed,
        )

    def timed(self, visit: Visit, calls: int) -> Observed:
        """Observes the last of some calls of a case that was called before."""
        if isinstance(self._case.target, SEQUENCES):
            return Observed()
        prepared = visit.prepared
        results = self._results(prepared, visit.inputs)
        self._write(results.outputs_again(calls), AFTER, self._most_bytes)
        reason = self._gradients(results, AFTER, self._most_bytes)
        without, failed = self._others(prepared, results, AFTER, not reason)
        return Observed(
            tuple(self._values),
            without_gradients=reason,
            without_others=without,
            failed_others=failed,
        )

    def forward(self, visit: Visit, outputs: Any) -> None:
        """Observes the outputs of a call that has just been made."""
        if isinstance(self._case.target, SEQUENCES):
            return
        if not isinstance(visit.prepared.called, RunnableModel):
            found = self._results(visit.prepared, visit.inputs).of(outputs)
        elif self._case.settings.phase == "train":
            outputs, loss = outputs
            found = [*leaves(OUTPUT, outputs), *leaves("loss", loss)]
        else:
            found = list(leaves(OUTPUT, outputs))
        self._write(found, TIMED, self._most_bytes)

    def backward(self, visit: Visit, gradients: Sequence[Any]) -> None:
        """Observes the gradients of a backward pass that has just been made."""
        # Those of a model's loss have other names here than among its results.
        is_call = not isinstance(visit.prepared.called, RunnableModel)
        if is_call and not isinstance(self._case.target, SEQUENCES):
            results = self._results(visit.prepared, visit.inputs)
            self._write(results.of_gradients(gradients), TIMED, self._most_bytes)

    def _results(self, prepared: PreparedCase, fresh: FreshInputs | None = None) -> CallResults:
        arguments = prepared.arguments.items()
        self._usual = {type(leaf) for name, value in arguments for _, leaf in leaves(name, value)}
        return CallResults(prepared, self._seed, fresh)

    def _gradients(self, results: CallResults, end: str, most_bytes: int, calls: int = 1) -> str:
        """Writes the gradients of the last of several calls; returns why there are none."""
        if BACKWARD.name not in self._case.passes:
            return ""
        try:
            self._write(results.gradients(calls), end, most_bytes)
        except NoGradientError as error:
            return one_line(str(error))
        return ""

    def _others(
        self, prepared: PreparedCase, results: CallResults, end: str, has_gradients: bool
    ) -> tuple[str, str]:
        """Writes the results of a call with other contents. Returns why there are none, and why the
        call failed although its contents are as valid as the first ones."""
        if isinstance(self._case.target, SEQUENCES):
            return "", ""
        try:
            results.renew()
            others, are_scaled = draw_others(prepared, self._case.settings.seed)
            if not others:
                return "", ""
            results.change(lambda: _write(prepared, others))
        except Exception as error:
            return reason_of(error, self._framework), ""
        try:
            self._write(results.outputs_again(), end + OTHER, self._most_bytes)
            if has_gradients:
                self._gradients(results, end + OTHER, self._most_bytes)
        except Exception as error:
            reason = reason_of(error, self._framework)
            return (reason, "") if are_scaled else ("", reason)
        return "", ""

    def _write(self, results: Iterable[Leaf], end: str, most_bytes: int) -> None:
        """Adds results, whose places get this end, with their elements in files."""
        found = [(place, value, contents_of(self._framework, value)) for place, value in results]
        step = step_of((held for _, _, held in found if held is not None), most_bytes)
        self._values += [
            self._plain(place + end, value)
            if held is None
            else self._tensor(place + end, value, held, step)
            for place, value, held in found
        ]

    def _tensor(self, place: str, value: Any, held: Contents, step: int) -> Value:
        return Value(
            place,
            held.shape,
            held.dtype,
            held.layout,
            file=self._save(held.numbers(step)),
            step=step,
            type=_class(value, self._framework.name),
            usual=type(value) in self._usual,
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


class TimedCalls:
    """Writes the results of a visit's timed calls, as its observer, and of calls after them, to new
    files in a new folder. To be used in the case's scope."""

    def __init__(self, visit: Visit, kept: KeptResults) -> None:
        self._visit, self._folder = visit, Path(kept.folder)
        self._calls = kept.calls
        self._refusal = ""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._observation = _Observation(
            visit.case, visit.framework, self._folder, 0, MOST_BYTES_TIMED
        )

    def forward(self, outputs: Any) -> None:
        self._try(lambda: self._observation.forward(self._visit, outputs))

    def backward(self, gradients: Sequence[Any]) -> None:
        self._try(lambda: self._observation.backward(self._visit, gradients))

    def finish(self) -> None:
        """Makes the calls after the timed ones, the last with other contents."""
        visit, called = self._visit, self._visit.prepared.called

        def observed() -> Observed:
            visit.restore()
            if isinstance(called, RunnableModel):
                return self._observation.of_model(called, AFTER)
            return self._observation.timed(visit, self._calls if visit.first_s < SHORT_S else 1)

        found = self._try(observed) or Observed(refusal=self._refusal)
        (self._folder / OBSERVED).write_bytes(msgspec.json.encode(found))

    def _try(self, observe: Callable[[], T]) -> T | None:
        """Returns what an observation does; its error is a refusal of all."""
        if self._refusal:
            return None
        try:
            return observe()
        except Exception as error:
            self._refusal = reason_of(error, self._visit.framework)
            return None


def _containers(place: str, value: Any, framework: str) -> Iterator[Value]:
    parts = parts_of(place, value)
    if parts is None:
        return
    yield Value(f"{TYPE}{place}", text=_class(value, framework))
    for at, part in parts:
        yield from _containers(at, part, framework)


def _class(value: Any, framework: str) -> str:
    """Returns the name of a value's class, with its package if that is NumPy or the framework:
    within a package modules move from version to version, and each arm has a user's class in a
    module of its own. NumPy's numbers, whose dtype is compared, have one name."""
    if isinstance(value, np.generic):
        return "numpy.generic"
    cls = type(value)
    package = cls.__module__.partition(".")[0]
    return f"{package}.{cls.__qualname__}" if package in ("numpy", framework) else cls.__qualname__


SEED = 1_000_003
"""Added to the seed of the first contents: no user numbers seeds so far."""

SCALE = 0.75
"""Factor of contents that no seed changes, as a user's: their signs, order and zeros stay."""


def draw_others(prepared: PreparedCase, seed: int) -> tuple[list[tuple[Any, Any]], bool]:
    """Returns the dense inputs of a case that change, each with contents that another seed draws,
    for calls that may not return what an earlier one did; and whether some are none that the case's
    rule or function has made: floating-point numbers that are the same for every seed are scaled,
    and their rows rotated. Raises what the framework raises if it cannot draw them."""
    drawn = prepared.redrawn(seed + SEED)
    found, are_scaled = [], False
    for name, value in prepared.arguments.items():
        pairs = zip(leaves(name, value), leaves(name, drawn[name]), strict=True)
        for (_, own), (_, other) in pairs:
            before, after = (contents_of(prepared.framework, held) for held in (own, other))
            if before is None or after is None or before.layout != "dense":
                continue
            numbers = after.numbers(1).reshape(after.shape)
            if not np.array_equal(before.numbers(1), numbers.reshape(-1), equal_nan=True):
                found.append((own, numbers.copy()))
            elif numbers.dtype.kind in "fc" and numbers.any():
                are_scaled = True
                numbers = numbers * numbers.dtype.type(SCALE)
                found.append((own, np.roll(numbers, 1, axis=0) if numbers.ndim > 1 else numbers))
    return found, are_scaled


def _write(prepared: PreparedCase, others: Iterable[tuple[Any, Any]]) -> None:
    """Gives inputs other contents, in their own memory where the framework can write to it."""
    for tensor, numbers in others:
        other = prepared.framework.restoring.write_numbers(prepared.call, tensor, numbers)
        if other is not tensor:
            prepared.replace(tensor, other)
