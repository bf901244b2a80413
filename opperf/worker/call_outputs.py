"""One untimed call of a case, whose outputs, gradients and changed arguments are written to
files."""

from __future__ import annotations

import dataclasses
import random
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from opperf.errors import NoGradientError, OpperfError, one_line
from opperf.frameworks import Framework
from opperf.frameworks.base import Contents, ReadableGradient
from opperf.frameworks.numpy_arrays import array_contents
from opperf.instruments.guard import guard
from opperf.instruments.prepared import PreparedCase
from opperf.instruments.restoring import FreshInputs
from opperf.instruments.times import BACKWARD
from opperf.machine.heap import filled_blocks
from opperf.model import Case
from opperf.rules.engine import rules_module
from opperf.rules.not_finite import is_unwritten
from opperf.worker.protocol import Observed, Value

MOST_BYTES = 128 * 2**20
"""Maximum bytes of the outputs of a call in files, and as many of its gradients: of more, every
second, third ... element is written. A tensor of large size takes a quarter of it."""

SHOWN = 60

OUTPUT = "output"

Leaf = tuple[str, Any]


def observe(case: Case, framework: Framework, folder: Path, draw: int) -> Observed:
    """Makes the case's tensors, calls its target once, forward and backward, and writes the results
    to new files in a folder. Random numbers are seeded by the case's seed and `draw`, on which what
    it leaves unwritten depends, too. Any exception is a refusal."""
    try:
        guard(case, framework)
        with framework.scope(case), filled_blocks(draw):
            return _Observation(case, framework, folder, draw).observed()
    except OpperfError as error:
        return Observed(refusal=one_line(str(error)))
    except Exception as error:
        reason = framework.refusal(error) or f"{type(error).__name__}: {error}"
        return Observed(refusal=one_line(reason))


class _Observation:
    """One call of a case, and what it resulted in."""

    def __init__(self, case: Case, framework: Framework, folder: Path, draw: int) -> None:
        self._case, self._framework, self._folder, self._draw = case, framework, folder, draw
        self._prepared = PreparedCase(case, framework)
        self._written = 0

    def observed(self) -> Observed:
        prepared, framework = self._prepared, self._framework
        arguments = list(prepared.arguments.items())
        fresh = FreshInputs(prepared)
        before = self._digests(arguments)
        self._seed()
        outputs = prepared.call()
        self._wait()
        returned = list(leaves(OUTPUT, outputs))
        values = self._write(returned)
        after = self._digests(arguments)
        changed = {place for place, digest in after.items() if digest != before.get(place)}
        # An argument that is returned as well is a result already.
        known = {id(value) for _, value in returned}
        inputs = [leaf for name, value in arguments for leaf in leaves(name, value)]
        values += self._write(
            (f"{place} after the call", value)
            for place, value in inputs
            if place in changed and id(value) not in known
        )
        del outputs, returned
        fresh.look()
        reason = ""
        if BACKWARD.name in self._case.passes:
            try:
                values += self._gradients(fresh.restore)
            except NoGradientError as error:
                reason = one_line(str(error))
        listed = rules_module(framework.rules).NOT_FINITE
        unwritten = is_unwritten(self._case, framework, listed)
        return Observed(tuple(values), without_gradients=reason, unwritten=unwritten)

    def _gradients(self, restore: Callable[[], object] | None) -> list[Value]:
        def begin() -> None:
            if restore is not None:
                restore()
            self._seed()

        begin()
        gradient = self._prepared.make_gradient()
        if not isinstance(gradient, ReadableGradient):
            raise NoGradientError("its gradients cannot be read")
        # What it drew and changed when it was made does not count.
        begin()
        gradient.record()
        results = list(gradient.results())
        self._wait()
        names = self._prepared.differentiated_places
        names = [*names, *map(str, range(len(results) - len(names)))]
        # A gradient that there is not is no result.
        return self._write(
            leaf
            for name, one in zip(names, results, strict=False)
            if one is not None
            for leaf in leaves(f"gradient of {name}", one)
        )

    def _seed(self) -> None:
        seed = self._case.settings.seed + self._draw
        random.seed(seed)
        np.random.seed(seed % 2**32)
        self._framework.seed(seed)

    def _wait(self) -> None:
        self._framework.synchronize(self._case.settings.device)

    def _contents(self, value: Any) -> Contents | None:
        return self._framework.contents(value) or array_contents(value)

    def _digests(self, arguments: Iterable[Leaf]) -> dict[str, int]:
        """Returns checksums of the tensors in the arguments, by place."""
        found = {
            place: held
            for name, value in arguments
            for place, one in leaves(name, value)
            if (held := self._contents(one)) is not None
        }
        step = _step(found.values())
        return {
            place: zlib.crc32(np.ascontiguousarray(held.numbers(step)).view("uint8").data)
            for place, held in found.items()
        }

    def _write(self, results: Iterable[Leaf]) -> list[Value]:
        found = [(place, value, self._contents(value)) for place, value in results]
        step = _step(held for _, _, held in found if held is not None)
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


def _step(held: Iterable[Contents]) -> int:
    """Returns every how manyth element of these tensors is kept."""
    return max(1, -(-sum(contents.bytes for contents in held) // MOST_BYTES))


def leaves(place: str, value: Any) -> Iterator[Leaf]:
    """Yields the values in nested containers and data classes, each with its place, as
    `output[0]['loss']`. What is empty is a value itself."""
    inside: Iterable[tuple[str, Any]] = ()
    if isinstance(value, (list, tuple)):
        inside = ((f"[{index}]", one) for index, one in enumerate(value))
    elif isinstance(value, Mapping):
        inside = ((f"[{key!r}]", one) for key, one in value.items())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        inside = ((f".{field.name}", getattr(value, field.name)) for field in fields)
    else:
        yield place, value
        return
    found = [leaf for part, one in inside for leaf in leaves(f"{place}{part}", one)]
    yield from found or [(f"{place}, empty", None)]
