"""The results of one untimed call of a case: outputs, changed arguments, and gradients."""

from __future__ import annotations

import dataclasses
import random
import zlib
from collections.abc import Iterable, Iterator, Mapping
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
    framework.seed(seed)


def contents_of(framework: Framework, value: Any) -> Contents | None:
    """Returns what an array holds, of the framework or of NumPy; None for any other value."""
    from opperf.frameworks.numpy_arrays import array_contents

    return framework.contents(value) or array_contents(value)


def step_of(held: Iterable[Contents]) -> int:
    """Returns every how manyth element of these arrays is kept."""
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


class CallResults:
    """The results of a prepared case that was not called yet, with random numbers of `seed`."""

    def __init__(self, prepared: PreparedCase, seed: int) -> None:
        self._prepared, self._seed = prepared, seed
        self._fresh = FreshInputs(prepared)

    def outputs(self) -> list[Leaf]:
        """Calls the target, and returns its outputs, and the arguments that it has changed, `x
        after the call`, if they are none of these."""
        prepared = self._prepared
        arguments = list(prepared.arguments.items())
        before = self._digests(arguments)
        self._seed_all()
        outputs = prepared.call()
        self._wait()
        returned = list(leaves(OUTPUT, outputs))
        after = self._digests(arguments)
        changed = {place for place, digest in after.items() if digest != before.get(place)}
        # An argument that is returned as well is a result already.
        known = {id(value) for _, value in returned}
        inputs = [leaf for name, value in arguments for leaf in leaves(name, value)]
        return returned + [
            (f"{place} after the call", value)
            for place, value in inputs
            if place in changed and id(value) not in known
        ]

    def gradients(self) -> list[Leaf]:
        """Returns the gradients of another call with the same arguments, after `outputs`. Raises
        `NoGradientError`."""
        prepared = self._prepared
        self._fresh.look()
        self._begin()
        gradient = prepared.make_gradient()
        if not isinstance(gradient, ReadableGradient):
            raise NoGradientError("its gradients cannot be read")
        # What it drew and changed when it was made does not count.
        self._begin()
        gradient.record()
        results = list(gradient.results())
        self._wait()
        names = prepared.differentiated_places
        others = range(len(results) - len(names))
        names = [*names, *(f"parameter {number}" for number in others)]
        # A gradient that there is not is no result.
        return [
            leaf
            for name, one in zip(names, results, strict=False)
            if one is not None
            for leaf in leaves(f"gradient of {name}", one)
        ]

    def _begin(self) -> None:
        if self._fresh.restore is not None:
            self._fresh.restore()
        self._seed_all()

    def _seed_all(self) -> None:
        seed_all(self._prepared.framework, self._seed)

    def _wait(self) -> None:
        self._prepared.framework.synchronize(self._prepared.case.settings.device)

    def _digests(self, arguments: Iterable[Leaf]) -> dict[str, int]:
        """Returns checksums of the tensors in the arguments, by place."""
        import numpy as np

        framework = self._prepared.framework
        found = {
            place: held
            for name, value in arguments
            for place, one in leaves(name, value)
            if (held := contents_of(framework, one)) is not None
        }
        step = step_of(found.values())
        return {
            place: zlib.crc32(np.ascontiguousarray(held.numbers(step)).view("uint8").data)
            for place, held in found.items()
        }
