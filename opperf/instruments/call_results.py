"""The results of one untimed call of a case: outputs, changed arguments, and gradients."""

from __future__ import annotations

import dataclasses
import operator
import random
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opperf.errors import NoGradientError
from opperf.frameworks import Framework
from opperf.frameworks.base import Contents, ReadableGradient
from opperf.instruments.restoring import FreshInputs

if TYPE_CHECKING:
    from opperf.instruments.prepared import PreparedCase

MOST_BYTES = 128 * 2**20
"""Maximum bytes of the outputs of a call that are kept, and as many of its gradients: of more,
every second, third ... element is. A tensor of large size takes a quarter of it."""

OUTPUT = "output"

Leaf = tuple[str, Any]


def seed_all(framework: Framework, seed: int) -> None:
    """Seeds the random numbers of Python, NumPy and a framework, of which user code may draw."""
    # What measures nothing imports this module too.
    import numpy as np

    random.seed(seed)
    np.random.seed(seed % 2**32)
    framework.processes.seed(seed)


def contents_of(framework: Framework, value: Any) -> Contents | None:
    """Returns what an array holds, of the framework or of NumPy; None for any other value."""
    from opperf.frameworks.numpy_arrays import array_contents

    return framework.arrays.contents(value) or array_contents(value)


def step_of(held: Iterable[Contents], most_bytes: int = MOST_BYTES) -> int:
    """Returns every how manyth element of these arrays is kept."""
    return max(1, -(-sum(contents.bytes for contents in held) // most_bytes))


def parts_of(place: str, value: Any) -> list[Leaf] | None:
    """Returns what a container or data class holds, each with its place; None for other values."""
    if isinstance(value, (list, tuple)):
        return [(f"{place}[{index}]", part) for index, part in enumerate(value)]
    if isinstance(value, Mapping):
        return [(f"{place}[{key!r}]", part) for key, part in value.items()]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return [(f"{place}.{field.name}", getattr(value, field.name)) for field in fields]
    return None


def leaves(place: str, value: Any) -> Iterator[Leaf]:
    """Yields the values in nested containers and data classes, each with its place, as
    `output[0]['loss']`. What is empty is a value itself."""
    parts = parts_of(place, value)
    if parts is None:
        yield place, value
        return
    found = [leaf for at, part in parts for leaf in leaves(at, part)]
    yield from found or [(f"{place}, empty", None)]


class CallResults:
    """The results of a prepared case with a seed. `fresh` are its inputs if it was called
    already."""

    def __init__(self, prepared: PreparedCase, seed: int, fresh: FreshInputs | None = None) -> None:
        self._prepared, self._seed = prepared, seed
        self._fresh = FreshInputs(prepared) if fresh is None else fresh
        self._looked = fresh is not None
        self._returned: Any = None
        self._changed: set[str] = set()
        """Those of the arguments that the first call has changed, by their place in the call."""
        self._may_change = fresh is not None and fresh.restore is not None
        """Whether calls change some arguments, and none has shown here which."""
        self._gradient: ReadableGradient | None = None
        self._change: Callable[[], object] | None = None
        """Gives the inputs other contents, once they have them."""

    def outputs(self) -> list[Leaf]:
        """Calls the target, and returns its outputs, and the arguments that it has changed, `x
        after the call`, if they are none of these."""
        before = self._digests()
        self._seed_all()
        outputs = self._returned = self._prepared.call()
        self._wait()
        after = self._digests()
        self._changed = {place for place, digest in after.items() if digest != before.get(place)}
        return self.of(outputs)

    def take_returned(self) -> Any:
        """Returns what the first call returned, once."""
        returned, self._returned = self._returned, None
        return returned

    def calls_within(self, seconds: float, least: int, most: int) -> int:
        """Calls the target again for some seconds, and returns how many calls that were."""
        self._look()
        begun, calls = time.perf_counter(), 0
        while calls < least or (calls < most and time.perf_counter() - begun < seconds):
            self.renew()
            self._prepared.call()
            self._wait()
            calls += 1
        return calls

    def outputs_again(self, calls: int = 1) -> list[Leaf]:
        """Calls the target several times more, and returns what it returned and changed last."""
        self._look()
        outputs = None
        for _ in range(calls):
            self._begin()
            outputs = self._prepared.call()
        self._wait()
        return self.of(outputs)

    def change(self, change: Callable[[], object]) -> None:
        """Has `change` give the inputs other contents, and again before calls that write to
        them."""
        self._look()
        inputs = list(self._prepared.differentiated)
        change()
        self._change = change
        if any(map(operator.is_not, inputs, self._prepared.differentiated)):
            # It is of the tensors that were there.
            self._gradient = None

    def of(self, outputs: Any) -> list[Leaf]:
        """Returns the outputs of a call that has just been made, and what it has changed."""
        returned = list(leaves(OUTPUT, outputs))
        # An argument that is returned as well is a result already.
        known = {id(value) for _, value in returned}
        return returned + [
            (f"{place} after the call", value)
            for place, value in self._inputs()
            if (place in self._changed or self._may_change) and id(value) not in known
        ]

    def _inputs(self) -> list[Leaf]:
        arguments = self._prepared.arguments.items()
        return [leaf for name, value in arguments for leaf in leaves(name, value)]

    def gradients(self, calls: int = 1) -> list[Leaf]:
        """Returns the gradients of another call with the same arguments, the last of several, after
        a first call. Raises `NoGradientError`."""
        prepared = self._prepared
        self._look()
        gradient = self._gradient
        if gradient is None:
            self._begin()
            made = prepared.make_gradient()
            if not isinstance(made, ReadableGradient):
                raise NoGradientError("its gradients cannot be read")
            gradient = self._gradient = made
        returned: Any = None
        for _ in range(calls):
            # What it drew and changed when it was made does not count.
            self._begin()
            gradient.record()
            returned = gradient.backward()
        self._wait()
        return self.of_gradients(gradient.read(returned))

    @property
    def heads(self) -> Sequence[Any]:
        """The gradients of the results with which the backward pass began; none before it."""
        return () if self._gradient is None else self._gradient.heads

    def of_gradients(self, results: Sequence[Any]) -> list[Leaf]:
        """Returns the gradients of a backward pass, each with its place."""
        names = self._prepared.differentiated_places
        others = range(len(results) - len(names))
        names = [*names, *(f"parameter {number}" for number in others)]
        # A gradient that there is not is no result.
        return [
            leaf
            for name, one in zip(names, results, strict=False)
            if one is not None
            for leaf in leaves(f"gradient of {name}", one)
        ]

    def _look(self) -> None:
        """Finds what the first call wrote to, as none has found it yet."""
        if not self._looked:
            self._fresh.look()
            self._looked = True

    def _begin(self) -> None:
        self.renew()
        self._seed_all()

    def renew(self) -> None:
        """Gives the inputs that a call writes to the contents that they had before it."""
        if self._fresh.restore is not None:
            self._fresh.restore()
            if self._change is not None:
                self._change()

    def _seed_all(self) -> None:
        seed_all(self._prepared.framework, self._seed)

    def _wait(self) -> None:
        self._prepared.framework.synchronize(self._prepared.case.settings.device)

    def _digests(self) -> dict[str, int]:
        import numpy as np

        framework = self._prepared.framework
        found = {
            place: held
            for place, one in self._inputs()
            if (held := contents_of(framework, one)) is not None
        }
        step = step_of(found.values())
        return {
            place: zlib.crc32(np.ascontiguousarray(held.numbers(step)).view("uint8").data)
            for place, held in found.items()
        }
